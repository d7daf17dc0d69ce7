// SPDX-License-Identifier: Apache-2.0
/*
 * The time between two readings of the clock, spread over what happened there.
 *
 * Of a window the length is known, and the order of its steps.  How long each kind of gap takes (a function after it was entered,
 * or after a call came back to it) is learned from the windows that came before: above all from short ones, which have one gap
 * alone.  What a window took more than its gaps usually do goes to those that usually take long.  The sum stays what was measured.
 */
#ifndef KYMO_REPLAY_PROFILE_SPREAD_H
#define KYMO_REPLAY_PROFILE_SPREAD_H

#include "replay/profile/calls.h"
#include "replay/profile/lookup.h"

/* A kind of gap, and what recorded events took in it. */
struct kymo_pace {
	const void *identity; /* what is on top: a content, or the name of a function in C */
	bool is_entered;
	double ns, events; /* those of late */
};

/* One thread after another; zeroed before the first. */
struct kymo_spread {
	/* of the window at hand */
	struct kymo_call *steps;
	size_t count, capacity;
	int64_t low_ns, high_ns; /* high_ns is low_ns: no step has told it yet */
	uint32_t events;
	/* what is on the stack, and the gap that goes on */
	const void **stack;
	size_t depth, stack_capacity;
	uint32_t pace; /* number, from 1; 0: none */
	struct kymo_pace *paces;
	size_t pace_count, pace_capacity;
	struct kymo_lookup by_identity;
	struct kymo_spread_gap {
		double events, ns;
		uint32_t pace;
		size_t step; /* that it ends with */
	} *gaps;
	struct kymo_pace all;
	size_t gap_count, gap_capacity;
	bool has_tick; /* as struct kymo_clock_line */
};

void kymo_spread_release(struct kymo_spread *spread);
void kymo_spread_begin_thread(struct kymo_spread *spread, bool has_tick);
/* False: @call is of another window; settle the one at hand first. */
bool kymo_spread_has_room(const struct kymo_spread *spread, const struct kymo_call *call);
/* 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_spread_add(struct kymo_spread *spread, const struct kymo_call *call);
/* Give the steps of the window at hand their likely times; @next: what comes then, NULL: nothing.  They are the caller's to take,
 * and to count as 0.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_spread_settle(struct kymo_spread *spread, const struct kymo_call *next);

#endif
