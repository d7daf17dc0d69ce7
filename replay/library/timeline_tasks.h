/* SPDX-License-Identifier: Apache-2.0 */
/* When each asyncio task ran: only for timeline_slices.c. */
#ifndef KYMO_TIMELINE_TASKS_H
#define KYMO_TIMELINE_TASKS_H

#include "replay/library/timeline_slices.h"
#include "replay/profile/calls.h"
#include "replay/profile/lookup.h"

/* A run of a task that runs now. */
struct kymo_open_run {
	const struct kymo_traced_task *task;
	bool is_told;	/* it fitted */
	uint32_t depth; /* of its outermost frame */
	struct kymo_timeline_run run;
};

/* Zeroed, and @most set: nothing.  There are never more runs, or tasks, than that. */
struct kymo_task_runs {
	uint64_t most;
	struct kymo_timeline_task *tasks;
	const struct kymo_traced_task **definitions; /* of each task */
	size_t *last;				     /* of each task, the number of its last run, from 1; 0: none */
	size_t task_count, left_out, task_capacity, definition_capacity, last_capacity;
	struct kymo_lookup numbers; /* of tasks, from 1, by their definitions */
	struct kymo_timeline_run *runs;
	size_t run_count, run_capacity;
	int64_t merged_ns;
	struct kymo_open_run *open; /* of the current thread, outermost first */
	size_t open_count, open_capacity;
};

/* True if a run begins with @call, a BEGIN. */
bool kymo_task_runs_begins(const struct kymo_task_runs *runs, const struct kymo_call *call);
/* Begin it, in @function on @thread. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_task_runs_begin(struct kymo_task_runs *runs, const struct kymo_call *call, uint32_t function, uint32_t thread);
/* @call ends, and possibly a run with it. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_task_runs_end(struct kymo_task_runs *runs, const struct kymo_call *call);
void kymo_task_runs_free(struct kymo_task_runs *runs);

#endif
