// SPDX-License-Identifier: Apache-2.0
/*
 * What each of many took of a thread's time, and how far that can be wrong.
 *
 * The clock is not read at each event.  Between two readings, L and H, events are in order but each may have happened at any
 * time: a window.  Of its W = H - L nanoseconds, whatever was on top during all of it took all of them: no error.  Something
 * else took s by the likely times of the events, but at least 0 and at most W: it is at most max(s, W - s) wrong, however
 * often it came and went.  So the errors of windows, of some 90 events each, add up, and not those of events: adding what is
 * not known of both ends of each call would give W for each call.  Outside windows the time is known.
 *
 * The same holds of the total time of a call with all that it calls, where only windows count in which it begins or ends:
 * while it lasts, errors of what it calls cancel out.
 *
 * A rebuilt event may have come before a reading: its window reaches back into the one before.  It is taken to have come
 * after; that it may have come in the one before is in the error of what it moves the time from and to.
 */
#ifndef KYMO_REPLAY_PROFILE_SHARES_H
#define KYMO_REPLAY_PROFILE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/error.h"

struct kymo_share {
	int64_t self_ns, total_ns;
	uint64_t self_err_ns, total_err_ns;
	int64_t begin_ns; /* of the call that goes on */
	int64_t window_self_ns, window_total_ns; /* of the windows that are named next */
	uint32_t window, bounds_window; /* the last ones in which it was on top; in which it began or ended */
	int64_t since_ns;		/* in its window's total from then on; INT64_MAX: it does not go on */
};

/* The time of one thread after another is shared out; the first share takes what belongs to nobody. */
struct kymo_shares {
	struct kymo_share *items;
	size_t count, capacity;
	/* of the thread at hand */
	uint32_t top;
	int64_t low_ns, high_ns; /* the window at hand; equal: there is none, and all to here is shared out */
	int64_t now_ns;		 /* the window is shared out to here */
	uint32_t window;	 /* its number, from 1 */
	uint32_t *touched;	 /* what was on top in it, began or ended */
	size_t touched_count, touched_capacity;
	/* the window before, where it ends at low_ns: */
	int64_t before_ns;    /* its length, else 0 */
	uint32_t before_only; /* what was on top during all of it; UINT32_MAX: more than one */
	bool is_short;	      /* no memory: the numbers are worth nothing */
};

/* Another share; UINT32_MAX: no memory. */
uint32_t kymo_shares_add(struct kymo_shares *shares);
void kymo_shares_release(struct kymo_shares *shares);

/* A thread begins at @t_ns; nobody is on top. */
void kymo_shares_begin(struct kymo_shares *shares, int64_t t_ns);
/*
 * Something happens between @low_ns and @high_ns, most likely at @t_ns: up to there, time is that of what is on top.  True if
 * it may have come before the window at hand.
 */
bool kymo_shares_step(struct kymo_shares *shares, int64_t t_ns, int64_t low_ns, int64_t high_ns);
/* After a step; @is_early: what it returned. */
void kymo_shares_top(struct kymo_shares *shares, uint32_t number, bool is_early);
void kymo_shares_call_begins(struct kymo_shares *shares, uint32_t number, bool is_early);
void kymo_shares_call_ends(struct kymo_shares *shares, uint32_t number, bool is_early);
/* The thread ends: all is shared out up to the time that is returned. */
int64_t kymo_shares_end(struct kymo_shares *shares);

#endif
