// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/walker.h"

#include <errno.h>
#include <string.h>

/* LINE events are recorded, or rebuilt. */
static bool has_lines(const struct kymo_timeline *timeline)
{
	const Kymo__Session *session = timeline->definitions.session;

	return !session || !session->config || session->config->flow || session->config->events >> KYMO_LINE & 1;
}

void kymo_walker_open(struct kymo_walker *walker, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		      size_t chunk, size_t lead)
{
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;

	while (chunk && kymo_is_same_chunk(chunks[chunk - 1], chunks[chunk]))
		chunk--;
	*walker = (struct kymo_walker){.first_chunk = chunk, .stack.has_no_lines = !has_lines(timeline)};
	kymo_cursor_init(&walker->cursor, timeline, stream);
	walker->cursor.wants_stacks = true;
	if (lead)
		kymo_cursor_seek_chunk(&walker->cursor, lead < chunk ? lead : chunk);
}

void kymo_walker_release(struct kymo_walker *walker)
{
	kymo_cursor_release(&walker->cursor);
	kymo_stack_release(&walker->stack);
}

int kymo_walker_copy(struct kymo_walker *walker, const struct kymo_walker *from)
{
	*walker = *from;
	walker->stack.frames = NULL;
	walker->stack.capacity = 0;
	if (kymo_cursor_copy(&walker->cursor, &from->cursor))
		return -ENOMEM;
	if (kymo_grow(&walker->stack.frames, &walker->stack.capacity, from->stack.count + 1U,
		      sizeof(*walker->stack.frames))) {
		kymo_cursor_release(&walker->cursor);
		return -ENOMEM;
	}
	if (from->stack.count)
		memcpy(walker->stack.frames, from->stack.frames, from->stack.count * sizeof(*walker->stack.frames));
	walker->event.values.payload = walker->cursor.frame.payload;
	return 0;
}

/* The interpreter raises an exception again in each frame that it reaches; calls from C may lie in between. */
static void follow_exception(struct kymo_walker *walker, unsigned kind, uint64_t name)
{
	walker->is_passed_on = kind == KYMO_RAISE && walker->has_unwound && name == walker->unwound;
	if (kind == KYMO_C_RAISE)
		return;
	walker->is_under_way = true;
	walker->has_unwound = kind == KYMO_PY_UNWIND;
	walker->unwound = name;
}

static bool skip_event(void *context, const struct kymo_skipped *skipped)
{
	struct kymo_walker *walker = context;

	kymo_stack_skip(&walker->stack, walker->cursor.stream, skipped, &walker->cursor.sync);
	if (skipped->kind != KYMO_EVENT_STACK)
		follow_exception(walker, skipped->kind, skipped->name_id);
	return true;
}

struct depth_search {
	struct kymo_walker *walker;
	uint64_t depth;
	uint64_t found;
};

static bool skip_deeper_event(void *context, const struct kymo_skipped *skipped)
{
	struct depth_search *search = context;
	const struct kymo_stack *stack = &search->walker->stack;
	uint64_t before = kymo_stack_left(stack);

	skip_event(search->walker, skipped);
	if (skipped->kind != KYMO_EVENT_STACK && (before <= search->depth || kymo_stack_left(stack) <= search->depth))
		search->found = skipped->n;
	return search->found == UINT64_MAX;
}

uint64_t kymo_walker_find_depth(struct kymo_walker *walker, uint64_t depth)
{
	struct depth_search search = {walker, depth, UINT64_MAX};
	kymo_cursor_skip(&walker->cursor, UINT64_MAX, skip_deeper_event, &search);
	return search.found;
}

void kymo_walker_skip(struct kymo_walker *walker, uint64_t n)
{
	struct kymo_cursor *cursor = &walker->cursor;
	struct kymo_event event;

	/* What is left of the event returned last. */
	while (cursor->has_pending && cursor->pending.n < n && kymo_cursor_next(cursor, &event, NULL) > 0) {
		if (kymo_stack_take(&walker->stack, &event, &cursor->sync))
			return;
		if (event.kind != KYMO_EVENT_STACK)
			follow_exception(walker, event.kind, event.name_id);
	}
	kymo_cursor_skip(cursor, n, skip_event, walker);
}

/*
 * An exception raised where a walk begins may have left a frame in the chunk before, which the walk did not read. This is rare, and
 * worth another walk.
 */
static int find_passed_on(struct kymo_walker *walker, struct kymo_error *error)
{
	const struct kymo_position here = kymo_position_of(&walker->event);
	struct kymo_walker before;
	int result;

	if (!walker->first_chunk)
		return 0;
	kymo_walker_open(&before, walker->cursor.timeline, walker->cursor.stream, walker->first_chunk - 1,
			 walker->first_chunk - 1);
	before.is_under_way = true;
	do {
		result = kymo_walker_next(&before, error);
	} while (result > 0 && kymo_position_compare(kymo_position_of(&before.event), here) < 0);
	walker->is_passed_on = result > 0 && before.is_passed_on;
	kymo_walker_release(&before);
	return result < 0 ? result : 0;
}

int kymo_walker_next(struct kymo_walker *walker, struct kymo_error *error)
{
	struct kymo_event *event = &walker->event;
	const struct kymo_cursor *cursor = &walker->cursor;

	for (;;) {
		int result = kymo_cursor_next(&walker->cursor, event, error);
		/* From the chunks before, only the final state is wanted. */
		bool is_before = cursor->next_chunk <= walker->first_chunk && cursor->stream->chunk_count;
		bool is_first;

		if (result <= 0)
			return result;
		if (kymo_stack_take(&walker->stack, event, &walker->cursor.sync))
			return kymo_fail(error, -ENOMEM, "out of memory");
		if (event->kind == KYMO_EVENT_STACK)
			continue;
		is_first = !walker->is_under_way && event->kind == KYMO_RAISE;
		follow_exception(walker, event->kind, event->name_id);
		if (!is_before) {
			result = is_first ? find_passed_on(walker, error) : 0;
			if (result)
				return result;
			break;
		}
		kymo_cursor_skip(&walker->cursor, UINT64_MAX, walker->is_listed ? NULL : skip_event, walker);
		if (walker->is_listed) {
			walker->stack.count = 0;
			walker->is_under_way = false;
		}
	}
	walker->chunk = cursor->next_chunk ? cursor->next_chunk - 1 : 0;
	return 1;
}
