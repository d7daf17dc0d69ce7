// SPDX-License-Identifier: Apache-2.0
/* Moving backwards. A thread can only be read forwards, so each move searches for the last matching event before this one. */
#include <errno.h>

#include "replay/moves/replay_walks.h"
#include "replay/index/turns.h"

static struct kymo_position before(struct kymo_position at)
{
	if (at.k > 1)
		return (struct kymo_position){at.n, at.k - 1};
	return at.k ? (struct kymo_position){at.n - 1, 0} : (struct kymo_position){at.n, UINT32_MAX};
}

/* The last line that ran before @entered, where a frame without a caller began. */
static int find_line_of_other(struct kymo_replay *replay, struct kymo_position entered, struct kymo_position *line,
			      struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(replay->index, kymo_replay_stream(replay), entered.n);

	return kymo_find_last(replay, &chunk, before(entered), kymo_outermost_stop_event, NULL, line,
			      error);
}

/* The line of a frame that is known from the stack only, or of its caller: what ran on @level before @chunk. */
static int find_line_before(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level,
			    struct kymo_position *line, struct kymo_error *error)
{
	struct kymo_position entered = {0};

	while (level && (chunk = kymo_find_level(replay, chunk, level))) {
		struct kymo_stack behind = {0};
		int result = kymo_check_interrupt(replay, error);
		bool is_entered = false;

		if (!result)
			result = kymo_stack_behind(replay, chunk, level, &behind, error);
		*line = (struct kymo_position){0};
		if (result < 0) {
			kymo_stack_release(&behind);
			return result;
		}
		for (; level > behind.hidden && !line->n; level--) {
			const struct kymo_stack_frame *frame = &behind.frames[level - behind.hidden - 1];

			if (level > kymo_stack_depth(&behind))
				continue;
			*line = frame->line_at;
			entered = frame->entered;
			is_entered = frame->entered.n;
			if (!is_entered && !line->n)
				break;
		}
		kymo_stack_release(&behind);
		if (line->n)
			return 1;
	}
	return level || !entered.n ? 0 : find_line_of_other(replay, entered, line, error);
}

/* The line before this one, of the frame on @level, of its caller, or of what ran before that, to @line. 1; 0: there is none. */
static int find_line(struct kymo_replay *replay, uint64_t level, struct kymo_position *line, struct kymo_error *error)
{
	const struct kymo_stack *stack = &replay->walker.stack;
	bool is_at_line = kymo_is_stop(&replay->walker.event) && level == kymo_stack_depth(stack);
	struct kymo_position entered = {0};

	for (; level > stack->hidden; level--) {
		const struct kymo_stack_frame *frame = &stack->frames[level - stack->hidden - 1];

		*line = is_at_line ? frame->before : frame->line_at;
		is_at_line = false;
		if (line->n)
			return 1;
		entered = frame->entered;
		if (!entered.n)
			break;
	}
	if (level)
		return find_line_before(replay, kymo_this_chunk(replay), level, line, error);
	return entered.n ? find_line_of_other(replay, entered, line, error) : 0;
}

static int stand_at_begin(struct kymo_replay *replay, size_t stream, struct kymo_error *error)
{
	int result = kymo_replay_seek(replay, stream, (struct kymo_position){0}, error);

	return result ? result : KYMO_STOP_END;
}

static int stop_here(const struct kymo_replay *replay)
{
	unsigned kind = replay->walker.event.kind;

	return kind == KYMO_EVENT_GAP || kind == KYMO_EVENT_UNKNOWN ? KYMO_STOP_MISSING : KYMO_STOP_MOVED;
}

/* The last break between @until and this moment in the threads from @first up to, but not including, @end. */
static int find_break(struct kymo_replay *replay, size_t first, size_t end, const struct kymo_moment *until,
		      struct kymo_found_break *best, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(replay->timeline, &replay->walker.event);
	struct kymo_found_break found;

	*best = (struct kymo_found_break){0};
	for (size_t stream = first; stream < end; stream++) {
		int result = kymo_find_break_before(replay, stream, &now, best->hit ? &best->moment : until, &found, error);

		if (result < 0)
			return result;
		if (result)
			*best = found;
	}
	return best->hit != NULL;
}

static int stand_at_break(struct kymo_replay *replay, const struct kymo_found_break *found, struct kymo_error *error)
{
	int result = kymo_stand_at(replay, found->chunk, found->moment.at, error);

	replay->hit = found->hit;
	return result ? result : KYMO_STOP_BREAK;
}

