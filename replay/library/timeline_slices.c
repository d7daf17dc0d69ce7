// SPDX-License-Identifier: Apache-2.0
#define KYMO_PROFILE_API __attribute__((visibility("default")))
#include "replay/library/timeline_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/coverage/contexts.h"
#include "replay/library/profile_slice.h"
#include "replay/library/sized.h"

/* What is handed out, and what holds it. */
struct slices {
	struct kymo_profile_timeline told; /* the first: it stands for all */
	struct kymo_timeline timeline;
	struct kymo_contexts contexts;
	struct kymo_profile_function *functions;
	struct kymo_profile_thread *threads;
	struct kymo_timeline_box *boxes;
	struct kymo_timeline_gap *gaps;
	char (*reasons)[KYMO_LOSS_TEXT_BYTES]; /* of each gap */
	struct kymo_timeline_box *open;	       /* calls of the thread at hand, outermost first */
	size_t function_capacity, thread_capacity, open_capacity;
	struct kymo_lookup numbers;   /* of functions, from 1, by their definitions */
	const void **definitions;     /* of each function */
	size_t definition_capacity;
	uint64_t most;	  /* boxes; there is room for one more */
	uint64_t deepest; /* calls from this depth on are merged with those around them */
	struct kymo_task_runs tasks;
};

/* Number of the function of @call, or -ENOMEM. */
static int64_t function_of(struct slices *slices, const struct kymo_call *call)
{
	const void *definition = call->content ? (const void *)call->content : call->c_name;
	uint32_t hash = (uint32_t)kymo_hash_mix(0, (uintptr_t)definition), number;
	uint64_t count = slices->told.function_count;

	for (size_t at = hash; (number = kymo_lookup_next(&slices->numbers, hash, &at)); at++)
		if (slices->definitions[number - 1] == definition)
			return number - 1;
	if (kymo_grow(&slices->definitions, &slices->definition_capacity, count + 1, sizeof(*slices->definitions)) ||
	    kymo_grow(&slices->functions, &slices->function_capacity, count + 1, sizeof(*slices->functions)) ||
	    kymo_lookup_add(&slices->numbers, hash, (uint32_t)count + 1))
		return -ENOMEM;
	slices->definitions[count] = definition;
	slices->functions[count] = (struct kymo_profile_function){.name = call->c_name, .is_c = !!call->c_name};
	if (call->content)
		slices->functions[count] = (struct kymo_profile_function){
			.file = call->content->file, .name = call->content->function, .first_line = call->content->first_line};
	slices->told.function_count++;
	return (int64_t)count;
}

static bool is_short(const struct slices *slices, const struct kymo_timeline_box *box)
{
	return box->end_ns - box->begin_ns < slices->told.merged_ns;
}

/*
 * Add @box behind all that it called. A short box absorbs what it called, and is merged with a short box before it of the same
 * caller if both together are not long.
 */
static void put_box(struct slices *slices, struct kymo_timeline_box box)
{
	uint64_t *count = &slices->told.box_count;
	struct kymo_timeline_box *last;

	if (!is_short(slices, &box)) {
		slices->boxes[(*count)++] = box;
		return;
	}
	while (*count && slices->boxes[*count - 1].thread == box.thread && slices->boxes[*count - 1].depth > box.depth)
		box.calls += slices->boxes[--*count].calls;
	if (box.calls > 1)
		box.flags |= KYMO_TIMELINE_MERGED;
	last = *count ? &slices->boxes[*count - 1] : NULL;
	if (!last || last->thread != box.thread || last->depth != box.depth ||
	    box.end_ns - last->begin_ns >= slices->told.merged_ns) {
		slices->boxes[(*count)++] = box;
		return;
	}
	if (box.longest_ns > last->longest_ns) {
		last->function = box.function;
		last->longest_ns = box.longest_ns;
	}
	last->end_ns = box.end_ns;
	last->end_err_ns = box.end_err_ns;
	last->calls += box.calls;
	last->flags = (last->flags | box.flags | KYMO_TIMELINE_MERGED) & ~(uint32_t)KYMO_TIMELINE_RESUMED;
}

