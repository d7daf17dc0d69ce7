// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/kinds.h"
#include "replay/trace/text.h"
#include "replay/trace/timeline.h"

int kymo_usage_error(char *const *argv, const char *format, ...)
{
	char *message;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&message, format, args);
	va_end(args);
	/* The message may quote a configuration file, or a file's name. */
	fprintf(stderr, "%s: ", argv[0]);
	kymo_text_put(stderr, length < 0 ? "out of memory" : message);
	fputc('\n', stderr);
	if (length >= 0)
		free(message);
	return KYMO_EXIT_USAGE;
}

int kymo_report(const struct kymo_error *error)
{
	fflush(stdout);
	fputs("kymo: ", stderr);
	kymo_text_put(stderr, error->message);
	fputc('\n', stderr);
	return KYMO_EXIT_FAILURE;
}

int kymo_put_json(const json_t *value, size_t flags)
{
	char *document = json_dumps(value, flags);

	if (!document)
		return -1;
	kymo_json_put_document(stdout, document);
	putchar('\n');
	free(document);
	return 0;
}

json_t *kymo_json_text(const char *text)
{
	json_t *value = json_string(text);

	return value ? value : json_string("(not UTF-8)");
}

bool kymo_parse_number(char *const *argv, const char *option, const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno)
		return true;
	kymo_usage_error(argv, "%s: '%s' is not a whole number", option, text);
	return false;
}

static uint64_t find_kinds(const char *name, size_t length)
{
	uint64_t kinds = 0;

	for (unsigned kind = KYMO_PY_START; kind < KYMO_EVENT_KINDS; kind++) {
		const char *known = kymo_event_kind_name(kind);

		if (known && strlen(known) == length && !strncasecmp(known, name, length))
			kinds |= UINT64_C(1) << kind;
	}
	return kinds;
}

bool kymo_parse_kinds(char *const *argv, const char *text, uint64_t *kinds)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		uint64_t found = find_kinds(text, length);

		if (!found) {
			kymo_usage_error(argv, "--kind: unknown event '%.*s'", (int)length,
					 text);
			return false;
		}
		*kinds |= found;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

const char *kymo_shown_path(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && path[length] == '/' ? path + length + 1 : path;
}
