// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/replay_uncaught.h"

#include <errno.h>
#include <string.h>

#include "replay/moves/replay_walks.h"

/* threading.py catches what leaves this frame's callee, the third frame of the thread, and prints it. */
static bool is_threads_own(const struct kymo_stack_frame *frame)
{
	const struct kymo_content *content = frame->code ? frame->code->content : NULL;

	return content && !strcmp(content->function, "Thread._bootstrap_inner") &&
	       kymo_names_file("threading.py", content->file);
}

/* The interpreter imports these from C when it starts, and expects an ImportError. */
static bool is_of_imports(const struct kymo_stack_frame *frame)
{
	const char *file = frame->code ? frame->code->content->file : "";

	return !strncmp(file, "<frozen importlib", strlen("<frozen importlib")) || !strcmp(file, "<frozen zipimport>");
}

bool kymo_leaves_thread(const struct kymo_walker *walker)
{
	const struct kymo_stack *stack = &walker->stack;

	if (walker->event.kind != KYMO_PY_UNWIND || !stack->count)
		return false;
	return kymo_stack_depth(stack) == 1 ? !is_of_imports(kymo_stack_top(stack))
					    : kymo_stack_depth(stack) == 3 && stack->count > 1 && is_threads_own(&stack->frames[stack->count - 2]);
}

/* An exception named @name is raised for the first time. */
static bool raises(const struct kymo_walker *walker, const void *name)
{
	const struct kymo_event *event = &walker->event;

	return event->kind == KYMO_RAISE && !walker->is_passed_on && event->name && !strcmp(event->name, name);
}

int kymo_find_raise(struct kymo_replay *replay, const struct kymo_chunk_summary **chunk, struct kymo_position limit,
		    const char *name, struct kymo_position *found, struct kymo_error *error)
{
	return kymo_find_last(replay, chunk, limit, raises, name, found, error);
}

static int add_place(struct kymo_replay *replay, struct kymo_break *at, const struct kymo_chunk_summary *chunk,
		     const struct kymo_event *event, struct kymo_error *error)
{
	struct kymo_break_place place = {chunk->stream, kymo_position_of(event)};
	int result = kymo_find_raise(replay, &chunk, place.at, event->name, &place.at, error);

	if (result < 0)
		return result;
	if (at->place_count && at->places[at->place_count - 1].stream == place.stream &&
	    kymo_position_compare(at->places[at->place_count - 1].at, place.at) >= 0)
		return 0; /* raised again as it propagates */
	if (kymo_grow(&at->places, &at->place_capacity, at->place_count + 1, sizeof(place)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	at->places[at->place_count++] = place;
	at->all_hits++;
	return 0;
}

static int find_in_chunk(struct kymo_replay *replay, struct kymo_break *at, const struct kymo_chunk_summary *chunk,
			 struct kymo_error *error)
{
	struct kymo_walker walker;
	int result;

	kymo_walk(replay, &walker, chunk);
	while ((result = kymo_walk_next(&walker, chunk, error)) > 0) {
		const struct kymo_event *event = &walker.event;

		/* Without a type, an exception that ends a thread silently does not count. */
		if (!kymo_leaves_thread(&walker) || !event->name ||
		    kymo_traced_is_type(event->stream->process, event->name_id, *at->name ? at->name : "SystemExit") != (*at->name != 0))
			continue;
		result = add_place(replay, at, chunk, &walker.event, error);
		if (result)
			break;
	}
	kymo_walker_release(&walker);
	return result;
}

struct kymo_break *kymo_replay_break_at_uncaught(struct kymo_replay *replay, const char *type, struct kymo_error *error)
{
	struct kymo_breaks *breaks = &replay->breaks;
	const struct kymo_index *index = replay->index;
	struct kymo_break *at = kymo_break_at_places(breaks, type);
	int result = at ? 0 : kymo_fail(error, -ENOMEM, "out of memory");

	for (size_t i = 0; i < index->chunk_count && !result; i++) {
		if (index->chunks[i].flags & KYMO_SUMMARY_UNWOUND)
			result = find_in_chunk(replay, at, &index->chunks[i], error);
		if (!result)
			result = kymo_check_interrupt(replay, error);
	}
	if (!result) {
		kymo_breaks_update(breaks);
		return at;
	}
	if (at) {
		kymo_break_remove(breaks, at->id);
		breaks->last_id--;
	}
	return NULL;
}
