// SPDX-License-Identifier: Apache-2.0
/* The console's commands about what variables held. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/line_table.h"
#include "replay/trace/text.h"
#include "replay/values/value_path.h"
#include "replay/moves/variable_watch.h"

#define KYMO_PRINTED_BYTES 4096U
#define VIEWED_BYTES 512U /* of a value in the view: wider than a screen's row */

/* Whose item node @number is; NULL: nobody's. */
static const struct kymo_value *parent_of(const struct kymo_value_tree *tree, uint32_t number)
{
	for (uint32_t i = 1; i < number; i++)
		for (uint32_t item = tree->nodes[i].first; item; item = tree->nodes[item].next)
			if (item == number)
				return &tree->nodes[i];
	return NULL;
}

/* What was left out of @node itself. */
static void put_cut(FILE *out, const struct kymo_value_tree *tree, uint32_t node)
{
	const struct kymo_value *value = kymo_value_at(tree, node), *parent = NULL;
	const char *of = NULL;
	char why[KYMO_UNREAD_BYTES];
	const char *parts = value->kind == KYMO_VALUE_STR ? "characters"
			    : value->kind == KYMO_VALUE_OBJECT || value->kind == KYMO_VALUE_EXCEPTION ? "attributes"
			    : value->first ? "items"
					   : "bytes";

	if (value->kind == KYMO_VALUE_ARRAY && value->count && !value->kept)
		parent = parent_of(tree, node);
	if (parent)
		of = kymo_value_unread_labels(tree, parent, why);
	if (of)
		fprintf(out, "  (left out: the labels of its %s were not read, %s)", of, why);
	else if (value->kind == KYMO_VALUE_CUT)
		fputs("  (left out: --values-limits)", out);
	else if (value->is_cut && value->kept < value->count)
		fprintf(out, "  (cut: %" PRIu64 " of %" PRIu64 " %s were recorded)", value->kept, value->count, parts);
}

static void put_value(FILE *out, const struct kymo_value_tree *tree, uint32_t node, const struct kymo_traced_process *process)
{
	const struct kymo_value *value = kymo_value_at(tree, node);
	size_t bytes;
	char *text;

	if (!value) {
		fputs("no value", out);
		return;
	}
	bytes = kymo_value_text(tree, value, process, NULL, 0) + 1;
	text = malloc(bytes);
	if (text) {
		kymo_value_text(tree, value, process, text, bytes);
		kymo_text_put(out, text);
		put_cut(out, tree, node);
	}
	free(text);
}

/* The variables of the frame that is selected, to be released; false: reported. */
static bool read_variables(struct kymo_console *console, struct kymo_variables *variables)
{
	struct kymo_error error;

	if (!kymo_variables_read(console->replay, console->selected, variables, &error))
		return true;
	kymo_variables_release(variables);
	kymo_console_fail(console, "%s", error.message);
	return false;
}

/* Where arguments alone are told, they may have other values by now. */
static void put_when(struct kymo_console *console, const struct kymo_variables *variables)
{
	unsigned kind = kymo_replay_event(console->replay)->kind;

	if (variables->untold && (console->selected || (kind != KYMO_PY_START && kind != KYMO_PY_START_AT)))
		fputs("  (at the call)", console->out);
}

/* What no path is may be an expression; false: it is none. */
static bool put_expression(struct kymo_console *console, const struct kymo_variables *variables, const char *text, struct kymo_error *error)
{
	struct kymo_condition *condition = kymo_condition_new(text, console->replay->index, error);
	char value[KYMO_PRINTED_BYTES];
	const char *why;

	if (!condition || kymo_condition_needs_hits(condition)) {
		kymo_condition_free(condition);
		return false;
	}
	kymo_condition_value(condition, &console->replay->walker, 0, variables, value, sizeof value);
	if (kymo_condition_unknown(condition, &why)) {
		kymo_console_fail(console, "'%s' cannot be told: %s", text, why);
	} else {
		kymo_text_put(console->out, value);
		put_when(console, variables);
		putc('\n', console->out);
	}
	kymo_condition_free(condition);
	return true;
}

