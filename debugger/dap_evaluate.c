// SPDX-License-Identifier: Apache-2.0
/* What a client asks for by typing, or by pointing at it: values are not recorded, but commands and places of the run are known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debugger/condition.h"
#include "debugger/console.h"
#include "debugger/dap_session.h"

#define VALUE_BYTES 1024U

static int answer(json_t **body, const char *text, struct kymo_error *error)
{
	return kymo_dap_answer(body, json_pack("{s:o, s:i}", "result", kymo_dap_text(text), "variablesReference", 0),
			       error);
}

/* What @expression comes to where the replay stands; false: it is none of what is recorded. */
static bool compute(const struct kymo_dap *dap, const char *expression, char value[VALUE_BYTES])
{
	struct kymo_error why;
	struct kymo_condition *condition = kymo_condition_new(expression, &why);
	bool is_known = condition && !kymo_condition_needs_hits(condition);

	if (is_known)
		kymo_condition_value(condition, &dap->replay.walker, 0, value, VALUE_BYTES);
	kymo_condition_free(condition);
	return is_known;
}

/* A command of the debugger in the terminal.  It may lead elsewhere. */
static int run_command(struct kymo_dap *dap, const char *line, json_t **body, struct kymo_error *error)
{
	const struct kymo_event *event = kymo_replay_event(&dap->replay);
	struct kymo_position from = kymo_position_of(event);
	size_t stream = kymo_replay_stream(&dap->replay), bytes = 0;
	char *told = NULL;
	FILE *out = open_memstream(&told, &bytes);
	int result;

	if (!out)
		return kymo_fail(error, -ENOMEM, "out of memory");
	result = kymo_console_run_command(&dap->replay, line, out);
	fclose(out);
	while (bytes && told[bytes - 1] == '\n')
		told[--bytes] = '\0';
	if (!result)
		result = kymo_fail(error, -EINVAL,
				   "'%s': values of variables are not recorded, and a command it is not; help lists them",
				   line);
	else if (result < 0)
		kymo_fail(error, result, "%s", told);
	else
		result = answer(body, told, error);
	free(told);
	if (stream != kymo_replay_stream(&dap->replay) || kymo_position_compare(from, kymo_position_of(event)))
		kymo_dap_arrived(dap);
	return result;
}

int kymo_dap_evaluate(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const char *expression = kymo_dap_string(arguments, "expression"),
		   *context = kymo_dap_string(arguments, "context");
	bool is_typed = context && !strcmp(context, "repl"), is_pointed_at = context && !strcmp(context, "hover");
	char value[VALUE_BYTES];

	if (!expression)
		return kymo_fail(error, -EINVAL, "expression is missing");
	/* What the program calls `line` is not what a condition calls so. */
	if (!is_pointed_at && !kymo_dap_is_local(dap, kymo_dap_integer(arguments, "frameId", 0), expression) &&
	    compute(dap, expression, value))
		return answer(body, value, error);
	return is_typed ? run_command(dap, expression, body, error) : answer(body, "not recorded", error);
}
