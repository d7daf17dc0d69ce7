// SPDX-License-Identifier: Apache-2.0
#include "tests/support/nesting.h"

#include <stdlib.h>
#include <string.h>

#include "replay/coverage/contexts.h"

struct checked {
	struct kymo_nesting *nesting;
	const struct kymo_slice *slice;
	struct kymo_call *open;
	size_t capacity;
	uint32_t depth;
	int64_t last_ns;
};

static void require(struct checked *checked, bool holds, const char *promise)
{
	if (!holds && !checked->nesting->broken)
		checked->nesting->broken = promise;
}

static void check_begin(struct checked *checked, const struct kymo_call *call)
{
	checked->nesting->begins++;
	checked->nesting->called += call->how == KYMO_CALL_CALLED && !call->c_name;
	require(checked, call->how >= KYMO_CALL_CALLED && call->how <= KYMO_CALL_FOUND, "a BEGIN says how");
	require(checked, call->depth == checked->depth, "a BEGIN is inside of all that are open");
	if (kymo_grow(&checked->open, &checked->capacity, checked->depth + 1U, sizeof(*call)))
		abort();
	checked->open[checked->depth++] = *call;
}

static void check_end(struct checked *checked, const struct kymo_call *call)
{
	const struct kymo_call *begin;

	checked->nesting->ends++;
	require(checked, call->how >= KYMO_CALL_RETURNED && call->how <= KYMO_CALL_OPEN, "an END says how");
	require(checked, checked->depth, "an END has its BEGIN");
	if (!checked->depth)
		return;
	begin = &checked->open[--checked->depth];
	require(checked, call->depth == checked->depth, "the last that began ends first");
	require(checked, call->content == begin->content && call->c_name == begin->c_name, "what ends is what began");
	require(checked, call->begin_ns == begin->t_ns, "an END knows when it began");
	require(checked, call->t_ns - begin->t_ns >= checked->slice->min_duration_ns, "calls last as long as is wanted");
}

static void check(struct checked *checked, const struct kymo_call *call)
{
	bool is_late = checked->slice->min_duration_ns && call->step == KYMO_CALL_BEGIN;

	require(checked, is_late || call->t_ns >= checked->last_ns, "times do not go back");
	require(checked, call->t_ns >= checked->slice->from_ns && call->t_ns <= checked->slice->to_ns,
		"times are those that are wanted");
	if (!is_late)
		checked->last_ns = call->t_ns;
	switch (call->step) {
	case KYMO_CALL_BEGIN:
		check_begin(checked, call);
		break;
	case KYMO_CALL_END:
		check_end(checked, call);
		break;
	case KYMO_CALL_GAP:
		checked->nesting->gaps++;
		checked->nesting->lost += call->lost;
		require(checked, !checked->depth, "all have ended before a GAP");
		break;
	case KYMO_CALL_MARK:
		checked->nesting->marks++;
		break;
	case KYMO_CALL_RAISE:
	case KYMO_CALL_LINE:
		break;
	}
}

static void check_stream(struct checked *checked, struct kymo_timeline *timeline, const struct kymo_stream *stream,
			 const struct kymo_contexts *contexts, uint64_t limit)
{
	struct kymo_sliced_calls *calls;
	struct kymo_error error;
	struct kymo_call call;
	int result = kymo_sliced_calls_open(&calls, timeline, stream, checked->slice, contexts, &error);

	checked->depth = 0;
	checked->last_ns = INT64_MIN;
	while (!result && limit-- && (result = kymo_sliced_calls_next(calls, &call, &error)) > 0) {
		check(checked, &call);
		result = 0;
	}
	require(checked, result || limit == UINT64_MAX || !checked->depth, "all that began have ended");
	kymo_sliced_calls_close(calls);
}

void kymo_check_nesting(struct kymo_nesting *nesting, struct kymo_timeline *timeline, const struct kymo_slice *slice,
			uint64_t limit)
{
	struct checked checked = {.nesting = nesting, .slice = slice};
	struct kymo_contexts contexts;
	struct kymo_error error;
	int result = slice->test ? kymo_contexts_find(&contexts, timeline, &error) : 0;

	*nesting = (struct kymo_nesting){0};
	for (size_t i = 0; !result && i < timeline->stream_count; i++)
		if (kymo_slice_wants_stream(slice, &timeline->streams[i]))
			check_stream(&checked, timeline, &timeline->streams[i], slice->test ? &contexts : NULL, limit);
	if (slice->test)
		kymo_contexts_release(&contexts);
	free(checked.open);
}
