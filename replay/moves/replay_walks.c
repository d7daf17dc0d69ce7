// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/replay_walks.h"

#include "replay/index/turns.h"

#include <errno.h>

/* Number of events that are walked through faster than a whole chunk is passed over. */
#define ANCHOR_REACH 1024U
/* Events between two places that a walk through a chunk may return to: passing over this many takes longer than a copy. */
#define PLACE_STRIDE 8192U

const struct kymo_chunk_summary *kymo_first_chunk(const struct kymo_replay *replay, size_t stream)
{
	return replay->index->chunks + replay->index->first_chunks[stream];
}

const struct kymo_chunk_summary *kymo_end_chunk(const struct kymo_replay *replay, size_t stream)
{
	return replay->index->chunks + replay->index->first_chunks[stream + 1];
}

const struct kymo_chunk_summary *kymo_this_chunk(const struct kymo_replay *replay)
{
	const struct kymo_event *event = &replay->walker.event;
	const struct kymo_chunk_summary *chunk = kymo_index_find(replay->index, kymo_replay_stream(replay), event->n);

	/* A stack at the end of a chunk has the number of the next event. */
	while (chunk > kymo_first_chunk(replay, chunk->stream) && chunk->chunk > replay->walker.chunk)
		chunk--;
	return chunk;
}

void kymo_walk(struct kymo_replay *replay, struct kymo_walker *walker, const struct kymo_chunk_summary *chunk)
{
	kymo_index_walk(replay->index, walker, chunk);
}

int kymo_walk_next(struct kymo_walker *walker, const struct kymo_chunk_summary *chunk, struct kymo_error *error)
{
	int result = kymo_walker_next(walker, error);

	return result > 0 && walker->chunk != chunk->chunk ? 0 : result;
}

int kymo_check_interrupt(const struct kymo_replay *replay, struct kymo_error *error)
{
	return replay->interrupted && *replay->interrupted ? kymo_fail(error, -EINTR, "interrupted") : 0;
}

void kymo_stand_with(struct kymo_replay *replay, struct kymo_walker *walker)
{
	if (replay->is_open)
		kymo_walker_release(&replay->walker);
	replay->walker = *walker;
	replay->is_open = true;
}

/* The replay takes over @walker, which stands before event @n of @chunk: the next search may begin there. */
static void set_anchor(struct kymo_replay *replay, const struct kymo_walker *walker, const struct kymo_chunk_summary *chunk,
		       uint64_t n)
{
	if (replay->anchored)
		kymo_walker_release(&replay->anchor);
	replay->anchor = *walker;
	replay->anchored = chunk;
	replay->anchor_n = n;
}

/*
 * Open a walk through @chunk, pass over what lies before event @from, and take the next event. Keeps a copy there, because a similar
 * walk may follow soon. Returns as kymo_walk_next().
 */
static int begin_at(struct kymo_replay *replay, struct kymo_walker *walker, const struct kymo_chunk_summary *chunk,
		    uint64_t from, struct kymo_error *error)
{
	bool is_anchored = replay->anchored == chunk && replay->anchor_n <= from && !kymo_walker_copy(walker, &replay->anchor);
	struct kymo_walker anchor;
	int result;

	if (!is_anchored)
		kymo_walk(replay, walker, chunk);
	result = kymo_walk_next(walker, chunk, error);
	if (result <= 0 || walker->event.n >= from || (is_anchored && from - replay->anchor_n < ANCHOR_REACH))
		return result;
	kymo_walker_skip(walker, from);
	if (!kymo_walker_copy(&anchor, walker))
		set_anchor(replay, &anchor, chunk, from);
	return kymo_walk_next(walker, chunk, error);
}

