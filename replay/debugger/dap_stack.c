// SPDX-License-Identifier: Apache-2.0
/* Where it stands: threads, their stacks, and what is known of the frames in them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/dap_files.h"
#include "replay/debugger/dap_values.h"
#include "replay/trace/describe.h"
#include "replay/trace/line_table.h"
#include "replay/trace/text.h"

/* After this one, ids of frames start again; a client with that many of them no longer uses the old ones. */
#define MAX_FRAME_ID (1U << 30)

/* The thread @stream as people know it. */
static json_t *thread_name(const struct kymo_stream *stream)
{
	char *name = NULL;
	json_t *text = NULL;
	int length;

	if (stream->thread && stream->thread->name)
		length = asprintf(&name, "%s (pid %" PRIu32 ")", stream->thread->name, stream->process->pid);
	else
		length = asprintf(&name, "Thread %" PRIu32 " (pid %" PRIu32 ")", stream->number, stream->process->pid);
	if (length >= 0)
		text = kymo_dap_text(name);
	free(name);
	return text;
}

int kymo_dap_threads(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	json_t *threads = json_array();

	(void)arguments;
	for (size_t i = 0; i < dap->trace.timeline.stream_count; i++)
		json_array_append_new(threads, json_pack("{s:I, s:o}", "id", (json_int_t)kymo_dap_thread_id(i), "name",
							 thread_name(&dap->trace.timeline.streams[i])));
	return kymo_dap_answer(body, json_pack("{s:o}", "threads", threads), error);
}

void kymo_dap_forget_views(struct kymo_dap *dap)
{
	for (size_t i = 0; i < dap->view_count; i++) {
		kymo_stack_release(&dap->views[i].stack);
		free(dap->views[i].missing);
	}
	dap->view_count = 0;
	kymo_dap_forget_values(dap);
	if (dap->last_frame_id > MAX_FRAME_ID)
		dap->last_frame_id = 0;
}

/* What is not known of the stack where the replay stands. */
static char *describe_missing(const struct kymo_replay *replay, const struct kymo_stack *stack)
{
	const struct kymo_event *event = kymo_replay_event(replay);
	char why[KYMO_LOSS_TEXT_BYTES], count[KYMO_TEXT_BYTES], lines[KYMO_DESCRIBE_BYTES], *text = NULL;
	int length = 0;

	if (event->kind == KYMO_EVENT_GAP)
		length = asprintf(&text, "not recorded: %s lost (%s)", kymo_text_counted(event->lost, "event", count),
				  kymo_loss_text(event->lost_reasons, why));
	else if (kymo_event_may_have_run(event, lines))
		length = asprintf(&text, "not recorded: %s", lines);
	else if (stack->hidden)
		length = asprintf(&text, "not recorded: %s", kymo_text_counted(stack->hidden, "frame", count));
	return length < 0 ? NULL : text;
}

/* To @view, the stack where @replay stands. */
static int view_here(struct kymo_replay *replay, struct kymo_dap_view *view, struct kymo_error *error)
{
	int result = kymo_replay_stack(replay, &view->stack, error);

	if (!result)
		view->missing = describe_missing(replay, &view->stack);
	return result;
}

/* Have the replay beside stand in @stream where that is now. */
static int stand_aside(struct kymo_dap *dap, size_t stream, bool *is_there, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(&dap->trace.timeline, kymo_replay_event(&dap->replay)), then;
	const struct kymo_stack *stack = &dap->side.walker.stack;
	int result = kymo_moment_of_thread(&dap->trace.index, stream, &now, &then, error);

	*is_there = result > 0; /* else it has not begun */
	if (result > 0)
		result = kymo_replay_seek(&dap->side, stream, then.at, error);
	if (!result && stack->is_leaving && kymo_stack_depth(stack) == 1)
		*is_there = false; /* it has ended */
	return result;
}

/* The same, of a thread that the replay does not stand in. */
static int view_other(struct kymo_dap *dap, struct kymo_dap_view *view, struct kymo_error *error)
{
	bool is_there;
	int result = stand_aside(dap, view->stream, &is_there, error);

	return result || !is_there ? result : view_here(&dap->side, view, error);
}

