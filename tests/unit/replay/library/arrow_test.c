// SPDX-License-Identifier: Apache-2.0
/* What may be released when, in what order, and by whom; a sanitizer tells what is used later or never freed. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "replay/library/arrow.h"
#include "tests/unit/replay/trace_maker.h"

static struct maker maker;
static char error[512];

static struct kymo_frame_header chunk(uint64_t seq, uint32_t thread, uint64_t first, uint64_t last)
{
	return (struct kymo_frame_header){.seq = seq, .thread = thread, .thread_chunk = seq, .first_ordinal = first, .last_ordinal = last};
}

/* Two threads of process 1; the first has events 1 … 3 and, after two that are lost, 6. */
static void make_trace(void)
{
	struct payload first = {.length = 0}, second = {.length = 0}, other = {.length = 0}, names = {.length = 0};
	Kymo__Name name = KYMO__NAME__INIT;

	name.id = 4;
	name.name = "\xff\"\xc3\xa9\xed\xb2\x80'"; /* of which one character is UTF-8 */
	ADD(&names, NAME, name, &name);
	add1(&first, KYMO_PY_START, 7);
	add_line_step(&first, 1);
	add2(&first, KYMO_RAISE, 2, 3);
	add2(&second, KYMO_RAISE, 2, 4); /* in code that is not known */
	add1(&other, KYMO_PY_START, 7);
	make_start(&maker);
	make_frame(&maker,
		   (struct kymo_frame_header){
			   .kind = KYMO_FRAME_META,
			   .process = 1,
			   .seq = maker.length - sizeof(struct kymo_trace_header) - sizeof(struct kymo_frame_header),
		   },
		   names.bytes, names.length);
	make_chunk(&maker, chunk(1, 1, 1, 3), &first);
	make_chunk(&maker, chunk(2, 1, 6, 6), &second);
	make_chunk(&maker, chunk(1, 2, 1, 1), &other);
	make_end(&maker);
	make_file(&maker);
}

static struct ArrowArrayStream open_columns(const char *columns)
{
	struct kymo_arrow_slice slice = {.size = sizeof slice, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .thread = -1, .columns = columns};
	struct ArrowArrayStream stream;

	make_trace();
	cr_assert_eq(kymo_arrow_open(maker.path, &slice, &stream, error, sizeof error), 0, "%s", error);
	unlink(maker.path);
	return stream;
}

static struct ArrowArray next(struct ArrowArrayStream *stream)
{
	struct ArrowArray batch;

	cr_assert_eq(stream->get_next(stream, &batch), 0, "%s", stream->get_last_error(stream));
	return batch;
}

static const char *text(const struct ArrowArray *column, int64_t row)
{
	static char found[64];
	const int32_t *offsets = column->dictionary->buffers[1];
	int32_t number = ((const int32_t *)column->buffers[1])[row];

	snprintf(found, sizeof found, "%.*s", (int)(offsets[number + 1] - offsets[number]),
		 (const char *)column->dictionary->buffers[2] + offsets[number]);
	return found;
}

static bool is_null(const struct ArrowArray *column, int64_t row)
{
	const uint8_t *bits = column->buffers[0];

	return bits && !(bits[row / 8] >> row % 8 & 1);
}

Test(arrow, events_become_rows)
{
	struct ArrowArrayStream stream = open_columns("n,function,line,lost,name");
	struct ArrowArray batch = next(&stream);
	const struct ArrowArray *n = batch.children[0], *function = batch.children[1], *line = batch.children[2],
				*lost = batch.children[3], *name = batch.children[4];

	cr_assert_eq(batch.length, 5);
	cr_assert_eq(batch.n_children, 5);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(((const uint64_t *)n->buffers[1])[i], ((uint64_t[]){1, 2, 3, 4, 6})[i]);
	cr_assert_str_eq(text(function, 0), "C.f");
	cr_assert(is_null(function, 3) && is_null(function, 4));
	cr_assert_eq(function->null_count, 2);
	cr_assert_eq(((const int32_t *)line->buffers[1])[1], 11);
	cr_assert(is_null(line, 3));
	cr_assert_eq(((const uint64_t *)lost->buffers[1])[3], 2);
	cr_assert(is_null(lost, 2) && !is_null(lost, 3));
	cr_assert_eq(lost->null_count, 4);
	cr_assert_str_eq(text(name, 2), "ValueError");
	cr_assert_str_eq(text(name, 4), "\\xff\"\xc3\xa9\\xed\\xb2\\x80'");
	cr_assert_eq(name->null_count, 3);
	batch.release(&batch);
	cr_assert_null(batch.release);
	batch = next(&stream);
	cr_assert_eq(batch.length, 1);
	batch.release(&batch);
	for (int i = 0; i < 2; i++) {
		batch = next(&stream);
		cr_assert_null(batch.release);
	}
	stream.release(&stream);
	cr_assert_null(stream.release);
}

