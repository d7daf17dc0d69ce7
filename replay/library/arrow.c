// SPDX-License-Identifier: Apache-2.0
#define KYMO_ARROW_API __attribute__((visibility("default")))
#include "replay/library/arrow.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/library/arrow_records.h"
#include "replay/library/history_private.h"
#include "replay/library/sized.h"
#include "replay/profile/slice.h"

struct stream {
	struct kymo_timeline timeline;
	struct kymo_error error;
	struct kymo_arrow_shape shape;
	struct kymo_arrow_texts *texts;
	struct kymo_arrow_code *codes; /* by kymo_content.number */
	struct kymo_contexts contexts;
	char *test; /* NULL: all */
	bool *is_wanted;	       /* by stream */
	size_t next;		       /* stream, to be opened when the one before has no more */
	struct kymo_arrow_reader reader;
	struct kymo_arrow_thread *thread; /* of the reader; NULL: not needed yet */
	struct kymo_arrow_rows rows;
};

static void close_stream(struct stream *stream)
{
	kymo_arrow_reader_close(&stream->reader);
	kymo_arrow_thread_release(stream->thread);
	kymo_arrow_rows_release(&stream->rows);
	kymo_arrow_texts_release(stream->texts);
	free(stream->codes);
	kymo_contexts_release(&stream->contexts);
	free(stream->test);
	free(stream->is_wanted);
	kymo_timeline_close(&stream->timeline);
	free(stream);
}

/* Arrow's key-value metadata of one pair: counts and lengths in 32 bits of the machine's order.  Returns its bytes. */
static size_t put_metadata(char *out, const char *key, const char *value)
{
	int32_t numbers[] = {1, (int32_t)strlen(key), (int32_t)strlen(value)};
	char *at = out;

	memcpy(at, numbers, 8);
	memcpy(at += 8, key, strlen(key));
	memcpy(at += strlen(key), &numbers[2], 4);
	memcpy(at += 4, value, strlen(value));
	return (size_t)(at - out) + strlen(value);
}

static int get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
	struct stream *stream = self->private_data;
	const Kymo__Session *session = stream->timeline.definitions.session;
	char number[24], metadata[64];
	size_t bytes = 0;

	if (session && session->started_unix_ns) {
		snprintf(number, sizeof number, "%" PRIu64, (uint64_t)session->started_unix_ns);
		bytes = put_metadata(metadata, "started_unix_ns", number);
	}
	if (kymo_arrow_schema(&stream->shape, bytes ? metadata : NULL, bytes, out)) {
		kymo_fail(&stream->error, -ENOMEM, "out of memory");
		return ENOMEM;
	}
	return 0;
}

/* Rows of one thread to stream->rows.  1: there are some; 0: no more at all. */
static int fill(struct stream *stream, struct kymo_error *error)
{
	struct kymo_arrow_reader *reader = &stream->reader;
	int result;

	if (kymo_arrow_rows_begin(&stream->rows))
		return kymo_fail(error, -ENOMEM, "out of memory");
	for (;;) {
		if (!reader->is_open) {
			while (stream->next < stream->timeline.stream_count && !stream->is_wanted[stream->next])
				stream->next++;
			if (stream->next == stream->timeline.stream_count)
				return 0;
			kymo_arrow_reader_open(reader, &stream->timeline.streams[stream->next++]);
		}
		result = kymo_arrow_reader_fill(reader, &stream->rows, error);
		if (result < 0)
			return result;
		if (stream->rows.count)
			return 1;
		kymo_arrow_reader_close(reader);
		kymo_arrow_thread_release(stream->thread);
		stream->thread = NULL;
	}
}

/* The columns that are the same for all rows of the reader's thread, with less room if few rows are left. */
static struct kymo_arrow_thread *thread_of(struct stream *stream)
{
	const struct kymo_stream *of = stream->reader.cursor.stream;
	const char *name = of->thread ? of->thread->name : NULL;
	uint32_t rows = stream->rows.count;

	if (!stream->thread || stream->thread->rows < rows) {
		kymo_arrow_thread_release(stream->thread);
		stream->thread = kymo_arrow_thread_new(rows, (uint32_t)(of - stream->timeline.streams), of->process->pid,
						       of->thread ? of->thread->native_id : 0,
						       kymo_arrow_text_find(stream->texts, KYMO_TEXTS_THREADS, name));
	}
	return stream->thread;
}

static int get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
	struct stream *stream = self->private_data;
	int result = fill(stream, &stream->error);

	*out = (struct ArrowArray){0};
	if (result <= 0)
		return -result;
	if (!thread_of(stream) || kymo_arrow_rows_finish(&stream->rows, stream->thread, out)) {
		kymo_fail(&stream->error, -ENOMEM, "out of memory");
		return ENOMEM;
	}
	return 0;
}

static const char *get_last_error(struct ArrowArrayStream *self)
{
	return ((struct stream *)self->private_data)->error.message;
}

static void release(struct ArrowArrayStream *self)
{
	close_stream(self->private_data);
	self->release = NULL;
}

static bool is_listed(const char *const *files, const char *file)
{
	while (files && *files && strcmp(*files, file))
		files++;
	return !files || *files;
}

static bool wants_content(const struct kymo_arrow_slice *slice, const struct kymo_content *content)
{
	return is_listed(slice->files, content->file) && (!slice->function || !fnmatch(slice->function, content->function, 0));
}

