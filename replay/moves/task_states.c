// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/task_states.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/decode/walker.h"

/* A coroutine that a step has entered but not left. */
struct entry {
	uint64_t depth; /* of its frame */
	size_t task;	/* place in states->tasks */
};

struct reading {
	struct kymo_task_states *states;
	struct entry *entries;
	size_t entry_count, entry_capacity;
	/* coroutines just left by a yield, innermost first; nothing ran after that */
	struct kymo_task_frame yielded[KYMO_TASK_FRAMES];
	uint32_t yielded_count, yielded_more;
};

/* The place of task @id, added if missing; SIZE_MAX: out of memory. */
static size_t find_task(struct kymo_task_states *states, const struct kymo_event *event)
{
	size_t low = 0, high = states->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (states->tasks[middle].id < event->task_id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < states->count && states->tasks[low].id == event->task_id)
		return low;
	if (kymo_grow(&states->tasks, &states->capacity, states->count + 1, sizeof *states->tasks))
		return SIZE_MAX;
	memmove(&states->tasks[low + 1], &states->tasks[low], (states->count - low) * sizeof *states->tasks);
	states->tasks[low] = (struct kymo_task_at){.id = event->task_id, .depth = UINT64_MAX};
	states->count++;
	return low;
}

/* Ids are given in the order in which tasks begin, so a new one is nearly always the last; otherwise entries are moved. */
static void make_room(struct reading *reading, size_t place)
{
	for (size_t i = 0; i < reading->entry_count; i++)
		reading->entries[i].task += reading->entries[i].task >= place;
}

static struct kymo_task_frame frame_of(const struct kymo_event *event)
{
	return (struct kymo_task_frame){event->code, kymo_event_line(event)};
}

static int enter(struct reading *reading, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	size_t count = reading->states->count, place = find_task(reading->states, event);
	struct kymo_task_at *task;

	if (place == SIZE_MAX ||
	    kymo_grow(&reading->entries, &reading->entry_capacity, reading->entry_count + 1, sizeof *reading->entries))
		return -ENOMEM;
	if (reading->states->count > count)
		make_room(reading, place);
	task = &reading->states->tasks[place];
	task->task = event->task;
	if (task->state != KYMO_TASK_RUNS || task->depth == UINT64_MAX) {
		task->state = KYMO_TASK_RUNS;
		task->depth = kymo_stack_depth(&walker->stack);
		task->frames[0] = frame_of(event);
		task->frame_count = 1;
		task->frames_more = 0;
		task->at = kymo_position_of(event);
	}
	reading->entries[reading->entry_count++] = (struct entry){kymo_stack_depth(&walker->stack), place};
	return 0;
}

/* A step of the task ends with the frame of its outermost coroutine. */
static void end_step(struct reading *reading, struct kymo_task_at *task, const struct kymo_event *event)
{
	task->at = kymo_position_of(event);
	if (event->kind == KYMO_PY_YIELD) {
		task->state = KYMO_TASK_WAITS;
		memcpy(task->frames, reading->yielded, sizeof task->frames);
		task->frame_count = reading->yielded_count;
		task->frames_more = reading->yielded_more;
		return;
	}
	task->state = event->kind == KYMO_PY_UNWIND ? KYMO_TASK_RAISED : KYMO_TASK_RETURNED;
	task->exception = task->state == KYMO_TASK_RAISED ? event->name : NULL;
	task->frames[0] = frame_of(event);
	task->frame_count = 1;
	task->frames_more = 0;
}

static void leave(struct reading *reading, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	uint64_t depth = kymo_stack_depth(&walker->stack);
	struct kymo_task_at *task;

	while (reading->entry_count && reading->entries[reading->entry_count - 1].depth > depth) { /* its end was not seen */
		const struct entry *gone = &reading->entries[--reading->entry_count];

		if (reading->states->tasks[gone->task].depth == gone->depth)
			reading->states->tasks[gone->task].state = KYMO_TASK_UNKNOWN;
	}
	if (!reading->entry_count || reading->entries[reading->entry_count - 1].depth != depth)
		return;
	if (event->kind == KYMO_PY_YIELD) {
		if (reading->yielded_count < KYMO_TASK_FRAMES)
			reading->yielded[reading->yielded_count++] = frame_of(event);
		else
			reading->yielded_more++;
	}
	task = &reading->states->tasks[reading->entries[--reading->entry_count].task];
	if (task->depth == depth)
		end_step(reading, task, event);
}

static void lose(struct reading *reading)
{
	reading->states->has_lost = true;
	for (size_t i = 0; i < reading->entry_count; i++)
		reading->states->tasks[reading->entries[i].task].state = KYMO_TASK_UNKNOWN;
	reading->entry_count = 0;
}

static int take(struct reading *reading, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	int result = 0;

	if (event->kind == KYMO_EVENT_GAP)
		lose(reading);
	else if (kymo_event_enters_coroutine(event) && event->task_id)
		result = enter(reading, walker);
	else if (walker->stack.is_leaving)
		leave(reading, walker);
	/* There may be instructions between two yields, but no line. */
	if (kymo_kind_enters(event->kind) || event->kind == KYMO_LINE || (walker->stack.is_leaving && event->kind != KYMO_PY_YIELD))
		reading->yielded_count = reading->yielded_more = 0;
	return result;
}

int kymo_task_states_at(struct kymo_timeline *timeline, const struct kymo_stream *stream, struct kymo_position at,
			const volatile sig_atomic_t *interrupted, struct kymo_task_states *out, struct kymo_error *error)
{
	struct reading reading = {.states = out};
	struct kymo_walker walker = {0};
	int result;

	*out = (struct kymo_task_states){.current = SIZE_MAX};
	kymo_walker_open(&walker, timeline, stream, 0, 0);
	while ((result = kymo_walker_next(&walker, error)) > 0 &&
	       kymo_position_compare(kymo_position_of(&walker.event), at) <= 0) {
		result = interrupted && *interrupted ? -EINTR : take(&reading, &walker);
		if (result) {
			kymo_fail(error, result, "%s", strerror(-result));
			break;
		}
	}
	if (result >= 0 && reading.entry_count)
		out->current = reading.entries[reading.entry_count - 1].task;
	kymo_walker_release(&walker);
	free(reading.entries);
	if (result < 0)
		kymo_task_states_release(out);
	return result < 0 ? result : 0;
}

void kymo_task_states_release(struct kymo_task_states *states)
{
	free(states->tasks);
	*states = (struct kymo_task_states){.current = SIZE_MAX};
}
