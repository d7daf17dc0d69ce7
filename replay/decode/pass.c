// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/pass.h"

#include <errno.h>
#include <stdlib.h>

static void begin_chunk(struct kymo_pass *pass, const struct kymo_passed_chunk *chunk, const struct kymo_sync *sync)
{
	pass->is_damaged = false;
	pass->counting.lowest_depth = UINT64_MAX;
	pass->tell->begin_chunk(pass, chunk, sync);
}

/* The chunks of a stream from @first on, event by event. */
static int walk(struct kymo_pass *pass, size_t stream, size_t first)
{
	struct kymo_walker walker;
	bool has_chunk = false;
	size_t chunk = 0;
	int result;

	kymo_walker_open(&walker, pass->timeline, &pass->timeline->streams[stream], first, first ? first - 1 : 0);
	while ((result = kymo_walker_next(&walker, pass->error)) > 0) {
		const struct kymo_event *event = &walker.event;

		if (!has_chunk || walker.chunk != chunk) {
			result = has_chunk ? pass->tell->end_chunk(pass) : 0;
			if (result)
				break;
			has_chunk = true;
			chunk = walker.chunk;
			begin_chunk(pass, &(struct kymo_passed_chunk){
				.stream = stream,
				.chunk = chunk,
				.first_n = event->n,
				.last_n = event->n,
				.slice = event->slice,
				.t_ns = event->t_ns - (int64_t)event->t_err_ns,
				.interpreter = event->interpreter,
			}, &walker.cursor.sync);
		}
		result = pass->tell->event(pass, &walker);
		if (result)
			break;
	}
	if (!result && has_chunk)
		result = pass->tell->end_chunk(pass);
	kymo_walker_release(&walker);
	return result;
}

/*
 * Streams of `flow` recordings, all but their last chunk, by records.
 */
static void take_record(struct kymo_pass *pass, const struct kymo_record *record)
{
	if (record->kind == KYMO_SWITCH) {
		pass->slice += record->a;
	} else if (record->kind == KYMO_TIME) {
		pass->clock += record->a;
	} else if (record->kind == KYMO_KIND_SPECIAL && record->extended == KYMO_EXTENDED_INTERPRETER) {
		pass->interpreter = (uint32_t)record->a;
		pass->slice = 0;
	}
}

static void pass_records(struct kymo_pass *pass, struct kymo_rebuild *rebuild, const struct kymo_frame *frame, size_t at)
{
	const uint8_t *payload = frame->payload;
	size_t end = frame->header.raw_bytes;
	struct kymo_rebuilt out;
	struct kymo_record record;

	for (;;) {
		enum kymo_decode state;
		bool is_event;

		at += kymo_rebuild_count(rebuild, payload + at, end - at, &pass->counting);
		state = kymo_flow_record_decode(payload + at, end - at, &record);
		if (state != KYMO_DECODE_OK) {
			pass->is_damaged = state != KYMO_DECODE_END;
			break;
		}
		is_event = kymo_rebuild_take(rebuild, &record, payload + at, &out);
		take_record(pass, &record);
		pass->tell->record(pass, &record, is_event ? &out : NULL);
		at += record.bytes;
	}
}

static void pass_chunk(struct kymo_pass *pass, struct kymo_rebuild *rebuild, const struct kymo_frame *frame,
		       const struct kymo_passed_chunk *chunk)
{
	struct kymo_rebuilt out;
	struct kymo_sync sync;
	bool has_steps;

	pass->rebuild = rebuild;
	pass->slice = frame->header.switch_base;
	pass->clock = frame->header.open_clock;
	pass->interpreter = frame->header.interpreter;
	if (kymo_sync_decode(frame->payload, frame->header.sync_bytes, &sync) != KYMO_DECODE_OK)
		sync = (struct kymo_sync){0};
	has_steps = kymo_rebuild_open(rebuild, &sync, !chunk->is_missing, &out);
	begin_chunk(pass, chunk, &sync);
	if (has_steps)
		pass->tell->record(pass, NULL, &out);
	pass_records(pass, rebuild, frame, frame->header.sync_bytes);
}

/* The number of @stream's chunks, from the first on, that are whole and follow each other without a copy. */
static size_t plain_chunks(const struct kymo_timeline *timeline, const struct kymo_stream *stream)
{
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;
	size_t count = 0;

	while (count < stream->chunk_count && chunks[count]->last_ordinal &&
	       (!count || (!kymo_is_same_chunk(chunks[count - 1], chunks[count]) &&
			   chunks[count - 1]->last_ordinal < chunks[count]->first_ordinal)))
		count++;
	return count;
}

/* The number of chunks goes to @done. */
static int pass_plain_chunks(struct kymo_pass *pass, size_t number, size_t *done)
{
	struct kymo_timeline *timeline = pass->timeline;
	const struct kymo_stream *stream = &timeline->streams[number];
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;
	struct kymo_rebuild *rebuild = kymo_rebuild_new(stream->process, timeline->rebuilt_kinds);
	size_t count = plain_chunks(timeline, stream);
	struct kymo_frame frame = {0};
	uint64_t next_n = 1;
	int result = 0;

	/* The last chunk is followed by the thread's end. */
	for (*done = 0; rebuild && *done + 1 < count && !result; ++*done) {
		const struct kymo_index_entry *entry = chunks[*done];
		bool is_next = entry->first_ordinal == next_n;

		result = kymo_trace_read(&timeline->trace, entry, &frame, pass->error);
		if (result == -EBADMSG) { /* the rest is left to code that handles damage */
			result = 0;
			break;
		}
		if (result)
			break;
		pass_chunk(pass, rebuild, &frame, &(struct kymo_passed_chunk){
			.stream = number,
			.chunk = *done,
			.first_n = is_next ? entry->first_ordinal : next_n,
			.last_n = entry->last_ordinal,
			.slice = frame.header.switch_base,
			.t_ns = kymo_clock_ns(&timeline->clock, entry->open_clock),
			.interpreter = frame.header.interpreter,
			.is_missing = !is_next,
		});
		result = pass->tell->end_chunk(pass);
		next_n = entry->last_ordinal + 1;
	}
	kymo_frame_release(&frame);
	kymo_rebuild_free(rebuild);
	pass->rebuild = NULL;
	return result;
}

int kymo_pass_run(struct kymo_pass *pass)
{
	struct kymo_timeline *timeline = pass->timeline;
	bool is_flow = timeline->trace.header.required_features & KYMO_FEATURE_FLOW;
	int result = 0;

	for (size_t stream = 0; stream < timeline->stream_count && !result; stream++) {
		size_t done = 0;

		if (is_flow)
			result = pass_plain_chunks(pass, stream, &done);
		if (!result)
			result = walk(pass, stream, done);
	}
	return result;
}

void kymo_pass_release(struct kymo_pass *pass)
{
	free(pass->counting.touched);
	pass->counting = (struct kymo_counting){0};
}
