// SPDX-License-Identifier: Apache-2.0
/* Moving forwards: event by event, except in chunks that the index rules out. */
#include <errno.h>

#include "replay/moves/replay_walks.h"
#include "replay/index/turns.h"

static bool leaves(const struct kymo_event *event)
{
	return event->kind == KYMO_PY_RETURN || event->kind == KYMO_PY_YIELD || event->kind == KYMO_PY_UNWIND;
}

struct goal {
	enum kymo_go go;
	uint64_t depth; /* OVER: of the frames that matter; OUT: of the frame to be left */
};

/* Whether the goal lies at the event that @walker has reached: an enum kymo_stop, or 0. */
static enum kymo_stop reaches(struct goal *goal, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	uint64_t depth = kymo_stack_depth(&walker->stack);
	bool is_missing = event->kind == KYMO_EVENT_GAP || event->kind == KYMO_EVENT_UNKNOWN;
	enum kymo_stop here = is_missing ? KYMO_STOP_MISSING : KYMO_STOP_MOVED;

	switch (goal->go) {
	case KYMO_GO_EVENT:
		return here;
	case KYMO_GO_INTO:
		return kymo_is_stop(event) ? here : 0;
	case KYMO_GO_OVER:
		if (kymo_is_stop(event) && depth <= goal->depth)
			return here;
		/* After the outermost frame comes another. */
		if (leaves(event) && depth <= goal->depth)
			goal->depth = depth > 1 ? depth - 1 : 1;
		return 0;
	case KYMO_GO_OUT:
		return depth < goal->depth || (depth == goal->depth && leaves(event)) ? here : 0;
	default:
		return 0;
	}
}

/* @end: the end of its thread's chunks. */
static bool may_reach(const struct goal *goal, const struct kymo_chunk_summary *chunk,
		      const struct kymo_chunk_summary *end)
{
	if (chunk->flags & KYMO_SUMMARY_MISSING)
		return true;
	if (goal->go == KYMO_GO_OVER)
		return chunk->lowest_depth <= goal->depth;
	/* It is left by an event of its own, or its end is missing. Its caller may have no event before the next call. */
	if (goal->go == KYMO_GO_OUT)
		return chunk->lowest_depth <= goal->depth || chunk + 1 == end || chunk[1].depth < goal->depth;
	return true;
}

/* Continue with the first chunk, from @chunk on, that may contain the goal; NULL: there is none. */
static const struct kymo_chunk_summary *skip(struct kymo_replay *replay, const struct goal *goal,
					     const struct kymo_chunk_summary *chunk)
{
	const struct kymo_chunk_summary *end = kymo_end_chunk(replay, chunk->stream);

	while (chunk < end && !may_reach(goal, chunk, end) && !kymo_breaks_may_hit(&replay->breaks, chunk))
		chunk++;
	return chunk < end ? chunk : NULL;
}

static int stand_at_end(struct kymo_replay *replay, size_t stream, struct kymo_error *error)
{
	int result = kymo_replay_seek(replay, stream, (struct kymo_position){UINT64_MAX, 0}, error);

	return result ? result : KYMO_STOP_END;
}

/* Events to walk through before looking further ahead pays off. */
#define PATIENCE 1024U

/*
 * Pass over long calls, up to the event in this chunk that leaves the last of them. For a step out: up to the event that leaves the
 * frame. For a step over, where lines are rebuilt: up to the frame's next line.
 */
static void pass_over_calls(struct kymo_replay *replay, const struct goal *goal, const struct kymo_chunk_summary *chunk)
{
	bool is_out = goal->go == KYMO_GO_OUT, has_lines = replay->walker.cursor.rebuild && !is_out;
	uint64_t depth = (is_out || has_lines) && goal->depth ? goal->depth - 1 : goal->depth;
	struct kymo_walker ahead;
	uint64_t n;

	if ((goal->go != KYMO_GO_OVER && !is_out) || kymo_stack_left(&replay->walker.stack) <= depth ||
	    kymo_breaks_may_hit(&replay->breaks, chunk) || kymo_walker_copy(&ahead, &replay->walker))
		return;
	n = ahead.cursor.rebuild ? kymo_cursor_find_depth(&ahead.cursor, depth, has_lines ? goal->depth : 0)
				 : kymo_walker_find_depth(&ahead, depth);
	kymo_walker_release(&ahead);
	kymo_walker_skip(&replay->walker, n);
}

