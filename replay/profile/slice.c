// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/slice.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/coverage/contexts.h"

/* Cache of matches of slice.function, by content. */
#define ANSWERS 1024U

struct kymo_sliced_calls {
	struct kymo_calls calls;
	struct kymo_slice slice;
	const struct kymo_contexts *contexts;
	struct kymo_context_place place; /* where the thread is */
	bool is_wanted_place;
	uint64_t turn;
	uint32_t interpreter;
	/* calls.open[base …], as they began for us; the first @shown of them were returned */
	struct kymo_call *wanted;
	uint32_t count, shown, base;
	size_t capacity;
	bool has_base; /* calls from @base on are wanted */
	bool has_call; /* more is to come from @call, the last step of @calls */
	bool is_over;  /* slice.to_ns was reached */
	bool is_whole; /* all calls from slice.from_ns on are wanted */
	struct kymo_call call;
	struct {
		const struct kymo_content *content;
		bool is_wanted;
	} answers[ANSWERS];
};

bool kymo_slice_wants_stream(const struct kymo_slice *slice, const struct kymo_stream *stream)
{
	char number[24];

	if (slice->process && stream->process->pid != slice->process)
		return false;
	if (stream->start_ns > slice->to_ns)
		return false;
	if (!slice->thread)
		return true;
	snprintf(number, sizeof number, "%" PRIu32, stream->number);
	if (!strcmp(number, slice->thread))
		return true;
	if (!stream->thread)
		return false;
	snprintf(number, sizeof number, "%" PRIu64, stream->thread->native_id);
	return !strcmp(number, slice->thread) || (stream->thread->name && !strcmp(stream->thread->name, slice->thread));
}

int kymo_sliced_calls_open(struct kymo_sliced_calls **calls, struct kymo_timeline *timeline,
			   const struct kymo_stream *stream, const struct kymo_slice *slice,
			   const struct kymo_contexts *contexts, struct kymo_error *error)
{
	struct kymo_sliced_calls *made = calloc(1, sizeof(*made));

	*calls = made;
	if (!made)
		return kymo_fail(error, -ENOMEM, "out of memory");
	made->slice = *slice;
	made->contexts = contexts;
	made->place.until_ns = INT64_MIN; /* not known yet */
	made->has_base = !slice->function;
	made->is_whole = !slice->function && !contexts && slice->min_duration_ns <= 0 && slice->to_ns == INT64_MAX;
	kymo_calls_open(&made->calls, timeline, stream, slice->from_ns);
	return 0;
}

void kymo_sliced_calls_close(struct kymo_sliced_calls *calls)
{
	if (!calls)
		return;
	kymo_calls_release(&calls->calls);
	free(calls->wanted);
	free(calls);
}

static bool is_wanted_function(struct kymo_sliced_calls *calls, const struct kymo_content *content, const char *c_name)
{
	size_t at = ((uintptr_t)content / sizeof(*content)) % ANSWERS;

	if (!content)
		return c_name && !fnmatch(calls->slice.function, c_name, 0);
	if (calls->answers[at].content != content) {
		calls->answers[at].content = content;
		calls->answers[at].is_wanted = !fnmatch(calls->slice.function, content->function, 0);
	}
	return calls->answers[at].is_wanted;
}

static void come_to(struct kymo_sliced_calls *calls, struct kymo_context_place place)
{
	calls->place = place;
	calls->is_wanted_place = kymo_context_is_of(calls->contexts, place.context, calls->slice.test);
}

/* Find the thread's context, by its own marks or those of others. */
static void follow_context(struct kymo_sliced_calls *calls)
{
	const struct kymo_event *event = &calls->calls.walker.event;
	const struct kymo_call *call = &calls->call;
	uint32_t context;

	if (call->step == KYMO_CALL_MARK) {
		context = kymo_contexts_number(calls->contexts, call->text);
		if (context != KYMO_CONTEXT_SAME)
			come_to(calls, (struct kymo_context_place){context, INT64_MAX});
	} else if (event->slice != calls->turn || event->interpreter != calls->interpreter ||
		   call->t_ns >= calls->place.until_ns) {
		come_to(calls, kymo_contexts_at(calls->contexts, event->stream->process, event->interpreter, event->slice,
						call->t_ns));
	}
	calls->turn = event->slice;
	calls->interpreter = event->interpreter;
}

/* True if calls that run now are wanted. */
static bool is_inside(const struct kymo_sliced_calls *calls)
{
	return !calls->is_over && calls->has_base && (!calls->contexts || calls->is_wanted_place);
}

/* Take the next step of the thread.  As kymo_calls_next(). */
static int take_call(struct kymo_sliced_calls *calls, struct kymo_error *error)
{
	struct kymo_call *call = &calls->call;
	int result = kymo_calls_next(&calls->calls, call, error);

	if (result <= 0)
		return result;
	calls->has_call = true;
	calls->is_over = call->t_ns > calls->slice.to_ns;
	if (calls->is_over) {
		call->t_ns = call->high_ns = calls->slice.to_ns;
		call->low_ns = call->low_ns < call->t_ns ? call->low_ns : call->t_ns;
	}
	if (calls->contexts)
		follow_context(calls);
	if (!calls->has_base && call->step == KYMO_CALL_BEGIN && is_wanted_function(calls, call->content, call->c_name)) {
		calls->has_base = true;
		calls->base = call->depth;
	}
	return 1;
}

