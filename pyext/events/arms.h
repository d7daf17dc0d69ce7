// SPDX-License-Identifier: Apache-2.0
/*
 * Coverage before 3.14: the ways, or arms, of each branch that were taken.
 *
 * BRANCH is one event for both arms, and so is DISABLE: a branch that always goes the same way would keep its event
 * forever. But if the other arm leads to an instruction with a line of its own that nothing else leads to, the first
 * LINE event there shows that it was taken. Such an arm is noticed by its line; it is pending when BRANCH was switched
 * off because of that.
 *
 * A debugger that moves the frame to that place is mistaken for the branch.
 *
 * The bytecode must be read for this; kymo_places_repeat() decides when.
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
	uint8_t *bits;    /* as in kymo_covered.arms; without those that turn out not to be reported */
	uint32_t count;
	uint32_t pending; /* this many of them are pending: the first ones */
	struct kymo_arm at[];
};

static inline uint8_t kymo_arm_bit(uint32_t source, bool is_taken)
{
	return (uint8_t)(1U << (source % 4 * 2 + is_taken));
}

/*
 * True if the event of an arm of the branch at @source says nothing new, but BRANCH has to stay on for the other arm. Only
 * after kymo_arms_read() was called.
 */
static inline bool kymo_arms_are_settled(const struct kymo_code *known, uint32_t source, bool is_taken)
{
	uint8_t one = kymo_arm_bit(source, is_taken), other = kymo_arm_bit(source, !is_taken);

	return known->covered.arms && (known->covered.arms[source / 4] & (one | other)) == one &&
	       !(known->covered.told_arms && known->covered.told_arms->bits[source / 4] & other);
}

/* Remember an arm of the branch at @source; true if it was known.  @is_last: both are known now. */
bool kymo_arms_add(struct kymo_code *known, uint32_t source, bool is_taken, bool *is_last);

/* Read the bytecode of @known; on failure no arm is noticed by its line. */
void kymo_arms_read(struct kymo_code *known);

/* An arm of the branch at @source came again; true if the other one is pending from now on. */
bool kymo_arms_wait(const struct kymo_python *python, struct kymo_code *known, uint32_t source, bool is_taken);

/* True if arms of @known are pending: it needs its LINE events. */
bool kymo_arms_are_pending(const struct kymo_code *known);

/* At a LINE event of @known, which has pending arms: true if it shows for the first time that @arm was taken; that is remembered. */
bool kymo_arms_take(struct kymo_code *known, struct kymo_arm *arm);

/* LINE has to stay on at @unit of @known: an arm that was not taken yet ends there. */
bool kymo_arms_need(const struct kymo_code *known, uint32_t unit);

#endif
