// SPDX-License-Identifier: Apache-2.0
/* Where it stands: threads, their stacks, and what is known of the frames in them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debugger/dap_files.h"
#include "replay/line_table.h"
#include "replay/text.h"

/* Ids of frames begin anew behind this one; whoever has that many of them is through with the old ones. */
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
	if (dap->last_frame_id > MAX_FRAME_ID)
		dap->last_frame_id = 0;
}

/* What is not known of the stack where the replay stands. */
static char *describe_missing(const struct kymo_replay *replay, const struct kymo_stack *stack)
{
	const struct kymo_event *event = kymo_replay_event(replay);
	char why[KYMO_LOSS_TEXT_BYTES], count[KYMO_TEXT_BYTES], *text = NULL;
	int length = 0;

	if (event->kind == KYMO_EVENT_GAP)
		length = asprintf(&text, "not recorded: %s lost (%s)", kymo_text_counted(event->lost, "event", count),
				  kymo_loss_text(event->lost_reasons, why));
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

/* The same, of a thread that the replay does not stand in. */
static int view_other(struct kymo_dap *dap, struct kymo_dap_view *view, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(&dap->trace.timeline, kymo_replay_event(&dap->replay)), then;
	const struct kymo_stack *stack = &dap->side.walker.stack;
	int result = kymo_moment_of_thread(&dap->trace.index, view->stream, &now, &then, error);

	if (result > 0)
		result = kymo_replay_seek(&dap->side, view->stream, then.at, error);
	else
		return result; /* it has not begun */
	if (result || (stack->is_leaving && kymo_stack_depth(stack) == 1))
		return result; /* it has ended */
	return view_here(&dap->side, view, error);
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
	struct kymo_dap_file *file = content ? kymo_dap_file(dap, content->file) : NULL;

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

/* The code object of the frame @id; false: there is no such frame where it stands. */
static bool find_frame(const struct kymo_dap *dap, int64_t id, const struct kymo_content **content)
{
	for (size_t i = 0; i < dap->view_count; i++) {
		const struct kymo_dap_view *view = &dap->views[i];
		int64_t from_top = id - view->first_id;
		const struct kymo_code *code;

		if (from_top < 0 || from_top > view->stack.count)
			continue;
		code = from_top < view->stack.count ? view->stack.frames[view->stack.count - 1 - from_top].code : NULL;
		*content = code ? code->content : NULL;
		return true;
	}
	return false;
}

bool kymo_dap_is_local(const struct kymo_dap *dap, int64_t id, const char *name)
{
	const struct kymo_content *content;
	const char *local;

	if (!find_frame(dap, id, &content) || !content)
		return false;
	local = content->locals;
	for (uint32_t i = 0; i < content->local_count; i++, local += strlen(local) + 1)
		if (!strcmp(local, name))
			return true;
	return false;
}

/* Its locals have the id of their frame. */
int kymo_dap_scopes(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	int64_t id = kymo_dap_integer(arguments, "frameId", 0);
	const struct kymo_content *content;
	json_t *scopes = json_array();

	if (!find_frame(dap, id, &content)) {
		json_decref(scopes);
		return kymo_fail(error, -EINVAL, "frameId: there is no such frame here");
	}
	if (content)
		json_array_append_new(scopes,
				      json_pack("{s:s, s:s, s:I, s:I, s:b}", "name", "Locals", "presentationHint",
						"locals", "variablesReference", (json_int_t)id, "namedVariables",
						(json_int_t)content->local_count, "expensive", 0));
	return kymo_dap_answer(body, json_pack("{s:o}", "scopes", scopes), error);
}

int kymo_dap_variables(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const struct kymo_content *content;
	const char *filter = kymo_dap_string(arguments, "filter"), *name;
	json_t *variables = json_array();

	if (!find_frame(dap, kymo_dap_integer(arguments, "variablesReference", 0), &content) || !content) {
		json_decref(variables);
		return kymo_fail(error, -EINVAL, "variablesReference: there are no such variables here");
	}
	name = content->locals;
	for (uint32_t i = 0; i < content->local_count && (!filter || !strcmp(filter, "named")); i++) {
		json_array_append_new(variables,
				      json_pack("{s:o, s:s, s:i, s:{s:s, s:[s]}}", "name", kymo_dap_text(name), "value",
						"not recorded", "variablesReference", 0, "presentationHint", "kind",
						"data", "attributes", "readOnly"));
		name += strlen(name) + 1;
	}
	return kymo_dap_answer(body, json_pack("{s:o}", "variables", variables), error);
}

int kymo_dap_exception_info(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const struct kymo_event *event = kymo_replay_event(&dap->replay);
	const char *role = kymo_event_name_role(event);
	const struct kymo_break *hit = dap->replay.hit;
	size_t stream;
	int result = kymo_dap_thread(dap, arguments, &stream, error);

	if (result)
		return result;
	if (stream != kymo_replay_stream(&dap->replay) || !role || *role != 'e' || !event->name)
		return kymo_fail(error, -EINVAL, "threadId: no exception is raised there");
	return kymo_dap_answer(body,
			       json_pack("{s:o, s:s, s:{s:o}}", "exceptionId", kymo_dap_text(event->name), "breakMode",
					 hit && hit->kind == KYMO_BREAK_UNCAUGHT ? "unhandled" : "always", "details", "typeName", kymo_dap_text(event->name)),
			       error);
}
