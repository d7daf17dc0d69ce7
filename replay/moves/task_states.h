// SPDX-License-Identifier: Apache-2.0
/*
 * The asyncio tasks of one thread at a moment: which one runs, and where the others wait or how they ended.
 *
 * A task's step begins where one of its coroutines is entered, and ends where the outermost of those entered is left.
 */
#ifndef KYMO_REPLAY_MOVES_TASK_STATES_H
#define KYMO_REPLAY_MOVES_TASK_STATES_H

#include <signal.h>

#include "replay/decode/stack.h"

#define KYMO_TASK_FRAMES 8U

enum kymo_task_state {
	KYMO_TASK_RUNS,     /* a step of it is running */
	KYMO_TASK_WAITS,
	KYMO_TASK_RETURNED, /* its coroutine has returned */
	KYMO_TASK_RAISED,
	KYMO_TASK_UNKNOWN,  /* it ran when events were lost */
};

struct kymo_task_frame {
	const struct kymo_code *code;
	int64_t line; /* or KYMO_LINE_NONE */
};

struct kymo_task_at {
	uint64_t id;
	const struct kymo_traced_task *task; /* NULL: not defined */
	enum kymo_task_state state;
	const char *exception; /* of KYMO_TASK_RAISED; NULL: not known */
	uint64_t depth; /* of its step's outermost frame */
	/* where it waits, innermost coroutine first; in other states only its own coroutine */
	struct kymo_task_frame frames[KYMO_TASK_FRAMES];
	uint32_t frame_count, frames_more;
	struct kymo_position at; /* the event that its state is from */
};

struct kymo_task_states {
	struct kymo_task_at *tasks; /* by id */
	size_t count, capacity;
	size_t current; /* of the innermost running coroutine; SIZE_MAX: none */
	bool has_lost;  /* events were lost: tasks may have continued since */
};

/*
 * The tasks of @stream just after its event @at, to @out, which the caller releases. Reads all events up to there. 0, or a negative
 * errno: -EINTR if *@interrupted was set meanwhile (@interrupted may be NULL).
 */
KYMO_MUST_CHECK
int kymo_task_states_at(struct kymo_timeline *timeline, const struct kymo_stream *stream, struct kymo_position at,
			const volatile sig_atomic_t *interrupted, struct kymo_task_states *out, struct kymo_error *error);
void kymo_task_states_release(struct kymo_task_states *states);

#endif
