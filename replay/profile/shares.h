// SPDX-License-Identifier: Apache-2.0
/*
 * Sharing out a thread's time among many owners, with error bounds.
 *
 * The clock is not read at each event.  Between two readings, L and H, events are in order but each may have happened at any
 * time: a window.  Of its W = H - L nanoseconds, whatever was on top during all of it took all of them: no error.  Something
 * else took s by the likely times of the events, but at least 0 and at most W: it is at most max(s, W - s) wrong, however
 * often it came and went.  So the errors of windows, of some 90 events each, add up, and not those of events: adding what is
 * not known of both ends of each call would give W for each call.  Outside windows the time is known.
 *
 * The same holds for the total time of a call with all that it calls. There, only windows count in which it begins or ends: while it
 * lasts, errors of what it calls cancel out.
 *
 * A rebuilt event may have come before a reading: its window reaches back into the one before. It is assumed to have come after; the
 * errors of both owners that it separates include that it may have come before.
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
	int64_t begin_ns; /* of the call that continues */
	int64_t window_self_ns, window_total_ns; /* in the windows named next */
	uint32_t window, bounds_window; /* the last ones in which it was on top; in which it began or ended */
	int64_t since_ns;		/* counted in its window's total from then on; INT64_MAX: it does not continue */
};

/* Threads are shared out one after the other; the first share takes the time without an owner. */
struct kymo_shares {
	struct kymo_share *items;
	size_t count, capacity;
	/* of the current thread */
	uint32_t top;
	int64_t low_ns, high_ns; /* the current window; equal: none, and all time up to here is shared out */
	int64_t now_ns;		 /* the window is shared out to here */
	uint32_t window;	 /* its number, from 1 */
	uint32_t *touched;	 /* what was on top in it, began or ended */
	size_t touched_count, touched_capacity;
	/* the window before, where it ends at low_ns: */
	int64_t before_ns;    /* its length, else 0 */
	uint32_t before_only; /* what was on top during all of it; UINT32_MAX: more than one */
	bool is_short;	      /* out of memory: the numbers are invalid */
};

/* Another share; UINT32_MAX: no memory. */
uint32_t kymo_shares_add(struct kymo_shares *shares);
void kymo_shares_release(struct kymo_shares *shares);

/* A thread begins at @t_ns; nothing is on top. */
void kymo_shares_begin(struct kymo_shares *shares, int64_t t_ns);
/*
 * Something happens between @low_ns and @high_ns, most likely at @t_ns: up to there, the time belongs to what is on top. True if it
 * may have come before the current window.
 */
bool kymo_shares_step(struct kymo_shares *shares, int64_t t_ns, int64_t low_ns, int64_t high_ns);
/* After a step; @is_early: what it returned. */
void kymo_shares_top(struct kymo_shares *shares, uint32_t number, bool is_early);
void kymo_shares_call_begins(struct kymo_shares *shares, uint32_t number, bool is_early);
void kymo_shares_call_ends(struct kymo_shares *shares, uint32_t number, bool is_early);
/* The thread ends: all is shared out up to the time that is returned. */
int64_t kymo_shares_end(struct kymo_shares *shares);

#endif
