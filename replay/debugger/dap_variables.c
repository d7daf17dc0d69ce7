// SPDX-License-Identifier: Apache-2.0
/* What the variables of a frame held where it stands. */
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/dap_values.h"
#include "replay/trace/trace.h"
#include "replay/values/value_path.h"

/* The id of no frame: of a call that has ended. */
#define NO_FRAME (-1)

/* Have a place for the values of the frame @id, which holds none yet; NULL: no memory. */
static struct kymo_dap_values *new_values(struct kymo_dap *dap, int64_t id, unsigned kind)
{
	struct kymo_dap_values *values = calloc(1, sizeof(*values));

	if (!values || kymo_grow(&dap->values, &dap->value_capacity, dap->value_count + 1, sizeof(struct kymo_dap_values *))) {
		free(values);
		return NULL;
	}
	values->frame = id;
	values->kind = kind;
	return dap->values[dap->value_count++] = values;
}

/* Give references to @values, which were read. */
static int number_values(struct kymo_dap *dap, struct kymo_dap_values *values, struct kymo_error *error)
{
	if (values->variables.tree.count + KYMO_DAP_SCOPES > KYMO_DAP_MAX_REFERENCE - dap->last_reference)
		return kymo_fail(error, -ENOSPC, "there are too many values here to show them all; step, and ask again");
	values->first = dap->last_reference + 1;
	dap->last_reference += values->variables.tree.count + KYMO_DAP_SCOPES;
	return 0;
}

/* What a call that has just ended here left behind, if that was recorded, to @values. */
static int read_returned(struct kymo_dap *dap, const struct kymo_event *event, struct kymo_dap_values *values, struct kymo_error *error)
{
	const struct kymo_event *before = kymo_replay_event(&dap->side);
	size_t stream = (size_t)(event->stream - dap->trace.timeline.streams);
	struct kymo_dap_values *returned;
	int result;

	if (event->kind != KYMO_LINE || event->k > 1 || event->n < 2)
		return 0;
	result = kymo_replay_seek(&dap->side, stream, (struct kymo_position){event->n - 1, 0}, error);
	if (result || before->n != event->n - 1 || (before->kind != KYMO_PY_RETURN && before->kind != KYMO_PY_YIELD) || !before->values.bytes)
		return result;
	returned = new_values(dap, NO_FRAME, before->kind);
	if (!returned)
		return kymo_fail(error, -ENOMEM, "out of memory");
	result = kymo_variables_read(&dap->side, 0, &returned->variables, error);
	result = result ? result : number_values(dap, returned, error);
	values->returned = returned;
	return result;
}

static int read_values(struct kymo_dap *dap, struct kymo_dap_values *values, struct kymo_replay *replay, size_t frame,
		       struct kymo_error *error)
{
	struct kymo_event event;
	int result;

	if (!replay)
		return number_values(dap, values, error);
	event = *kymo_replay_event(replay);
	result = kymo_variables_read(replay, frame, &values->variables, error);
	result = result ? result : number_values(dap, values, error);
	values->is_of_call = values->variables.untold && (frame || (values->kind != KYMO_PY_START && values->kind != KYMO_PY_START_AT));
	if (!result && !frame && values->variables.untold != KYMO_UNTOLD_NO_VALUES)
		result = read_returned(dap, &event, values, error);
	return result;
}

int kymo_dap_frame_values(struct kymo_dap *dap, int64_t id, struct kymo_dap_values **out, struct kymo_error *error)
{
	size_t known = dap->value_count, frame;
	struct kymo_dap_values *values;
	struct kymo_replay *replay;
	int result;

	for (size_t i = 0; i < known; i++)
		if (id != NO_FRAME && dap->values[i]->frame == id) {
			*out = dap->values[i];
			return 0;
		}
	result = kymo_dap_stand_in(dap, id, &replay, &frame, error);
	if (result)
		return result;
	*out = values = new_values(dap, id, replay ? kymo_replay_event(replay)->kind : KYMO_KIND_SPECIAL);
	result = values ? read_values(dap, values, replay, frame, error) : kymo_fail(error, -ENOMEM, "out of memory");
	if (result)
		kymo_dap_forget_values_from(dap, known);
	return result;
}

struct kymo_dap_values *kymo_dap_find_values(const struct kymo_dap *dap, int64_t reference)
{
	for (size_t i = 0; i < dap->value_count; i++) {
		int64_t at = reference - dap->values[i]->first;

		/* Node 0 is none. */
		if (at >= 0 && at < (int64_t)dap->values[i]->variables.tree.count + KYMO_DAP_SCOPES && at != KYMO_DAP_SCOPES)
			return dap->values[i];
	}
	return NULL;
}

