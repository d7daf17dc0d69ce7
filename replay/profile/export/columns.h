// SPDX-License-Identifier: Apache-2.0
/* Columns of a table that are written one after the other, but arrive row by row: each goes to a temporary file first. */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_COLUMNS_H
#define KYMO_REPLAY_PROFILE_EXPORT_COLUMNS_H

#include <stdint.h>
#include <stdio.h>

#include "format/error.h"

#define KYMO_COLUMNS_MOST 8

struct kymo_columns {
	FILE *files[KYMO_COLUMNS_MOST];
	size_t count;
	uint64_t rows;
};

/* Release it in any case. */
KYMO_MUST_CHECK
int kymo_columns_open(struct kymo_columns *columns, size_t count, struct kymo_error *error);
void kymo_columns_release(struct kymo_columns *columns);

/* The file for the value of column @number in the next row. Write all columns, then call kymo_columns_next(). */
static inline FILE *kymo_column(struct kymo_columns *columns, size_t number)
{
	if (columns->rows)
		putc_unlocked(',', columns->files[number]);
	return columns->files[number];
}

static inline void kymo_columns_next(struct kymo_columns *columns)
{
	columns->rows++;
}

/* Copy the values of a column, between commas, to @out. */
KYMO_MUST_CHECK
int kymo_columns_copy(struct kymo_columns *columns, size_t number, FILE *out, struct kymo_error *error);

/* Make them empty. */
KYMO_MUST_CHECK
int kymo_columns_clear(struct kymo_columns *columns, struct kymo_error *error);

#endif
