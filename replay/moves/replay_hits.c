// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/replay_hits.h"

#include "replay/moves/replay_walks.h"

struct kymo_moment kymo_before_all(void)
{
	return (struct kymo_moment){.stream = SIZE_MAX, .t_ns = INT64_MIN};
}

struct kymo_moment kymo_after_all(void)
{
	return (struct kymo_moment){.stream = SIZE_MAX, .t_ns = INT64_MAX};
}

typedef int (*find_break)(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now,
			  const struct kymo_moment *until, struct kymo_found_break *found, struct kymo_error *error);

static int find_nearest(struct kymo_replay *replay, const struct kymo_moment *now, find_break find,
			struct kymo_moment *out, struct kymo_error *error)
{
	struct kymo_found_break best = {0}, found;

	for (size_t stream = 0; stream < replay->timeline->stream_count; stream++) {
		int result = find(replay, stream, now, best.hit ? &best.moment : NULL, &found, error);

		if (result < 0)
			return result;
		if (result)
			best = found;
	}
	*out = best.moment;
	return best.hit != NULL;
}

int kymo_replay_hit_after(struct kymo_replay *replay, const struct kymo_moment *now, struct kymo_moment *found,
			  struct kymo_error *error)
{
	return find_nearest(replay, now, kymo_find_break_after, found, error);
}

int kymo_replay_hit_before(struct kymo_replay *replay, const struct kymo_moment *now, struct kymo_moment *found,
			   struct kymo_error *error)
{
	return find_nearest(replay, now, kymo_find_break_before, found, error);
}

/* 1: nothing more is wanted from this thread. */
static int tell_chunk(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk,
		      const struct kymo_hits_asked *asked, struct kymo_error *error)
{
	struct kymo_break_search search = kymo_break_search_begin(replay);
	const struct kymo_timeline *timeline = replay->timeline;
	struct kymo_walker walker;
	bool is_enough = false;
	int result = 0;

	kymo_walk(replay, &walker, chunk);
	while (!is_enough && (result = kymo_walk_next(&walker, chunk, error)) > 0) {
		struct kymo_moment here = kymo_moment_of(timeline, &walker.event);
		const struct kymo_break *hit = kymo_break_hit(replay, &search, &walker, chunk);
		int after_first = kymo_moment_compare(timeline, &here, &asked->first);
		int after_last = kymo_moment_compare(timeline, &here, &asked->last);

		is_enough = after_last > 0 || (!after_last && !asked->with_last);
		if (hit && !is_enough && (after_first > 0 || (!after_first && asked->with_first)))
			is_enough = !asked->on_hit(asked->context, hit, &walker, hit->needs_hits ? hit->counted : 0);
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : is_enough;
}

static int tell_stream(struct kymo_replay *replay, size_t stream, const struct kymo_hits_asked *asked,
		       struct kymo_error *error)
{
	const struct kymo_chunk_summary *end = kymo_end_chunk(replay, stream);
	const struct kymo_chunk_summary *chunk = kymo_moment_chunk(replay->index, stream, &asked->first);
	int result = 0;

	for (chunk = chunk ? chunk : kymo_first_chunk(replay, stream); chunk < end && !result; chunk++)
		if (kymo_breaks_may_hit(&replay->breaks, chunk))
			result = tell_chunk(replay, chunk, asked, error);
	return result < 0 ? result : 0;
}

int kymo_replay_each_hit(struct kymo_replay *replay, const struct kymo_hits_asked *asked, struct kymo_error *error)
{
	int result = 0;

	for (size_t stream = 0; stream < replay->timeline->stream_count && !result; stream++)
		result = tell_stream(replay, stream, asked, error);
	return result;
}
