// SPDX-License-Identifier: Apache-2.0
#include "replay/walker.h"

#include <errno.h>

/* LINE events are recorded, or rebuilt. */
static bool has_lines(const struct kymo_timeline *timeline)
{
	const Kymo__Session *session = timeline->definitions.session;

	return !session || !session->config || session->config->flow || session->config->events >> KYMO_LINE & 1;
}

void kymo_walker_open(struct kymo_walker *walker, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		      size_t chunk)
{
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;

	while (chunk && kymo_is_same_chunk(chunks[chunk - 1], chunks[chunk]))
		chunk--;
	*walker = (struct kymo_walker){.first_chunk = chunk, .stack.has_no_lines = !has_lines(timeline)};
	kymo_cursor_init(&walker->cursor, timeline, stream);
	walker->cursor.wants_stacks = true;
	if (chunk > 1)
		kymo_cursor_seek_chunk(&walker->cursor, chunk - 1);
}

void kymo_walker_release(struct kymo_walker *walker)
{
	kymo_cursor_release(&walker->cursor);
	kymo_stack_release(&walker->stack);
}

/* The interpreter raises an exception anew in each frame that it comes to; calls from C may lie in between. */
static void follow_exception(struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;

	walker->is_passed_on = event->kind == KYMO_RAISE && walker->has_unwound && event->name_id == walker->unwound;
	if (event->kind == KYMO_C_RAISE)
		return;
	walker->has_unwound = event->kind == KYMO_PY_UNWIND;
	walker->unwound = event->name_id;
}

int kymo_walker_next(struct kymo_walker *walker, struct kymo_error *error)
{
	struct kymo_event *event = &walker->event;
	const struct kymo_cursor *cursor = &walker->cursor;

	do {
		int result = kymo_cursor_next(&walker->cursor, event, error);

		if (result <= 0)
			return result;
		if (kymo_stack_take(&walker->stack, event, &walker->cursor.sync))
			return kymo_fail(error, -ENOMEM, "out of memory");
		if (event->kind != KYMO_EVENT_STACK)
			follow_exception(walker);
	} while (event->kind == KYMO_EVENT_STACK ||
		 (cursor->next_chunk <= walker->first_chunk && cursor->stream->chunk_count));
	walker->chunk = cursor->next_chunk ? cursor->next_chunk - 1 : 0;
	return 1;
}
