// SPDX-License-Identifier: Apache-2.0
/* The columns of the table of events, and the texts that those of text have numbers of. */
#ifndef KYMO_REPLAY_LIBRARY_ARROW_COLUMNS_H
#define KYMO_REPLAY_LIBRARY_ARROW_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

enum kymo_arrow_column {
	KYMO_COLUMN_THREAD,
	KYMO_COLUMN_PID,
	KYMO_COLUMN_TID,
	KYMO_COLUMN_THREAD_NAME,
	KYMO_COLUMN_N,
	KYMO_COLUMN_K,
	KYMO_COLUMN_T_NS,
	KYMO_COLUMN_T_ERR_NS,
	KYMO_COLUMN_INTERPRETER,
	KYMO_COLUMN_TURN,
	KYMO_COLUMN_EVENT,
	KYMO_COLUMN_FILE,
	KYMO_COLUMN_FUNCTION,
	KYMO_COLUMN_LINE,
	KYMO_COLUMN_OFFSET,
	KYMO_COLUMN_DEST,
	KYMO_COLUMN_NAME,
	KYMO_COLUMN_LOST,
	KYMO_COLUMN_LOST_REASONS,
	KYMO_COLUMN_TASK,
	KYMO_COLUMN_TASK_NAME,
};
#define KYMO_ARROW_COLUMNS (KYMO_COLUMN_TASK_NAME + 1)

enum kymo_arrow_dictionary {
	KYMO_TEXTS_THREADS,
	KYMO_TEXTS_EVENTS,
	KYMO_TEXTS_FILES,
	KYMO_TEXTS_FUNCTIONS,
	KYMO_TEXTS_NAMES,
	KYMO_TEXTS_TASKS,
};
#define KYMO_ARROW_DICTIONARIES (KYMO_TEXTS_TASKS + 1)

struct kymo_arrow_column_type {
	const char *name;
	const char *format; /* of the Arrow C data interface; where there are texts, of their numbers */
	uint8_t width;	    /* bytes of a value */
	bool is_nullable;
	bool has_texts;
	uint8_t texts; /* enum kymo_arrow_dictionary */
};
extern const struct kymo_arrow_column_type kymo_arrow_columns[KYMO_ARROW_COLUMNS];

#endif
