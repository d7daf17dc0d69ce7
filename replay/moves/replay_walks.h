// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a replay's chunks. Only for the files replay*.c.
 */
#ifndef KYMO_REPLAY_MOVES_REPLAY_WALKS_H
#define KYMO_REPLAY_MOVES_REPLAY_WALKS_H

#include "replay/moves/replay.h"

/* True for the events that a search wants. */
typedef bool (*kymo_wanted_event)(const struct kymo_walker *walker, const void *context);
bool kymo_any_event(const struct kymo_walker *walker, const void *context);
bool kymo_stop_event(const struct kymo_walker *walker, const void *context);
bool kymo_outermost_stop_event(const struct kymo_walker *walker, const void *context); /* of a frame without a caller */

/* The chunks of @stream: from the first up to, but not including, the end. */
const struct kymo_chunk_summary *kymo_first_chunk(const struct kymo_replay *replay, size_t stream);
const struct kymo_chunk_summary *kymo_end_chunk(const struct kymo_replay *replay, size_t stream);
/* The chunk in which the replay stands. */
const struct kymo_chunk_summary *kymo_this_chunk(const struct kymo_replay *replay);

/* Open @walker before the first event of @chunk. The caller releases it, or gives it to the replay. */
void kymo_walk(struct kymo_replay *replay, struct kymo_walker *walker, const struct kymo_chunk_summary *chunk);
/* The next event of @chunk, at which @walker was opened. 1; 0: there is no more. */
int kymo_walk_next(struct kymo_walker *walker, const struct kymo_chunk_summary *chunk, struct kymo_error *error);

/* -EINTR if a signal handler wants the move to end, else 0. Call it between chunks: a move that reads only one ends soon. */
KYMO_MUST_CHECK
int kymo_check_interrupt(const struct kymo_replay *replay, struct kymo_error *error);

/* Stand where @walker stands; the replay takes it over. */
void kymo_stand_with(struct kymo_replay *replay, struct kymo_walker *walker);
/* Stand at the event at @at, which is in @chunk. */
KYMO_MUST_CHECK
int kymo_stand_at(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position at,
		  struct kymo_error *error);
/* Stand at the first event of @turn, which is in @chunk. */
struct kymo_turn;
KYMO_MUST_CHECK
int kymo_stand_at_turn(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, const struct kymo_turn *turn,
		       struct kymo_error *error);
/* True for another thread of the process. */
bool kymo_shares_process(const struct kymo_replay *replay, size_t stream, const struct kymo_moment *moment);
/* The last wanted event up to @limit, in @chunk or one before it; @chunk is set to its chunk. 1; 0: there is none. */
KYMO_MUST_CHECK
int kymo_find_last(struct kymo_replay *replay, const struct kymo_chunk_summary **chunk, struct kymo_position limit,
		   kymo_wanted_event wants, const void *context, struct kymo_position *found, struct kymo_error *error);
/* Stand at the last wanted event up to @limit, in @chunk or one before it. 1; 0: there is none. */
KYMO_MUST_CHECK
int kymo_stand_at_last(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_position limit,
		       kymo_wanted_event wants, const void *context, struct kymo_error *error);

/* True if @walker stands where an exception leaves its thread: nothing catches it. */
bool kymo_leaves_thread(const struct kymo_walker *walker);
/* Where an exception named @name was last raised for the first time, up to @limit; as kymo_find_last(). */
KYMO_MUST_CHECK
int kymo_find_raise(struct kymo_replay *replay, const struct kymo_chunk_summary **chunk, struct kymo_position limit,
		    const char *name, struct kymo_position *found, struct kymo_error *error);

/* The last chunk before @chunk in which the frame on @level of the stack may have been on top; NULL: none. */
const struct kymo_chunk_summary *kymo_find_level(const struct kymo_replay *replay,
						 const struct kymo_chunk_summary *chunk, uint64_t level);
/*
 * The stack at the end of @chunk, to @out, which the caller releases. @level: of a frame whose last line is searched for next, so
 * that a place before it is remembered; 0: none.
 */
KYMO_MUST_CHECK
int kymo_stack_behind(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level,
		      struct kymo_stack *out, struct kymo_error *error);

/*
 * A search for breaks. @from: where it began in the middle of a chunk; else NULL.
 */
struct kymo_break_search {
	uint64_t number;
	const struct kymo_chunk_summary *from;
	struct kymo_position from_at;
};

struct kymo_break_search kymo_break_search_begin(struct kymo_replay *replay);
/* The break that is hit, and counts, at the event where @walker stands; NULL: none. */
const struct kymo_break *kymo_break_hit(struct kymo_replay *replay, const struct kymo_break_search *search,
					const struct kymo_walker *walker, const struct kymo_chunk_summary *chunk);

/*
 * The first break of @stream after @now and before @until, or the last one before @now and after @until (NULL: no such limit), to
 * @found, with its chunk in @chunk. 1; 0: there is none.
 */
struct kymo_found_break {
	const struct kymo_break *hit;
	const struct kymo_chunk_summary *chunk;
	struct kymo_moment moment;
};
KYMO_MUST_CHECK
int kymo_find_break_after(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now,
			  const struct kymo_moment *until, struct kymo_found_break *found, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_find_break_before(struct kymo_replay *replay, size_t stream, const struct kymo_moment *now,
			   const struct kymo_moment *until, struct kymo_found_break *found, struct kymo_error *error);

/*
 * Stand where some watch changes: first after this moment and before @until, or last before this moment and after @until (NULL: no
 * such limit). If it is the event of @until, only replay->watched is set. Returns an enum kymo_stop; 0: there is none; or a negative
 * errno.
 */
KYMO_MUST_CHECK
int kymo_find_watched(struct kymo_replay *replay, bool is_forward, const struct kymo_moment *until, struct kymo_error *error);

#endif
