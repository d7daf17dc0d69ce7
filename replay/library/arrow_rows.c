// SPDX-License-Identifier: Apache-2.0
#include "replay/library/arrow_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

int kymo_arrow_rows_init(struct kymo_arrow_rows *rows, const struct kymo_arrow_shape *shape, struct kymo_arrow_texts *texts)
{
	struct kymo_arrow_shape all;

	kymo_arrow_shape_parse(&all, NULL);
	*rows = (struct kymo_arrow_rows){
		.shape = shape,
		.texts = texts,
		.unasked = kymo_arrow_batch_new(&all, texts, KYMO_ARROW_ROWS),
		.tasks = calloc(KYMO_ARROW_ROWS, sizeof *rows->tasks),
	};
	return rows->unasked && rows->tasks ? 0 : -ENOMEM;
}

void kymo_arrow_rows_release(struct kymo_arrow_rows *rows)
{
	kymo_arrow_batch_free(rows->batch);
	kymo_arrow_batch_free(rows->unasked);
	free(rows->gaps);
	free(rows->tasks);
}

int kymo_arrow_rows_begin(struct kymo_arrow_rows *rows)
{
	if (!rows->batch)
		rows->batch = kymo_arrow_batch_new(rows->shape, rows->texts, KYMO_ARROW_ROWS);
	if (!rows->batch)
		return -ENOMEM;
	for (unsigned i = 0; i < KYMO_ARROW_COLUMNS; i++)
		rows->columns[i] = rows->batch->columns[i] ? rows->batch->columns[i] : rows->unasked->columns[i];
	rows->count = 0;
	rows->gap_count = 0;
	rows->task_count = 0;
	rows->lacks_turns = false;
	return 0;
}

static void drop_tasks(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to)
{
	uint32_t at = rows->task_count, kept;

	while (at && rows->tasks[at - 1].row >= from)
		at--;
	kept = at;
	for (; at < rows->task_count; at++) {
		if (rows->tasks[at].row < to)
			continue;
		rows->tasks[kept] = rows->tasks[at];
		rows->tasks[kept++].row -= to - from;
	}
	rows->task_count = kept;
}

void kymo_arrow_rows_drop(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to)
{
	for (unsigned i = KYMO_COLUMN_N; i < KYMO_COLUMN_LOST && to < rows->count; i++) {
		size_t width = kymo_arrow_columns[i].width;
		char *column = rows->columns[i];

		memmove(column + from * width, column + to * width, (rows->count - to) * width);
	}
	rows->count -= to - from;
	drop_tasks(rows, from, to);
}

void kymo_arrow_rows_set_time(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to, int64_t low_ns, int64_t high_ns)
{
	int64_t t_ns = low_ns + (high_ns - low_ns) / 2;
	uint64_t t_err_ns = (uint64_t)(high_ns - low_ns + 1) / 2;

	for (uint32_t i = from; i < to; i++)
		rows->t_ns[i] = t_ns;
	for (uint32_t i = from; i < to; i++)
		rows->t_err_ns[i] = t_err_ns;
}

void kymo_arrow_rows_set_turn(struct kymo_arrow_rows *rows, uint32_t from, uint32_t to, uint32_t interpreter, uint64_t turn)
{
	for (uint32_t i = from; i < to; i++)
		rows->interpreter[i] = interpreter;
	for (uint32_t i = from; i < to; i++)
		rows->turn[i] = turn;
	rows->lacks_turns |= !turn && from < to;
}

/* A bit for each of 64 values that is negative. */
static uint64_t find_negative(const int32_t *values)
{
	uint64_t bits = 0;

#ifdef __SSE2__
	for (int i = 0; i < 64; i += 4)
		bits |= (uint64_t)(unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_loadu_si128((const void *)(values + i)))) << i;
#else
	for (int i = 0; i < 64; i++)
		bits |= (uint64_t)(values[i] < 0) << i;
#endif
	return bits;
}

static void zero_negative(int32_t *values)
{
	for (size_t i = 0; i < 64; i++)
		values[i] &= ~(values[i] >> 31);
}

/* Set the validity bits. Null numbers of texts become 0, which is safe to look up. */
static void set_valid(struct kymo_arrow_batch *batch, unsigned column, uint32_t rows)
{
	int32_t *values = batch->columns[column];
	int64_t nulls = 0;

	for (uint32_t i = rows; i % 64; i++)
		values[i] = 0;
	for (size_t at = 0; at < rows; at += 64) {
		uint64_t bits = find_negative(values + at);

		batch->valid[column][at / 64] = ~bits;
		if (!bits)
			continue;
		nulls += ~bits ? __builtin_popcountll(bits) : 64;
		if (kymo_arrow_columns[column].has_texts)
			zero_negative(values + at);
	}
	batch->null_counts[column] = nulls;
}