/* Within this thread. On failure the position may have changed. */
static int run_along(struct kymo_replay *replay, struct goal goal, struct kymo_error *error)
{
	struct kymo_break_search search = kymo_break_search_begin(replay);
	const struct kymo_chunk_summary *chunk = kymo_this_chunk(replay);
	size_t stream = kymo_replay_stream(replay);

	search.from = chunk;
	search.from_at = kymo_position_of(&replay->walker.event);
	for (uint64_t walked = 1, patience = PATIENCE;; walked++) {
		int result = kymo_walker_next(&replay->walker, error);
		enum kymo_stop reached;

		if (result <= 0) /* also at the end of what was passed over */
			return result ? result : stand_at_end(replay, stream, error);
		if (replay->walker.chunk != chunk->chunk) {
			const struct kymo_chunk_summary *next = skip(replay, &goal, ++chunk);

			result = kymo_check_interrupt(replay, error);
			if (result)
				return result;
			if (!next)
				return stand_at_end(replay, stream, error);
			if (next != chunk) {
				struct kymo_walker walker;

				kymo_walk(replay, &walker, next);
				result = kymo_walker_next(&walker, error);
				kymo_stand_with(replay, &walker);
				if (result <= 0)
					return result ? result : stand_at_end(replay, stream, error);
				chunk = next;
			}
		}
		replay->hit = kymo_break_hit(replay, &search, &replay->walker, chunk);
		reached = reaches(&goal, &replay->walker);
		if (replay->hit)
			return KYMO_STOP_BREAK;
		if (reached)
			return reached;
		if (walked >= patience && !replay->walker.cursor.has_pending) {
			pass_over_calls(replay, &goal, chunk);
			patience = walked + PATIENCE;
		}
	}
}

static int run(struct kymo_replay *replay, struct goal goal, struct kymo_error *error)
{
	struct kymo_position from = kymo_position_of(&replay->walker.event);
	size_t stream = kymo_replay_stream(replay);
	int result = run_along(replay, goal, error);

	/* A second failure changes nothing: the position is the same as before. */
	if (result < 0 && kymo_replay_seek(replay, stream, from, NULL))
		return result;
	return result;
}

/* To the first break after this moment in any thread. */
static int run_on(struct kymo_replay *replay, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(replay->timeline, &replay->walker.event);
	struct kymo_found_break best = {0}, found;
	int result;

	for (size_t stream = 0; stream < replay->timeline->stream_count; stream++) {
		result = kymo_find_break_after(replay, stream, &now, best.hit ? &best.moment : NULL, &found, error);
		if (result < 0)
			return result;
		if (result)
			best = found;
	}
	result = kymo_find_watched(replay, true, best.hit ? &best.moment : NULL, error);
	if (result)
		return result;
	if (!best.hit)
		return stand_at_end(replay, now.stream, error);
	result = kymo_stand_at(replay, best.chunk, best.moment.at, error);
	replay->hit = best.hit;
	return result ? result : KYMO_STOP_BREAK;
}

/* The first turn of @stream after that of @now, and before @until if that is set, to @found, with its chunk in @in. 1; 0: there is none. */
static int find_turn(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now, const struct kymo_turn *until,
		     struct kymo_turn *found, const struct kymo_chunk_summary **in, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_moment_chunk(replay->index, stream, now);
	const struct kymo_chunk_summary *end = kymo_end_chunk(replay, stream);

	for (chunk = chunk ? chunk : kymo_first_chunk(replay, stream); chunk < end; chunk++) {
		int result = kymo_check_interrupt(replay, error);

		if (!result && until && chunk->first_slice >= until->number)
			return 0;
		if (!result)
			result = kymo_turn_after(replay->index, chunk, now->interpreter, now->slice, found, error);
		*in = chunk;
		if (result)
			return result;
	}
	return 0;
}

static int run_to_switch(struct kymo_replay *replay, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(replay->timeline, &replay->walker.event);
	const struct kymo_chunk_summary *chunk = NULL, *in;
	struct kymo_turn best, found;
	int result;

	if (!now.slice)
		return kymo_fail(error, -ENOTSUP, "which thread ran when is not known here");
	for (size_t stream = 0; stream < replay->timeline->stream_count; stream++) {
		if (!kymo_shares_process(replay, stream, &now))
			continue;
		result = find_turn(replay, stream, &now, chunk ? &best : NULL, &found, &in, error);
		if (result < 0)
			return result;
		if (result && (!chunk || found.number < best.number)) {
			best = found;
			chunk = in;
		}
	}
	if (!chunk)
		return stand_at_end(replay, now.stream, error);
	result = kymo_stand_at_turn(replay, chunk, &best, error);
	return result ? result : KYMO_STOP_MOVED;
}

int kymo_replay_forward(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error)
{
	uint64_t depth = kymo_stack_depth(&replay->walker.stack);

	replay->hit = NULL;
	replay->watched = NULL;
	/* If the stack is not known, there is no frame to stay in or to leave. */
	if (!depth && (go == KYMO_GO_OVER || go == KYMO_GO_OUT))
		go = KYMO_GO_INTO;
	switch (go) {
	case KYMO_GO_CONTINUE:
		return run_on(replay, error);
	case KYMO_GO_SWITCH:
		return run_to_switch(replay, error);
	case KYMO_GO_OVER:
		/* The frame on top may be about to be left. */
		if (replay->walker.stack.is_leaving && depth > 1)
			depth--;
		break;
	case KYMO_GO_OUT:
		if (replay->walker.stack.is_leaving)
			depth--;
		break;
	default:
		break;
	}
	return run(replay, (struct goal){go, depth}, error);
}