void kymo_console_print(struct kymo_console *console, char *argument)
{
	struct kymo_variables variables;
	struct kymo_error error, wrong;
	uint32_t node;
	int result;

	if (!*argument) {
		kymo_console_fail(console, "print: a variable, as x, order.items[0] or d[\"key\"], or an expression, as n == 5");
		return;
	}
	if (!read_variables(console, &variables))
		return;
	result = kymo_variables_path(&variables, argument, &node, &error);
	if (result) {
		bool is_path = result != -EINVAL;

		if (is_path || !put_expression(console, &variables, argument, &wrong))
			kymo_console_fail(console, "%s", is_path ? error.message : wrong.message);
	} else {
		put_value(console->out, &variables.tree, node, variables.process);
		put_when(console, &variables);
		putc('\n', console->out);
	}
	kymo_variables_release(&variables);
}

/* Variables that the compiler made have names that nobody can write. */
static bool is_shown(const struct kymo_variable *variable, bool wants_arguments)
{
	if (wants_arguments)
		return variable->scope == KYMO_SCOPE_ARGUMENT;
	return variable->scope == KYMO_SCOPE_OWN || (variable->name && kymo_name_bytes(variable->name));
}

static void put_variable(struct kymo_console *console, const struct kymo_variables *variables, const struct kymo_variable *variable)
{
	if (variable->state == KYMO_VARIABLE_UNBOUND)
		return;
	if (variable->scope == KYMO_SCOPE_OWN)
		fputs("(this event)", console->out);
	else
		kymo_text_put(console->out, variable->name ? variable->name : "?");
	fputs(variable->state == KYMO_VARIABLE_TOLD ? " = " : ": not recorded", console->out);
	if (variable->state == KYMO_VARIABLE_TOLD)
		put_value(console->out, &variables->tree, variable->node, variables->process);
	if (variable->state == KYMO_VARIABLE_TOLD && variable->scope != KYMO_SCOPE_OWN)
		put_when(console, variables);
	putc('\n', console->out);
}

static void put_variables(struct kymo_console *console, bool wants_arguments)
{
	struct kymo_variables variables;
	uint32_t told = 0, shown = 0;

	if (!read_variables(console, &variables))
		return;
	for (uint32_t i = 0; i < variables.count; i++) {
		const struct kymo_variable *variable = &variables.items[i];

		shown += is_shown(variable, wants_arguments);
		told += is_shown(variable, wants_arguments) && variable->state != KYMO_VARIABLE_NOT_RECORDED;
	}
	if (!told && (variables.untold == KYMO_UNTOLD_NO_VALUES || (variables.untold && (shown || !variables.code))))
		kymo_console_fail(console, "variables were not recorded: %s", kymo_untold_text(variables.untold));
	else if (!told)
		fputs(wants_arguments ? "no arguments\n" : "no variables\n", console->out);
	for (uint32_t i = 0; told && i < variables.count; i++)
		if (is_shown(&variables.items[i], wants_arguments))
			put_variable(console, &variables, &variables.items[i]);
	kymo_variables_release(&variables);
}

static bool is_of_event(struct kymo_console *console, const struct kymo_variable *variable)
{
	return !kymo_position_compare(variable->at, kymo_position_of(kymo_replay_event(console->replay)));
}

const char *kymo_console_each_variable(struct kymo_console *console, kymo_value_shower show, void *context)
{
	struct kymo_variables variables;
	const char *missing = "none";
	char text[VIEWED_BYTES];

	if (kymo_variables_read(console->replay, console->selected, &variables, NULL)) {
		kymo_variables_release(&variables);
		return "not known here";
	}
	if (variables.untold)
		missing = kymo_untold_text(variables.untold);
	for (uint32_t i = 0; i < variables.count; i++) {
		const struct kymo_variable *variable = &variables.items[i];

		if (!is_shown(variable, false) || variable->state != KYMO_VARIABLE_TOLD)
			continue;
		kymo_value_text(&variables.tree, kymo_value_at(&variables.tree, variable->node), variables.process, text, sizeof text);
		show(context, variable->scope == KYMO_SCOPE_OWN ? "(this event)" : variable->name ? variable->name : "?", text,
		     is_of_event(console, variable));
		missing = NULL;
	}
	kymo_variables_release(&variables);
	return missing;
}

