// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/kinds.h"
#include "replay/trace/line_table.h"

const char *kymo_event_kind_name(unsigned kind)
{
	static const char *const own[] = {"BRANCH", "MARK", "GAP", "UNKNOWN"};

	/* Recorded for an unknown CPython, where nothing can be rebuilt. */
	if (kind == KYMO_SITE)
		return "SITE";
	return kind < KYMO_KINDS ? kymo_kind_name(kind) : own[kind - KYMO_KINDS];
}

const char *kymo_event_name_role(const struct kymo_event *event)
{
	if (event->kind >= KYMO_CALL && event->kind <= KYMO_C_RAISE)
		return "callable";
	if (event->kind >= KYMO_PY_THROW && event->kind <= KYMO_STOP_ITERATION)
		return "exception";
	return NULL;
}

const char *kymo_loss_text(uint32_t reasons, char text[KYMO_LOSS_TEXT_BYTES])
{
	static const char *const names[] = {
		"full", "stalled", "no-ring", "overwritten", "damaged", "storage", "reader", "discarded",
	};

	text[0] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!(reasons & 1U << i))
			continue;
		if (text[0])
			strcat(text, ",");
		strcat(text, names[i]);
	}
	return text[0] ? text : strcpy(text, "unknown");
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_chunks(const void *left, const void *right)
{
	const struct kymo_index_entry *a = *(struct kymo_index_entry *const *)left;
	const struct kymo_index_entry *b = *(struct kymo_index_entry *const *)right;
	int order = compare_u64(a->process, b->process);

	order = order ? order : compare_u64(a->thread, b->thread);
	order = order ? order : compare_u64(a->first_ordinal, b->first_ordinal);
	order = order ? order : compare_u64(a->open_clock, b->open_clock);
	order = order ? order : compare_u64(a->ring, b->ring);
	order = order ? order : compare_u64(a->seq, b->seq);
	/* Of the frames of one chunk, the sealed one comes first, else the one that was taken last. */
	order = order ? order : compare_u64(!!(a->flags & KYMO_FRAME_PROVISIONAL),
					    !!(b->flags & KYMO_FRAME_PROVISIONAL));
	return order ? order : compare_u64(b->file_offset, a->file_offset);
}

bool kymo_is_same_chunk(const struct kymo_index_entry *a, const struct kymo_index_entry *b)
{
	return a->process == b->process && a->ring == b->ring && a->seq == b->seq &&
	       a->thread == b->thread;
}

static int list_chunks(struct kymo_timeline *timeline)
{
	const struct kymo_trace *trace = &timeline->trace;

	timeline->chunks = calloc(trace->frame_count + 1, sizeof(struct kymo_index_entry *));
	if (!timeline->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < trace->frame_count; i++)
		if (trace->frames[i].kind == KYMO_FRAME_CHUNK && trace->frames[i].process)
			timeline->chunks[timeline->chunk_count++] = &trace->frames[i];
	qsort(timeline->chunks, timeline->chunk_count, sizeof(struct kymo_index_entry *),
	      compare_chunks);
	return 0;
}

static int add_stream(struct kymo_timeline *timeline, struct kymo_traced_process *process,
		      uint32_t number, size_t first_chunk, size_t chunk_count)
{
	int64_t start_ns = 0;

	if (kymo_grow(&timeline->streams, &timeline->stream_capacity, timeline->stream_count + 1,
		      sizeof *timeline->streams))
		return -ENOMEM;
	if (chunk_count)
		start_ns = kymo_clock_ns(&timeline->clock, timeline->chunks[first_chunk]->open_clock);
	timeline->streams[timeline->stream_count++] = (struct kymo_stream){
		.process = process,
		.number = number,
		.thread = kymo_traced_thread(process, number),
		.first_chunk = first_chunk,
		.chunk_count = chunk_count,
		.start_ns = start_ns,
	};
	return 0;
}

static bool has_stream(const struct kymo_timeline *timeline, size_t from, uint32_t number)
{
	for (size_t i = from; i < timeline->stream_count; i++)
		if (timeline->streams[i].number == number)
			return true;
	return false;
}

/* Streams of @process, whose chunks begin at @chunk; returns the chunk after its last. */
static int add_streams(struct kymo_timeline *timeline, struct kymo_traced_process *process,
		       size_t *chunk)
{
	const struct kymo_index_entry **chunks = timeline->chunks;
	size_t first_stream = timeline->stream_count;

	while (*chunk < timeline->chunk_count && chunks[*chunk]->process == process->number) {
		size_t first = *chunk;

		while (*chunk < timeline->chunk_count &&
		       chunks[*chunk]->process == process->number &&
		       chunks[*chunk]->thread == chunks[first]->thread)
			++*chunk;
		if (add_stream(timeline, process, chunks[first]->thread, first, *chunk - first))
			return -ENOMEM;
	}
	/* Threads that lost all their events have no chunk. */
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct kymo_traced_thread *thread = &process->threads[i];

		if (thread->has_ended && thread->last_ordinal &&
		    !has_stream(timeline, first_stream, thread->number) &&
		    add_stream(timeline, process, thread->number, *chunk, 0))
			return -ENOMEM;
	}
	return 0;
}

int kymo_timeline_open(struct kymo_timeline *timeline, const char *path, unsigned flags,
		       struct kymo_error *error)
{
	struct kymo_definitions *definitions = &timeline->definitions;
	size_t chunk = 0;
	int result;

	*timeline = (struct kymo_timeline){.rebuilt_kinds = KYMO_REBUILT_KINDS};
	result = kymo_trace_open(&timeline->trace, path, flags, error);
	if (result)
		return result;
	result = kymo_definitions_load(definitions, &timeline->trace, error);
	if (result)
		goto out;
	kymo_clock_init(&timeline->clock, definitions);
	result = list_chunks(timeline);
	for (size_t i = 0; i < definitions->process_count && !result; i++)
		result = add_streams(timeline, &definitions->processes[i], &chunk);
	if (result)
		kymo_fail(error, result, "out of memory");
out:
	if (result)
		kymo_timeline_close(timeline);
	return result;
}

void kymo_timeline_close(struct kymo_timeline *timeline)
{
	free(timeline->chunks);
	free(timeline->streams);
	kymo_definitions_release(&timeline->definitions);
	kymo_trace_close(&timeline->trace);
	*timeline = (struct kymo_timeline){.trace.fd = -1};
}
