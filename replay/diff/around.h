// SPDX-License-Identifier: Apache-2.0
/* What a trace contains around a difference, beyond its activation. */
#ifndef KYMO_REPLAY_DIFF_AROUND_H
#define KYMO_REPLAY_DIFF_AROUND_H

#include "replay/index/index.h"
#include "replay/decode/walker.h"

/* A line of a code object; code is NULL where there is none. */
struct kymo_code_line {
	const struct kymo_code *code;
	int64_t line;
};

/* The first line that ran in the call that begins at @at of @stream. */
KYMO_MUST_CHECK
int kymo_find_body(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_code_line *body,
		   struct kymo_error *error);

/*
 * The first and the last line that may have run after the thread's last event, to @lines, if that event comes soon after @at of
 * @stream. 1; 0: nothing is missing there, or the lines are not known; or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_find_end(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_code_line lines[2],
		  struct kymo_error *error);

/* Open @walker at the event at @at of @stream. 1; 0: no such event; a negative errno. The caller releases it. */
KYMO_MUST_CHECK
int kymo_walk_to(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_walker *walker,
		 struct kymo_error *error);

#define KYMO_HANDLER_LINES 3U

/*
 * Where the exception raised at @raise was caught: the first lines of the frame that did not pass it on. Returns how many, 0 if it
 * left the thread or something is missing; or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_find_handler(const struct kymo_index *index, size_t stream, struct kymo_position raise,
		      struct kymo_code_line lines[KYMO_HANDLER_LINES], struct kymo_error *error);

#define KYMO_LOOPS_TOLD 3U

struct kymo_loop_round {
	int64_t line;	/* of the for */
	uint64_t round; /* from 1; 0: not known */
};

/*
 * The for loops around line @line in @frame, in which the event at @at of @stream happens, innermost first, with the round of each;
 * loops that begin in @line are left out. Returns how many, or a negative errno. Needs bytecode, which only `flow` recordings have.
 */
KYMO_MUST_CHECK
int kymo_find_loops(const struct kymo_index *index, size_t stream, struct kymo_position at, int64_t line,
		    const struct kymo_stack_frame *frame, struct kymo_loop_round loops[KYMO_LOOPS_TOLD], struct kymo_error *error);

#endif
