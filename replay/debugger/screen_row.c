// SPDX-License-Identifier: Apache-2.0
#include "replay/debugger/screen_row.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "replay/trace/text.h"

#define TAB 8U /* columns, as Python has it */

bool kymo_row_begin(struct kymo_row *row, unsigned limit, bool has_colour, const char *background)
{
	*row = (struct kymo_row){.limit = limit, .has_colour = has_colour, .background = background};
	row->out = open_memstream(&row->text, &row->bytes);
	return row->out;
}

static void begin_style(const struct kymo_row *row, const char *style)
{
	if (row->has_colour && (*style || *row->background))
		fprintf(row->out, "\033[%s%s%sm", row->background, *style && *row->background ? ";" : "", style);
}

static void end_style(const struct kymo_row *row, const char *style)
{
	if (row->has_colour && (*style || *row->background))
		fputs("\033[m", row->out);
}

/* As many characters of @text, which is harmless, as fit. */
static void put_fitting(struct kymo_row *row, const char *text, size_t bytes)
{
	mbstate_t state = {0};

	for (size_t at = 0; at < bytes;) {
		wchar_t character;
		size_t length = mbrtowc(&character, text + at, bytes - at, &state);
		int columns = length && length <= bytes - at ? wcwidth(character) : 1;

		if (!length || length > bytes - at) { /* not of this locale */
			length = 1;
			state = (mbstate_t){0};
		}
		columns = columns < 0 ? 1 : columns;
		if (row->width + (unsigned)columns > row->limit) {
			row->width = row->limit;
			return;
		}
		fwrite(text + at, 1, length, row->out);
		row->width += (unsigned)columns;
		at += length;
	}
}

void kymo_row_put(struct kymo_row *row, const char *style, const char *text, size_t bytes)
{
	char *harmless = NULL;
	size_t length, part;
	FILE *out = open_memstream(&harmless, &length);

	if (!out)
		return;
	kymo_text_put_lines(out, text, bytes);
	fclose(out);
	if (!harmless)
		return;
	begin_style(row, style);
	for (char *at = harmless; at < harmless + length && row->width < row->limit; at += part + 1) {
		part = strcspn(at, "\t\n");
		put_fitting(row, at, part);
		if (at[part] == '\t')
			put_fitting(row, "        ", TAB - row->width % TAB);
		else if (at[part] == '\n')
			put_fitting(row, " ", 1);
	}
	end_style(row, style);
	free(harmless);
}

void kymo_row_print(struct kymo_row *row, const char *style, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	kymo_row_put(row, style, text, (size_t)length);
	free(text);
}

void kymo_row_end(struct kymo_row *row)
{
	begin_style(row, "");
	fprintf(row->out, "%*s", (int)(row->limit - row->width), "");
	end_style(row, "");
	fclose(row->out);
}
