// SPDX-License-Identifier: Apache-2.0
/* Requests in, responses and events out. */
#include "replay/debugger/dap_session.h"

#include <stdlib.h>
#include <string.h>

#include "replay/trace/text.h"

static const struct {
	const char *command;
	kymo_dap_request answer;
	bool needs_trace;
	bool is_quiet; /* nobody wants a window that says why: clients ask on their own, also when it is late, or show it elsewhere */
} requests[] = {
	{"initialize", kymo_dap_initialize, false, false},
	{"launch", kymo_dap_launch, false, false},
	{"attach", kymo_dap_attach, false, false},
	{"disconnect", kymo_dap_disconnect, false, false},
	{"terminate", kymo_dap_terminate, false, false},
	{"configurationDone", kymo_dap_configuration_done, true, false},
	{"setBreakpoints", kymo_dap_set_breakpoints, true, false},
	{"setFunctionBreakpoints", kymo_dap_set_function_breakpoints, true, false},
	{"setExceptionBreakpoints", kymo_dap_set_exception_breakpoints, true, false},
	{"dataBreakpointInfo", kymo_dap_data_breakpoint_info, true, true},
	{"setDataBreakpoints", kymo_dap_set_data_breakpoints, true, false},
	{"breakpointLocations", kymo_dap_breakpoint_locations, true, false},
	{"threads", kymo_dap_threads, true, false},
	{"stackTrace", kymo_dap_stack_trace, true, true},
	{"scopes", kymo_dap_scopes, true, true},
	{"variables", kymo_dap_variables, true, true},
	{"exceptionInfo", kymo_dap_exception_info, true, true},
	{"source", kymo_dap_source, true, false},
	{"loadedSources", kymo_dap_loaded_sources, true, false},
	{"next", kymo_dap_next, true, false},
	{"stepIn", kymo_dap_step_in, true, false},
	{"stepOut", kymo_dap_step_out, true, false},
	{"stepBack", kymo_dap_step_back, true, false},
	{"continue", kymo_dap_continue, true, false},
	{"reverseContinue", kymo_dap_reverse_continue, true, false},
	{"pause", kymo_dap_pause, true, false},
	{"gotoTargets", kymo_dap_goto_targets, true, false},
	{"goto", kymo_dap_goto, true, false},
	{"evaluate", kymo_dap_evaluate, true, true},
};

static int send_message(struct kymo_dap *dap, json_t *message, struct kymo_error *error)
{
	if (json_object_set_new(message, "seq", json_integer((json_int_t)++dap->sent)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	return kymo_dap_write(&dap->wire, message, error);
}

static int send_events(struct kymo_dap *dap, struct kymo_error *error)
{
	int result = 0;

	for (size_t i = 0; i < json_array_size(dap->events) && !result; i++)
		result = send_message(dap, json_array_get(dap->events, i), error);
	json_array_clear(dap->events);
	return result;
}

static bool is_quiet(const char *command)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++)
		if (!strcmp(requests[i].command, command))
			return requests[i].is_quiet;
	return false;
}

static int send_response(struct kymo_dap *dap, json_int_t to, const char *command, json_t *body,
			 const struct kymo_error *why, struct kymo_error *error)
{
	json_t *message = json_pack("{s:s, s:I, s:s, s:b}", "type", "response", "request_seq", to, "command", command,
				    "success", !why);
	int result;

	if (why) {
		json_object_set_new(message, "message", kymo_dap_text(why->message));
		body = json_pack("{s:{s:i, s:s, s:{s:o}, s:b}}", "error", "id", 1, "format", "{text}", "variables",
				 "text", kymo_dap_text(why->message), "showUser",
				 !is_quiet(command));
	}
	if (body)
		json_object_set_new(message, "body", body);
	result = send_message(dap, message, error);
	json_decref(message);
	return result;
}

static int answer(struct kymo_dap *dap, const char *command, const json_t *arguments, json_t **body,
		  struct kymo_error *error)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		if (strcmp(requests[i].command, command))
			continue;
		if (requests[i].needs_trace && !dap->has_trace)
			return kymo_fail(error, -EINVAL, "%s: no trace is open; launch comes first", command);
		return requests[i].answer(dap, arguments, body, error);
	}
	return kymo_fail(error, -ENOSYS, "unknown request '%s'", command);
}

void kymo_dap_warn(const struct kymo_error *error)
{
	fputs("kymo: ", stderr);
	kymo_text_put(stderr, error->message);
	putc('\n', stderr);
}

static int handle(struct kymo_dap *dap, const json_t *message, struct kymo_error *error)
{
	const char *type = kymo_dap_string(message, "type"), *command = kymo_dap_string(message, "command");
	const json_t *seq = json_object_get(message, "seq");
	struct kymo_error why;
	json_t *body = NULL;
	int result;

	if (!type || strcmp(type, "request") || !command || !json_is_integer(seq)) {
		kymo_fail(&why, -EINVAL, "malformed DAP message: it is not a request");
		kymo_dap_warn(&why);
		return 0;
	}
	result = answer(dap, command, json_object_get(message, "arguments"), &body, &why);
	if (result) {
		json_decref(body);
		body = NULL;
	}
	result = send_response(dap, json_integer_value(seq), command, body, result ? &why : NULL, error);
	return result ? result : send_events(dap, error);
}

static void release(struct kymo_dap *dap)
{
	if (dap->has_trace)
		kymo_dap_close(dap);
	free(dap->views);
	free(dap->values);
	free(dap->targets);
	free(dap->source_root);
	json_decref(dap->events);
	kymo_dap_wire_release(&dap->wire);
}

int kymo_dap_session(const struct kymo_dap_options *options, int in, int out, struct kymo_error *error)
{
	struct kymo_dap dap = {
		.options = options,
		.wire = {.in = in, .out = out},
		.events = json_array(),
		.lines_from = 1,
		.columns_from = 1,
	};
	int result = dap.events ? 0 : kymo_fail(error, -ENOMEM, "out of memory");

	while (!result && !dap.is_over) {
		json_t *message;

		result = kymo_dap_read(&dap.wire, &message, error);
		if (!result)
			break;
		if (result == -EBADMSG) {
			kymo_dap_warn(error);
			result = 0;
		} else if (result > 0) {
			result = handle(&dap, message, error);
			json_decref(message);
		}
	}
	release(&dap);
	/* No client is left to report it to. */
	return result == -EPIPE || result == -ECONNRESET ? 0 : result;
}
