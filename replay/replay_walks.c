// SPDX-License-Identifier: Apache-2.0
#include "replay/replay_walks.h"

#include <errno.h>

/* Events: walking through these takes less than passing over a whole chunk. */
#define ANCHOR_REACH 1024U

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

	/* What a stack at the end of a chunk tells has the number of the next event. */
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

/*
 * A walk through @chunk of which nothing before event @from is told, but for the first; that there may be another like it soon
 * is remembered.  Returns as kymo_walk_next().
 */
static int begin_at(struct kymo_replay *replay, struct kymo_walker *walker, const struct kymo_chunk_summary *chunk,
		    uint64_t from, struct kymo_error *error)
{
	int result;

	if (replay->anchored == chunk && replay->anchor_n <= from && from - replay->anchor_n < ANCHOR_REACH &&
	    !kymo_walker_copy(walker, &replay->anchor))
		return kymo_walk_next(walker, chunk, error);
	kymo_walk(replay, walker, chunk);
	result = kymo_walk_next(walker, chunk, error);
	if (result <= 0 || walker->event.n >= from)
		return result;
	kymo_walker_skip(walker, from);
	if (replay->anchored)
		kymo_walker_release(&replay->anchor);
	replay->anchored = kymo_walker_copy(&replay->anchor, walker) ? NULL : chunk;
	replay->anchor_n = from;
	return kymo_walk_next(walker, chunk, error);
}

/* Where to begin to look, so that what is before @n is at hand. */
static uint64_t reach_back(const struct kymo_chunk_summary *chunk, uint64_t n, uint64_t reach)
{
	return n > chunk->first_n && n - chunk->first_n > reach ? n - reach : chunk->first_n;
}

int kymo_stand_at(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position at,
		  struct kymo_error *error)
{
	struct kymo_walker walker;
	int result = begin_at(replay, &walker, chunk, reach_back(chunk, at.n, ANCHOR_REACH / 2), error);

	for (; result > 0; result = kymo_walk_next(&walker, chunk, error)) {
		if (!kymo_position_compare(kymo_position_of(&walker.event), at)) {
			kymo_stand_with(replay, &walker);
			return 0;
		}
		if (walker.event.n < at.n)
			kymo_walker_skip(&walker, at.n);
	}
	kymo_walker_release(&walker);
	return result ? result : kymo_fail(error, -EBADMSG, "the index does not fit the trace; remove it to have it made anew");
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

/* The last event of @chunk from @from up to @limit that is wanted.  1: @found is it; 0: there is none. */
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

/* The same in all of the chunk: it is likely near to the limit. */
static int last_in_chunk(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position limit,
			 kymo_wanted_event wants, const void *context, struct kymo_position *found,
			 struct kymo_error *error)
{
	uint64_t end = limit.n < chunk->last_n ? limit.n : chunk->last_n;

	for (uint64_t reach = ANCHOR_REACH / 2;; reach *= 16) {
		uint64_t from = reach_back(chunk, end, reach);
		int result = last_from(replay, chunk, from, limit, wants, context, found, error);

		/* What was found before the place from which on nothing was passed over need not be the last. */
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

int kymo_stack_behind(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_stack *out,
			struct kymo_error *error)
{
	struct kymo_walker walker;
	int result;

	kymo_walk(replay, &walker, chunk);
	do {
		result = kymo_walker_next(&walker, error);
	} while (result > 0 &&
		  kymo_position_compare(kymo_position_of(&walker.event), (struct kymo_position){chunk->last_n, 0}) < 0);
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
