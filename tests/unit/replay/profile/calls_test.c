// SPDX-License-Identifier: Apache-2.0
/* The calls of the golden traces, which hold exceptions, generators, threads, forks, kills and gaps; the oracle is their events. */
#include <criterion/criterion.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>

#include "replay/decode/thread_cursor.h"
#include "tests/support/nesting.h"

struct counted {
	uint64_t starts, marks, lost, events;
	int64_t first_ns, last_ns;
};

static struct counted count_events(struct kymo_timeline *timeline)
{
	struct counted counted = {.first_ns = INT64_MAX, .last_ns = INT64_MIN};
	struct kymo_error error;
	struct kymo_event event;

	for (size_t i = 0; i < timeline->stream_count; i++) {
		struct kymo_cursor cursor;

		kymo_cursor_init(&cursor, timeline, &timeline->streams[i]);
		while (kymo_cursor_next(&cursor, &event, &error) > 0) {
			counted.starts += event.kind == KYMO_PY_START || event.kind == KYMO_PY_START_AT;
			counted.marks += event.kind == KYMO_EVENT_MARK;
			counted.lost += event.lost;
			counted.events++;
			counted.first_ns = event.t_ns < counted.first_ns ? event.t_ns : counted.first_ns;
			counted.last_ns = event.t_ns > counted.last_ns ? event.t_ns : counted.last_ns;
		}
		kymo_cursor_release(&cursor);
	}
	return counted;
}

static void check_trace(const char *path)
{
	struct kymo_slice slice = KYMO_SLICE_ALL;
	struct kymo_timeline timeline;
	struct kymo_nesting all, part;
	struct counted counted;
	struct kymo_error error;
	int64_t length;

	cr_assert_eq(kymo_timeline_open(&timeline, path, 0, &error), 0, "%s", error.message);
	counted = count_events(&timeline);
	kymo_check_nesting(&all, &timeline, &slice, UINT64_MAX);
	cr_assert_null(all.broken, "%s: not true: %s", path, all.broken);
	cr_assert_eq(all.called, counted.starts, "%s: %lu calls of %lu", path, all.called, counted.starts);
	cr_assert_eq(all.marks, counted.marks);
	cr_assert_eq(all.lost, counted.lost);
	length = counted.last_ns - counted.first_ns;
	for (int64_t part_of = 1; part_of <= 64; part_of *= 4) {
		slice = KYMO_SLICE_ALL;
		slice.from_ns = counted.first_ns + length / (2 * part_of);
		slice.to_ns = counted.last_ns - length / (3 * part_of);
		kymo_check_nesting(&part, &timeline, &slice, UINT64_MAX);
		cr_assert_null(part.broken, "%s, a part of it: not true: %s", path, part.broken);
		slice = KYMO_SLICE_ALL;
		slice.min_duration_ns = length / (100 * part_of) + 1;
		kymo_check_nesting(&part, &timeline, &slice, UINT64_MAX);
		cr_assert_null(part.broken, "%s, long calls: not true: %s", path, part.broken);
		cr_assert_leq(part.begins, all.begins);
	}
	slice = KYMO_SLICE_ALL;
	slice.function = "*a*";
	kymo_check_nesting(&part, &timeline, &slice, UINT64_MAX);
	cr_assert_null(part.broken, "%s, functions: not true: %s", path, part.broken);
	kymo_timeline_close(&timeline);
}

Test(calls, of_every_golden_trace_nest_whatever_is_wanted_of_them)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof pattern, "%s/tests/golden/v1/*.kymo", KYMO_SOURCE_DIR);
	cr_assert_eq(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_trace(found.gl_pathv[i]);
	globfree(&found);
}

static void next_entry(struct kymo_cursor *cursor, uint64_t n, struct kymo_event *event)
{
	struct kymo_error error;

	do
		cr_assert_eq(kymo_cursor_next(cursor, event, &error), 1);
	while (event->n != n);
}

Test(calls, run_in_the_task_of_the_coroutine_that_called_them)
{
	const struct kymo_traced_task *tasks[64] = {NULL};
	uint32_t coroutines = 0, called = 0, within_another = 0;
	struct kymo_timeline timeline;
	struct kymo_cursor cursor;
	struct kymo_calls calls;
	struct kymo_event event;
	struct kymo_error error;
	struct kymo_call call;

	cr_assert_eq(kymo_timeline_open(&timeline, KYMO_SOURCE_DIR "/tests/golden/v1/awaiting-3.14.kymo", 0, &error), 0);
	kymo_cursor_init(&cursor, &timeline, &timeline.streams[0]);
	kymo_calls_open(&calls, &timeline, &timeline.streams[0], INT64_MIN);
	while (kymo_calls_next(&calls, &call, &error) > 0) {
		const struct kymo_traced_task *around = call.depth ? tasks[call.depth - 1] : NULL;

		if (call.step == KYMO_CALL_END)
			cr_assert_eq(call.task, tasks[call.depth]);
		if (call.step != KYMO_CALL_BEGIN)
			continue;
		next_entry(&cursor, call.n, &event);
		if (kymo_event_enters_coroutine(&event)) {
			cr_assert_eq(call.task, event.task, "call %lu", call.n);
			coroutines += call.task != NULL;
			within_another += call.task && around && around != call.task;
		} else {
			cr_assert_eq(call.task, around, "call %lu", call.n);
			called += call.task != NULL;
		}
		tasks[call.depth] = call.task;
	}
	cr_assert(coroutines && called && within_another == 2, "%u, %u, %u", coroutines, called, within_another);
	kymo_calls_release(&calls);
	kymo_cursor_release(&cursor);
	kymo_timeline_close(&timeline);
}
