// SPDX-License-Identifier: Apache-2.0
#include "reader/source_command.h"

#include <string.h>

#include "format/project_paths.h"

const char *kymo_source_command(const Kymo__Process *facts)
{
	return kymo_given_code(facts->argv, facts->n_argv);
}

bool kymo_source_is_redacted(const char *word)
{
	static const char mark[] = "[redacted]";
	size_t length = strlen(word);

	return length >= sizeof mark - 1 && !strcmp(word + length - (sizeof mark - 1), mark);
}
