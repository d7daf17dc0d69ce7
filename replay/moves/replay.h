// SPDX-License-Identifier: Apache-2.0
/*
 * Moving through a recorded run, forwards and backwards.
 *
 * A replay stands just after an event of one thread, the current one: after a LINE event its line is about to run. The positions of
 * the other threads follow from that. A trace without events has no position.
 *
 * A move reads only the chunks that the index does not rule out; docs/replay.md says what each move costs. Not thread-safe.
 */
#ifndef KYMO_REPLAY_MOVES_REPLAY_H
#define KYMO_REPLAY_MOVES_REPLAY_H

#include <signal.h>

#include "replay/moves/breaks.h"
#include "replay/moves/moment.h"
#include "replay/decode/walker.h"

struct kymo_watchpoint;

struct kymo_replay {
	struct kymo_timeline *timeline;
	struct kymo_index *index;
	struct kymo_breaks breaks;
	struct kymo_walker walker; /* of the current thread; stands where the replay stands */
	bool is_open;		   /* it has a position: the walker is open */
	struct kymo_walker anchor; /* a walker somewhat before, where the last move back began to search: the next may begin there, too */
	const struct kymo_chunk_summary *anchored; /* in this chunk; NULL: there is none */
	uint64_t anchor_n; /* before this event */
	uint64_t searches;	   /* number of searches for breaks up to now */
	const struct kymo_break *hit; /* by the last move; NULL: none.  Valid until breaks change */
	/* owned by the code that set them; checked by KYMO_GO_CONTINUE: see variable_watch.h */
	struct kymo_watchpoint *watches;
	uint32_t watch_count;
	const struct kymo_watchpoint *watched; /* at which the last move stopped; NULL: none */
	/* a signal handler sets it to end a long move with -EINTR; NULL: not used */
	const volatile sig_atomic_t *interrupted;
};

enum kymo_go {
	KYMO_GO_EVENT,    /* to the next event of this thread */
	KYMO_GO_INTO,	    /* to its next line, in any frame */
	KYMO_GO_OVER,	    /* to the next line of this frame or, when it is left, of its caller */
	KYMO_GO_OUT,	    /* forwards: to where this frame is left; backwards: to the line that called it */
	KYMO_GO_CONTINUE, /* to the next break, in any thread */
	KYMO_GO_SWITCH,   /* to the first event after the GIL went to another thread; backwards: to the last before it came */
};

/* Why a move ended where it did. */
enum kymo_stop {
	KYMO_STOP_MOVED = 1, /* it reached its goal */
	KYMO_STOP_BREAK,     /* a break was hit on the way: see kymo_replay.hit */
	KYMO_STOP_MISSING,   /* what happens next was not recorded, or cannot be rebuilt */
	KYMO_STOP_END,	     /* at the first or last event of the thread */
	KYMO_STOP_WATCH,     /* a watched variable has changed: see kymo_replay.watched */
	KYMO_STOP_WATCH_OVER, /* the frame whose variable is watched was left or, backwards, entered */
};

/*
 * A replay of the trace of @index, which must outlive it. Several replays may share an index, in one thread. It stands at the last
 * event of the first thread. -ENODATA: there are no events.
 */
KYMO_MUST_CHECK
int kymo_replay_open(struct kymo_replay *replay, struct kymo_index *index, struct kymo_error *error);
void kymo_replay_close(struct kymo_replay *replay);

static inline const struct kymo_event *kymo_replay_event(const struct kymo_replay *replay)
{
	return &replay->walker.event;
}

static inline size_t kymo_replay_stream(const struct kymo_replay *replay)
{
	return (size_t)(replay->walker.event.stream - replay->timeline->streams);
}

/* Returns an enum kymo_stop; or a negative errno, and the position is unchanged. */
KYMO_MUST_CHECK
int kymo_replay_forward(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_replay_backward(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error);

/*
 * Go to the event at @at of the thread @stream, or the last one before it; if there is none before it, the first. 0, or a negative
 * errno: -ENOENT if the thread has no events.
 */
KYMO_MUST_CHECK
int kymo_replay_seek(struct kymo_replay *replay, size_t stream, struct kymo_position at, struct kymo_error *error);
/* The same, to the last event of the thread not later than @t_ns since the run began. */
KYMO_MUST_CHECK
int kymo_replay_seek_time(struct kymo_replay *replay, size_t stream, int64_t t_ns, struct kymo_error *error);
/* Make @stream the current thread, at the same moment. 1; 0, and nothing has changed: the thread has not begun at that moment. */
KYMO_MUST_CHECK
int kymo_replay_switch(struct kymo_replay *replay, size_t stream, struct kymo_error *error);

/* How often the first of @breaks was hit in the thread @stream, without calling its wants(). */
uint64_t kymo_replay_count_hits(struct kymo_replay *replay, struct kymo_breaks *breaks, size_t stream);
/* The same, up to and with @moment in its thread. */
uint64_t kymo_replay_hits_up_to(struct kymo_replay *replay, struct kymo_breaks *breaks,
				const struct kymo_moment *moment);
/* Hit number @number of these, from 1, to @found. 1; 0: there is none. */
KYMO_MUST_CHECK
int kymo_replay_find_hit(struct kymo_replay *replay, struct kymo_breaks *breaks, size_t stream, uint64_t number,
			 struct kymo_moment *found, struct kymo_error *error);

/*
 * The stack where the replay stands, outermost first, including frames that the chunk's sync block does not list, to @out. The
 * caller releases @out.
 */
KYMO_MUST_CHECK
int kymo_replay_stack(struct kymo_replay *replay, struct kymo_stack *out, struct kymo_error *error);

/* What is known of a thread at a moment. */
enum kymo_thread_state {
	KYMO_THREAD_NOT_BEGUN,
	KYMO_THREAD_RUNS,
	KYMO_THREAD_ENDED,   /* its last event left its outermost frame */
	KYMO_THREAD_UNKNOWN, /* its stack was not recorded: its events are lost */
};

/*
 * The frame on top of the stack of thread @stream at @moment, if it runs or has ended. Returns an enum kymo_thread_state or a
 * negative errno.
 */
KYMO_MUST_CHECK
int kymo_replay_top(struct kymo_replay *replay, size_t stream, const struct kymo_moment *moment,
		    struct kymo_stack_frame *top, struct kymo_error *error);

#endif