/* Merge more calls, until there are at most the wanted number of boxes. */
static int make_room(struct slices *slices)
{
	while (slices->told.box_count > slices->most) {
		uint64_t count = slices->told.box_count;

		/* At last all calls of a thread are short. */
		if (slices->told.merged_ns > INT64_MAX / 4)
			return -EOVERFLOW;
		slices->told.merged_ns = slices->told.merged_ns ? slices->told.merged_ns * 2 : 1;
		slices->told.box_count = 0;
		for (uint64_t i = 0; i < count; i++)
			put_box(slices, slices->boxes[i]);
	}
	return 0;
}

static int end_call(struct slices *slices, const struct kymo_call *call)
{
	struct kymo_timeline_box *box;
	int result = kymo_task_runs_end(&slices->tasks, call);

	if (result || call->depth >= slices->deepest)
		return result;
	box = &slices->open[call->depth];
	box->end_ns = call->t_ns;
	box->end_err_ns = call->t_err_ns;
	box->longest_ns = box->end_ns - box->begin_ns;
	if (call->how == KYMO_CALL_LOST || call->how == KYMO_CALL_OPEN)
		box->flags |= KYMO_TIMELINE_CUT;
	if (box->calls > 1)
		box->flags |= KYMO_TIMELINE_MERGED;
	put_box(slices, *box);
	return make_room(slices);
}

static int begin_call(struct slices *slices, const struct kymo_call *call, uint32_t thread)
{
	bool has_box = call->depth < slices->deepest, begins_run = kymo_task_runs_begins(&slices->tasks, call);
	int64_t function = has_box || begins_run ? function_of(slices, call) : 0;

	slices->told.calls++;
	if (function < 0 || (begins_run && kymo_task_runs_begin(&slices->tasks, call, (uint32_t)function, thread)))
		return -ENOMEM;
	if (!has_box) {
		slices->open[slices->deepest - 1].calls++;
		return 0;
	}
	if (kymo_grow(&slices->open, &slices->open_capacity, call->depth + UINT64_C(1), sizeof(*slices->open)))
		return -ENOMEM;
	slices->open[call->depth] = (struct kymo_timeline_box){
		.begin_ns = call->t_ns,
		.begin_err_ns = call->t_err_ns,
		.calls = 1,
		.function = (uint32_t)function,
		.thread = thread,
		.depth = call->depth,
		.flags = call->how == KYMO_CALL_FOUND ? KYMO_TIMELINE_CUT
			 : call->how == KYMO_CALL_CALLED ? 0
							 : KYMO_TIMELINE_RESUMED,
	};
	return 0;
}

static void add_gap(struct slices *slices, const struct kymo_call *call, uint32_t thread)
{
	uint64_t at = slices->told.gap_count;

	if (at == slices->most) {
		slices->told.gaps_left_out++;
		return;
	}
	slices->gaps[at] = (struct kymo_timeline_gap){.t_ns = call->t_ns,
						      .t_err_ns = call->t_err_ns,
						      .lost = call->lost,
						      .reasons = kymo_loss_text(call->lost_reasons, slices->reasons[at]),
						      .thread = thread};
	slices->told.gap_count++;
}

static int read_stream(struct slices *slices, const struct kymo_stream *stream, const struct kymo_slice *wanted,
		       struct kymo_error *error)
{
	uint64_t number = slices->told.thread_count;
	struct kymo_profile_thread *thread;
	struct kymo_sliced_calls *calls;
	struct kymo_call call;
	bool has_name = stream->thread && stream->thread->name && *stream->thread->name, has_begun = false;
	int result;

