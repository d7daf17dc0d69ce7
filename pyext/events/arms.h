// SPDX-License-Identifier: Apache-2.0
/*
 * Coverage before 3.14: the ways, or arms, of each branch that were taken.
 *
 * BRANCH is one event for both arms, and so is DISABLE: a branch that always goes the same way would have an event for
 * ever. But where the other arm leads to an instruction with a line of its own that nothing else leads to, the first
 * LINE event there tells of it. Such an arm is told by its line, and pending once BRANCH is switched off for its sake.
 *
 * A debugger that moves the frame to that very place is taken for the branch.
 *
 * That takes reading the bytecode, for which kymo_places_repeat() finds the moment.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_EVENTS_ARMS_H
#define KYMO_PYEXT_EVENTS_ARMS_H

#include "pyext/codes.h"

struct kymo_arm {
	uint32_t source, dest; /* units */
	bool is_taken;
};

struct kymo_told_arms {
	uint8_t *bits;    /* as in kymo_covered.arms; none of those that turned out not to be told */
	uint32_t count;
	uint32_t pending; /* so many of them: the first */
	struct kymo_arm at[];
};

static inline uint8_t kymo_arm_bit(uint32_t source, bool is_taken)
{
	return (uint8_t)(1U << (source % 4 * 2 + is_taken));
}

/*
 * An arm of the branch at @source, which came again, has nothing to say any more, but BRANCH has to stay on for the other one.
 * Only once kymo_arms_read() was called.
 */
static inline bool kymo_arms_are_settled(const struct kymo_code *known, uint32_t source, bool is_taken)
{
	uint8_t one = kymo_arm_bit(source, is_taken), other = kymo_arm_bit(source, !is_taken);

	return known->covered.arms && (known->covered.arms[source / 4] & (one | other)) == one &&
	       !(known->covered.told_arms && known->covered.told_arms->bits[source / 4] & other);
}

/* Remember an arm of the branch at @source; true if it was known.  @is_last: both are now. */
bool kymo_arms_add(struct kymo_code *known, uint32_t source, bool is_taken, bool *is_last);

/* Read the bytecode of @known: what is not found is not told. */
void kymo_arms_read(struct kymo_code *known);

/* An arm of the branch at @source came again; true if the other one is pending from now on. */
bool kymo_arms_wait(const struct kymo_python *python, struct kymo_code *known, uint32_t source, bool is_taken);

/* True if arms of @known are pending: it needs its LINE events. */
bool kymo_arms_are_pending(const struct kymo_code *known);

/* At a LINE event of @known, whose arms are pending: true if that is the first sign of @arm, which is remembered. */
bool kymo_arms_take(struct kymo_code *known, struct kymo_arm *arm);

/* LINE has to stay on at @unit of @known: an arm that was not taken yet ends there. */
bool kymo_arms_need(const struct kymo_code *known, uint32_t unit);

#endif
