// SPDX-License-Identifier: Apache-2.0
/*
 * Coverage: lines and branches are asked for code by code, when it first runs, and lines no longer when all were seen.
 *
 * CPython leaves LINE on at places whose events it does not deliver, such as jumps within one line, and never asks whether
 * they may be switched off; in some loops that is a fifth of the instructions. So where code runs often, they are
 * switched off for it: see docs/decisions/0011-lines-switched-off.md.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_EVENTS_PLACES_H
#define KYMO_PYEXT_EVENTS_PLACES_H

#include "pyext/codes.h"

/* So often something of a code object has to repeat itself: what follows costs as much as some dozens of events. */
#define KYMO_REPEATS 16

/* Events of @config can be asked for code by code, as long as no other code than that on the stack has begun. */
bool kymo_places_are_local(const Kymo__Config *config);

/* Ask for those of the code on the calling thread's stack, which has begun already; kymo_code_get() asks for its exceptions. */
void kymo_places_begin(struct kymo_python *python);

/* Ask for those of @known, which begins. */
void kymo_places_open(struct kymo_python *python, struct kymo_code *known);

/*
 * An event of @known came again whose place is known; true if that was often enough, and it may be switched off.
 *
 * From then on the code is taken to be worth a look at its bytecode: lines that were seen are switched off at all
 * their places, and kymo_arms_wait() is of use.
 */
bool kymo_places_repeat(struct kymo_python *python, struct kymo_code *known);

/* That was so already. */
static inline bool kymo_places_are_often(const struct kymo_code *known)
{
	return known->covered.repeats == KYMO_REPEATS;
}

/* @line of @known has been recorded; true if no line is asked for any more. */
bool kymo_places_add_line(struct kymo_python *python, struct kymo_code *known, uint32_t line);

#endif
