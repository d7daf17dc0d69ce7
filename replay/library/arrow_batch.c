// SPDX-License-Identifier: Apache-2.0
#include "replay/library/arrow_batch.h"

#include <stdlib.h>

#define ALIGNMENT 64 /* of buffers, as Arrow likes them */

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bits and values of columns that are null; never written, so that it takes no memory. */
static uint64_t zeros[KYMO_ARROW_ROWS];

struct kymo_arrow_thread *kymo_arrow_thread_new(uint32_t rows, uint32_t number, uint32_t pid, uint64_t tid, int32_t name)
{
	struct kymo_arrow_thread *thread = aligned_alloc(ALIGNMENT, aligned(sizeof *thread) + aligned((size_t)rows * 8) +
								    3 * aligned((size_t)rows * 4));
	uint32_t *numbers, *pids;
	uint64_t *tids;
	int32_t *names;

	if (!thread)
		return NULL;
	tids = (void *)((char *)thread + aligned(sizeof *thread));
	numbers = (void *)((char *)tids + aligned((size_t)rows * 8));
	pids = (void *)((char *)numbers + aligned((size_t)rows * 4));
	names = (void *)((char *)pids + aligned((size_t)rows * 4));
	for (uint32_t i = 0; i < rows; i++) {
		numbers[i] = number;
		pids[i] = pid;
		tids[i] = tid;
		names[i] = name;
	}
	*thread = (struct kymo_arrow_thread){
		.users = 1,
		.rows = rows,
		.columns = {numbers, pids, tids, names},
		.is_null = {false, false, !tid, name < 0},
	};
	return thread;
}

void kymo_arrow_thread_release(struct kymo_arrow_thread *thread)
{
	if (thread && !--thread->users)
		free(thread);
}

/* Bytes of a batch's own memory that a column takes for each row. */
static size_t own_width(unsigned column)
{
	return column <= KYMO_COLUMN_THREAD_NAME ? 0 : kymo_arrow_columns[column].width;
}

struct kymo_arrow_batch *kymo_arrow_batch_new(const struct kymo_arrow_shape *shape, struct kymo_arrow_texts *texts,
					      uint32_t rows)
{
	size_t capacity = ((size_t)rows + 63) / 64 * 64, bytes = aligned(sizeof(struct kymo_arrow_batch));
	struct kymo_arrow_batch *batch;
	char *at;

	for (uint32_t i = 0; i < shape->count; i++)
		bytes += capacity * own_width(shape->columns[i]) + aligned(capacity / 8);
	batch = aligned_alloc(ALIGNMENT, bytes);
	if (!batch)
		return NULL;
	*batch = (struct kymo_arrow_batch){.texts = texts};
	kymo_arrow_texts_use(texts);
	at = (char *)batch + aligned(sizeof *batch);
	for (uint32_t i = 0; i < shape->count; i++) {
		unsigned column = shape->columns[i];

		batch->columns[column] = at;
		at += capacity * own_width(column);
		batch->valid[column] = (void *)at;
		at += aligned(capacity / 8);
	}
	return batch;
}

void kymo_arrow_batch_free(struct kymo_arrow_batch *batch)
{
	if (!batch)
		return;
	kymo_arrow_thread_release(batch->thread);
	kymo_arrow_texts_release(batch->texts);
	free(batch);
}

void kymo_arrow_batch_set_null(struct kymo_arrow_batch *batch, unsigned column, uint32_t rows)
{
	if (!batch->columns[column])
		return;
	batch->columns[column] = batch->valid[column] = zeros;
	batch->null_counts[column] = rows;
}

void kymo_arrow_batch_set_thread(struct kymo_arrow_batch *batch, struct kymo_arrow_thread *thread, uint32_t rows)
{
	thread->users++;
	batch->thread = thread;
	for (unsigned column = 0; column <= KYMO_COLUMN_THREAD_NAME; column++) {
		if (thread->is_null[column])
			kymo_arrow_batch_set_null(batch, column, rows);
		else if (batch->columns[column])
			batch->columns[column] = thread->columns[column];
	}
}

/* Release the whole, a column or a dictionary: each may be moved, and released, by itself. */
static void release(struct ArrowArray *array)
{
	struct kymo_arrow_batch *batch = array->private_data;

	for (int64_t i = 0; i < array->n_children; i++)
		if (array->children[i]->release)
			array->children[i]->release(array->children[i]);
	if (array->dictionary && array->dictionary->release)
		array->dictionary->release(array->dictionary);
	array->release = NULL;
	if (!--batch->users)
		kymo_arrow_batch_free(batch);
}

static void export_column(struct kymo_arrow_batch *batch, unsigned column, uint32_t rows, uint32_t place)
{
	const struct kymo_arrow_column_type *type = &kymo_arrow_columns[column];
	const struct kymo_arrow_text_table *texts = &batch->texts->tables[type->texts];

	batch->buffers[place][0] = batch->null_counts[column] ? batch->valid[column] : NULL;
	batch->buffers[place][1] = batch->columns[column];
	batch->children[place] = (struct ArrowArray){
		.length = rows,
		.null_count = batch->null_counts[column],
		.n_buffers = 2,
		.buffers = batch->buffers[place],
		.dictionary = type->has_texts ? &batch->dictionaries[place] : NULL,
		.release = release,
		.private_data = batch,
	};
	batch->child_pointers[place] = &batch->children[place];
	batch->users++;
	if (!type->has_texts)
		return;
	batch->dictionary_buffers[place][1] = texts->offsets;
	batch->dictionary_buffers[place][2] = texts->bytes;
	batch->dictionaries[place] = (struct ArrowArray){
		.length = (int64_t)texts->count,
		.n_buffers = 3,
		.buffers = batch->dictionary_buffers[place],
		.release = release,
		.private_data = batch,
	};
	batch->users++;
}

void kymo_arrow_batch_export(struct kymo_arrow_batch *batch, const struct kymo_arrow_shape *shape, uint32_t rows,
			     struct ArrowArray *out)
{
	batch->users = 1;
	for (uint32_t i = 0; i < shape->count; i++)
		export_column(batch, shape->columns[i], rows, i);
	*out = (struct ArrowArray){
		.length = rows,
		.n_buffers = 1,
		.n_children = shape->count,
		.buffers = batch->no_bits,
		.children = batch->child_pointers,
		.release = release,
		.private_data = batch,
	};
}
