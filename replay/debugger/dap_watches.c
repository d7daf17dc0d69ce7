// SPDX-License-Identifier: Apache-2.0
/* Data breakpoints: where a variable of one call, or what an expression leads to from it, changes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/dap_values.h"
#include "replay/moves/variable_watch.h"

/* Most variables that can be asked about in a session. */
#define MAX_WATCHES 4096U
#define VALUE_BYTES 200U
#define MORE "…"

void kymo_dap_forget_watches(struct kymo_dap *dap)
{
	for (size_t i = 0; i < dap->watch_count; i++)
		kymo_watchpoint_release(&dap->watches[i]);
	free(dap->watches);
	free(dap->replay.watches);
	dap->watches = NULL;
	dap->watch_count = dap->watch_capacity = dap->set_capacity = 0;
	dap->replay.watches = NULL;
	dap->replay.watch_count = 0;
}

/* What @arguments ask about, as an expression in the frame *@frame; to be freed.  NULL: there is none, or no memory. */
static char *expression_of(struct kymo_dap *dap, const json_t *arguments, const char *name, int64_t *frame)
{
	int64_t reference = kymo_dap_integer(arguments, "variablesReference", 0);
	struct kymo_dap_values *values;

	if (!reference)
		return kymo_dap_frame_id(dap, arguments, frame, NULL) ? NULL : strdup(name);
	values = kymo_dap_find_values(dap, reference);
	if (!values)
		return NULL;
	*frame = values->frame;
	reference -= values->first;
	if (reference >= KYMO_DAP_SCOPES)
		return kymo_dap_path(values, (uint32_t)reference - KYMO_DAP_SCOPES, name);
	return reference == KYMO_DAP_OWN ? NULL : strdup(name);
}

static bool is_same(const struct kymo_watchpoint *a, const struct kymo_watchpoint *b)
{
	const struct kymo_activation *of = &a->activation, *other = &b->activation;

	return of->stream == other->stream && of->level == other->level && of->has_first && other->has_first &&
	       !kymo_position_compare(of->first.at, other->first.at) && !strcmp(a->expression, b->expression);
}

/* Keep @watch, or the one that is the same already; NULL: there is no room. */
static const struct kymo_watchpoint *keep(struct kymo_dap *dap, struct kymo_watchpoint *watch)
{
	for (size_t i = 0; i < dap->watch_count; i++)
		if (is_same(&dap->watches[i], watch)) {
			kymo_watchpoint_release(watch);
			return &dap->watches[i];
		}
	if (dap->watch_count == MAX_WATCHES ||
	    kymo_grow(&dap->watches, &dap->watch_capacity, dap->watch_count + 1, sizeof(*dap->watches))) {
		kymo_watchpoint_release(watch);
		return NULL;
	}
	watch->id = (uint32_t)dap->watch_count + 1;
	dap->watches[dap->watch_count++] = *watch;
	return &dap->watches[dap->watch_count - 1];
}

static const char *function_of(const struct kymo_watchpoint *watch)
{
	const struct kymo_code *code = watch->activation.code;

	return code && code->content ? code->content->function : "?";
}

static int no_info(json_t **body, const char *why, struct kymo_error *error)
{
	return kymo_dap_answer(body, json_pack("{s:n, s:o}", "dataId", "description", kymo_dap_text(why)), error);
}

int kymo_dap_data_breakpoint_info(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const char *name = kymo_dap_string(arguments, "name");
	struct kymo_watchpoint watch = {0};
	const struct kymo_watchpoint *kept;
	struct kymo_replay *replay;
	struct kymo_error why;
	int64_t frame = 0;
	size_t from_top;
	char *expression = name ? expression_of(dap, arguments, name, &frame) : NULL, *text = NULL, id[16];
	int result;

	if (!expression)
		return no_info(body, "this is not a variable, or a part of one that an expression can name", error);
	result = kymo_dap_stand_in(dap, frame, &replay, &from_top, &why);
	if (!result && !replay)
		result = kymo_fail(&why, -ENOENT, "nothing is known of this frame");
	if (!result)
		result = kymo_watchpoint_set(&watch, replay, from_top, expression, &why);
	free(expression);
	if (result) {
		kymo_watchpoint_release(&watch);
		return no_info(body, why.message, error);
	}
	kept = keep(dap, &watch);
	if (!kept)
		return no_info(body, "too many variables were asked about", error);
	snprintf(id, sizeof(id), "%" PRIu32, kept->id);
	if (asprintf(&text, "%s in this call of %s", kept->expression, function_of(kept)) < 0)
		text = NULL;
	result = kymo_dap_answer(body, json_pack("{s:s, s:o, s:[s], s:b}", "dataId", id, "description", kymo_dap_text(text ? text : "?"),
						 "accessTypes", "write", "canPersist", 0),
				 error);
	free(text);
	return result;
}

