// SPDX-License-Identifier: Apache-2.0
#define KYMO_PROFILE_API __attribute__((visibility("default")))
#include "replay/library/timeline_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool kymo_task_runs_begins(const struct kymo_task_runs *runs, const struct kymo_call *call)
{
	if (!call->task)
		return false;
	for (size_t i = runs->open_count; i-- > 0;)
		if (runs->open[i].task == call->task)
			return false;
	return true;
}

/* 1: *@number is that of the task of @call; 0: it does not fit; or -ENOMEM. */
static int task_of(struct kymo_task_runs *runs, const struct kymo_call *call, uint32_t thread, uint32_t *number)
{
	uint32_t hash = (uint32_t)kymo_hash_mix(thread, (uintptr_t)call->task), found;
	size_t count = runs->task_count;

	for (size_t at = hash; (found = kymo_lookup_next(&runs->numbers, hash, &at)); at++) {
		*number = found - 1;
		if (runs->definitions[*number] == call->task && runs->tasks[*number].thread == thread)
			return 1;
	}
	if (count == runs->most) {
		runs->left_out++;
		return 0;
	}
	if (kymo_grow(&runs->tasks, &runs->task_capacity, count + 1, sizeof(*runs->tasks)) ||
	    kymo_grow(&runs->definitions, &runs->definition_capacity, count + 1, sizeof(*runs->definitions)) ||
	    kymo_grow(&runs->last, &runs->last_capacity, count + 1, sizeof(*runs->last)) ||
	    kymo_lookup_add(&runs->numbers, hash, (uint32_t)count + 1))
		return -ENOMEM;
	runs->tasks[count] = (struct kymo_timeline_task){.name = call->task->name, .id = call->task->id, .thread = thread};
	runs->definitions[count] = call->task;
	runs->last[count] = 0;
	runs->task_count++;
	*number = (uint32_t)count;
	return 1;
}

int kymo_task_runs_begin(struct kymo_task_runs *runs, const struct kymo_call *call, uint32_t function, uint32_t thread)
{
	uint32_t task = 0;
	int result = task_of(runs, call, thread, &task);

	if (result < 0 ||
	    kymo_grow(&runs->open, &runs->open_capacity, runs->open_count + 1, sizeof(*runs->open)))
		return -ENOMEM;
	runs->open[runs->open_count++] = (struct kymo_open_run){
		.task = call->task,
		.is_told = result,
		.depth = call->depth,
		.run = {.begin_ns = call->t_ns,
			.begin_err_ns = call->t_err_ns,
			.times = 1,
			.function = function,
			.task = task,
			.flags = call->how == KYMO_CALL_FOUND ? KYMO_TIMELINE_CUT : 0},
	};
	return 0;
}

/* Add @run, or merge it with its task's run before, if both and the time between are short. */
static void put_run(struct kymo_task_runs *runs, const struct kymo_timeline_run *run)
{
	size_t *last = &runs->last[run->task];
	struct kymo_timeline_run *before = *last ? &runs->runs[*last - 1] : NULL;

	if (!before || run->end_ns - before->begin_ns >= runs->merged_ns) {
		runs->runs[runs->run_count++] = *run;
		*last = runs->run_count;
		return;
	}
	before->end_ns = run->end_ns;
	before->end_err_ns = run->end_err_ns;
	before->times += run->times;
	before->flags |= run->flags | KYMO_TIMELINE_MERGED;
}

/* The limit of runs is reached: merge more of them, which leaves at least one for each task. */
static void make_room(struct kymo_task_runs *runs)
{
	while (runs->run_count > runs->most && runs->merged_ns < INT64_MAX / 4) {
		size_t count = runs->run_count;

		runs->merged_ns = runs->merged_ns ? runs->merged_ns * 2 : 1;
		runs->run_count = 0;
		memset(runs->last, 0, runs->task_count * sizeof(*runs->last));
		for (size_t i = 0; i < count; i++) {
			struct kymo_timeline_run run = runs->runs[i];

			put_run(runs, &run);
		}
	}
}

int kymo_task_runs_end(struct kymo_task_runs *runs, const struct kymo_call *call)
{
	struct kymo_open_run *open;
	struct kymo_timeline_run *run;

	if (!runs->open_count || runs->open[runs->open_count - 1].depth != call->depth)
		return 0;
	open = &runs->open[--runs->open_count];
	if (!open->is_told)
		return 0;
	run = &open->run;
	run->end_ns = call->t_ns;
	run->end_err_ns = call->t_err_ns;
	if (call->how == KYMO_CALL_LOST || call->how == KYMO_CALL_OPEN)
		run->flags |= KYMO_TIMELINE_CUT;
	if (kymo_grow(&runs->runs, &runs->run_capacity, runs->run_count + 1, sizeof(*runs->runs)))
		return -ENOMEM;
	put_run(runs, run);
	make_room(runs);
	return 0;
}

void kymo_task_runs_free(struct kymo_task_runs *runs)
{
	free(runs->tasks);
	free(runs->definitions);
	free(runs->last);
	free(runs->numbers.slots);
	free(runs->runs);
	free(runs->open);
}
