// SPDX-License-Identifier: Apache-2.0
/* Searching for breaks: the index says which chunks may have some, the events say exactly where. */
#include "replay/moves/replay_walks.h"

struct kymo_break_search kymo_break_search_begin(struct kymo_replay *replay)
{
	return (struct kymo_break_search){.number = ++replay->searches};
}

/* How often break number @number of @breaks is hit in @chunk, up to and including @limit. */
static uint64_t count_in_chunk(struct kymo_replay *replay, const struct kymo_breaks *breaks, uint32_t number,
			       const struct kymo_chunk_summary *chunk, struct kymo_position limit)
{
	struct kymo_walker walker;
	uint64_t count = 0;

	kymo_walk(replay, &walker, chunk);
	while (kymo_walk_next(&walker, chunk, NULL) > 0 &&
	       kymo_position_compare(kymo_position_of(&walker.event), limit) <= 0)
		count += kymo_breaks_at(breaks, &walker, number) == &breaks->items[number];
	kymo_walker_release(&walker);
	return count;
}

/* Hits of @at in this thread up to this one: each search sees all hits of a chunk, or all from where it began. */
static uint64_t count_hit(struct kymo_replay *replay, const struct kymo_break_search *search, struct kymo_break *at,
			  const struct kymo_chunk_summary *chunk)
{
	if (at->search_number != search->number || at->counted_chunk != chunk) {
		at->search_number = search->number;
		at->counted_chunk = chunk;
		at->counted = kymo_break_hits_before(&replay->breaks, at, chunk);
		if (chunk == search->from)
			at->counted += count_in_chunk(replay, &replay->breaks, (uint32_t)(at - replay->breaks.items), chunk,
						      search->from_at);
	}
	return ++at->counted;
}

const struct kymo_break *kymo_break_hit(struct kymo_replay *replay, const struct kymo_break_search *search,
					const struct kymo_walker *walker, const struct kymo_chunk_summary *chunk)
{
	const struct kymo_breaks *breaks = &replay->breaks;
	const struct kymo_break *hit = NULL;
	struct kymo_break *at;

	for (uint32_t i = 0; (at = kymo_breaks_at(breaks, walker, i)); i = (uint32_t)(at - breaks->items) + 1) {
		uint64_t hits = at->needs_hits ? count_hit(replay, search, at, chunk) : 0;

		if (!hit && (!at->wants || at->wants(at, walker, hits)))
			hit = at;
	}
	return hit;
}

/* The first or the last break in @chunk after @after and before @before. */
static int find_in_chunk(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk,
			 const struct kymo_moment *after, const struct kymo_moment *before, bool wants_last,
			 struct kymo_found_break *found, struct kymo_error *error)
{
	struct kymo_break_search search = kymo_break_search_begin(replay);
	struct kymo_walker walker;
	int result, is_found = 0;

	kymo_walk(replay, &walker, chunk);
	while ((result = kymo_walk_next(&walker, chunk, error)) > 0) {
		struct kymo_moment here = kymo_moment_of(replay->timeline, &walker.event);
		const struct kymo_break *hit = kymo_break_hit(replay, &search, &walker, chunk);

		/* Each condition may take long. */
		result = kymo_check_interrupt(replay, error);
		if (result)
			break;
		if (before && kymo_moment_compare(replay->timeline, &here, before) >= 0)
			break;
		if (!hit || (after && kymo_moment_compare(replay->timeline, &here, after) <= 0))
			continue;
		*found = (struct kymo_found_break){hit, chunk, here};
		is_found = 1;
		if (!wants_last)
			break;
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : is_found;
}

int kymo_find_break_after(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now,
			  const struct kymo_moment *until, struct kymo_found_break *found, struct kymo_error *error)
{
	const struct kymo_chunk_summary *end = kymo_end_chunk(replay, stream);
	const struct kymo_chunk_summary *chunk = kymo_moment_chunk(replay->index, stream, now);

	for (chunk = chunk ? chunk : kymo_first_chunk(replay, stream); chunk < end; chunk++) {
		struct kymo_moment begin = kymo_chunk_begin(replay->index, chunk);
		int result;

		if (until && kymo_moment_compare(replay->timeline, &begin, until) >= 0)
			break;
		if (!kymo_breaks_may_hit(&replay->breaks, chunk))
			continue;
		result = find_in_chunk(replay, chunk, now, until, false, found, error);
		if (result)
			return result;
	}
	return 0;
}

int kymo_find_break_before(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now,
			   const struct kymo_moment *until, struct kymo_found_break *found, struct kymo_error *error)
{
	const struct kymo_chunk_summary *first = kymo_first_chunk(replay, stream);
	const struct kymo_chunk_summary *chunk = kymo_moment_chunk(replay->index, stream, now);

	for (; chunk && chunk >= first; chunk--) {
		struct kymo_moment begin = kymo_chunk_begin(replay->index, chunk);
		int result = 0;

		if (kymo_breaks_may_hit(&replay->breaks, chunk))
			result = find_in_chunk(replay, chunk, until, now, true, found, error);
		if (result || (until && kymo_moment_compare(replay->timeline, &begin, until) <= 0))
			return result;
	}
	return 0;
}

/* The last chunk of @stream before which there are fewer than @number hits; NULL: the stream has no chunk. */
static const struct kymo_chunk_summary *chunk_of_hit(struct kymo_replay *replay, struct kymo_breaks *breaks,
						     size_t stream, uint64_t number)
{
	const struct kymo_chunk_summary *low = kymo_first_chunk(replay, stream), *high = kymo_end_chunk(replay, stream);

	if (low == high)
		return NULL;
	while (high - low > 1) {
		const struct kymo_chunk_summary *middle = low + (high - low) / 2;

		if (kymo_break_hits_before(breaks, &breaks->items[0], middle) < number)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int kymo_replay_find_hit(struct kymo_replay *replay, struct kymo_breaks *breaks, size_t stream, uint64_t number,
			 struct kymo_moment *found, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = chunk_of_hit(replay, breaks, stream, number);
	struct kymo_walker walker;
	uint64_t hits;
	int result;

	if (!chunk || !number)
		return 0;
	hits = kymo_break_hits_before(breaks, &breaks->items[0], chunk);
	kymo_walk(replay, &walker, chunk);
	while ((result = kymo_walk_next(&walker, chunk, error)) > 0)
		if (kymo_breaks_at(breaks, &walker, 0) && ++hits == number) {
			*found = kymo_moment_of(replay->timeline, &walker.event);
			break;
		}
	kymo_walker_release(&walker);
	return result;
}

uint64_t kymo_replay_count_hits(struct kymo_replay *replay, struct kymo_breaks *breaks, size_t stream)
{
	const struct kymo_chunk_summary *first = kymo_first_chunk(replay, stream), *end = kymo_end_chunk(replay, stream);

	if (first == end)
		return 0;
	return kymo_break_hits_before(breaks, &breaks->items[0], end - 1) +
	       kymo_break_hits_in(breaks, &breaks->items[0], end - 1);
}

uint64_t kymo_replay_hits_up_to(struct kymo_replay *replay, struct kymo_breaks *breaks,
				const struct kymo_moment *moment)
{
	const struct kymo_chunk_summary *chunk = kymo_moment_chunk(replay->index, moment->stream, moment);

	if (!chunk)
		return 0;
	return kymo_break_hits_before(breaks, &breaks->items[0], chunk) +
	       count_in_chunk(replay, breaks, 0, chunk, moment->at);
}
