// SPDX-License-Identifier: Apache-2.0
/*
 * Making the index: every event of the trace is decoded once.
 *
 * In a `flow` recording lines are not expanded: what a record leads to is counted as a whole, and becomes lines when the
 * chunk is over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace_file.h"
#include "replay/index.h"
#include "replay/walker.h"

struct builder {
	struct kymo_index *index;
	struct kymo_chunk_summary chunk;
	bool has_chunk;
	struct kymo_counting counting; /* in this chunk */
	struct kymo_error *error;
};

static uint32_t at_most_u32(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static void note_sync(struct builder *builder, const struct kymo_sync *sync)
{
	builder->chunk.depth = at_most_u32(sync->depth);
	builder->chunk.hidden = at_most_u32(sync->depth - sync->listed);
}

static void begin_chunk(struct builder *builder, size_t stream, size_t chunk, uint64_t first_n, uint64_t slice,
			uint32_t interpreter)
{
	builder->has_chunk = true;
	builder->chunk = (struct kymo_chunk_summary){
		.first_n = first_n,
		.last_n = first_n,
		.first_slice = slice,
		.last_slice = slice,
		.stream = (uint32_t)stream,
		.chunk = (uint32_t)chunk,
		.lowest_depth = UINT32_MAX,
		.interpreter = interpreter,
	};
}

static int write_hits(struct builder *builder)
{
	struct kymo_index *index = builder->index;
	const struct kymo_hits *hits = &index->hits;
	size_t done = 0;

	builder->chunk.hits_offset = index->file_bytes;
	builder->chunk.hits_bytes = (uint32_t)hits->byte_count;
	builder->chunk.hits_crc = kymo_crc32c(0, hits->bytes, hits->byte_count);
	while (done < hits->byte_count) {
		ssize_t n = pwrite(index->fd, hits->bytes + done, hits->byte_count - done,
				   (off_t)(index->file_bytes + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	index->file_bytes += done;
	return 0;
}

/* What was counted as moves are lines and calls now. */
static void expand_moves(struct builder *builder)
{
	struct kymo_counting *counting = &builder->counting;
	struct kymo_hits *hits = &builder->index->hits;

	for (size_t i = 0; i < counting->touched_count; i++) {
		const struct kymo_counted_move *touched = &counting->touched[i];
		struct kymo_move *move = &touched->moves->moves[touched->move];

		for (uint32_t step = 0; step < move->count; step++) {
			const struct kymo_step *at = &touched->moves->steps[move->first + step];

			if (at->kind == KYMO_LINE)
				kymo_hits_line(hits, touched->content, at->value, move->hits);
		}
		if (move->kind == KYMO_PY_START)
			kymo_hits_call(hits, touched->content, move->hits);
		move->hits = 0;
	}
	counting->touched_count = 0;
}

static int end_chunk(struct builder *builder)
{
	struct kymo_index *index = builder->index;
	int result = 0;

	if (!builder->has_chunk)
		return 0;
	builder->has_chunk = false;
	expand_moves(builder);
	builder->chunk.lines = index->hits.line_events;
	if (kymo_grow(&index->chunks, &index->chunk_capacity, index->chunk_count + 1, sizeof(*index->chunks)))
		result = -ENOMEM;
	if (!result)
		result = kymo_hits_end_chunk(&index->hits);
	if (!result)
		result = write_hits(builder);
	if (!result)
		index->chunks[index->chunk_count++] = builder->chunk;
	return result == -ENOMEM ? kymo_fail(builder->error, result, "out of memory")
	       : result	    ? kymo_fail(builder->error, result, "cannot write the index: %s", strerror(-result))
			    : 0;
}

static int add_mark(struct builder *builder, uint64_t n, uint64_t text, int64_t t_ns)
{
	struct kymo_index *index = builder->index;

	if (kymo_grow(&index->marks, &index->mark_capacity, index->mark_count + 1, sizeof(*index->marks)))
		return kymo_fail(builder->error, -ENOMEM, "out of memory");
	index->marks[index->mark_count++] = (struct kymo_index_mark){
		.n = n, .text = text, .t_ns = t_ns, .stream = builder->chunk.stream, .chunk = builder->chunk.chunk};
	return 0;
}

static void note_depth(struct builder *builder, uint64_t depth)
{
	if (depth < builder->chunk.lowest_depth)
		builder->chunk.lowest_depth = at_most_u32(depth);
}

static void note_slice(struct builder *builder, uint64_t slice, uint32_t interpreter)
{
	if (interpreter != builder->chunk.interpreter || slice < builder->chunk.last_slice)
		builder->chunk.flags |= KYMO_SUMMARY_MIXED;
	else
		builder->chunk.last_slice = slice;
	if (!builder->chunk.first_slice)
		builder->chunk.first_slice = slice;
}

/*
 * Any stream, event by event.
 */
static int count_event(struct builder *builder, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	struct kymo_hits *hits = &builder->index->hits;
	struct kymo_content *content = event->code ? event->code->content : NULL;

	builder->chunk.last_n = event->kind == KYMO_EVENT_GAP ? event->n + event->lost - 1 : event->n;
	note_depth(builder, kymo_stack_depth(&walker->stack));
	if (event->kind == KYMO_EVENT_GAP || event->kind == KYMO_EVENT_UNKNOWN)
		builder->chunk.flags |= KYMO_SUMMARY_MISSING;
	else
		note_slice(builder, event->slice, event->interpreter);
	if (event->kind == KYMO_LINE && content)
		kymo_hits_line(hits, content, (int64_t)event->line, 1);
	else if ((event->kind == KYMO_PY_START || event->kind == KYMO_PY_START_AT) && content)
		kymo_hits_call(hits, content, 1);
	else if (event->kind == KYMO_RAISE)
		kymo_hits_raise(hits, event->name_id);
	else if (event->kind == KYMO_EVENT_MARK)
		return add_mark(builder, event->n, event->name_id, event->t_ns);
	return 0;
}

/* The chunks of @stream from @first on. */
static int walk(struct builder *builder, size_t stream, size_t first)
{
	struct kymo_timeline *timeline = builder->index->timeline;
	struct kymo_walker walker;
	int result;

	kymo_walker_open(&walker, timeline, &timeline->streams[stream], first, first ? first - 1 : 0);
	while ((result = kymo_walker_next(&walker, builder->error)) > 0) {
		const struct kymo_event *event = &walker.event;

		if (!builder->has_chunk || walker.chunk != builder->chunk.chunk) {
			result = end_chunk(builder);
			if (result)
				break;
			begin_chunk(builder, stream, walker.chunk, event->n, event->slice, event->interpreter);
			note_sync(builder, &walker.cursor.sync);
		}
		result = count_event(builder, &walker);
		if (result)
			break;
	}
	kymo_walker_release(&walker);
	return result ? result : end_chunk(builder);
}

/*
 * Streams of `flow` recordings, all but their last chunk, by records.
 */
static void count_steps(struct builder *builder, const struct kymo_rebuilt *out)
{
	struct kymo_content *content = out->steps_code ? out->steps_code->content : NULL;

	if (out->is_unknown)
		builder->chunk.flags |= KYMO_SUMMARY_MISSING;
	for (uint32_t i = 0; i < out->step_count && content; i++)
		if (out->steps[i].kind == KYMO_LINE)
			kymo_hits_line(&builder->index->hits, content, out->steps[i].value, 1);
}

/* An event, and what is counted of it besides the lines before it. */
static void count_record(struct builder *builder, const struct kymo_record *record, const struct kymo_rebuilt *out,
			 uint64_t depth)
{
	struct kymo_hits *hits = &builder->index->hits;
	struct kymo_content *content = out->code ? out->code->content : NULL;

	switch (out->kind) {
	case KYMO_PY_START:
	case KYMO_PY_START_AT:
		if (content)
			kymo_hits_call(hits, content, 1);
		break;
	case KYMO_PY_RETURN:
	case KYMO_PY_YIELD:
	case KYMO_PY_UNWIND:
		depth++;
		break;
	case KYMO_LINE:
		if (content)
			kymo_hits_line(hits, content, (int64_t)record->a, 1);
		break;
	case KYMO_RAISE:
		kymo_hits_raise(hits, record->b);
		break;
	default:
		break;
	}
	note_depth(builder, depth);
}

static void count_switch(struct builder *builder, const struct kymo_record *record, uint64_t *slice,
			 uint32_t *interpreter)
{
	if (record->kind == KYMO_SWITCH) {
		*slice += record->a;
	} else if (record->kind == KYMO_KIND_SPECIAL && record->extended == KYMO_EXTENDED_INTERPRETER) {
		*interpreter = (uint32_t)record->a;
		*slice = 0;
	} else {
		return;
	}
	note_slice(builder, *slice, *interpreter);
}

static void count_chunk(struct builder *builder, struct kymo_rebuild *rebuild, const struct kymo_frame *frame,
			bool is_next, bool *has_marks)
{
	const uint8_t *payload = frame->payload;
	size_t at = frame->header.sync_bytes, end = frame->header.raw_bytes;
	uint64_t slice = frame->header.switch_base;
	uint32_t interpreter = frame->header.interpreter;
	struct kymo_rebuilt out;
	struct kymo_record record;
	struct kymo_sync sync;

	if (kymo_sync_decode(payload, at, &sync) != KYMO_DECODE_OK)
		sync = (struct kymo_sync){0};
	if (kymo_rebuild_open(rebuild, &sync, is_next, &out))
		count_steps(builder, &out);
	note_sync(builder, &sync);
	builder->counting.lowest_depth = UINT64_MAX;
	for (;;) {
		at += kymo_rebuild_count(rebuild, payload + at, end - at, &builder->counting);
		if (kymo_flow_record_decode(payload + at, end - at, &record) != KYMO_DECODE_OK)
			break;
		if (kymo_rebuild_take(rebuild, &record, payload + at, &out)) {
			count_steps(builder, &out);
			if (out.kind)
				count_record(builder, &record, &out, kymo_rebuild_depth(rebuild));
		}
		if (record.kind == KYMO_KIND_SPECIAL && record.extended == KYMO_EXTENDED_MARK) {
			note_depth(builder, kymo_rebuild_depth(rebuild));
			*has_marks = true;
		}
		count_switch(builder, &record, &slice, &interpreter);
		at += record.bytes;
	}
	note_depth(builder, builder->counting.lowest_depth);
}

/* Marks are few: their times are worth a second look. */
static int find_marks(struct builder *builder, const struct kymo_stream *stream, size_t chunk)
{
	struct kymo_walker walker;
	int result;

	kymo_walker_open(&walker, builder->index->timeline, stream, chunk, chunk ? chunk - 1 : 0);
	while ((result = kymo_walker_next(&walker, builder->error)) > 0 && walker.chunk == chunk) {
		const struct kymo_event *event = &walker.event;

		if (event->kind == KYMO_EVENT_MARK)
			result = add_mark(builder, event->n, event->name_id, event->t_ns);
		if (result < 0)
			break;
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : 0;
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

/* Returns how many chunks were counted, or a negative errno. */
static int count_plain_chunks(struct builder *builder, size_t number, size_t *done)
{
	struct kymo_timeline *timeline = builder->index->timeline;
	const struct kymo_stream *stream = &timeline->streams[number];
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;
	struct kymo_rebuild *rebuild = kymo_rebuild_new(stream->process, timeline->rebuilt_kinds);
	size_t count = plain_chunks(timeline, stream);
	struct kymo_frame frame = {0};
	uint64_t next_n = 1;
	int result = 0;

	/* The last one is followed by what the thread's end tells. */
	for (*done = 0; rebuild && *done + 1 < count && !result; ++*done) {
		const struct kymo_index_entry *entry = chunks[*done];
		bool has_marks = false, is_next = entry->first_ordinal == next_n;

		result = kymo_trace_read(&timeline->trace, entry, &frame, builder->error);
		if (result == -EBADMSG) { /* the rest is for who knows about damage */
			result = 0;
			break;
		}
		if (result)
			break;
		begin_chunk(builder, number, *done, is_next ? entry->first_ordinal : next_n, frame.header.switch_base,
			    frame.header.interpreter);
		builder->chunk.last_n = entry->last_ordinal;
		if (!is_next)
			builder->chunk.flags |= KYMO_SUMMARY_MISSING;
		count_chunk(builder, rebuild, &frame, is_next, &has_marks);
		if (has_marks)
			result = find_marks(builder, stream, *done);
		if (!result)
			result = end_chunk(builder);
		next_n = entry->last_ordinal + 1;
	}
	kymo_frame_release(&frame);
	kymo_rebuild_free(rebuild);
	return result;
}

int kymo_index_build(struct kymo_index *index, struct kymo_error *error)
{
	struct kymo_timeline *timeline = index->timeline;
	bool is_flow = timeline->trace.header.required_features & KYMO_FEATURE_FLOW;
	struct builder builder = {.index = index, .error = error};
	int result = 0;

	for (size_t stream = 0; stream < timeline->stream_count && !result; stream++) {
		size_t done = 0;

		if (is_flow)
			result = count_plain_chunks(&builder, stream, &done);
		if (!result)
			result = walk(&builder, stream, done);
	}
	free(builder.counting.touched);
	return result;
}
