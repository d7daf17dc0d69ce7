// SPDX-License-Identifier: Apache-2.0
/* How a client begins, and how it leaves. */
#include "replay/debugger/dap_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/dap_files.h"
#include "replay/trace/describe.h"
#include "replay/moves/named_places.h"
#include "replay/moves/tests_of.h"

/* What this adapter does, and no more than it does. */
static json_t *capabilities(void)
{
	static const char *const does[] = {
		"supportsConfigurationDoneRequest",
		"supportsStepBack",
		"supportsFunctionBreakpoints",
		"supportsDataBreakpoints",
		"supportsConditionalBreakpoints",
		"supportsHitConditionalBreakpoints",
		"supportsLogPoints",
		"supportsExceptionFilterOptions",
		"supportsExceptionInfoRequest",
		"supportsBreakpointLocationsRequest",
		"supportsEvaluateForHovers",
		"supportsClipboardContext",
		"supportsGotoTargetsRequest",
		"supportsLoadedSourcesRequest",
		"supportsDelayedStackTraceLoading",
		"supportsTerminateRequest",
	};
	static const char types[] = "Names of exception types, e.g. KeyError, OSError";
	json_t *body = json_pack(
		"{s:[{s:s, s:s, s:s, s:b, s:b, s:s}, {s:s, s:s, s:s, s:b, s:b, s:s}]}", "exceptionBreakpointFilters",
		"filter", "raised", "label", "Raised Exceptions", "description",
		"Where an exception is raised, caught or not", "default", 0, "supportsCondition", 1,
		"conditionDescription", types, "filter", "uncaught", "label", "Uncaught Exceptions", "description",
		"Where an exception is raised that nothing catches", "default", 1, "supportsCondition", 1,
		"conditionDescription", types);

	for (size_t i = 0; i < sizeof(does) / sizeof(*does); i++)
		json_object_set_new(body, does[i], json_true());
	return body;
}

static int64_t first_number(const json_t *arguments, const char *name)
{
	return json_is_false(json_object_get(arguments, name)) ? 0 : 1;
}

int kymo_dap_initialize(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const char *format = kymo_dap_string(arguments, "pathFormat");

	if (dap->is_initialized)
		return kymo_fail(error, -EINVAL, "initialize: this was done already");
	if (format && strcmp(format, "path") && strcmp(format, "uri"))
		return kymo_fail(error, -EINVAL, "pathFormat: '%s' is not supported, only 'path' and 'uri'", format);
	dap->has_uris = format && !strcmp(format, "uri");
	dap->is_initialized = true;
	dap->lines_from = first_number(arguments, "linesStartAt1");
	dap->columns_from = first_number(arguments, "columnsStartAt1");
	dap->shows_types = json_is_true(json_object_get(arguments, "supportsVariableType"));
	return kymo_dap_answer(body, capabilities(), error);
}

/* Stand where the run is to be entered. */
static int take_position(struct kymo_dap *dap, const json_t *position, struct kymo_error *error)
{
	const char *place = json_string_value(position);
	char seconds[64];
	const char *name;
	size_t count;
	int result;

	if (json_is_number(position)) {
		snprintf(seconds, sizeof(seconds), "%.9f", json_number_value(position));
		place = seconds;
	} else if (position && !place) {
		return kymo_fail(error, -EINVAL, "position: \"start\", \"end\" or seconds since the run began");
	}
	if (place)
		return kymo_replay_goto(&dap->replay, place, error);
	result = kymo_replay_goto_failed_test(&dap->replay, &name, &count, error);
	return result < 0 ? result : result ? 0 : kymo_replay_goto_end(&dap->replay, error);
}

