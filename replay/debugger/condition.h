// SPDX-License-Identifier: Apache-2.0
/*
 * Conditions of breakpoints, over what a recording knows at a hit.
 *
 * An expression in Python's syntax over variables, where they were recorded, and the names below, which come before variables:
 * `n == 5`, `0 < depth < 3 and caller == 'main'`, `order.items["tea"] is None`, `len(rows) > 100`, `hits % 100 == 0`.  Or one of SQL as
 * SQLite has it, over these names alone: `function like '%work%'`.  The names are
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
#ifndef KYMO_REPLAY_DEBUGGER_CONDITION_H
#define KYMO_REPLAY_DEBUGGER_CONDITION_H

#include "replay/moves/variables.h"

struct kymo_condition;

#define KYMO_CONDITION_NAMES "known are variables, hits, depth, line, file, function, caller, exception, thread, thread_name, pid and time"

/* Over what @index is of, which must outlive it; NULL: over these names alone.  NULL: @text is none; @error says why. */
struct kymo_condition *kymo_condition_new(const char *text, struct kymo_index *index, struct kymo_error *error);
/* Continue over @index, of the same recording after it has grown. */
void kymo_condition_move(struct kymo_condition *condition, struct kymo_index *index);
void kymo_condition_free(struct kymo_condition *condition);

/* True if it holds where @walker stands. If it cannot be evaluated within some ten milliseconds, it does not hold. */
bool kymo_condition_holds(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits);
/* How often it could not be evaluated since the last call, and why not the last time. */
uint64_t kymo_condition_unknown(struct kymo_condition *condition, const char **why);
/*
 * What it comes to there, as text, cut to @bytes; "<why>" for what cannot be computed, "null" where it is one of SQL.  @variables: that
 * it is asked over; NULL: of the frame on top.
 */
void kymo_condition_value(struct kymo_condition *condition, const struct kymo_walker *walker, uint64_t hits,
			  const struct kymo_variables *variables, char *text, size_t bytes);
/* It asks for @hits. */
bool kymo_condition_needs_hits(const struct kymo_condition *condition);

#endif