/* To the last line of the frame on @level or of its caller; or to a break that was hit after that. */
static int go_to_line(struct kymo_replay *replay, uint64_t level, struct kymo_error *error)
{
	size_t stream = kymo_replay_stream(replay);
	struct kymo_moment until = {.stream = stream};
	struct kymo_found_break found;
	int has_line = find_line(replay, level, &until.at, error);
	int result = has_line < 0 ? has_line : find_break(replay, stream, stream + 1, has_line ? &until : NULL, &found, error);

	if (result < 0)
		return result;
	if (result)
		return stand_at_break(replay, &found, error);
	if (!has_line)
		return stand_at_begin(replay, stream, error);
	result = kymo_replay_seek(replay, stream, until.at, error);
	return result ? result : stop_here(replay);
}

static int go_to_last(struct kymo_replay *replay, kymo_wanted_event wants, struct kymo_error *error)
{
	struct kymo_position limit = before(kymo_position_of(&replay->walker.event));
	const struct kymo_chunk_summary *chunk = kymo_this_chunk(replay);
	size_t stream = kymo_replay_stream(replay);
	int result;

	/* Nothing in the chunk comes before the gap at its beginning. */
	if (replay->walker.event.kind == KYMO_EVENT_GAP && limit.n == chunk->first_n && chunk > kymo_first_chunk(replay, stream))
		chunk--;
	result = kymo_stand_at_last(replay, chunk, limit, wants, NULL, error);
	if (result < 0)
		return result;
	return result ? stop_here(replay) : stand_at_begin(replay, stream, error);
}

static int go_to_break(struct kymo_replay *replay, struct kymo_error *error)
{
	size_t stream = kymo_replay_stream(replay);
	struct kymo_found_break found;
	int result = find_break(replay, 0, replay->timeline->stream_count, NULL, &found, error), watched;

	if (result < 0)
		return result;
	watched = kymo_find_watched(replay, false, result ? &found.moment : NULL, error);
	if (watched)
		return watched;
	return result ? stand_at_break(replay, &found, error) : stand_at_begin(replay, stream, error);
}

/* The last turn of @stream before that of @now, and after @until, to @found. 1; 0: there is none. */
static int find_turn(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now, uint64_t until,
		     uint64_t *found, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_moment_chunk(replay->index, stream, now);
	const struct kymo_chunk_summary *first = kymo_first_chunk(replay, stream);

	for (; chunk && chunk >= first; chunk--) {
		int result = kymo_check_interrupt(replay, error);

		if (!result && until && kymo_has_turns(chunk, now->interpreter) && chunk->last_slice <= until)
			return 0;
		if (!result)
			result = kymo_turn_before(replay->index, chunk, now->interpreter, now->slice, found, error);
		if (result)
			return result;
	}
	return 0;
}

static int go_to_switch(struct kymo_replay *replay, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(replay->timeline, &replay->walker.event), last;
	size_t best_stream = now.stream;
	uint64_t best = 0, found;
	int result;

	if (!now.slice)
		return kymo_fail(error, -ENOTSUP, "which thread ran when is not known here");
	for (size_t stream = 0; stream < replay->timeline->stream_count; stream++) {
		if (!kymo_shares_process(replay, stream, &now))
			continue;
		result = find_turn(replay, stream, &now, best, &found, error);
		if (result < 0)
			return result;
		if (result && found > best) {
			best = found;
			best_stream = stream;
		}
	}
	if (!best)
		return stand_at_begin(replay, now.stream, error);
	result = kymo_moment_of_thread(replay->index, best_stream, &now, &last, error);
	if (result < 0)
		return result;
	result = kymo_replay_seek(replay, best_stream, last.at, error);
	return result ? result : KYMO_STOP_MOVED;
}

int kymo_replay_backward(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error)
{
	uint64_t depth = kymo_stack_depth(&replay->walker.stack);

	replay->hit = NULL;
	replay->watched = NULL;
	switch (go) {
	case KYMO_GO_EVENT:
		return go_to_last(replay, kymo_any_event, error);
	case KYMO_GO_INTO:
		return go_to_last(replay, kymo_stop_event, error);
	case KYMO_GO_OVER:
		return depth ? go_to_line(replay, depth, error) : go_to_last(replay, kymo_stop_event, error);
	case KYMO_GO_OUT:
		return depth ? go_to_line(replay, depth - 1, error) : go_to_last(replay, kymo_stop_event, error);
	case KYMO_GO_CONTINUE:
		return go_to_break(replay, error);
	default:
		return go_to_switch(replay, error);
	}
}