static int put_begin(struct kymo_sliced_calls *calls, const struct kymo_call *begin, struct kymo_error *error)
{
	if (kymo_grow(&calls->wanted, &calls->capacity, calls->count + 1U, sizeof(*calls->wanted)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	calls->wanted[calls->count] = *begin;
	calls->wanted[calls->count].depth = calls->count;
	calls->count++;
	return 0;
}

/* The outermost open call that we do not have yet. */
static int put_found(struct kymo_sliced_calls *calls, struct kymo_error *error)
{
	const struct kymo_open_call *open = &calls->calls.open[calls->base + calls->count];
	struct kymo_call found = {
		.step = KYMO_CALL_BEGIN,
		.how = KYMO_CALL_FOUND,
		.content = open->content,
		.c_name = open->c_name,
		.task = open->task,
		.line = KYMO_LINE_NONE,
		.t_ns = calls->call.t_ns,
		.t_err_ns = calls->call.t_err_ns,
		.low_ns = calls->call.low_ns,
		.high_ns = calls->call.high_ns,
		.window_at = calls->call.window_at,
		.window_events = calls->call.window_events,
		.n = calls->call.n,
	};

	return put_begin(calls, &found, error);
}

/* Return the outermost call not returned yet, if it lasted long enough. */
static bool tell_due(struct kymo_sliced_calls *calls, struct kymo_call *call)
{
	if (calls->shown == calls->count ||
	    calls->call.t_ns - calls->wanted[calls->shown].t_ns < calls->slice.min_duration_ns)
		return false;
	*call = calls->wanted[calls->shown++];
	return true;
}

/* The innermost call ends now. False: it was too short to be returned. */
static bool tell_end(struct kymo_sliced_calls *calls, struct kymo_call *call, enum kymo_call_how how)
{
	const struct kymo_call *begin = &calls->wanted[--calls->count];

	if (calls->shown <= calls->count)
		return false;
	calls->shown--;
	*call = (struct kymo_call){
		.step = KYMO_CALL_END,
		.how = how,
		.depth = calls->count,
		.content = begin->content,
		.c_name = begin->c_name,
		.task = begin->task,
		.line = KYMO_LINE_NONE,
		.t_ns = calls->call.t_ns,
		.t_err_ns = calls->call.t_err_ns,
		.low_ns = calls->call.low_ns,
		.high_ns = calls->call.high_ns,
		.window_at = calls->call.window_at,
		.window_events = calls->call.window_events,
		.begin_ns = begin->t_ns,
		.begin_err_ns = begin->t_err_ns,
		.n = calls->call.n,
	};
	return true;
}

/* The step itself, after all earlier calls are open. 1, 0 or a negative errno. */
static int tell_call(struct kymo_sliced_calls *calls, struct kymo_call *call, struct kymo_error *error)
{
	const struct kymo_call *step = &calls->call;
	bool is_told = false;

	switch (step->step) {
	case KYMO_CALL_BEGIN:
		return is_inside(calls) ? put_begin(calls, step, error) : 0;
	case KYMO_CALL_END:
		if (calls->count && calls->base + calls->count > calls->calls.count)
			is_told = tell_end(calls, call, step->how);
		if (calls->slice.function && step->depth == calls->base)
			calls->has_base = false;
		return is_told;
	case KYMO_CALL_MARK:
	case KYMO_CALL_GAP:
		*call = *step;
		call->depth = calls->shown;
		return 1;
	case KYMO_CALL_RAISE:
	case KYMO_CALL_LINE:
		if (!calls->count || calls->shown < calls->count)
			return 0;
		*call = *step;
		call->depth = calls->shown;
		return 1;
	}
	return 0;
}

int kymo_sliced_calls_next(struct kymo_sliced_calls *calls, struct kymo_call *call, struct kymo_error *error)
{
	if (calls->is_whole)
		return kymo_calls_next(&calls->calls, call, error);
	for (;;) {
		uint32_t before;
		int result;

		if (tell_due(calls, call))
			return 1;
		if (!calls->has_call) {
			if (calls->is_over)
				return 0;
			result = take_call(calls, error);
			if (result <= 0)
				return result;
			continue;
		}
		if (!is_inside(calls) && calls->count) {
			if (tell_end(calls, call, KYMO_CALL_OPEN))
				return 1;
			continue;
		}
		if (calls->is_over)
			return 0;
		before = calls->call.step == KYMO_CALL_BEGIN ? calls->call.depth : calls->calls.count;
		if (is_inside(calls) && calls->base + calls->count < before) {
			result = put_found(calls, error);
			if (result)
				return result;
			continue;
		}
		calls->has_call = false;
		result = tell_call(calls, call, error);
		if (result)
			return result;
	}
}