void kymo_console_args(struct kymo_console *console, char *argument)
{
	(void)argument;
	put_variables(console, true);
}

void kymo_console_locals(struct kymo_console *console, char *argument)
{
	(void)argument;
	put_variables(console, false);
}

static struct kymo_watchpoint *add_watch(struct kymo_replay *replay)
{
	struct kymo_watchpoint *more = reallocarray(replay->watches, replay->watch_count + 1U, sizeof(*more));

	if (!more)
		return NULL;
	replay->watches = more;
	return &more[replay->watch_count];
}

static void put_function(FILE *out, const struct kymo_code *code)
{
	kymo_text_put(out, code ? code->content->function : "?");
	fputs("()", out);
}

void kymo_console_put_watches(struct kymo_console *console)
{
	for (uint32_t i = 0; i < console->replay->watch_count; i++) {
		const struct kymo_watchpoint *watch = &console->replay->watches[i];

		fprintf(console->out, "%-3" PRIu32 " watch ", watch->id);
		kymo_text_put(console->out, watch->expression);
		fputs(" in ", console->out);
		put_function(console->out, watch->activation.code);
		fprintf(console->out, " entered at #%" PRIu64 "\n", watch->activation.first.at.n);
	}
}

void kymo_console_watch(struct kymo_console *console, char *argument)
{
	struct kymo_replay *replay = console->replay;
	struct kymo_watchpoint *watch;
	struct kymo_error error;

	if (!*argument) {
		if (!replay->watch_count)
			fputs("no watchpoints\n", console->out);
		kymo_console_put_watches(console);
		return;
	}
	watch = add_watch(replay);
	if (!watch) {
		kymo_console_fail(console, "out of memory");
	} else if (kymo_watchpoint_set(watch, replay, console->selected, argument, &error)) {
		kymo_console_fail(console, "%s", error.message);
	} else {
		watch->id = ++replay->breaks.last_id;
		replay->watch_count++;
		fprintf(console->out, "Watchpoint %" PRIu32 ": ", watch->id);
		kymo_text_put(console->out, watch->expression);
		fputs(" in this call of ", console->out);
		put_function(console->out, watch->activation.code);
		putc('\n', console->out);
	}
}

bool kymo_console_remove_watch(struct kymo_console *console, uint64_t id)
{
	struct kymo_replay *replay = console->replay;

	for (uint32_t i = 0; i < replay->watch_count; i++) {
		if (replay->watches[i].id != id)
			continue;
		kymo_watchpoint_release(&replay->watches[i]);
		memmove(&replay->watches[i], &replay->watches[i + 1], (--replay->watch_count - i) * sizeof(*replay->watches));
		replay->watched = NULL;
		return true;
	}
	return false;
}

void kymo_console_release_watches(struct kymo_console *console)
{
	struct kymo_replay *replay = console->replay;

	while (replay->watch_count)
		kymo_watchpoint_release(&replay->watches[--replay->watch_count]);
	free(replay->watches);
	replay->watches = NULL;
	replay->watched = NULL;
}

/* What is watched, where @replay stands. */
static void put_watched(FILE *out, struct kymo_replay *replay, const struct kymo_watchpoint *watch)
{
	uint64_t depth = kymo_stack_depth(&replay->walker.stack);
	struct kymo_variables variables;
	struct kymo_error error;
	uint32_t node = 0;

	if (depth < watch->activation.level) {
		fputs("no value\n", out);
		return;
	}
	if (kymo_variables_read(replay, (size_t)(depth - watch->activation.level), &variables, &error) ||
	    kymo_variables_path(&variables, watch->expression, &node, &error))
		kymo_text_put(out, error.message);
	else
		put_value(out, &variables.tree, node, variables.process);
	putc('\n', out);
	kymo_variables_release(&variables);
}

void kymo_console_each_watch(struct kymo_console *console, kymo_value_shower show, void *context)
{
	for (uint32_t i = 0; i < console->replay->watch_count; i++) {
		const struct kymo_watchpoint *watch = &console->replay->watches[i];
		char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);

		if (!out)
			return;
		put_watched(out, console->replay, watch);
		fclose(out);
		if (text && bytes)
			text[bytes - 1] = '\0'; /* its line feed */
		show(context, watch->expression, text ? text : "?", watch == console->replay->watched);
		free(text);
	}
}

