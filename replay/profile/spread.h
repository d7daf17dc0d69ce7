// SPDX-License-Identifier: Apache-2.0
/*
 * Spreading the time between two readings of the clock over the events there.
 *
 * The length of a window is known, and the order of its steps. How long each kind of gap takes (a function after it was entered, or
 * after a call returned to it) is learned from earlier windows, above all from short ones with a single gap. If a window took longer
 * than its gaps usually do, the excess goes to those that usually take long. The sum stays as measured.
 */
#ifndef KYMO_REPLAY_PROFILE_SPREAD_H
#define KYMO_REPLAY_PROFILE_SPREAD_H

#include "replay/profile/calls.h"
#include "replay/profile/lookup.h"

/* A kind of gap, and the time that recorded events took in it. */
struct kymo_pace {
	const void *identity; /* what is on top: a content, or the name of a function in C */
	bool is_entered;
	double ns, events; /* recent ones */
};

/* One thread after another; zeroed before the first. */
struct kymo_spread {
	/* of the current window */
	struct kymo_call *steps;
	size_t count, capacity;
	int64_t low_ns, high_ns; /* high_ns is low_ns: not known from a step yet */
	uint32_t events;
	/* the stack, and the current gap */
	const void **stack;
	size_t depth, stack_capacity;
	uint32_t pace; /* number, from 1; 0: none */
	struct kymo_pace *paces;
	size_t pace_count, pace_capacity;
	struct kymo_lookup by_identity;
	struct kymo_spread_gap {
		double events, ns;
		uint32_t pace;
		size_t step; /* the step that ends it */
	} *gaps;
	struct kymo_pace all;
	size_t gap_count, gap_capacity;
	bool has_tick; /* as in struct kymo_clock_line */
};

void kymo_spread_release(struct kymo_spread *spread);
void kymo_spread_begin_thread(struct kymo_spread *spread, bool has_tick);
/* False: @call is in another window; settle the current one first. */
bool kymo_spread_has_room(const struct kymo_spread *spread, const struct kymo_call *call);
/* 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_spread_add(struct kymo_spread *spread, const struct kymo_call *call);
/*
 * Give the steps of the current window their likely times; @next: the step after it, NULL: none.  The caller takes the steps and
 * sets their count to 0.  0 or -ENOMEM.
 */
KYMO_MUST_CHECK
int kymo_spread_settle(struct kymo_spread *spread, const struct kymo_call *next);

#endif