/* True if @variable is in @scope, and there: one without a value is not, as in locals(). */
static bool is_in(const struct kymo_variable *variable, enum kymo_dap_scope scope)
{
	enum kymo_dap_scope of = variable->scope == KYMO_SCOPE_OWN      ? KYMO_DAP_OWN
				 : variable->scope == KYMO_SCOPE_GLOBAL ? KYMO_DAP_GLOBALS
									: KYMO_DAP_LOCALS;

	return of == scope && variable->state != KYMO_VARIABLE_UNBOUND && (variable->name || of == KYMO_DAP_OWN);
}

static uint32_t count_in(const struct kymo_variables *variables, enum kymo_dap_scope scope)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < variables->count; i++)
		count += is_in(&variables->items[i], scope);
	return count;
}

static const char *own_name(unsigned kind)
{
	return kind == KYMO_PY_RETURN ? "Return value" : kind == KYMO_PY_YIELD ? "Yielded value" : "Exception";
}

static void put_scope(json_t *scopes, const struct kymo_dap_values *values, enum kymo_dap_scope scope)
{
	const char *const names[] = {"Locals", "Globals", own_name(values->kind)};
	const char *const hints[] = {"locals", NULL, values->kind == KYMO_RAISE ? NULL : "returnValue"};
	uint32_t count = count_in(&values->variables, scope);
	json_t *shown;

	if (!count && (scope != KYMO_DAP_LOCALS || !values->variables.code))
		return;
	shown = json_pack("{s:s, s:I, s:I, s:b}", "name", names[scope], "variablesReference", (json_int_t)values->first + scope,
			  "namedVariables", (json_int_t)count, "expensive", 0);
	if (hints[scope])
		json_object_set_new(shown, "presentationHint", json_string(hints[scope]));
	json_array_append_new(scopes, shown);
}

int kymo_dap_scopes(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	struct kymo_dap_values *values;
	json_t *scopes;
	int result = kymo_dap_frame_values(dap, kymo_dap_integer(arguments, "frameId", 0), &values, error);

	if (result)
		return result;
	scopes = json_array();
	for (int i = 0; i < KYMO_DAP_SCOPES; i++)
		put_scope(scopes, values, (enum kymo_dap_scope)i);
	if (values->returned)
		put_scope(scopes, values->returned, KYMO_DAP_OWN);
	return kymo_dap_answer(body, json_pack("{s:o}", "scopes", scopes), error);
}

/* What the event's own value is called: by the function that returns, yields or raises it. */
static json_t *own_label(const struct kymo_dap_values *values)
{
	const struct kymo_code *code = values->variables.code;

	return kymo_dap_text(code && code->content ? code->content->function : "?");
}

static json_t *variable_of(const struct kymo_dap *dap, struct kymo_dap_values *values, const struct kymo_variable *variable)
{
	json_t *shown = json_pack("{s:o}", "name", variable->name ? kymo_dap_text(variable->name) : own_label(values));

	if (variable->state == KYMO_VARIABLE_TOLD) {
		kymo_dap_put_value(dap, shown, "value", values, variable->node, KYMO_DAP_LISTED_BYTES);
		if (variable->scope != KYMO_SCOPE_OWN)
			kymo_dap_put_when(shown, "value", values);
		/* Comprehensions have one called `.0`. */
		if (variable->name && kymo_name_bytes(variable->name) == strlen(variable->name))
			json_object_set_new(shown, "evaluateName", kymo_dap_text(variable->name));
		return shown;
	}
	json_object_set_new(shown, "value", json_string("not recorded"));
	json_object_set_new(shown, "variablesReference", json_integer(0));
	json_object_set_new(shown, "presentationHint", json_pack("{s:s, s:[s]}", "kind", "data", "attributes", "readOnly"));
	return shown;
}

