// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kymo_calls_open(struct kymo_calls *calls, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		     int64_t from_ns)
{
	*calls = (struct kymo_calls){.from_ns = from_ns, .last = {.t_ns = INT64_MIN}};
	kymo_walker_open(&calls->walker, timeline, stream, 0, 0);
	if (from_ns != INT64_MIN)
		kymo_cursor_seek_time(&calls->walker.cursor, from_ns);
}

void kymo_calls_release(struct kymo_calls *calls)
{
	kymo_walker_release(&calls->walker);
	free(calls->open);
	*calls = (struct kymo_calls){0};
}

static enum kymo_call_how how_entered(unsigned kind)
{
	static const uint8_t hows[KYMO_KINDS] = {
		[KYMO_PY_START] = KYMO_CALL_CALLED,
		[KYMO_PY_START_AT] = KYMO_CALL_CALLED,
		[KYMO_PY_RESUME] = KYMO_CALL_RESUMED,
		[KYMO_PY_THROW] = KYMO_CALL_THROWN,
	};

	return kind < KYMO_KINDS ? hows[kind] : 0;
}

static enum kymo_call_how how_left(unsigned kind)
{
	static const uint8_t hows[KYMO_KINDS] = {
		[KYMO_PY_RETURN] = KYMO_CALL_RETURNED,
		[KYMO_PY_YIELD] = KYMO_CALL_YIELDED,
		[KYMO_PY_UNWIND] = KYMO_CALL_UNWOUND,
	};

	return kind < KYMO_KINDS ? hows[kind] : 0;
}

static bool ends_c(unsigned kind)
{
	return kind == KYMO_C_RETURN || kind == KYMO_C_RAISE;
}

/* The number of open calls up to and including the last one that is a frame. */
static uint32_t up_to_frame(const struct kymo_calls *calls)
{
	uint32_t count = calls->count;

	if (count == calls->frames)
		return count;
	while (count && calls->open[count - 1].c_name)
		count--;
	return count;
}

/* The open calls that are still on the stack. */
static uint32_t find_same(const struct kymo_calls *calls)
{
	const struct kymo_stack *stack = &calls->walker.stack;
	uint32_t before = calls->before, top = up_to_frame(calls), level = 0, at = 0;

	if (calls->frames && calls->hidden != stack->hidden)
		return 0;
	/* Most events only change the top. */
	if (calls->frames == before && (!top || calls->open[top - 1].code_id == stack->frames[before - 1].code_id))
		return calls->count;
	for (; at < calls->count; at++) {
		if (calls->open[at].c_name)
			continue;
		if (level == before || calls->open[at].code_id != stack->frames[level].code_id)
			break;
		level++;
	}
	return at;
}

static bool is_c_return(const struct kymo_calls *calls, const char *c_name)
{
	const struct kymo_event *event = &calls->walker.event;

	return ends_c(event->kind) && c_name && event->name && !strcmp(event->name, c_name);
}

/*
 * The next event shows whether a CALL called a function in C: its return, or a frame other than the callee, which C must have
 * called. Calls of generators return without an event.
 */
static bool is_pending_in_c(const struct kymo_calls *calls)
{
	const struct kymo_event *event = &calls->walker.event;

	if (is_c_return(calls, calls->pending_name))
		return true;
	return calls->entered && event->code && event->code->content &&
	       strcmp(event->code->content->function, calls->pending_name) != 0;
}

/* Steps before the event itself. */
static void begin_event(struct kymo_calls *calls)
{
	const struct kymo_event *event = &calls->walker.event;
	uint32_t same;

	calls->entered = how_entered(event->kind);
	calls->before = calls->walker.stack.count;
	if (calls->entered && calls->before)
		calls->before--;
	same = find_same(calls);
	calls->has_event = true;
	calls->is_pending_told = false;
	if (calls->has_pending && event->kind != KYMO_EVENT_MARK) {
		calls->is_pending_told = same == calls->count && is_pending_in_c(calls);
		calls->has_pending = false;
	}
	/* A frame that continues has returned from its call into C. */
	if (same == calls->count && !calls->is_pending_told && event->kind < KYMO_KINDS && !calls->entered) {
		uint32_t top = up_to_frame(calls);

		if (!ends_c(event->kind)) {
			same = top;
		} else {
			while (same > top && !is_c_return(calls, calls->open[same - 1].c_name))
				same--;
			same = same > top ? same : calls->count;
		}
	}
	calls->wanted = same;
	if (!calls->frames)
		calls->hidden = calls->walker.stack.hidden;
}