Test(arrow, a_batch_outlives_its_stream_and_a_column_its_batch)
{
	struct ArrowArrayStream stream = open_columns(NULL);
	struct ArrowArray batch = next(&stream), column, dictionary;
	struct ArrowArray *function = batch.children[12];

	stream.release(&stream);
	column = *function;
	function->release = NULL;
	dictionary = *column.dictionary;
	column.dictionary->release = NULL;
	batch.release(&batch);
	cr_assert_eq(((const int32_t *)column.buffers[1])[0], 0);
	column.release(&column);
	cr_assert_eq(memcmp(dictionary.buffers[2], "C.f", 3), 0);
	dictionary.release(&dictionary);
}

Test(arrow, a_schema_outlives_its_stream_and_a_child_its_schema)
{
	struct ArrowArrayStream stream = open_columns(NULL);
	struct ArrowSchema schema, child;

	cr_assert_eq(stream.get_schema(&stream, &schema), 0);
	stream.release(&stream);
	cr_assert_str_eq(schema.format, "+s");
	cr_assert_eq(schema.n_children, 21);
	child = *schema.children[3];
	schema.children[3]->release = NULL;
	schema.release(&schema);
	cr_assert_null(schema.release);
	cr_assert_str_eq(child.name, "thread_name");
	cr_assert_str_eq(child.dictionary->format, "u");
	child.release(&child);
}

Test(arrow, a_stream_may_be_released_at_once_or_half_way)
{
	struct ArrowArrayStream stream = open_columns(NULL);
	struct ArrowArray batch;

	stream.release(&stream);
	stream = open_columns("");
	batch = next(&stream);
	cr_assert_eq(batch.n_children, 0);
	cr_assert_eq(batch.length, 5);
	stream.release(&stream);
	batch.release(&batch);
}

static void *release_batch(void *batch)
{
	((struct ArrowArray *)batch)->release(batch);
	return NULL;
}

Test(arrow, batches_of_one_thread_may_be_released_by_others)
{
	struct ArrowArrayStream stream = open_columns(NULL);
	struct ArrowArray batches[] = {next(&stream), next(&stream)};
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, release_batch, &batches[i]), 0);
	stream.release(&stream);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

Test(arrow, what_cannot_be_opened_leaves_nothing)
{
	struct kymo_arrow_slice slice = {.size = sizeof slice, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .thread = -1};
	struct ArrowArrayStream stream;

	cr_assert_eq(kymo_arrow_open("/nowhere", &slice, &stream, error, sizeof error), -ENOENT);
	cr_assert_null(stream.release);
	cr_assert_str_eq(error, "/nowhere: No such file or directory");
	make_trace();
	for (int i = 0; i < 3; i++) {
		struct kymo_arrow_slice wrong = slice;

		if (i == 0)
			wrong.columns = "n,lime";
		else if (i == 1)
			wrong.kinds = "LIME";
		else
			wrong.thread = 2;
		cr_assert_eq(kymo_arrow_open(maker.path, &wrong, &stream, error, sizeof error), -EINVAL);
		cr_assert_null(stream.release);
	}
	cr_assert_str_eq(error, "no thread 2");
	unlink(maker.path);
}

Test(arrow, threads_are_chosen_by_what_names_them)
{
	struct kymo_arrow_slice slice = {.size = sizeof slice, .from_ns = INT64_MIN, .to_ns = INT64_MAX, .thread = -1};
	static const struct {
		uint64_t process;
		const char *thread;
		int64_t rows;
	} wanted[] = {{100, NULL, 5}, {99, NULL, 0}, {0, "101", 5}, {0, "MainThread", 5}, {0, "2", 1}, {100, "none", 0}};

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct ArrowArrayStream stream;
		struct ArrowArray batch;

		make_trace();
		slice.process = wanted[i].process;
		slice.thread_named = wanted[i].thread;
		cr_assert_eq(kymo_arrow_open(maker.path, &slice, &stream, error, sizeof error), 0, "%s", error);
		unlink(maker.path);
		batch = next(&stream);
		cr_assert_eq(batch.release ? batch.length : 0, wanted[i].rows, "%zu", i);
		if (batch.release)
			batch.release(&batch);
		stream.release(&stream);
	}
}