int kymo_dap_variables(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	int64_t reference = kymo_dap_integer(arguments, "variablesReference", 0), count = kymo_dap_integer(arguments, "count", 0);
	const char *filter = kymo_dap_string(arguments, "filter");
	struct kymo_dap_values *values = kymo_dap_find_values(dap, reference);
	struct kymo_dap_page page = {
		.start = kymo_dap_integer(arguments, "start", 0),
		.left = count ? count : INT64_MAX,
		.is_indexed = !filter || strcmp(filter, "named") != 0,
		.is_named = !filter || strcmp(filter, "indexed") != 0,
	};
	json_t *shown;

	if (!values)
		return kymo_fail(error, -EINVAL, "variablesReference: there are no such variables here");
	if (page.start < 0 || count < 0)
		return kymo_fail(error, -EINVAL, "start and count cannot be less than 0");
	shown = json_array();
	reference -= values->first;
	if (reference >= KYMO_DAP_SCOPES)
		kymo_dap_put_items(dap, shown, values, (uint32_t)reference - KYMO_DAP_SCOPES, page);
	for (uint32_t i = 0; reference < KYMO_DAP_SCOPES && page.is_named && i < values->variables.count; i++)
		if (is_in(&values->variables.items[i], (enum kymo_dap_scope)reference) && kymo_dap_page_takes(&page))
			json_array_append_new(shown, variable_of(dap, values, &values->variables.items[i]));
	return kymo_dap_answer(body, json_pack("{s:o}", "variables", shown), error);
}

/* As BaseException.__str__() makes it of what was recorded; str() of KeyError has quotes. */
static char *message_of(const struct kymo_variables *variables, const struct kymo_value *exception)
{
	const struct kymo_value_tree *tree = &variables->tree;
	const struct kymo_value *told = kymo_value_at(tree, exception->first);
	const char *type = kymo_value_type(exception, variables->process);
	char *text;

	if (!told || told->kind != KYMO_VALUE_TUPLE)
		told = exception;
	else if (!told->count)
		return strdup("");
	else if (told->count == 1 && told->first)
		told = kymo_value_at(tree, told->first);
	if (told->kind == KYMO_VALUE_STR && !told->is_cut && type && strcmp(type, "KeyError") != 0)
		return strndup((const char *)told->text, told->text_bytes);
	text = malloc(KYMO_DAP_HOVER_BYTES);
	if (text)
		kymo_value_text(tree, told, variables->process, text, KYMO_DAP_HOVER_BYTES);
	return text;
}

/* Of exception @node, and what it came from. */
static json_t *details_of(const struct kymo_variables *variables, uint32_t node, uint32_t depth)
{
	const struct kymo_value *exception = kymo_value_at(&variables->tree, node);
	const struct kymo_value *args = kymo_value_at(&variables->tree, exception->first);
	const struct kymo_value *cause = args ? kymo_value_at(&variables->tree, args->next) : NULL;
	const char *type = kymo_value_type(exception, variables->process);
	char *message = message_of(variables, exception);
	json_t *details = json_object();
	uint32_t inner = args ? args->next : 0;

	if (type)
		json_object_set_new(details, "typeName", kymo_dap_text(type));
	if (message)
		json_object_set_new(details, "message", kymo_dap_text(message));
	free(message);
	if (cause && cause->kind == KYMO_VALUE_NONE)
		inner = cause->next;
	cause = kymo_value_at(&variables->tree, inner);
	if (cause && cause->kind == KYMO_VALUE_EXCEPTION && depth < KYMO_VALUE_DEPTH)
		json_object_set_new(details, "innerException", json_pack("[o]", details_of(variables, inner, depth + 1)));
	return details;
}

/* To @info: what was recorded of the exception that is raised where the replay stands. */
static void put_exception(struct kymo_dap *dap, json_t *info)
{
	struct kymo_variables variables = {0};
	const struct kymo_variable *own = NULL;
	char text[KYMO_DAP_HOVER_BYTES];
	struct kymo_error error;

	if (!kymo_variables_read(&dap->replay, 0, &variables, &error))
		own = kymo_variables_own(&variables);
	if (own && own->node && variables.tree.nodes[own->node].kind == KYMO_VALUE_EXCEPTION) {
		kymo_value_text(&variables.tree, &variables.tree.nodes[own->node], variables.process, text, sizeof(text));
		json_object_set_new(info, "description", kymo_dap_text(text));
		json_object_set_new(info, "details", details_of(&variables, own->node, 0));
	}
	kymo_variables_release(&variables);
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
	*body = json_pack("{s:o, s:s, s:{s:o}}", "exceptionId", kymo_dap_text(event->name), "breakMode",
			  hit && hit->kind == KYMO_BREAK_UNCAUGHT ? "unhandled" : "always", "details", "typeName", kymo_dap_text(event->name));
	if (*body)
		put_exception(dap, *body);
	return kymo_dap_answer(body, *body, error);
}