/* Number the contents of code objects, and fill in what their rows share. */
static int list_codes(struct stream *stream, const struct kymo_arrow_slice *slice)
{
	struct kymo_definitions *definitions = &stream->timeline.definitions;
	size_t count = 1, capacity = 0;

	for (size_t i = 0; i < definitions->process_count; i++)
		count += definitions->processes[i].contents.count;
	if (kymo_grow(&stream->codes, &capacity, count, sizeof *stream->codes))
		return -ENOMEM;
	stream->codes[0] = (struct kymo_arrow_code){-1, -1, !slice->function};
	count = 1;
	for (size_t i = 0; i < definitions->process_count; i++) {
		const struct kymo_table *contents = &definitions->processes[i].contents;

		for (size_t k = 0; k < contents->count; k++) {
			struct kymo_content *content = contents->items[k].value;

			content->number = (uint32_t)count;
			stream->codes[count++] = (struct kymo_arrow_code){
				.file = kymo_arrow_text_find(stream->texts, KYMO_TEXTS_FILES, content->file),
				.function = kymo_arrow_text_find(stream->texts, KYMO_TEXTS_FUNCTIONS, content->function),
				.is_wanted = wants_content(slice, content),
			};
		}
	}
	return 0;
}

static int find_test(struct stream *stream, const struct kymo_arrow_slice *slice)
{
	if (!slice->test)
		return 0;
	stream->test = strdup(slice->test);
	if (!stream->test)
		return -ENOMEM;
	stream->reader.contexts = &stream->contexts;
	stream->reader.test = stream->test;
	return kymo_contexts_find_test(&stream->contexts, &stream->timeline, stream->test, &stream->error);
}

static int list_threads(struct stream *stream, const struct kymo_arrow_slice *slice)
{
	size_t count = stream->timeline.stream_count;
	struct kymo_slice wanted = {
		.from_ns = slice->from_ns,
		.to_ns = slice->to_ns,
		.process = slice->process,
		.thread = slice->thread_named,
	};

	if (slice->thread >= 0 && (size_t)slice->thread >= count)
		return kymo_fail(&stream->error, -EINVAL, "no thread %d", (int)slice->thread);
	stream->is_wanted = calloc(count + 1, sizeof *stream->is_wanted);
	if (!stream->is_wanted)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		stream->is_wanted[i] = (slice->thread < 0 || (size_t)slice->thread == i) &&
				       kymo_slice_wants_stream(&wanted, &stream->timeline.streams[i]);
	return 0;
}

static void init_reader(struct stream *stream, const struct kymo_arrow_slice *slice, uint64_t kinds)
{
	struct kymo_arrow_reader *reader = &stream->reader;
	bool has_k = false;

	reader->timeline = &stream->timeline;
	reader->texts = stream->texts;
	reader->codes = stream->codes;
	reader->from_ns = slice->from_ns;
	reader->to_ns = slice->to_ns;
	for (unsigned kind = 1; kind < KYMO_EVENT_KINDS; kind++) {
		const struct kymo_event event = {.kind = kind};
		const char *name = kymo_event_kind_name(kind);

		reader->kinds[kind] = (struct kymo_arrow_kind){
			.is_line = kind == KYMO_LINE ? -1 : 0,
			.has_no_dest = kymo_event_has_dest(&event) ? 0 : -1,
			.event = (uint8_t)kymo_arrow_text_find(stream->texts, KYMO_TEXTS_EVENTS, name),
			.is_wanted = kinds >> kind & 1,
			.has_name = kymo_event_name_role(&event),
		};
	}
	for (uint32_t i = 0; i < stream->shape.count; i++)
		has_k |= stream->shape.columns[i] == KYMO_COLUMN_K;
	/* Unwanted events are not rebuilt, unless the numbering of the others needs them. */
	if (!has_k)
		stream->timeline.rebuilt_kinds &= kinds;
}

/* What stands on the timeline, which is open. */
static int open_stream(struct stream *stream, const struct kymo_arrow_slice *slice)
{
	struct kymo_error *error = &stream->error;
	const char *wrong = kymo_arrow_shape_parse(&stream->shape, slice->columns);
	uint64_t kinds = kymo_history_kinds(slice->kinds);
	int result;

	if (wrong)
		return kymo_fail(error, -EINVAL, "'%.*s': no such column, or named twice", (int)strcspn(wrong, ","), wrong);
	if (!kinds)
		return kymo_fail(error, -EINVAL, "'%s': no such event", slice->kinds);
	stream->texts = kymo_arrow_texts_new(&stream->timeline);
	if (!stream->texts)
		return kymo_fail(error, -ENOMEM, "out of memory");
	result = list_threads(stream, slice);
	if (!result)
		result = find_test(stream, slice);
	if (result == -ENOMEM || (!result && (list_codes(stream, slice) ||
					       kymo_arrow_rows_init(&stream->rows, &stream->shape, stream->texts))))
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (!result)
		init_reader(stream, slice, kinds);
	return result;
}

int kymo_arrow_open(const char *path, const struct kymo_arrow_slice *given, struct ArrowArrayStream *out, char *error,
		    size_t error_bytes)
{
	struct stream *stream = calloc(1, sizeof *stream);
	int result = stream ? kymo_timeline_open(&stream->timeline, path, 0, &stream->error) : -ENOMEM;

	*out = (struct ArrowArrayStream){0};
	if (!result) {
		struct kymo_arrow_slice slice = {0};

		result = kymo_sized_take(&slice, given, sizeof slice, &stream->error);
		if (!result)
			result = open_stream(stream, &slice);
		if (!result) {
			*out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, stream};
			return 0;
		}
	}
	kymo_error_copy(stream ? &stream->error : &(struct kymo_error){"out of memory"}, error, error_bytes);
	if (stream)
		close_stream(stream);
	return result;
}