static void set_valid_turns(struct kymo_arrow_batch *batch, uint32_t rows)
{
	const uint64_t *turns = batch->columns[KYMO_COLUMN_TURN];
	uint64_t *valid = batch->valid[KYMO_COLUMN_TURN];

	memset(valid, 0, (rows + 63) / 64 * 8);
	for (uint32_t i = 0; i < rows; i++) {
		valid[i / 64] |= (uint64_t)!!turns[i] << i % 64;
		batch->null_counts[KYMO_COLUMN_TURN] += !turns[i];
	}
}

/* Begin a column in which only @there rows have a value. False: none has. */
static bool begin_rare(const struct kymo_arrow_rows *rows, struct kymo_arrow_batch *batch, unsigned column, size_t there)
{
	if (!there)
		kymo_arrow_batch_set_null(batch, column, rows->count);
	if (!there || !batch->columns[column])
		return false;
	memset(batch->columns[column], 0, rows->count * kymo_arrow_columns[column].width);
	memset(batch->valid[column], 0, (rows->count + 63) / 64 * 8);
	batch->null_counts[column] = (int64_t)(rows->count - there);
	return true;
}

static void put_rare(struct kymo_arrow_batch *batch, unsigned column, uint32_t row, const void *value)
{
	size_t width = kymo_arrow_columns[column].width;

	memcpy((char *)batch->columns[column] + row * width, value, width);
	batch->valid[column][row / 64] |= UINT64_C(1) << row % 64;
}

static void set_gaps(const struct kymo_arrow_rows *rows, struct kymo_arrow_batch *batch)
{
	bool has_lost = begin_rare(rows, batch, KYMO_COLUMN_LOST, rows->gap_count);
	bool has_reasons = begin_rare(rows, batch, KYMO_COLUMN_LOST_REASONS, rows->gap_count);

	for (size_t i = 0; i < rows->gap_count; i++) {
		if (has_lost)
			put_rare(batch, KYMO_COLUMN_LOST, rows->gaps[i].row, &rows->gaps[i].lost);
		if (has_reasons)
			put_rare(batch, KYMO_COLUMN_LOST_REASONS, rows->gaps[i].row, &rows->gaps[i].reasons);
	}
}

static void set_tasks(const struct kymo_arrow_rows *rows, struct kymo_arrow_batch *batch)
{
	bool has_task = begin_rare(rows, batch, KYMO_COLUMN_TASK, rows->task_count), has_name;
	size_t named = 0;

	for (uint32_t i = 0; i < rows->task_count; i++)
		named += rows->tasks[i].name >= 0;
	has_name = begin_rare(rows, batch, KYMO_COLUMN_TASK_NAME, named);
	for (uint32_t i = 0; i < rows->task_count; i++) {
		if (has_task)
			put_rare(batch, KYMO_COLUMN_TASK, rows->tasks[i].row, &rows->tasks[i].id);
		if (has_name && rows->tasks[i].name >= 0)
			put_rare(batch, KYMO_COLUMN_TASK_NAME, rows->tasks[i].row, &rows->tasks[i].name);
	}
}

/* A few rows of each of many threads must not take the memory of many. */
static struct kymo_arrow_batch *copy_few(struct kymo_arrow_rows *rows)
{
	struct kymo_arrow_batch *batch = kymo_arrow_batch_new(rows->shape, rows->texts, rows->count);

	for (unsigned i = KYMO_COLUMN_N; batch && i < KYMO_COLUMN_LOST; i++)
		if (batch->columns[i])
			memcpy(batch->columns[i], rows->columns[i], rows->count * kymo_arrow_columns[i].width);
	return batch;
}

int kymo_arrow_rows_finish(struct kymo_arrow_rows *rows, struct kymo_arrow_thread *thread, struct ArrowArray *out)
{
	struct kymo_arrow_batch *batch = rows->batch;

	if (rows->count <= KYMO_ARROW_ROWS / 4)
		batch = copy_few(rows);
	else
		rows->batch = NULL;
	if (!batch)
		return -ENOMEM;
	kymo_arrow_batch_set_thread(batch, thread, rows->count);
	for (unsigned column = KYMO_COLUMN_FILE; column <= KYMO_COLUMN_NAME; column++)
		if (batch->columns[column])
			set_valid(batch, column, rows->count);
	if (rows->lacks_turns && batch->columns[KYMO_COLUMN_TURN])
		set_valid_turns(batch, rows->count);
	set_gaps(rows, batch);
	set_tasks(rows, batch);
	kymo_arrow_batch_export(batch, rows->shape, rows->count, out);
	return 0;
}
