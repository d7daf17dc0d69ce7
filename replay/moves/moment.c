// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/moment.h"

#include "replay/index/turns.h"
#include "replay/decode/walker.h"

struct kymo_moment kymo_moment_of(const struct kymo_timeline *timeline, const struct kymo_event *event)
{
	return (struct kymo_moment){
		.stream = (size_t)(event->stream - timeline->streams),
		.at = kymo_position_of(event),
		.t_ns = event->t_ns,
		.slice = event->slice,
		.interpreter = event->interpreter,
	};
}

static bool share_gil(const struct kymo_timeline *timeline, const struct kymo_moment *a, const struct kymo_moment *b)
{
	return a->slice && b->slice && a->interpreter == b->interpreter &&
	       timeline->streams[a->stream].process == timeline->streams[b->stream].process;
}

int kymo_moment_compare(const struct kymo_timeline *timeline, const struct kymo_moment *a, const struct kymo_moment *b)
{
	if (a->stream == b->stream)
		return kymo_position_compare(a->at, b->at);
	if (share_gil(timeline, a, b) && a->slice != b->slice)
		return a->slice < b->slice ? -1 : 1;
	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	return a->stream < b->stream ? -1 : 1;
}

struct kymo_moment kymo_chunk_begin(const struct kymo_index *index, const struct kymo_chunk_summary *chunk)
{
	struct kymo_timeline *timeline = index->timeline;
	const struct kymo_stream *stream = &timeline->streams[chunk->stream];
	bool has_turns = !(chunk->flags & KYMO_SUMMARY_MIXED);

	return (struct kymo_moment){
		.stream = chunk->stream,
		.at = {chunk->first_n, 1},
		/* A stream without chunks: its thread lost all its events. */
		.t_ns = stream->chunk_count ? kymo_clock_ns(&timeline->clock,
							    timeline->chunks[stream->first_chunk + chunk->chunk]->open_clock)
					    : stream->start_ns,
		.slice = has_turns ? chunk->first_slice : 0,
		.interpreter = chunk->interpreter,
	};
}

static bool share_process(const struct kymo_timeline *timeline, const struct kymo_chunk_summary *chunk,
			  const struct kymo_moment *moment)
{
	return moment->stream < timeline->stream_count &&
	       timeline->streams[chunk->stream].process == timeline->streams[moment->stream].process;
}

/* The last event of @chunk that does not come after @moment. */
static int find_in_chunk(const struct kymo_index *index, const struct kymo_chunk_summary *chunk,
			 const struct kymo_moment *moment, struct kymo_moment *out, struct kymo_error *error)
{
	struct kymo_timeline *timeline = index->timeline;
	struct kymo_walker walker;
	bool is_found = false;
	uint64_t near = 0; /* events before this one do not come after @moment */
	int result;

	if (moment->slice && share_process(timeline, chunk, moment) && kymo_has_turns(chunk, moment->interpreter)) {
		struct kymo_turn turn;

		result = kymo_turn_after(index, chunk, moment->interpreter, moment->slice, &turn, error);
		if (result < 0)
			return result;
		near = (result ? turn.n : chunk->last_n + 1) - 1;
	}
	kymo_index_walk(index, &walker, chunk);
	while ((result = kymo_walker_next(&walker, error)) > 0) {
		struct kymo_moment here = kymo_moment_of(timeline, &walker.event);

		if (walker.event.n > chunk->last_n || kymo_moment_compare(timeline, &here, moment) > 0)
			break;
		*out = here;
		is_found = true;
		if (walker.event.n < near)
			kymo_walker_skip(&walker, near);
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : is_found;
}

const struct kymo_chunk_summary *kymo_moment_chunk(const struct kymo_index *index, size_t stream,
						   const struct kymo_moment *moment)
{
	size_t first = index->first_chunks[stream], low = first, high = index->first_chunks[stream + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct kymo_moment begin = kymo_chunk_begin(index, &index->chunks[middle]);

		if (kymo_moment_compare(index->timeline, &begin, moment) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > first ? &index->chunks[low - 1] : NULL;
}

int kymo_moment_of_thread(const struct kymo_index *index, size_t stream, const struct kymo_moment *moment,
			  struct kymo_moment *out, struct kymo_error *error)
{
	static const struct kymo_moment end = {.stream = SIZE_MAX, .t_ns = INT64_MAX};
	const struct kymo_chunk_summary *first = index->chunks + index->first_chunks[stream], *chunk;

	if (stream == moment->stream) {
		*out = *moment;
		return 1;
	}
	/* A thread that lost all its events is in its gap all the time, whatever the time of the gap. */
	if (!index->timeline->streams[stream].chunk_count)
		moment = &end;
	chunk = kymo_moment_chunk(index, stream, moment);
	/* If nothing in that chunk is early enough, the one before it. */
	for (; chunk && chunk >= first; chunk--) {
		int result = find_in_chunk(index, chunk, moment, out, error);

		if (result)
			return result;
	}
	return 0;
}
