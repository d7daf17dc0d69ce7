// SPDX-License-Identifier: Apache-2.0
/* What a client asks for by typing, or by pointing at it: recorded values, places of the run, and commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/condition.h"
#include "replay/debugger/console.h"
#include "replay/debugger/dap_values.h"

#define VALUE_BYTES 1024U

static int answer(json_t **body, const char *text, struct kymo_error *error)
{
	return kymo_dap_answer(body, json_pack("{s:o, s:i}", "result", kymo_dap_text(text), "variablesReference", 0),
			       error);
}

/* What @expression comes to where the replay stands, over @variables; false: it is none, or that is not known. */
static bool compute(const struct kymo_dap *dap, const char *expression, const struct kymo_variables *variables, char value[VALUE_BYTES],
		    struct kymo_error *why)
{
	struct kymo_error wrong;
	struct kymo_condition *condition = kymo_condition_new(expression, dap->replay.index, &wrong);
	bool is_known = condition && !kymo_condition_needs_hits(condition);
	const char *unknown;

	if (is_known)
		kymo_condition_value(condition, &dap->replay.walker, 0, variables, value, VALUE_BYTES);
	if (is_known && kymo_condition_unknown(condition, &unknown)) {
		kymo_fail(why, -ENODATA, "'%s' cannot be told: %s", expression, unknown);
		is_known = false;
	}
	kymo_condition_free(condition);
	return is_known;
}

/* A command of the debugger in the terminal.  It may lead elsewhere.  @why: what else the line is not. */
static int run_command(struct kymo_dap *dap, const char *line, const char *why, json_t **body, struct kymo_error *error)
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
		result = kymo_fail(error, -EINVAL, "%s, and a command it is not; help lists them", why);
	else if (result < 0)
		kymo_fail(error, result, "%s", told);
	else
		result = answer(body, told, error);
	free(told);
	if (stream != kymo_replay_stream(&dap->replay) || kymo_position_compare(from, kymo_position_of(event))) {
		kymo_dap_tell_leaving(dap, stream);
		kymo_dap_arrived(dap);
	}
	return result;
}

/* What a client asks about, and how. */
struct question {
	const char *expression;
	bool is_typed, is_pointed_at, is_copied;
	struct kymo_dap_values *values; /* of the frame; NULL: they cannot be read */
	bool has_none; /* the recording has no values */
	const struct kymo_variable *variable; /* that the expression is the name of; NULL: of none */
};

/* The variables of the frame that is asked about; @why: what cannot be read of them. */
static void find_values(struct kymo_dap *dap, const json_t *arguments, struct question *question, struct kymo_error *why)
{
	int64_t frame;

	if (kymo_dap_frame_id(dap, arguments, &frame, why) || kymo_dap_frame_values(dap, frame, &question->values, why)) {
		question->values = NULL;
	} else if (question->values->variables.untold == KYMO_UNTOLD_NO_VALUES) {
		question->has_none = true;
		kymo_fail(why, -ENODATA, "'%s': values of variables are not recorded", question->expression);
	}
	if (question->values)
		question->variable = kymo_variables_find(&question->values->variables, question->expression);
}

static int answer_value(const struct kymo_dap *dap, const struct question *question, uint32_t node, json_t **body, struct kymo_error *error)
{
	const struct kymo_variables *variables = &question->values->variables;
	size_t bytes = KYMO_DAP_HOVER_BYTES;
	json_t *shown = json_object();

	if (question->is_copied)
		bytes = kymo_value_text(&variables->tree, kymo_value_at(&variables->tree, node), variables->process, NULL, 0) + 1;
	if (shown)
		kymo_dap_put_value(dap, shown, "result", question->values, node, bytes);
	if (shown && !question->is_copied)
		kymo_dap_put_when(shown, "result", question->values);
	return kymo_dap_answer(body, shown, error);
}

int kymo_dap_evaluate(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	static const struct kymo_variables none = {0};
	const char *context = kymo_dap_string(arguments, "context");
	struct question question = {
		.expression = kymo_dap_string(arguments, "expression"),
		.is_typed = context && !strcmp(context, "repl"),
		.is_pointed_at = context && !strcmp(context, "hover"),
		.is_copied = context && !strcmp(context, "clipboard"),
	};
	struct kymo_error why;
	char value[VALUE_BYTES];
	uint32_t node;

	if (!question.expression)
		return kymo_fail(error, -EINVAL, "expression is missing");
	find_values(dap, arguments, &question, &why);
	if (question.values && !question.has_none && !kymo_variables_path(&question.values->variables, question.expression, &node, &why))
		return answer_value(dap, &question, node, body, error);
	/* What the program calls `line` is not what a condition calls so. */
	if (!question.is_pointed_at && !question.variable &&
	    compute(dap, question.expression, question.values ? &question.values->variables : &none, value, question.values ? &why : NULL))
		return answer(body, value, error);
	if (question.is_typed)
		return run_command(dap, question.expression, why.message, body, error);
	if (question.has_none || (question.variable && question.variable->state == KYMO_VARIABLE_NOT_RECORDED))
		return answer(body, "not recorded", error);
	return kymo_fail(error, -ENODATA, "%s", why.message);
}