/* Where to begin a search so that it covers what comes before @n; if there is an anchor, a little less is enough. */
static uint64_t reach_back(const struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t n, uint64_t reach)
{
	uint64_t from = n > chunk->first_n && n - chunk->first_n > reach ? n - reach : chunk->first_n;
	bool is_between = replay->anchored == chunk && from < replay->anchor_n && replay->anchor_n <= n;

	/* Not for the chunk's first event: searches backwards stop there. */
	return is_between && from > chunk->first_n && replay->anchor_n - from < ANCHOR_REACH / 2 ? replay->anchor_n : from;
}

/* Stand at the first event of @chunk, from @at on, that belongs to the GIL's turn @slice or a later one. */
static int stand_at(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position at,
		    uint64_t slice, struct kymo_error *error)
{
	struct kymo_walker walker;
	int result = begin_at(replay, &walker, chunk, reach_back(replay, chunk, at.n, ANCHOR_REACH / 2), error);

	for (; result > 0; result = kymo_walk_next(&walker, chunk, error)) {
		if (kymo_position_compare(kymo_position_of(&walker.event), at) >= 0 && walker.event.slice >= slice) {
			kymo_stand_with(replay, &walker);
			return 0;
		}
		if (walker.event.n < at.n)
			kymo_walker_skip(&walker, at.n);
	}
	kymo_walker_release(&walker);
	return result ? result : kymo_fail(error, -EBADMSG, "the index does not fit the trace; remove it to have it made anew");
}

int kymo_stand_at(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position at,
		  struct kymo_error *error)
{
	return stand_at(replay, chunk, at, 0, error);
}

int kymo_stand_at_turn(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, const struct kymo_turn *turn,
		       struct kymo_error *error)
{
	return stand_at(replay, chunk, (struct kymo_position){turn->n, 1}, turn->number, error);
}

bool kymo_shares_process(const struct kymo_replay *replay, size_t stream, const struct kymo_moment *moment)
{
	const struct kymo_stream *streams = replay->timeline->streams;

	return stream != moment->stream && streams[stream].process == streams[moment->stream].process;
}

bool kymo_any_event(const struct kymo_walker *walker, const void *context)
{
	(void)walker, (void)context;
	return true;
}

bool kymo_stop_event(const struct kymo_walker *walker, const void *context)
{
	(void)context;
	return kymo_is_stop(&walker->event);
}

bool kymo_outermost_stop_event(const struct kymo_walker *walker, const void *context)
{
	(void)context;
	return kymo_is_stop(&walker->event) && kymo_stack_depth(&walker->stack) <= 1;
}

static bool may_have(const struct kymo_chunk_summary *chunk, kymo_wanted_event wants)
{
	if (chunk->flags & KYMO_SUMMARY_MISSING || (wants != kymo_stop_event && wants != kymo_outermost_stop_event))
		return true;
	return chunk->lines && (wants == kymo_stop_event || chunk->lowest_depth <= 1);
}

/* The last wanted event of @chunk from @from up to @limit, to @found. 1; 0: there is none. */
static int last_from(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t from,
		     struct kymo_position limit, kymo_wanted_event wants, const void *context,
		     struct kymo_position *found, struct kymo_error *error)
{
	struct kymo_walker walker;
	bool is_found = false;
	int result = begin_at(replay, &walker, chunk, from, error);

	for (; result > 0; result = kymo_walk_next(&walker, chunk, error)) {
		struct kymo_position at = kymo_position_of(&walker.event);

		if (kymo_position_compare(at, limit) > 0)
			break;
		if (wants(&walker, context)) {
			*found = at;
			is_found = true;
		}
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : is_found;
}

/* The same in all of the chunk: it is probably near the limit. */
static int last_in_chunk(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position limit,
			 kymo_wanted_event wants, const void *context, struct kymo_position *found,
			 struct kymo_error *error)
{
	uint64_t end = limit.n < chunk->last_n ? limit.n : chunk->last_n;

