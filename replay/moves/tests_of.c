// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/tests_of.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/moves/breaks.h"
#include "replay/moves/replay_walks.h"

#define CONTEXT "context:"
#define TEST "test:"
#define PHASE "phase:"
#define MAX_NAMED 5

/* A test as the marks describe its last attempt, or its last failed attempt if one failed. */
struct test {
	const char *name; /* node id */
	size_t name_bytes;
	size_t begin, end; /* numbers of marks: of the attempt, or of the phase `run` if no attempts are marked */
	bool has_failed;
};

struct tests {
	struct test *items;
	size_t count, capacity;
};

static const char *text_of(const struct kymo_replay *replay, size_t mark)
{
	const struct kymo_index_mark *at = &replay->index->marks[mark];
	const char *text = kymo_traced_text(replay->timeline->streams[at->stream].process, at->text);

	return text ? text : "";
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static struct test *find(const struct tests *tests, const char *name, size_t bytes)
{
	for (size_t i = 0; i < tests->count; i++)
		if (tests->items[i].name_bytes == bytes && !memcmp(tests->items[i].name, name, bytes))
			return &tests->items[i];
	return NULL;
}

static int note(struct tests *tests, const struct test *test, struct kymo_error *error)
{
	struct test *known = find(tests, test->name, test->name_bytes);

	if (known && (test->has_failed || !known->has_failed))
		*known = *test;
	if (known)
		return 0;
	if (kymo_grow(&tests->items, &tests->capacity, tests->count + 1, sizeof(*tests->items)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	tests->items[tests->count++] = *test;
	return 0;
}

/* The node id behind OUTCOME|ATTEMPT|; NULL: not such a text. */
static const char *attempt_name(const char *text)
{
	const char *name = strchr(text, '|');

	name = name ? strchr(name + 1, '|') : NULL;
	return name ? name + 1 : NULL;
}

/* "NODEID|run"; 0: not such a text. */
static size_t run_bytes(const char *context)
{
	const char *bar = strrchr(context, '|');

	return bar && !strcmp(bar, "|run") ? (size_t)(bar - context) : 0;
}

static int list(const struct kymo_replay *replay, struct tests *tests, struct kymo_error *error)
{
	const struct kymo_index *index = replay->index;
	size_t begin = SIZE_MAX;
	int result = 0;

	for (size_t i = 0; i < index->mark_count && !result; i++) {
		const char *text = text_of(replay, i), *name = has_prefix(text, TEST) ? attempt_name(text) : NULL;
		struct test test = {.begin = i, .end = i, .name = name, .name_bytes = name ? strlen(name) : 0};

		if (name && has_prefix(text, TEST "start|")) {
			begin = i;
			result = note(tests, &test, error);
		} else if (name) {
			test.begin = begin <= i && index->marks[begin].stream == index->marks[i].stream ? begin : i;
			test.has_failed = has_prefix(text, TEST "failed|");
			result = note(tests, &test, error);
		} else if (has_prefix(text, CONTEXT) && (test.name_bytes = run_bytes(text + strlen(CONTEXT)))) {
			test.name = text + strlen(CONTEXT);
			if (!find(tests, test.name, test.name_bytes))
				result = note(tests, &test, error);
		}
	}
	return result;
}

/* Where the failed phase of @test begins, or else its phase `run`; SIZE_MAX: nowhere. */
static size_t find_phase(const struct kymo_replay *replay, const struct test *test)
{
	static const char *const phases[][2] = {{"setup", "|setup"}, {"call", "|run"}, {"teardown", "|teardown"}};
	const char *wanted = "|run";
	size_t found = SIZE_MAX;

	for (size_t i = test->begin; test->has_failed && i < test->end; i++)
		for (size_t k = 0; k < 3; k++) {
			const char *text = text_of(replay, i);
			size_t bytes = strlen(phases[k][0]);

			if (has_prefix(text, PHASE) && has_prefix(text + strlen(PHASE), phases[k][0]) &&
			    !strcmp(text + strlen(PHASE) + bytes, "|failed") && !strcmp(wanted, "|run"))
				wanted = phases[k][1];
		}
	for (size_t i = test->begin; i <= test->end; i++) {
		const char *text = text_of(replay, i);

		if (has_prefix(text, CONTEXT) && !strncmp(text + strlen(CONTEXT), test->name, test->name_bytes) &&
		    !strcmp(text + strlen(CONTEXT) + test->name_bytes, wanted))
			found = i;
	}
	return found;
}

/* The goal of a search backwards from the end of a phase. */
struct looked_for {
	uint64_t begin; /* nothing before this event */
	const char *file; /* of the test; its end has no NUL */
	size_t file_bytes;
};

static bool is_begin(const struct kymo_walker *walker, const struct looked_for *looked_for)
{
	return walker->event.n <= looked_for->begin;
}

static bool is_in_file(const struct kymo_event *event, const struct looked_for *looked_for)
{
	size_t bytes = event->code ? strlen(event->code->content->file) : 0;

	return looked_for->file_bytes && bytes >= looked_for->file_bytes &&
	       !memcmp(event->code->content->file + bytes - looked_for->file_bytes, looked_for->file, looked_for->file_bytes);
}

/* An exception leaves a frame of the test's own file. */
static bool leaves_test(const struct kymo_walker *walker, const void *context)
{
	const struct looked_for *looked_for = context;
	const struct kymo_event *event = &walker->event;

	if (is_begin(walker, looked_for))
		return true;
	return event->kind == KYMO_PY_UNWIND && event->name && is_in_file(event, looked_for);
}

static bool leaves_any(const struct kymo_walker *walker, const void *context)
{
	return is_begin(walker, context) || (walker->event.kind == KYMO_PY_UNWIND && walker->event.name);
}

/* To where an exception that left a frame in this phase was raised. 1; 0: there is none, and the replay's position is undefined. */
static int go_to_raise(struct kymo_replay *replay, const struct kymo_index_mark *mark, uint64_t end, const struct looked_for *looked_for,
		       kymo_wanted_event leaves, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(replay->index, mark->stream, end);
	struct kymo_position found;
	int result = chunk ? kymo_stand_at_last(replay, chunk, (struct kymo_position){end, 0}, leaves, looked_for, error) : 0;
	const struct kymo_event *event = kymo_replay_event(replay);

	if (result <= 0 || event->kind != KYMO_PY_UNWIND || event->n <= looked_for->begin)
		return result < 0 ? result : 0;
	chunk = kymo_this_chunk(replay);
	result = kymo_find_raise(replay, &chunk, kymo_position_of(event), event->name, &found, error);
	if (result <= 0 || found.n <= looked_for->begin)
		return result < 0 ? result : 1; /* where it left the frame */
	result = kymo_stand_at(replay, chunk, found, error);
	return result ? result : 1;
}

/* To the first call in the test's own file, or else the mark of the phase. */
static int go_to_begin(struct kymo_replay *replay, const struct kymo_index_mark *mark, uint64_t end, const struct looked_for *looked_for,
		       struct kymo_error *error)
{
	const struct kymo_position begin = {mark->n, 0};
	int result = kymo_replay_seek(replay, mark->stream, begin, error);
	const struct kymo_event *event = kymo_replay_event(replay);

	while (!result) {
		int stop = kymo_replay_forward(replay, KYMO_GO_EVENT, error);

		if (stop != KYMO_STOP_MOVED || event->n >= end)
			return stop < 0 ? stop : kymo_replay_seek(replay, mark->stream, begin, error);
		if (event->kind == KYMO_PY_START && is_in_file(event, looked_for))
			break;
		result = kymo_check_interrupt(replay, error);
	}
	return result;
}

static int go_to(struct kymo_replay *replay, const struct test *test, struct kymo_error *error)
{
	const struct kymo_index *index = replay->index;
	size_t phase = find_phase(replay, test), next;
	const struct kymo_index_mark *mark = &index->marks[phase == SIZE_MAX ? test->begin : phase];
	const char *colons = memmem(test->name, test->name_bytes, "::", 2);
	struct looked_for looked_for = {.begin = mark->n, .file = test->name, .file_bytes = colons ? (size_t)(colons - test->name) : 0};
	uint64_t end;
	int result = 0;

	/* Up to the next mark after the phase, whatever it is. */
	next = (size_t)(mark - index->marks) + 1;
	end = next < index->mark_count && index->marks[next].stream == mark->stream ? index->marks[next].n : UINT64_MAX;
	if (test->has_failed)
		result = go_to_raise(replay, mark, end, &looked_for, leaves_test, error);
	if (test->has_failed && !result)
		result = go_to_raise(replay, mark, end, &looked_for, leaves_any, error);
	if (result)
		return result < 0 ? result : 0;
	return go_to_begin(replay, mark, end, &looked_for, error);
}

/* How well @name, of @bytes, matches @test: 0 not at all, 1 it is contained, 2 it is the last part, 3 it is equal. */
static int rank(const struct test *test, const char *name)
{
	size_t bytes = strlen(name);
	const char *at = bytes && bytes <= test->name_bytes ? memmem(test->name, test->name_bytes, name, bytes) : NULL, *next;

	if (!at)
		return 0;
	if (bytes == test->name_bytes)
		return 3;
	while ((next = memmem(at + 1, test->name_bytes - (size_t)(at + 1 - test->name), name, bytes)))
		at = next;
	/* As in `pytest FILE::NAME`, without the file or without the parameters. */
	return at > test->name && at[-1] == ':' && (at + bytes == test->name + test->name_bytes || at[bytes] == '[') ? 2 : 1;
}

/* The test that @name means; NULL: @error says why. */
static const struct test *choose(const struct tests *tests, const char *name, struct kymo_error *error)
{
	const struct test *found = NULL, *failed = NULL;
	size_t matches = 0, failures = 0, bytes = 0;
	char named[192] = "";
	int best = 1;

	for (size_t i = 0; i < tests->count; i++)
		if (rank(&tests->items[i], name) > best)
			best = rank(&tests->items[i], name);
	for (size_t i = 0; i < tests->count; i++) {
		const struct test *test = &tests->items[i];

		if (rank(test, name) < best)
			continue;
		found = test;
		failed = test->has_failed ? test : failed;
		failures += test->has_failed;
		if (matches++ < MAX_NAMED && bytes < sizeof(named))
			bytes += (size_t)snprintf(named + bytes, sizeof(named) - bytes, "%s%.*s", matches > 1 ? ", " : "", (int)test->name_bytes,
						  test->name);
	}
	if (matches == 1 || failures == 1)
		return failures ? failed : found;
	if (matches)
		kymo_fail(error, -ENOENT, "'%s' may be each of %zu tests: %s%s", name, matches, named, matches > MAX_NAMED ? ", …" : "");
	else
		kymo_fail(error, -ENOENT, "no test '%s' was recorded%s", name, tests->count ? "" : ": nothing tells of tests here");
	return NULL;
}

int kymo_replay_goto_test(struct kymo_replay *replay, const char *name, struct kymo_error *error)
{
	struct tests tests = {0};
	const struct test *test;
	int result = list(replay, &tests, error);

	if (!result) {
		test = choose(&tests, name, error);
		result = test ? go_to(replay, test, error) : -ENOENT;
	}
	free(tests.items);
	return result;
}

int kymo_replay_goto_failed_test(struct kymo_replay *replay, const char **name, size_t *count, struct kymo_error *error)
{
	struct tests tests = {0};
	const struct test *first = NULL;
	int result = list(replay, &tests, error);

	*count = 0;
	for (size_t i = 0; i < tests.count && !result; i++) {
		*count += tests.items[i].has_failed;
		if (!first && tests.items[i].has_failed)
			first = &tests.items[i];
	}
	if (!result && first) {
		*name = first->name;
		result = go_to(replay, first, error);
		result = result ? result : 1;
	}
	free(tests.items);
	return result;
}