	if (kymo_grow(&slices->threads, &slices->thread_capacity, number + 1, sizeof(*slices->threads)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	thread = &slices->threads[number];
	*thread = (struct kymo_profile_thread){.pid = stream->process->pid,
					       .native_id = stream->thread ? stream->thread->native_id : 0,
					       .name = has_name ? stream->thread->name : NULL,
					       .process = stream->process->number,
					       .number = stream->number};
	slices->tasks.open_count = 0;
	result = kymo_sliced_calls_open(&calls, &slices->timeline, stream, wanted, wanted->test ? &slices->contexts : NULL,
					error);
	while (!result && (result = kymo_sliced_calls_next(calls, &call, error)) > 0) {
		if (!has_begun)
			thread->begin_ns = call.t_ns;
		has_begun = true;
		thread->end_ns = call.t_ns;
		result = 0;
		if (call.step == KYMO_CALL_BEGIN)
			result = begin_call(slices, &call, (uint32_t)number);
		else if (call.step == KYMO_CALL_END)
			result = end_call(slices, &call);
		else if (call.step == KYMO_CALL_GAP) {
			thread->lost += call.lost;
			add_gap(slices, &call, (uint32_t)number);
		}
		if (result)
			kymo_fail(error, result, result == -EOVERFLOW ? "there are more threads than boxes" : "out of memory");
	}
	kymo_sliced_calls_close(calls);
	if (result < 0 || !has_begun)
		return result;
	if (!number || thread->begin_ns < slices->told.begin_ns)
		slices->told.begin_ns = thread->begin_ns;
	if (!number || thread->end_ns > slices->told.end_ns)
		slices->told.end_ns = thread->end_ns;
	slices->told.thread_count++;
	return 0;
}

static int read_all(struct slices *slices, const struct kymo_profile_slice *given, struct kymo_error *error)
{
	struct kymo_profile_slice asked = {0};
	int result = kymo_sized_take(&asked, given, sizeof asked, error);
	struct kymo_slice wanted = kymo_profile_slice_of(&asked);

	if (!result && wanted.test)
		result = kymo_contexts_find(&slices->contexts, &slices->timeline, error);
	slices->timeline.rebuilt_kinds = 0;
	for (size_t i = 0; i < slices->timeline.stream_count && !result; i++)
		if (kymo_slice_wants_stream(&wanted, &slices->timeline.streams[i]))
			result = read_stream(slices, &slices->timeline.streams[i], &wanted, error);
	slices->told.functions = slices->functions;
	slices->told.threads = slices->threads;
	slices->told.boxes = slices->boxes;
	slices->told.gaps = slices->gaps;
	slices->told.tasks = slices->tasks.tasks;
	slices->told.task_count = slices->tasks.task_count;
	slices->told.runs = slices->tasks.runs;
	slices->told.run_count = slices->tasks.run_count;
	slices->told.runs_left_out = slices->tasks.left_out;
	slices->told.runs_merged_ns = slices->tasks.merged_ns;
	return result;
}

int kymo_profile_timeline_read(const char *path, const struct kymo_profile_slice *slice, uint64_t most,
			       const struct kymo_profile_timeline **timeline, char *message, size_t message_bytes)
{
	struct slices *slices = calloc(1, sizeof(*slices));
	struct kymo_error error = {"out of memory"};
	int result = slices && most && most < SIZE_MAX / KYMO_LOSS_TEXT_BYTES ? 0 : -ENOMEM;

	if (!result) {
		slices->timeline.trace.fd = -1;
		slices->most = slices->tasks.most = most;
		slices->deepest = most < 8 ? 1 : most / 4;
		slices->boxes = malloc((most + 1) * sizeof(*slices->boxes));
		slices->gaps = malloc(most * sizeof(*slices->gaps));
		slices->reasons = malloc(most * sizeof(*slices->reasons));
		result = slices->boxes && slices->gaps && slices->reasons ? 0 : -ENOMEM;
	}
	if (!result)
		result = kymo_timeline_open(&slices->timeline, path, 0, &error);
	if (!result)
		result = read_all(slices, slice, &error);
	if (!result) {
		slices->told.size = sizeof slices->told;
		*timeline = &slices->told;
		return 0;
	}
	kymo_error_copy(&error, message, message_bytes);
	kymo_profile_timeline_free(slices ? &slices->told : NULL);
	return result;
}

void kymo_profile_timeline_free(const struct kymo_profile_timeline *timeline)
{
	struct slices *slices = (struct slices *)timeline;

	if (!slices)
		return;
	kymo_contexts_release(&slices->contexts);
	kymo_timeline_close(&slices->timeline);
	free(slices->functions);
	free(slices->threads);
	free(slices->boxes);
	free(slices->gaps);
	free(slices->reasons);
	free(slices->open);
	free(slices->numbers.slots);
	free(slices->definitions);
	kymo_task_runs_free(&slices->tasks);
	free(slices);
}