static inline void tell(struct kymo_calls *restrict calls, struct kymo_call *restrict call, enum kymo_call_step step,
			enum kymo_call_how how, const struct kymo_likely_time *at)
{
	int64_t low_ns = at->low_ns, high_ns = at->high_ns, t_ns;

	/* Events that were split, or are reported late, may have earlier times than others. */
	if (at->t_ns > calls->last.t_ns)
		calls->last = *at;
	t_ns = calls->last.t_ns;
	if (high_ns < t_ns)
		high_ns = t_ns;
	*call = (struct kymo_call){
		.step = step,
		.how = how,
		.depth = calls->count,
		.line = KYMO_LINE_NONE,
		.t_ns = t_ns,
		.t_err_ns = (uint64_t)(t_ns - low_ns > high_ns - t_ns ? t_ns - low_ns : high_ns - t_ns),
		.low_ns = low_ns,
		.high_ns = high_ns,
		.window_at = at->window_at,
		.window_events = at->window_events,
		.n = calls->walker.event.n,
	};
}

/* Room for the next open call; NULL: no memory. */
static inline struct kymo_open_call *next_open(struct kymo_calls *calls, struct kymo_error *error)
{
	if (calls->count == calls->capacity &&
	    kymo_grow(&calls->open, &calls->capacity, calls->count + 1U, sizeof(*calls->open))) {
		kymo_fail(error, -ENOMEM, "out of memory");
		return NULL;
	}
	return &calls->open[calls->count];
}

/* Fill the one from next_open(), except for its times. */
static inline int tell_begin(struct kymo_calls *restrict calls, struct kymo_call *restrict call, enum kymo_call_how how,
			     const struct kymo_likely_time *at)
{
	struct kymo_open_call *open = &calls->open[calls->count];

	tell(calls, call, KYMO_CALL_BEGIN, how, at);
	call->content = open->content;
	call->c_name = open->c_name;
	call->task = open->task;
	if (calls->frames)
		call->line = calls->walker.stack.frames[calls->frames - 1].line;
	open->begin_ns = call->t_ns;
	open->begin_err_ns = call->t_err_ns;
	calls->frames += !open->c_name;
	calls->wanted = ++calls->count;
	return 1;
}

static inline int tell_end(struct kymo_calls *restrict calls, struct kymo_call *restrict call, enum kymo_call_how how,
			   const struct kymo_likely_time *at)
{
	const struct kymo_open_call *open = &calls->open[calls->count - 1];

	calls->count--;
	calls->frames -= !open->c_name;
	tell(calls, call, KYMO_CALL_END, how, at);
	call->content = open->content;
	call->c_name = open->c_name;
	call->task = open->task;
	call->begin_ns = open->begin_ns;
	call->begin_err_ns = open->begin_err_ns;
	return 1;
}

/* The task of the coroutine that the event enters; other calls run in their caller's task. */
static const struct kymo_traced_task *task_of_call(const struct kymo_calls *calls, enum kymo_call_how how)
{
	const struct kymo_event *event = &calls->walker.event;

	if (how != KYMO_CALL_FOUND && event->code && kymo_code_is_coroutine(event->code))
		return event->task;
	return calls->count ? calls->open[calls->count - 1].task : NULL;
}

/* The frame on @level of the stack. */
static inline int tell_frame(struct kymo_calls *calls, struct kymo_call *call, uint32_t level, enum kymo_call_how how,
			     const struct kymo_likely_time *at, struct kymo_error *error)
{
	const struct kymo_stack_frame *frame = &calls->walker.stack.frames[level];
	struct kymo_open_call *open = next_open(calls, error);

	if (!open)
		return -ENOMEM;
	*open = (struct kymo_open_call){
		.content = frame->code ? frame->code->content : NULL,
		.task = task_of_call(calls, how),
		.code_id = frame->code_id,
	};
	return tell_begin(calls, call, how, at);
}