/* One of those that are watched from now on. */
static json_t *set_watch(struct kymo_dap *dap, const json_t *wanted)
{
	const char *id = kymo_dap_string(wanted, "dataId"), *access = kymo_dap_string(wanted, "accessType"), *why = NULL;
	struct kymo_replay *replay = &dap->replay;
	char *end = NULL;
	unsigned long number = id && *id ? strtoul(id, &end, 10) : 0;

	if (!end || *end || !number || number > dap->watch_count)
		why = "unknown dataId";
	else if (access && strcmp(access, "write") != 0)
		why = "where a variable is read is not recorded: only \"write\"";
	else if (kymo_dap_string(wanted, "condition") || kymo_dap_string(wanted, "hitCondition"))
		why = "a data breakpoint takes no condition";
	else if (kymo_grow(&replay->watches, &dap->set_capacity, replay->watch_count + 1U, sizeof(*replay->watches)))
		why = "out of memory";
	if (why)
		return json_pack("{s:b, s:s}", "verified", 0, "message", why);
	/* It stays with those that the client knows. */
	replay->watches[replay->watch_count] = dap->watches[number - 1];
	replay->watches[replay->watch_count++].id = ++dap->last_point_id;
	return json_pack("{s:b, s:I}", "verified", 1, "id", (json_int_t)dap->last_point_id);
}

int kymo_dap_set_data_breakpoints(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	json_t *set = json_array();
	const json_t *wanted;
	size_t i;

	dap->replay.watch_count = 0;
	dap->replay.watched = NULL;
	json_array_foreach (json_object_get(arguments, "breakpoints"), i, wanted)
		json_array_append_new(set, set_watch(dap, wanted));
	return kymo_dap_answer(body, json_pack("{s:o}", "breakpoints", set), error);
}

/* What the watched expression was where @replay stands, and the line of its frame there. */
static void put_value(struct kymo_replay *replay, const struct kymo_watchpoint *watch, char text[VALUE_BYTES + sizeof(MORE)], int64_t *line)
{
	const struct kymo_stack *stack = &replay->walker.stack;
	uint64_t depth = kymo_stack_depth(stack), from_top = depth - watch->activation.level;
	struct kymo_variables variables = {0};
	struct kymo_error error;
	uint32_t node = 0;

	snprintf(text, VALUE_BYTES, "no value");
	*line = KYMO_LINE_NONE;
	if (depth < watch->activation.level)
		return;
	if (from_top < stack->count)
		*line = stack->frames[stack->count - 1 - from_top].line;
	if (!kymo_variables_read(replay, from_top, &variables, &error) && !kymo_variables_path(&variables, watch->expression, &node, &error) &&
	    kymo_value_text(&variables.tree, kymo_value_at(&variables.tree, node), variables.process, text, VALUE_BYTES) >= VALUE_BYTES)
		strcat(text, MORE);
	kymo_variables_release(&variables);
}

/* "total: 0 → 4, by line 15" */
static char *describe_change(struct kymo_dap *dap, const struct kymo_watchpoint *watch)
{
	struct kymo_position at = kymo_position_of(kymo_replay_event(&dap->replay));
	char before[VALUE_BYTES + sizeof(MORE)] = "no value", now[VALUE_BYTES + sizeof(MORE)], *text = NULL;
	int64_t line = KYMO_LINE_NONE, here;
	int length;

	put_value(&dap->replay, watch, now, &here);
	if (kymo_position_compare(at, watch->activation.first.at) > 0 &&
	    !kymo_replay_seek(&dap->side, watch->activation.stream, (struct kymo_position){at.n - 1, 0}, NULL))
		put_value(&dap->side, watch, before, &line);
	if (line > 0)
		length = asprintf(&text, "%s: %s → %s, by line %" PRId64, watch->expression, before, now, line - 1 + dap->lines_from);
	else
		length = asprintf(&text, "%s: %s → %s", watch->expression, before, now);
	return length < 0 ? NULL : text;
}

/* Why it stopped where @watch has not changed. */
static char *describe_end(const struct kymo_dap *dap, const struct kymo_watchpoint *watch)
{
	const struct kymo_activation *of = &watch->activation;
	bool is_end = !kymo_position_compare(kymo_position_of(kymo_replay_event(&dap->replay)), of->last.at);
	const char *why = is_end ? "did not change up to here, where it ends" : "did not change since here, where it begins";
	char *text = NULL;

	if (!(is_end ? of->has_last : of->has_first))
		why = "is not known any further: events are missing here";
	return asprintf(&text, "%s in this call of %s %s", watch->expression, function_of(watch), why) < 0 ? NULL : text;
}

bool kymo_dap_is_at_edge(const struct kymo_dap *dap)
{
	const struct kymo_activation *of = &dap->replay.watched->activation;
	struct kymo_position at = kymo_position_of(kymo_replay_event(&dap->replay));

	return !kymo_position_compare(at, of->first.at) || !kymo_position_compare(at, of->last.at);
}

void kymo_dap_tell_watch(struct kymo_dap *dap, int stop)
{
	const struct kymo_watchpoint *watch = dap->replay.watched;
	char *text = stop == KYMO_STOP_WATCH_OVER ? describe_end(dap, watch) : describe_change(dap, watch);

	kymo_dap_stopped(dap, "data breakpoint", text, json_pack("{s:[I]}", "hitBreakpointIds", (json_int_t)watch->id));
	free(text);
}
