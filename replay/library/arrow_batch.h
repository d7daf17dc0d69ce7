// SPDX-License-Identifier: Apache-2.0
/* A batch of rows in the Arrow C data interface, in one piece of memory that its last user frees. */
#ifndef KYMO_REPLAY_LIBRARY_ARROW_BATCH_H
#define KYMO_REPLAY_LIBRARY_ARROW_BATCH_H

#include <stddef.h>

#include "replay/library/arrow.h"
#include "replay/library/arrow_texts.h"

/* The wanted columns, in this order. */
struct kymo_arrow_shape {
	uint8_t columns[KYMO_ARROW_COLUMNS]; /* enum kymo_arrow_column */
	uint32_t count;
};

/* Names as "n,t_ns"; NULL: all. Returns NULL, or the part of @names that is not a column, or a repeated one. */
const char *kymo_arrow_shape_parse(struct kymo_arrow_shape *shape, const char *names);

/* The schema of such rows, with @metadata in Arrow's encoding (NULL: none). 0 or -ENOMEM. */
int kymo_arrow_schema(const struct kymo_arrow_shape *shape, const char *metadata, size_t metadata_bytes,
		      struct ArrowSchema *out);

/* Columns that are the same for all rows of a thread, shared by its batches. */
struct kymo_arrow_thread {
	_Atomic unsigned users;
	uint32_t rows; /* that a batch may have */
	void *columns[KYMO_COLUMN_THREAD_NAME + 1];
	bool is_null[KYMO_COLUMN_THREAD_NAME + 1];
};

/* @tid 0 and @name -1 are null.  NULL: no memory. */
struct kymo_arrow_thread *kymo_arrow_thread_new(uint32_t rows, uint32_t number, uint32_t pid, uint64_t tid, int32_t name);
void kymo_arrow_thread_release(struct kymo_arrow_thread *thread);

struct kymo_arrow_batch {
	_Atomic unsigned users; /* the whole, its columns, and their dictionaries */
	struct kymo_arrow_texts *texts;
	struct kymo_arrow_thread *thread;
	/* by enum kymo_arrow_column; NULL: not asked for */
	void *columns[KYMO_ARROW_COLUMNS];
	uint64_t *valid[KYMO_ARROW_COLUMNS]; /* bits, a multiple of 64 of them */
	int64_t null_counts[KYMO_ARROW_COLUMNS];
	/* what is handed out */
	struct ArrowArray children[KYMO_ARROW_COLUMNS], dictionaries[KYMO_ARROW_COLUMNS];
	struct ArrowArray *child_pointers[KYMO_ARROW_COLUMNS];
	const void *buffers[KYMO_ARROW_COLUMNS][2], *dictionary_buffers[KYMO_ARROW_COLUMNS][3];
	const void *no_bits[1];
};

/* Room for @rows, except for columns of the thread. NULL: no memory. */
struct kymo_arrow_batch *kymo_arrow_batch_new(const struct kymo_arrow_shape *shape, struct kymo_arrow_texts *texts,
					      uint32_t rows);
void kymo_arrow_batch_free(struct kymo_arrow_batch *batch);

/* The columns that all rows of a thread have. */
void kymo_arrow_batch_set_thread(struct kymo_arrow_batch *batch, struct kymo_arrow_thread *thread, uint32_t rows);
/* A column that is null in all rows takes no memory. */
void kymo_arrow_batch_set_null(struct kymo_arrow_batch *batch, unsigned column, uint32_t rows);

/* Hand over @batch, of which @rows are filled. */
void kymo_arrow_batch_export(struct kymo_arrow_batch *batch, const struct kymo_arrow_shape *shape, uint32_t rows,
			     struct ArrowArray *out);

#endif
