// SPDX-License-Identifier: Apache-2.0
/*
 * Conditions of breakpoints, over what a recording knows at a hit.
 *
 * An expression of SQL as SQLite has it, which reads like Python's for what it is needed for: `depth > 3 and caller ==
 * 'main'`, `hits % 100 == 0`, `function like '%work%'`.  The names are
 *
 *   hits       how often this breakpoint's place was reached in this thread, this time included
 *   depth      frames on the stack
 *   line, file, function
 *   caller     the function that called this one; null: none, or not known
 *   exception  the type that is raised; null: none
 *   thread     the thread's number, and name
 *   thread_name
 *   pid
 *   time       seconds since the run began
 */
#ifndef KYMO_DEBUGGER_CONDITION_H
#define KYMO_DEBUGGER_CONDITION_H

#include "replay/walker.h"

struct kymo_condition;

/* NULL: it is none; @error says why. */
struct kymo_condition *kymo_condition_new(const char *text, struct kymo_error *error);
void kymo_condition_free(struct kymo_condition *condition);

/* True if it holds where @walker stands.  What cannot be computed, or not within some ten milliseconds, does not hold. */
bool kymo_condition_holds(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits);
/* What it comes to there, as text; "null" also for what cannot be computed.  It is cut to @bytes. */
void kymo_condition_value(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits,
			  char *text, size_t bytes);
/* It asks for @hits. */
bool kymo_condition_needs_hits(const struct kymo_condition *condition);

#endif
