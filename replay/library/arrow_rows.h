// SPDX-License-Identifier: Apache-2.0
/* Rows of one thread, column by column, until they make a batch. */
#ifndef KYMO_REPLAY_LIBRARY_ARROW_ROWS_H
#define KYMO_REPLAY_LIBRARY_ARROW_ROWS_H

#include "replay/library/arrow_batch.h"

/* Shared by the rows of a code object. */
struct kymo_arrow_code {
	int32_t file, function; /* numbers of their texts; -1: null */
	bool is_wanted;
};

/* Additional fields of a row that is a gap. */
struct kymo_arrow_gap {
	uint32_t row;
	uint32_t reasons;
	uint64_t lost;
};

/* Additional fields of a row that enters a coroutine in a task. */
struct kymo_arrow_task {
	uint32_t row;
	uint32_t id;
	int32_t name; /* number of its text; -1: null */
};

/* In signed columns except t_ns, negative means null; so does 0 for a turn. */
struct kymo_arrow_rows {
	const struct kymo_arrow_shape *shape;
	struct kymo_arrow_texts *texts;
	uint32_t count;
	union {
		struct {
			void *of_thread[KYMO_COLUMN_THREAD_NAME + 1];
			uint64_t *n;
			uint32_t *k;
			int64_t *t_ns;
			uint64_t *t_err_ns;
			uint32_t *interpreter;
			uint64_t *turn;
			uint8_t *event;
			int32_t *file, *function, *line, *offset, *dest, *name;
			uint64_t *lost;
			uint32_t *lost_reasons;
			uint32_t *task;
			int32_t *task_name;
		};
		void *columns[KYMO_ARROW_COLUMNS];
	};
	bool lacks_turns; /* some are null */
	struct kymo_arrow_gap *gaps;
	size_t gap_count, gap_capacity;
	struct kymo_arrow_task *tasks; /* there is room for those of all rows */
	uint32_t task_count;
	struct kymo_arrow_batch *batch, *unasked; /* memory of the columns; unwanted ones are overwritten again and again */
};

/* @shape and @texts stay the caller's. 0 or -ENOMEM; release @rows in either case. */
KYMO_MUST_CHECK
int kymo_arrow_rows_init(struct kymo_arrow_rows *rows, const struct kymo_arrow_shape *shape, struct kymo_arrow_texts *texts);
void kymo_arrow_rows_release(struct kymo_arrow_rows *rows);

/* Room for KYMO_ARROW_ROWS.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_arrow_rows_begin(struct kymo_arrow_rows *rows);
/* Remove the rows from @from to before @to; no gap comes behind @from. */
void kymo_arrow_rows_drop(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to);
/* The rows from @from on happened between these times. */
void kymo_arrow_rows_set_time(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to, int64_t low_ns, int64_t high_ns);
void kymo_arrow_rows_set_turn(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to, uint32_t interpreter, uint64_t turn);
/* Hand over all rows; @thread is theirs. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_arrow_rows_finish(struct kymo_arrow_rows *rows, struct kymo_arrow_thread *thread, struct ArrowArray *out);

#endif
