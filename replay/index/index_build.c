// SPDX-License-Identifier: Apache-2.0
/* Making the index: one pass over the trace. Counted moves become lines at the end of the chunk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace_file.h"
#include "replay/index/index.h"
#include "replay/decode/pass.h"

struct builder {
	struct kymo_index *index;
	struct kymo_chunk_summary chunk;
	bool has_marks; /* in this chunk, not added yet */
	struct kymo_error *error;
};

static uint32_t at_most_u32(uint64_t number)
{
	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static void begin_chunk(struct kymo_pass *pass, const struct kymo_passed_chunk *chunk, const struct kymo_sync *sync)
{
	struct builder *builder = pass->context;

	builder->has_marks = false;
	builder->chunk = (struct kymo_chunk_summary){
		.first_n = chunk->first_n,
		.last_n = chunk->last_n,
		.first_slice = chunk->slice,
		.last_slice = chunk->slice,
		.stream = (uint32_t)chunk->stream,
		.chunk = (uint32_t)chunk->chunk,
		.lowest_depth = UINT32_MAX,
		.interpreter = chunk->interpreter,
		.flags = chunk->is_missing ? KYMO_SUMMARY_MISSING : 0,
		.depth = at_most_u32(sync->depth),
		.hidden = at_most_u32(sync->depth - sync->listed),
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

/* Convert counted moves to lines and calls. */
static void expand_moves(struct builder *builder, struct kymo_counting *counting)
{
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

/* An exception leaves the frame on top; @depth includes it. A thread of threading.py runs its target in its third frame. */
static void note_unwind(struct builder *builder, uint64_t depth)
{
	const struct kymo_stream *stream = &builder->index->timeline->streams[builder->chunk.stream];

	if (depth == 1 || (depth == 3 && stream->number > 1))
		builder->chunk.flags |= KYMO_SUMMARY_UNWOUND;
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

static int count_event(struct kymo_pass *pass, const struct kymo_walker *walker)
{
	struct builder *builder = pass->context;
	const struct kymo_event *event = &walker->event;
	struct kymo_hits *hits = &builder->index->hits;
	struct kymo_content *content = event->code ? event->code->content : NULL;

	if (event->kind == KYMO_PY_UNWIND)
		note_unwind(builder, kymo_stack_depth(&walker->stack));
	builder->chunk.last_n = event->kind == KYMO_EVENT_GAP ? event->n + event->lost - 1 : event->n;
	note_depth(builder, kymo_stack_depth(&walker->stack) - kymo_kind_enters(event->kind));
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

static void count_steps(struct builder *builder, const struct kymo_rebuilt *out)
{
	struct kymo_content *content = out->steps_code ? out->steps_code->content : NULL;

	if (out->is_unknown)
		builder->chunk.flags |= KYMO_SUMMARY_MISSING;
	for (uint32_t i = 0; i < out->step_count && content; i++)
		if (out->steps[i].kind == KYMO_LINE)
			kymo_hits_line(&builder->index->hits, content, out->steps[i].value, 1);
}

/* Count an event, without the lines before it. */
static void count_rebuilt(struct builder *builder, const struct kymo_record *record, const struct kymo_rebuilt *out,
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
	case KYMO_PY_UNWIND:
		note_unwind(builder, depth + 1);
		depth++;
		break;
	case KYMO_PY_RETURN:
	case KYMO_PY_YIELD:
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
	note_depth(builder, depth - kymo_kind_enters(out->kind));
}

static void count_record(struct kymo_pass *pass, const struct kymo_record *record, const struct kymo_rebuilt *rebuilt)
{
	struct builder *builder = pass->context;
	bool is_special = record && record->kind == KYMO_KIND_SPECIAL;

	if (rebuilt)
		count_steps(builder, rebuilt);
	if (rebuilt && rebuilt->kind)
		count_rebuilt(builder, record, rebuilt, kymo_rebuild_depth(pass->rebuild));
	if (is_special && record->extended == KYMO_EXTENDED_MARK) {
		note_depth(builder, kymo_rebuild_depth(pass->rebuild));
		builder->has_marks = true;
	}
	if (record && (record->kind == KYMO_SWITCH || (is_special && record->extended == KYMO_EXTENDED_INTERPRETER)))
		note_slice(builder, pass->slice, pass->interpreter);
}

/* Marks are few: reading them again for their times is affordable. */
static int find_marks(struct builder *builder)
{
	struct kymo_timeline *timeline = builder->index->timeline;
	size_t chunk = builder->chunk.chunk;
	struct kymo_walker walker;
	int result;

	kymo_walker_open(&walker, timeline, &timeline->streams[builder->chunk.stream], chunk, chunk ? chunk - 1 : 0);
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

static int end_chunk(struct kymo_pass *pass)
{
	struct builder *builder = pass->context;
	struct kymo_index *index = builder->index;
	int result = 0;

	if (index->interrupted && *index->interrupted)
		return kymo_fail(builder->error, -EINTR, "interrupted while the index was made; nothing of it is kept");
	note_depth(builder, pass->counting.lowest_depth);
	if (builder->has_marks) {
		result = find_marks(builder);
		if (result)
			return result;
	}
	expand_moves(builder, &pass->counting);
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

int kymo_index_build(struct kymo_index *index, struct kymo_error *error)
{
	static const struct kymo_passing tell = {begin_chunk, end_chunk, count_event, count_record};
	struct builder builder = {.index = index, .error = error};
	struct kymo_pass pass = {.timeline = index->timeline, .tell = &tell, .context = &builder, .error = error};
	int result = kymo_pass_run(&pass);

	kymo_pass_release(&pass);
	return result;
}
