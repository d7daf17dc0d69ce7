// SPDX-License-Identifier: Apache-2.0
/* The part of a run that is compared: all of it, or one test, by the marks around it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/diff.h"
#include "replay/moves/moment.h"
#include "replay/decode/walker.h"

#define CONTEXT "context:"

static const char *text_of(const struct kymo_forest *forest, const struct kymo_index_mark *mark)
{
	const struct kymo_stream *stream = &forest->side.timeline.streams[mark->stream];
	const char *text = kymo_traced_text(stream->process, mark->text);

	return text ? text : "";
}

/* "context:ID|phase", or "context:" if @test is "". */
static bool is_of_test(const char *text, const char *test, const char *phase)
{
	size_t length = strlen(test);

	if (strncmp(text, CONTEXT, strlen(CONTEXT)) != 0)
		return false;
	text += strlen(CONTEXT);
	if (!length)
		return !*text;
	return !strncmp(text, test, length) && text[length] == '|' && (!phase || !strcmp(text + length + 1, phase));
}

static bool is_context(const struct kymo_forest *forest, const struct kymo_index_mark *mark)
{
	return !strncmp(text_of(forest, mark), CONTEXT, strlen(CONTEXT));
}

/* The next context of that thread is another phase of @test, not a new attempt. Other marks may lie between. */
static bool goes_on(const struct kymo_forest *forest, size_t i, const char *test)
{
	const struct kymo_index *index = &forest->side.index;
	const struct kymo_index_mark *mark = &index->marks[i];

	for (i++; i < index->mark_count && index->marks[i].stream == mark->stream; i++)
		if (is_context(forest, &index->marks[i]))
			return is_of_test(text_of(forest, &index->marks[i]), test, NULL) &&
			       !is_of_test(text_of(forest, &index->marks[i]), test, "setup");
	return false;
}

/* The first or last attempt at @test: the mark where it begins, and the one behind it, or NULL. */
static const struct kymo_index_mark *find_attempt(const struct kymo_forest *forest, const char *test, bool wants_last,
						  const struct kymo_index_mark **end)
{
	const struct kymo_index *index = &forest->side.index;
	const struct kymo_index_mark *found = NULL;

	*end = NULL;
	for (size_t i = 0; i < index->mark_count; i++) {
		const struct kymo_index_mark *mark = &index->marks[i];
		bool is_ours = is_of_test(text_of(forest, mark), test, NULL);
		bool begins = is_ours && (is_of_test(text_of(forest, mark), test, "setup") || !found || *end);

		if (begins && found && !wants_last)
			break;
		if (begins) {
			found = mark;
			*end = NULL;
		} else if (found && !*end && mark->stream == found->stream && !is_ours && is_context(forest, mark) &&
			   !goes_on(forest, i, test)) {
			*end = mark;
		}
	}
	return found;
}

/* The last event of @stream at the moment of @mark. */
static int find_moment(const struct kymo_forest *forest, const struct kymo_index_mark *mark, size_t stream, uint64_t *n,
		       struct kymo_error *error)
{
	const struct kymo_index *index = &forest->side.index;
	struct kymo_moment moment = {.stream = mark->stream, .at = {mark->n, 0}, .t_ns = mark->t_ns}, found;
	struct kymo_walker walker;
	int result;

	kymo_index_walk(index, &walker, kymo_index_find(index, mark->stream, mark->n));
	while ((result = kymo_walker_next(&walker, error)) > 0 && walker.event.n < mark->n)
		kymo_walker_skip(&walker, mark->n);
	if (result > 0)
		moment = kymo_moment_of(&forest->side.timeline, &walker.event);
	kymo_walker_release(&walker);
	if (result < 0)
		return result;
	result = kymo_moment_of_thread(index, stream, &moment, &found, error);
	*n = result > 0 ? found.at.n : 0;
	return result < 0 ? result : 0;
}

int kymo_diff_choose_part(struct kymo_forest *forest, const char *test, bool wants_last, struct kymo_error *error)
{
	const struct kymo_timeline *timeline = &forest->side.timeline;
	const struct kymo_index_mark *begin, *end;
	int result = 0;

	forest->tree_count = timeline->stream_count;
	forest->smallest = 64;
	forest->trees = calloc(forest->tree_count + 1, sizeof *forest->trees);
	if (!forest->trees)
		return kymo_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < forest->tree_count; i++)
		forest->trees[i].range = (struct kymo_range){i, 0, UINT64_MAX};
	if (!test)
		return 0;
	begin = find_attempt(forest, test, wants_last, &end);
	if (!begin)
		return kymo_fail(error, -ENOENT, "the trace has no test '%s'; kymo events --kind MARK lists its marks", test);
	for (size_t i = 0; i < forest->tree_count && !result; i++) {
		struct kymo_range *range = &forest->trees[i].range;

		if (i == begin->stream) {
			range->after = begin->n;
			range->before = end ? end->n : UINT64_MAX;
			continue;
		}
		if (timeline->streams[i].process != timeline->streams[begin->stream].process) {
			range->before = 0;
			continue;
		}
		result = find_moment(forest, begin, i, &range->after, error);
		if (!result && end) {
			result = find_moment(forest, end, i, &range->before, error);
			range->before++;
		}
	}
	return result;
}