/* All replays of the trace. */
static int open_replays(struct kymo_dap *dap, struct kymo_error *error)
{
	int result = kymo_replay_open(&dap->replay, &dap->trace.index, error);

	if (result)
		return result;
	result = kymo_replay_open(&dap->logs, &dap->trace.index, error);
	if (!result) {
		result = kymo_replay_open(&dap->side, &dap->trace.index, error);
		if (!result)
			return 0;
		kymo_replay_close(&dap->logs);
	}
	kymo_replay_close(&dap->replay);
	return result;
}

static int open_trace(struct kymo_dap *dap, const char *path, struct kymo_error *error)
{
	int result = kymo_indexed_open(&dap->trace, path, true, NULL, error);

	if (result)
		return result;
	kymo_report_damage(&dap->trace.timeline.trace);
	result = open_replays(dap, error);
	if (result)
		kymo_indexed_close(&dap->trace);
	dap->has_trace = !result;
	return result;
}

void kymo_dap_close(struct kymo_dap *dap)
{
	kymo_dap_forget_views(dap);
	kymo_dap_forget_files(dap);
	kymo_dap_remove_breakpoints(dap);
	kymo_dap_forget_watches(dap);
	kymo_replay_close(&dap->side);
	kymo_replay_close(&dap->logs);
	kymo_replay_close(&dap->replay);
	kymo_indexed_close(&dap->trace);
	dap->has_trace = false;
}

static int begin(struct kymo_dap *dap, const json_t *arguments, const char *how, struct kymo_error *error)
{
	const char *trace = kymo_dap_string(arguments, "trace"), *root = kymo_dap_string(arguments, "sourceRoot");
	int result;

	if (!dap->is_initialized)
		return kymo_fail(error, -EINVAL, "%s: initialize comes first", how);
	if (dap->has_trace)
		return kymo_fail(error, -EINVAL, "%s: this was done already", how);
	trace = trace ? trace : dap->options->trace;
	root = root ? root : dap->options->source_root;
	if (!trace)
		return kymo_fail(error, -EINVAL, "%s: no trace is named; set \"trace\" to the path of one", how);
	result = open_trace(dap, trace, error);
	if (result)
		return result;
	result = root ? kymo_dap_set_source_root(dap, root, error) : 0;
	result = result ? result : kymo_dap_list_files(dap, error);
	result = result ? result : take_position(dap, json_object_get(arguments, "position"), error);
	if (result) {
		kymo_dap_close(dap);
		return result;
	}
	dap->stops_on_entry = !json_is_false(json_object_get(arguments, "stopOnEntry"));
	dap->goes_on_forwards = dap->replay.walker.event.n <= 1;
	kymo_dap_event(dap, "initialized", NULL);
	return 0;
}

int kymo_dap_launch(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)body;
	return begin(dap, arguments, "launch", error);
}

int kymo_dap_attach(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)body;
	return begin(dap, arguments, "attach", error);
}

/* What ended the run may be an exception, and then it stands there. */
static void enter(struct kymo_dap *dap)
{
	const struct kymo_event *event = kymo_replay_event(&dap->replay);

	if (event->kind == KYMO_RAISE && event->name)
		kymo_dap_stopped(dap, "exception", NULL, json_pack("{s:o}", "text", kymo_dap_text(event->name)));
	else
		kymo_dap_stopped(dap, "entry", NULL, NULL);
}

/* Breakpoints are set now: stop where it stands, or go on from there to the first of them. */
int kymo_dap_configuration_done(struct kymo_dap *dap, const json_t *arguments, json_t **body,
				struct kymo_error *error)
{
	(void)arguments, (void)body;
	if (dap->is_configured)
		return 0;
	dap->is_configured = true;
	if (dap->stops_on_entry) {
		enter(dap);
		return 0;
	}
	return kymo_dap_run(dap, dap->goes_on_forwards, error);
}

int kymo_dap_terminate(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)arguments, (void)body, (void)error;
	kymo_dap_event(dap, "terminated", NULL);
	return 0;
}

int kymo_dap_disconnect(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)arguments, (void)body, (void)error;
	dap->is_over = true;
	return 0;
}
