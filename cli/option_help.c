// SPDX-License-Identifier: Apache-2.0
/* What --help prints. */
#include <string.h>

#include "cli/option_table.h"

#define COLUMNS 80
#define MAX_LABEL 26

static size_t columns_of(const char *text, size_t bytes)
{
	size_t columns = 0;

	for (size_t i = 0; i < bytes; i++)
		columns += (text[i] & 0xc0) != 0x80 && text[i] != '`'; /* count bytes that begin a UTF-8 character */
	return columns;
}

void kymo_options_put_text(FILE *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] != '`')
			fputc(text[i], out);
}

/* Put @text, which begins at @column, into lines that are indented by @indent. */
static void put_wrapped(FILE *out, const char *text, size_t column, size_t indent)
{
	bool is_first = true;

	while (*text) {
		size_t bytes = strcspn(text, " \n"), columns = columns_of(text, bytes);

		if (!is_first && (text[-1] == '\n' || column + 1 + columns > COLUMNS)) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!is_first) {
			fputc(' ', out);
			column++;
		}
		kymo_options_put_text(out, text, bytes);
		column += columns;
		text += bytes + (text[bytes] != '\0');
		is_first = false;
	}
	fputc('\n', out);
}

static size_t label_of(const struct kymo_option *row, char label[64])
{
	int length = 0;

	if (row->letter)
		length = snprintf(label, 64, row->name ? "-%c, " : "-%c", row->letter);
	if (row->name)
		length += snprintf(label + length, 64 - (size_t)length, "--%s", row->name);
	if (row->value)
		length += snprintf(label + length, 64 - (size_t)length, row->name ? "=%s" : " %s", row->value);
	return columns_of(label, (size_t)length);
}

static void put_row(FILE *out, const struct kymo_option *row, size_t indent)
{
	char label[64];
	size_t columns = 2 + label_of(row, label);

	fprintf(out, "  %s", label);
	if (columns + 2 > indent) {
		fputc('\n', out);
		columns = 0;
	}
	fprintf(out, "%*s", (int)(indent - columns), "");
	put_wrapped(out, row->help, indent, indent);
}

void kymo_options_put_help(FILE *out, const struct kymo_verb *verb)
{
	static const struct kymo_option help = {.name = "help", .help = "show this help"};
	const struct kymo_option_table *table = NULL, *before = NULL;
	const struct kymo_option *row = NULL;
	const char *usage = verb->usage;
	size_t indent = 0, columns;
	char label[64];

	if (!usage)
		fprintf(out, "usage: kymo %s %s%s\n", verb->name, verb->tables[0].rows ? "[options] " : "", verb->operands);
	for (const char *lead = "usage:"; usage; lead = "      ") {
		size_t bytes = strcspn(usage, "\n");

		fprintf(out, "%s kymo %s %.*s\n", lead, verb->name, (int)bytes, usage);
		usage = usage[bytes] ? usage + bytes + 1 : NULL;
	}
	fputc('\n', out);
	put_wrapped(out, verb->text, 0, 0);
	fputc('\n', out);
	while ((row = kymo_options_next(verb, row, NULL))) {
		columns = label_of(row, label);
		if (columns > indent && columns <= MAX_LABEL)
			indent = columns;
	}
	indent = (indent > 6 ? indent : 6) + 4;
	while ((row = kymo_options_next(verb, row, &table))) {
		if (table != before && table->title)
			fprintf(out, "%s%s:\n", before ? "\n" : "", table->title);
		before = table;
		put_row(out, row, indent);
	}
	put_row(out, &help, indent);
	if (verb->put_epilog) {
		fputc('\n', out);
		verb->put_epilog(out);
	}
}
