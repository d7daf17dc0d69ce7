// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/moves/replay_walks.h"

static const struct kymo_position at_end = {UINT64_MAX, 0};

static int stand_at_first(struct kymo_replay *replay, size_t stream, struct kymo_error *error)
{
	struct kymo_walker walker;
	int result;

	kymo_walker_open(&walker, replay->timeline, &replay->timeline->streams[stream], 0, 0);
	result = kymo_walker_next(&walker, error);
	if (result > 0) {
		kymo_stand_with(replay, &walker);
		return 0;
	}
	kymo_walker_release(&walker);
	return result ? result : kymo_fail(error, -ENOENT, "this thread has no events");
}

int kymo_replay_seek(struct kymo_replay *replay, size_t stream, struct kymo_position at, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(replay->index, stream, at.n);
	int result = chunk ? kymo_stand_at_last(replay, chunk, at, kymo_any_event, NULL, error) : 0;

	replay->hit = NULL;
	return result > 0 ? 0 : result < 0 ? result : stand_at_first(replay, stream, error);
}

int kymo_replay_seek_time(struct kymo_replay *replay, size_t stream, int64_t t_ns, struct kymo_error *error)
{
	const struct kymo_moment moment = {.stream = SIZE_MAX, .t_ns = t_ns};
	struct kymo_moment found;
	int result = kymo_moment_of_thread(replay->index, stream, &moment, &found, error);

	if (result < 0)
		return result;
	return kymo_replay_seek(replay, stream, result ? found.at : (struct kymo_position){0}, error);
}

int kymo_replay_switch(struct kymo_replay *replay, size_t stream, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(replay->timeline, &replay->walker.event), then;
	int result = kymo_moment_of_thread(replay->index, stream, &now, &then, error);

	if (result <= 0)
		return result;
	result = kymo_replay_seek(replay, stream, then.at, error);
	return result ? result : 1;
}

int kymo_replay_open(struct kymo_replay *replay, struct kymo_index *index, struct kymo_error *error)
{
	int result;

	*replay = (struct kymo_replay){.timeline = index->timeline, .index = index};
	kymo_breaks_init(&replay->breaks, index);
	if (index->chunk_count)
		result = kymo_replay_seek(replay, index->chunks[0].stream, at_end, error);
	else
		result = kymo_fail(error, -ENODATA, "no events were recorded");
	if (result)
		kymo_replay_close(replay);
	return result;
}

void kymo_replay_close(struct kymo_replay *replay)
{
	if (replay->is_open)
		kymo_walker_release(&replay->walker);
	if (replay->anchored)
		kymo_walker_release(&replay->anchor);
	kymo_breaks_release(&replay->breaks);
	*replay = (struct kymo_replay){0};
}

int kymo_replay_stack(struct kymo_replay *replay, struct kymo_stack *out, struct kymo_error *error)
{
	const struct kymo_stack *known = &replay->walker.stack;
	const struct kymo_chunk_summary *chunk = kymo_this_chunk(replay);
	size_t total = (size_t)kymo_stack_depth(known);

	*out = *known;
	out->frames = NULL;
	out->capacity = 0;
	if (kymo_grow(&out->frames, &out->capacity, total + 1, sizeof(*out->frames)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (known->count)
		memcpy(out->frames + known->hidden, known->frames, known->count * sizeof(*out->frames));
	/* Frames without an event in this chunk did nothing since it began: look for their last events before it. */
	while (out->hidden && (chunk = kymo_find_level(replay, chunk, out->hidden))) {
		struct kymo_stack behind = {0};
		int result = kymo_check_interrupt(replay, error);

		if (!result)
			result = kymo_stack_behind(replay, chunk, 0, &behind, error);
		if (result < 0) {
			kymo_stack_release(&behind);
			kymo_stack_release(out);
			return result;
		}
		if (behind.hidden < out->hidden && kymo_stack_depth(&behind) >= out->hidden) {
			memcpy(out->frames + behind.hidden, behind.frames,
			       (size_t)(out->hidden - behind.hidden) * sizeof(*out->frames));
			out->count += (uint32_t)(out->hidden - behind.hidden);
			out->hidden = behind.hidden;
		}
		kymo_stack_release(&behind);
	}
	if (out->hidden)
		memmove(out->frames, out->frames + out->hidden, out->count * sizeof(*out->frames));
	return 0;
}

int kymo_replay_top(struct kymo_replay *replay, size_t stream, const struct kymo_moment *moment,
		    struct kymo_stack_frame *top, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk;
	const struct kymo_stack_frame *frame;
	struct kymo_moment then;
	struct kymo_walker walker;
	int result = kymo_moment_of_thread(replay->index, stream, moment, &then, error);

	if (result <= 0)
		return result;
	chunk = kymo_index_find(replay->index, stream, then.at.n);
	kymo_walk(replay, &walker, chunk);
	do {
		result = kymo_walker_next(&walker, error);
		if (result > 0 && walker.event.n < then.at.n)
			kymo_walker_skip(&walker, then.at.n);
	} while (result > 0 && kymo_position_compare(kymo_position_of(&walker.event), then.at) < 0);
	frame = kymo_stack_top(&walker.stack);
	if (frame)
		*top = *frame;
	if (result >= 0)
		result = !frame					    ? KYMO_THREAD_UNKNOWN
			 : !kymo_stack_left(&walker.stack) && chunk + 1 == kymo_end_chunk(replay, stream) &&
					 then.at.n == chunk->last_n ? KYMO_THREAD_ENDED
								    : KYMO_THREAD_RUNS;
	kymo_walker_release(&walker);
	return result;
}
