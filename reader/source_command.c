// SPDX-License-Identifier: Apache-2.0
#include "reader/source_command.h"

#include <string.h>

const char *kymo_source_command(const Kymo__Process *facts)
{
	for (size_t i = 1; i < facts->n_argv; i++) {
		const char *letter = facts->argv[i];
		const char *next = i + 1 < facts->n_argv ? facts->argv[i + 1] : NULL;

		if (letter[0] != '-' || !letter[1])
			return NULL;
		if (letter[1] == '-') {
			i += !strcmp(letter, "--check-hash-based-pycs");
			continue;
		}
		while (*++letter && !strchr("cmWX", *letter))
			;
		if (*letter == 'c')
			return letter[1] ? letter + 1 : next;
		if (*letter == 'm')
			return NULL;
		i += *letter && !letter[1];
	}
	return NULL;
}

bool kymo_source_is_redacted(const char *word)
{
	static const char mark[] = "[redacted]";
	size_t length = strlen(word);

	return length >= sizeof mark - 1 && !strcmp(word + length - (sizeof mark - 1), mark);
}