/* The first that ran already. */
static int tell_found(struct kymo_calls *calls, struct kymo_call *call, struct kymo_error *error)
{
	const struct kymo_likely_time from = {calls->from_ns, calls->from_ns, calls->from_ns, 0, 0};
	bool is_cut = calls->last.t_ns == INT64_MIN && calls->from_ns != INT64_MIN;

	return tell_frame(calls, call, calls->frames, KYMO_CALL_FOUND, is_cut ? &from : &calls->at, error);
}

/* The event itself. 1; 0: it gives no step. */
static int tell_event(struct kymo_calls *calls, struct kymo_call *call, struct kymo_error *error)
{
	const struct kymo_event *event = &calls->walker.event;
	enum kymo_call_how how;

	calls->has_event = false;
	if (calls->entered)
		return calls->walker.stack.count
			       ? tell_frame(calls, call, calls->walker.stack.count - 1, calls->entered, &calls->at, error)
			       : 0;
	how = how_left(event->kind);
	if (how)
		return calls->count ? tell_end(calls, call, how, &calls->at) : 0;
	if (ends_c(event->kind) && calls->count && is_c_return(calls, calls->open[calls->count - 1].c_name))
		return tell_end(calls, call, event->kind == KYMO_C_RETURN ? KYMO_CALL_RETURNED : KYMO_CALL_UNWOUND, &calls->at);
	switch (event->kind) {
	case KYMO_CALL:
		calls->has_pending = event->name != NULL;
		calls->pending_name = event->name;
		calls->pending = calls->at;
		return 0;
	case KYMO_RAISE:
		/* An exception is raised again in each frame that it reaches. */
		if (calls->walker.is_passed_on)
			return 0;
		tell(calls, call, KYMO_CALL_RAISE, 0, &calls->at);
		call->text = event->name;
		return 1;
	case KYMO_EVENT_MARK:
		tell(calls, call, KYMO_CALL_MARK, 0, &calls->at);
		call->text = event->text;
		return 1;
	case KYMO_EVENT_GAP:
		tell(calls, call, KYMO_CALL_GAP, 0, &calls->at);
		call->lost = event->lost;
		call->lost_reasons = event->lost_reasons;
		return 1;
	case KYMO_LINE:
		tell(calls, call, KYMO_CALL_LINE, 0, &calls->at);
		call->line = (int64_t)event->line;
		return 1;
	default:
		return 0;
	}
}

int kymo_calls_next(struct kymo_calls *calls, struct kymo_call *call, struct kymo_error *error)
{
	for (;;) {
		int result;

		if (calls->has_ended)
			return calls->count ? tell_end(calls, call, KYMO_CALL_OPEN, &calls->last) : 0;
		if (!calls->has_event) {
			result = kymo_walker_next(&calls->walker, error);
			if (result < 0)
				return result;
			calls->has_ended = !result;
			if (!result)
				continue;
			calls->at = kymo_cursor_guess(&calls->walker.cursor, &calls->walker.event);
			if (calls->at.t_ns < calls->from_ns) {
				calls->has_pending = false;
				continue;
			}
			begin_event(calls);
		}
		if (calls->count > calls->wanted)
			return tell_end(calls, call, KYMO_CALL_LOST, &calls->last);
		if (calls->is_pending_told) {
			struct kymo_open_call *open = next_open(calls, error);

			if (!open)
				return -ENOMEM;
			*open = (struct kymo_open_call){
				.c_name = calls->pending_name,
				.task = calls->count ? open[-1].task : NULL,
			};
			calls->is_pending_told = false;
			return tell_begin(calls, call, KYMO_CALL_CALLED, &calls->pending);
		}
		if (calls->frames < calls->before)
			return tell_found(calls, call, error);
		result = tell_event(calls, call, error);
		if (result)
			return result;
	}
}