void kymo_console_put_watched(struct kymo_console *console, int stop)
{
	struct kymo_replay *replay = console->replay, before;
	const struct kymo_watchpoint *watch = replay->watched;
	struct kymo_position at = kymo_position_of(kymo_replay_event(replay));

	if (!watch)
		return;
	fprintf(console->out, "Watchpoint %" PRIu32 ": ", watch->id);
	kymo_text_put(console->out, watch->expression);
	if (stop == KYMO_STOP_WATCH_OVER) {
		bool is_end = !kymo_position_compare(at, watch->activation.last.at);
		bool is_known = is_end ? watch->activation.has_last : watch->activation.has_first;

		fprintf(console->out, ": no change; %s\n",
			!is_known ? "events are missing here, and what it held then is not known"
			: is_end  ? "here its frame is left"
				  : "here its frame begins");
		return;
	}
	fputs("\n  old: ", console->out);
	if (kymo_replay_open(&before, replay->index, NULL)) {
		fputs("?\n", console->out);
	} else {
		if (kymo_position_compare(at, watch->activation.first.at) <= 0 ||
		    kymo_replay_seek(&before, kymo_replay_stream(replay), (struct kymo_position){at.n - 1, 0}, NULL))
			fputs("no value\n", console->out);
		else
			put_watched(console->out, &before, watch);
		kymo_replay_close(&before);
	}
	fputs("  new: ", console->out);
	put_watched(console->out, replay, watch);
}

struct listing {
	struct kymo_console *console;
	const struct kymo_watchpoint *watch;
	struct kymo_position now;
	uint64_t count;
	bool is_current; /* of the last value: the replay stands not before it */
	char *line; /* of the last value, which is still to be written */
};

/* Write the value before, @is_current if the replay stands where the variable held it. */
static void flush(struct listing *listing, bool is_current)
{
	if (listing->line)
		fprintf(listing->console->out, "%s %s\n", is_current ? "->" : "  ", listing->line);
	free(listing->line);
	listing->line = NULL;
}

static bool list_value(void *context, const struct kymo_past_value *value)
{
	struct listing *listing = context;
	bool is_past = kymo_position_compare(value->moment.at, listing->now) <= 0 &&
		       value->moment.stream == kymo_replay_stream(listing->console->replay);
	char number[24] = "?";
	size_t bytes;
	FILE *out;

	flush(listing, listing->is_current && !is_past);
	listing->is_current = is_past;
	listing->count++;
	out = open_memstream(&listing->line, &bytes);
	if (!out)
		return false;
	if (value->line != KYMO_LINE_NONE)
		snprintf(number, sizeof number, "%" PRId64, value->line);
	fprintf(out, "line %-6s #%-10" PRIu64 " %14.9f s  ", number, value->moment.at.n, (double)value->moment.t_ns / 1e9);
	put_value(out, value->tree, value->node, listing->watch->activation.process);
	fclose(out);
	return true;
}

void kymo_console_history(struct kymo_console *console, char *argument)
{
	struct listing listing = {.console = console, .now = kymo_position_of(kymo_replay_event(console->replay))};
	struct kymo_watchpoint watch;
	struct kymo_error error;
	int result;

	if (!*argument) {
		kymo_console_fail(console, "history: a variable, as x or order.items[0]");
		return;
	}
	if (kymo_watchpoint_set(&watch, console->replay, console->selected, argument, &error)) {
		kymo_console_fail(console, "%s", error.message);
		return;
	}
	listing.watch = &watch;
	result = kymo_watchpoint_history(console->replay, &watch, list_value, &listing, &error);
	flush(&listing, listing.is_current);
	if (result)
		kymo_console_fail(console, "%s", error.message);
	else if (!listing.count)
		kymo_console_fail(console, "%s had no value in this frame", argument);
	else if (!watch.activation.has_first)
		fputs("   (events are missing before)\n", console->out);
	if (!result && !watch.activation.has_last && watch.activation.last.at.n != UINT64_MAX)
		fputs("   (events are missing from here on)\n", console->out);
	kymo_watchpoint_release(&watch);
}
