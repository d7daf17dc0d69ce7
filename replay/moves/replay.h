// SPDX-License-Identifier: Apache-2.0
/*
 * Going through a recorded run, forwards and backwards.
 *
 * A replay stands just after an event of one thread, the current one: after a LINE event its line is about to run.  Where
 * the other threads are then follows from that.  A trace without events has no place to stand at.
 *
 * Each move reads the chunks that it cannot rule out by the index; docs/replay.md has what each costs.  Not thread-safe.
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
	bool is_open;		   /* there is a place to stand at: the walker is open */
	struct kymo_walker anchor; /* stands somewhat before, where the last move back has begun to look: the next may, too */
	const struct kymo_chunk_summary *anchored; /* in this chunk; NULL: there is none */
	uint64_t anchor_n; /* before this event */
	uint64_t searches;	   /* for breaks, up to now */
	const struct kymo_break *hit; /* by the last move; NULL: none.  Valid until breaks change */
	/* of whoever set them; asked by KYMO_GO_CONTINUE: see variable_watch.h */
	struct kymo_watchpoint *watches;
	uint32_t watch_count;
	const struct kymo_watchpoint *watched; /* that the last move stopped at; NULL: none */
	/* what a signal handler sets so that a long move ends with -EINTR; NULL: none does */
	const volatile sig_atomic_t *interrupted;
};

enum kymo_go {
	KYMO_GO_EVENT,    /* to the next event of this thread */
	KYMO_GO_INTO,	    /* to its next line, in whatever frame */
	KYMO_GO_OVER,	    /* to the next line of this frame or, when it is left, of its caller */
	KYMO_GO_OUT,	    /* forwards: to where this frame is left; backwards: to the line that called it */
	KYMO_GO_CONTINUE, /* to the next break, in whatever thread */
	KYMO_GO_SWITCH,   /* to the first event after the GIL went to another thread; backwards: to the last before it came */
};

/* Why a move ended where it did. */
enum kymo_stop {
	KYMO_STOP_MOVED = 1, /* that is where it leads */
	KYMO_STOP_BREAK,     /* a break was hit on the way: see kymo_replay.hit */
	KYMO_STOP_MISSING,   /* what happens next was not recorded, or cannot be rebuilt */
	KYMO_STOP_END,	     /* there is no more: at the first or last event of the thread */
	KYMO_STOP_WATCH,     /* what is watched has changed: see kymo_replay.watched */
	KYMO_STOP_WATCH_OVER, /* the frame whose variable is watched was left or, backwards, entered */
};

/*
 * A replay of what @index is of, which must outlive it; any number of them may use it, in one thread.  Stands at the last
 * event of the first thread.  -ENODATA: there are no events.
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

/* Returns an enum kymo_stop, or a negative errno: then it stands where it stood. */
KYMO_MUST_CHECK
int kymo_replay_forward(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_replay_backward(struct kymo_replay *replay, enum kymo_go go, struct kymo_error *error);

/*
 * Go to the event at @at of the thread @stream, or to the last one before it; the first, if there is none.
 * 0, or a negative errno: -ENOENT if the thread has no events.
 */
KYMO_MUST_CHECK
int kymo_replay_seek(struct kymo_replay *replay, size_t stream, struct kymo_position at, struct kymo_error *error);
/* The same, to the last event of the thread at @t_ns since the run began, or before. */
KYMO_MUST_CHECK
int kymo_replay_seek_time(struct kymo_replay *replay, size_t stream, int64_t t_ns, struct kymo_error *error);
/* Make @stream the current thread, at the same moment.  1; 0, and nothing has changed: it has not begun then. */
KYMO_MUST_CHECK
int kymo_replay_switch(struct kymo_replay *replay, size_t stream, struct kymo_error *error);

/* How often the first of @breaks was hit in the thread @stream, whatever it wants. */
uint64_t kymo_replay_count_hits(struct kymo_replay *replay, struct kymo_breaks *breaks, size_t stream);
/* The same, up to and with @moment in its thread. */
uint64_t kymo_replay_hits_up_to(struct kymo_replay *replay, struct kymo_breaks *breaks,
				const struct kymo_moment *moment);
/* The hit with @number, from 1, among those.  1: @found is it; 0: there is none. */
KYMO_MUST_CHECK
int kymo_replay_find_hit(struct kymo_replay *replay, struct kymo_breaks *breaks, size_t stream, uint64_t number,
			 struct kymo_moment *found, struct kymo_error *error);

/*
 * The stack where the replay stands, outermost first, also frames that a chunk's beginning does not list, in @out,
 * which is to be released.
 */
KYMO_MUST_CHECK
int kymo_replay_stack(struct kymo_replay *replay, struct kymo_stack *out, struct kymo_error *error);

/* What is known of a thread at a moment. */
enum kymo_thread_state {
	KYMO_THREAD_NOT_BEGUN,
	KYMO_THREAD_RUNS,
	KYMO_THREAD_ENDED,   /* its last event has left its outermost frame */
	KYMO_THREAD_UNKNOWN, /* its stack was not recorded: what it did is lost */
};

/* The frame on top of the thread @stream's stack at @moment, where it runs or has ended.  An enum kymo_thread_state, or a negative errno. */
KYMO_MUST_CHECK
int kymo_replay_top(struct kymo_replay *replay, size_t stream, const struct kymo_moment *moment,
		    struct kymo_stack_frame *top, struct kymo_error *error);

#endif
