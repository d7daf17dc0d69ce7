// SPDX-License-Identifier: Apache-2.0
/*
 * Coverage before 3.14: the ways, or arms, of each branch that were taken.
 *
 * BRANCH is one event for both arms, and so is DISABLE: a branch that always goes the same way would have an event for
 * ever. But where the other arm leads to an instruction with a line of its own that nothing else leads to, the first
 * LINE event there tells of it. Such an arm is told by its line, and pending once BRANCH is switched off for its sake.
 *
 * That takes reading the bytecode, for which kymo_places_repeat() finds the moment.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_ARMS_H
#define KYMO_PYEXT_ARMS_H

#include "pyext/codes.h"

struct kymo_arm {
	uint32_t source, dest; /* units */
	bool is_taken;
	bool ends_loop; /* of FOR_ITER, which skips instructions that a generator's end does not */
};

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
bool kymo_arms_need(const struct kymo_python *python, const struct kymo_code *known, uint32_t unit);

/* Another recording begins, or @known ends. */
void kymo_arms_forget(struct kymo_code *known);

#endif
