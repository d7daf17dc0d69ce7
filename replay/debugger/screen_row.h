// SPDX-License-Identifier: Apache-2.0
/* One row of a terminal's screen: text of many colours, cut where the row ends. */
#ifndef KYMO_REPLAY_DEBUGGER_SCREEN_ROW_H
#define KYMO_REPLAY_DEBUGGER_SCREEN_ROW_H

#include <stdbool.h>
#include <stdio.h>

/* Escape sequences of ECMA-48 (SGR), by what they are for. */
#define KYMO_STYLE_NONE ""
#define KYMO_STYLE_TITLE "1;7"
#define KYMO_STYLE_HEAD "1;36"
#define KYMO_STYLE_DIM "2"
#define KYMO_STYLE_BOLD "1"
#define KYMO_STYLE_BREAK "1;31"
#define KYMO_STYLE_KEYWORD "35"
#define KYMO_STYLE_STRING "32"
#define KYMO_STYLE_NUMBER "36"
#define KYMO_STYLE_COMMENT "2"
#define KYMO_STYLE_NAME "36"
#define KYMO_STYLE_CHANGED "1;33"

struct kymo_row {
	FILE *out;
	char *text;
	size_t bytes;
	unsigned width, limit; /* columns that are used, and that there are */
	bool has_colour;
	const char *background; /* a style below all others, or "" */
};

/* False: out of memory. */
bool kymo_row_begin(struct kymo_row *row, unsigned limit, bool has_colour, const char *background);
/* Add @bytes of @text, what could steer the terminal escaped, tabs as spaces; what does not fit is left out. */
void kymo_row_put(struct kymo_row *row, const char *style, const char *text, size_t bytes);
void kymo_row_print(struct kymo_row *row, const char *style, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Fill it with spaces up to its limit, and end it.  The caller frees row->text. */
void kymo_row_end(struct kymo_row *row);

#endif