/* The stack of @stream; @out is valid until the next one is asked for. */
static int find_view(struct kymo_dap *dap, size_t stream, struct kymo_dap_view **out, struct kymo_error *error)
{
	struct kymo_dap_view view = {.stream = stream, .first_id = dap->last_frame_id + 1};
	int result;

	for (size_t i = 0; i < dap->view_count; i++)
		if (dap->views[i].stream == stream) {
			*out = &dap->views[i];
			return 0;
		}
	if (kymo_grow(&dap->views, &dap->view_capacity, dap->view_count + 1, sizeof(view)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (stream == kymo_replay_stream(&dap->replay))
		result = view_here(&dap->replay, &view, error);
	else
		result = view_other(dap, &view, error);
	if (result) {
		kymo_stack_release(&view.stack);
		free(view.missing);
		return result;
	}
	dap->last_frame_id += view.stack.count + 1;
	*out = &dap->views[dap->view_count];
	dap->views[dap->view_count++] = view;
	return 0;
}

/* The frame number @from_top of @view. */
static json_t *frame(struct kymo_dap *dap, const struct kymo_dap_view *view, uint32_t from_top)
{
	const struct kymo_stack_frame *at = &view->stack.frames[view->stack.count - 1 - from_top];
	const struct kymo_content *content = at->code ? at->code->content : NULL;
	/* A module is entered at line 0. */
	int64_t line = content && at->line < 1 ? content->first_line : at->line;
	json_t *value = json_pack("{s:I, s:o, s:I, s:I}", "id", (json_int_t)view->first_id + from_top, "name",
				  kymo_dap_text(content ? content->function : "?"), "line",
				  (json_int_t)(line < 1 ? 0 : line - 1 + dap->lines_from), "column",
				  (json_int_t)(line < 1 ? 0 : dap->columns_from));
	struct kymo_dap_file *file = content ? kymo_dap_file(dap, content) : NULL;

	/* Callers in other code than the project's. */
	if (from_top && !kymo_shown_files_has(&dap->shown, content))
		json_object_set_new(value, "presentationHint", json_string("subtle"));
	if (file)
		json_object_set_new(value, "source", kymo_dap_source_of(dap, file));
	return value;
}

static json_t *label(const struct kymo_dap_view *view)
{
	return json_pack("{s:I, s:o, s:i, s:i, s:s}", "id", (json_int_t)view->first_id + view->stack.count, "name",
			 kymo_dap_text(view->missing), "line", 0, "column", 0, "presentationHint", "label");
}

int kymo_dap_stack_trace(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	int64_t first = kymo_dap_integer(arguments, "startFrame", 0);
	int64_t levels = kymo_dap_integer(arguments, "levels", 0), total;
	struct kymo_dap_view *view = NULL;
	json_t *frames;
	size_t stream;
	int result = kymo_dap_thread(dap, arguments, &stream, error);

	result = result ? result : find_view(dap, stream, &view, error);
	if (result)
		return result;
	total = (int64_t)view->stack.count + (view->missing != NULL);
	frames = json_array();
	for (int64_t i = first < 0 ? 0 : first; i < total && (levels < 1 || i - first < levels); i++)
		json_array_append_new(frames, i < view->stack.count ? frame(dap, view, (uint32_t)i) : label(view));
	return kymo_dap_answer(body, json_pack("{s:o, s:I}", "stackFrames", frames, "totalFrames", (json_int_t)total),
			       error);
}

int kymo_dap_frame_id(struct kymo_dap *dap, const json_t *arguments, int64_t *id, struct kymo_error *error)
{
	struct kymo_dap_view *view = NULL;
	int result = json_object_get(arguments, "frameId") ? 0 : find_view(dap, kymo_replay_stream(&dap->replay), &view, error);

	*id = view ? view->first_id : kymo_dap_integer(arguments, "frameId", 0);
	return result;
}

int kymo_dap_stand_in(struct kymo_dap *dap, int64_t id, struct kymo_replay **replay, size_t *frame, struct kymo_error *error)
{
	for (size_t i = 0; i < dap->view_count; i++) {
		const struct kymo_dap_view *view = &dap->views[i];
		int64_t from_top = id - view->first_id;
		bool is_there;

		if (from_top < 0 || from_top > view->stack.count)
			continue;
		*replay = NULL;
		*frame = (size_t)from_top;
		if (from_top == view->stack.count)
			return 0;
		*replay = view->stream == kymo_replay_stream(&dap->replay) ? &dap->replay : &dap->side;
		return *replay == &dap->side ? stand_aside(dap, view->stream, &is_there, error) : 0;
	}
	return kymo_fail(error, -EINVAL, "unknown frameId");
}

void kymo_dap_stopped(struct kymo_dap *dap, const char *reason, const char *description, json_t *more)
{
	json_t *body = more ? more : json_object();

	kymo_dap_forget_views(dap);
	json_object_set_new(body, "reason", json_string(reason));
	json_object_set_new(body, "threadId", json_integer(kymo_dap_thread_id(kymo_replay_stream(&dap->replay))));
	json_object_set_new(body, "allThreadsStopped", json_true());
	if (description)
		json_object_set_new(body, "description", kymo_dap_text(description));
	kymo_dap_event(dap, "stopped", body);
}
