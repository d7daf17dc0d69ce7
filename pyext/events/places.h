// SPDX-License-Identifier: Apache-2.0
/*
 * Coverage: lines and branches are switched on code by code, when it first runs; lines are switched off when all were seen.
 *
 * CPython leaves LINE on at places whose events it does not deliver, such as jumps within one line, and never asks whether
 * they may be switched off; in some loops that costs a fifth of the instructions. So for code that runs often we switch
 * them off instead: see docs/decisions/0011-lines-switched-off.md.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_EVENTS_PLACES_H
#define KYMO_PYEXT_EVENTS_PLACES_H

#include "pyext/codes.h"

/* How many events of a code object must repeat before its bytecode is read, which costs as much as some dozens of events. */
#define KYMO_REPEATS 16

/* True if events of @config can be switched on code by code; no code but that on the stack may have begun. */
bool kymo_places_are_local(const Kymo__Config *config);

/* Switch them on for the code on the calling thread's stack, which has begun already; kymo_code_get() does so for its exceptions. */
void kymo_places_begin(struct kymo_python *python);

/* Switch them on for @known, which begins. */
void kymo_places_open(struct kymo_python *python, struct kymo_code *known);

/*
 * An event of @known came again at a known place; true if that was often enough, and it may be switched off.
 *
 * From then on reading the bytecode is worthwhile: seen lines are switched off at all their places, and
 * kymo_arms_wait() may be used.
 */
bool kymo_places_repeat(struct kymo_python *python, struct kymo_code *known);

/* True if that was often enough already. */
static inline bool kymo_places_are_often(const struct kymo_code *known)
{
	return known->covered.repeats == KYMO_REPEATS;
}

/* @line of @known has been recorded; true if its lines are now switched off. */
bool kymo_places_add_line(struct kymo_python *python, struct kymo_code *known, uint32_t line);

#endif