	for (uint64_t reach = ANCHOR_REACH / 2;; reach *= 16) {
		uint64_t from = reach_back(replay, chunk, end, reach);
		int result = last_from(replay, chunk, from, limit, wants, context, found, error);

		/* What was found where events were passed over may not be the last. */
		if (result < 0 || (result && found->n >= from) || from == chunk->first_n)
			return result;
	}
}

int kymo_find_last(struct kymo_replay *replay, const struct kymo_chunk_summary **chunk, struct kymo_position limit,
		   kymo_wanted_event wants, const void *context, struct kymo_position *found, struct kymo_error *error)
{
	const struct kymo_chunk_summary *first = kymo_first_chunk(replay, (*chunk)->stream);
	int result = 0;

	for (; *chunk >= first && !result; --*chunk) {
		if (may_have(*chunk, wants))
			result = last_in_chunk(replay, *chunk, limit, wants, context, found, error);
		if (!result)
			result = kymo_check_interrupt(replay, error);
	}
	++*chunk;
	return result;
}

int kymo_stand_at_last(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position limit,
		       kymo_wanted_event wants, const void *context, struct kymo_error *error)
{
	struct kymo_position found;
	int result = kymo_find_last(replay, &chunk, limit, wants, context, &found, error);

	if (result <= 0)
		return result;
	result = kymo_stand_at(replay, chunk, found, error);
	return result ? result : 1;
}

const struct kymo_chunk_summary *kymo_find_level(const struct kymo_replay *replay,
						   const struct kymo_chunk_summary *chunk, uint64_t level)
{
	const struct kymo_chunk_summary *first = kymo_first_chunk(replay, chunk->stream);

	while (chunk > first) {
		chunk--;
		if (chunk->lowest_depth <= level || chunk->flags & KYMO_SUMMARY_MISSING)
			return chunk;
	}
	return NULL;
}

/* A place on the way through a chunk; n is 0: none. */
struct place {
	struct kymo_walker walker;
	uint64_t n; /* it stands before this event */
};

/* Let searches begin at @place if the last line of the frame on @level of @stack is behind it. Clears @place. */
static void leave_place(struct kymo_replay *replay, struct place *place, const struct kymo_chunk_summary *chunk,
			const struct kymo_stack *stack, uint64_t level)
{
	const struct kymo_stack_frame *frame = NULL;

	if (level > stack->hidden && level <= kymo_stack_depth(stack))
		frame = &stack->frames[level - stack->hidden - 1];
	if (place->n && frame && frame->line_at.n >= place->n)
		set_anchor(replay, &place->walker, chunk, place->n);
	else if (place->n)
		kymo_walker_release(&place->walker);
	place->n = 0;
}

int kymo_stack_behind(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level,
		      struct kymo_stack *out, struct kymo_error *error)
{
	uint64_t end = chunk->last_n, to = level ? chunk->first_n : end;
	struct place place = {.n = 0};
	struct kymo_walker walker;
	int result;

	kymo_walk(replay, &walker, chunk);
	do {
		bool is_new;

		result = kymo_walker_next(&walker, error);
		if (result <= 0)
			break;
		is_new = to < end && walker.event.n >= to;
		if (is_new)
			to = end - to > PLACE_STRIDE ? to + PLACE_STRIDE : end;
		kymo_walker_skip(&walker, to);
		if (is_new && to < end) {
			leave_place(replay, &place, chunk, &walker.stack, level);
			place.n = kymo_walker_copy(&place.walker, &walker) ? 0 : to;
		}
	} while (kymo_position_compare(kymo_position_of(&walker.event), (struct kymo_position){end, 0}) < 0);
	leave_place(replay, &place, chunk, &walker.stack, level);
	*out = walker.stack;
	walker.stack = (struct kymo_stack){0};
	kymo_walker_release(&walker);
	if (result >= 0 && out->is_leaving) {
		if (out->count)
			out->count--;
		else if (out->hidden)
			out->hidden--;
		out->is_leaving = false;
	}
	return result < 0 ? result : 0;
}
