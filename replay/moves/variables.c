// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/moves/frame_told.h"
#include "replay/values/value_path.h"

/* In co_flags: locals have slots of their own; else they are names in a namespace. */
#define CO_OPTIMIZED 1U

static const struct kymo_position at_end = {UINT64_MAX, 0};

void kymo_variables_release(struct kymo_variables *variables)
{
	free(variables->items);
	free(variables->payload);
	free(variables->own_payload);
	kymo_value_tree_release(&variables->tree);
	*variables = (struct kymo_variables){0};
}

static struct kymo_variable *add(struct kymo_variables *variables, uint64_t number)
{
	const struct kymo_content *content = variables->code ? variables->code->content : NULL;
	struct kymo_variable *variable;

	if (kymo_grow(&variables->items, &variables->capacity, variables->count + 1U, sizeof(*variables->items)))
		return NULL;
	variable = &variables->items[variables->count++];
	*variable = (struct kymo_variable){
		.name = kymo_value_name(variables->code, number),
		.number = number,
		.scope = KYMO_SCOPE_LOCAL,
		.state = variables->untold ? KYMO_VARIABLE_NOT_RECORDED : KYMO_VARIABLE_UNBOUND,
		.line = KYMO_LINE_NONE,
	};
	if (number == KYMO_VALUES_OWN)
		variable->scope = KYMO_SCOPE_OWN;
	else if (content && number % 2 && (number - 1) / 2 < content->argument_count)
		variable->scope = KYMO_SCOPE_ARGUMENT;
	else if (content && number % 2 == 0 && content->flags & CO_OPTIMIZED)
		variable->scope = KYMO_SCOPE_GLOBAL;
	return variable;
}

static struct kymo_variable *find_number(const struct kymo_variables *variables, uint64_t number)
{
	for (uint32_t i = 0; i < variables->count; i++)
		if (variables->items[i].number == number)
			return &variables->items[i];
	return NULL;
}

/* A copy of node @number of @from with all that is in it, behind @last or as the first of @parent; 0: no memory. */
static uint32_t copy_node(struct kymo_value_tree *to, const struct kymo_value_tree *from, uint32_t number, uint32_t parent, uint32_t last)
{
	const struct kymo_value *value = kymo_value_at(from, number);
	uint32_t copy, item_copy = 0;

	if (!to->count)
		to->count = 1;
	if (kymo_grow(&to->nodes, &to->capacity, to->count + 1U, sizeof(*to->nodes)))
		return 0;
	copy = to->count++;
	to->nodes[copy] = *value;
	to->nodes[copy].first = to->nodes[copy].next = 0;
	if (last)
		to->nodes[last].next = copy;
	else if (parent)
		to->nodes[parent].first = copy;
	for (uint32_t item = value->first; item; item = kymo_value_at(from, item)->next) {
		item_copy = copy_node(to, from, item, copy, item_copy);
		if (!item_copy)
			return 0;
	}
	return copy;
}

/* Take the variables of a record for which no later value is known; or the event's own value. */
static int take_block(struct kymo_variables *variables, const struct kymo_value_tree *tree, const struct kymo_told_block *block,
		      bool wants_own)
{
	uint32_t number = tree->count > 1 ? 1 : 0;

	for (; number; number = kymo_value_at(tree, number)->next) {
		const struct kymo_value *value = kymo_value_at(tree, number);
		struct kymo_variable *variable = find_number(variables, value->name);

		if ((value->name == KYMO_VALUES_OWN) != wants_own)
			continue;
		if (!variable && !(variable = add(variables, value->name)))
			return -ENOMEM;
		if (variable->at.n)
			continue;
		variable->at = block->moment.at;
		variable->line = block->line;
		variable->t_ns = block->moment.t_ns;
		variable->state = KYMO_VARIABLE_UNBOUND;
		if (value->kind == KYMO_VALUE_UNBOUND)
			continue;
		variable->node = copy_node(&variables->tree, tree, number, 0, 0);
		variable->state = KYMO_VARIABLE_TOLD;
		if (!variable->node)
			return -ENOMEM;
	}
	return 0;
}

/* From the newest record back to the one that has all variables. */
static int take_blocks(struct kymo_variables *variables, struct kymo_frame_told *told)
{
	struct kymo_value_tree tree = {0};
	int result = 0;

	for (uint32_t i = told->count; i-- > 0 && !result && !(tree.flags & KYMO_VALUES_WHOLE);) {
		result = kymo_value_tree_read(&tree, kymo_told_values(told, i));
		if (!result)
			result = take_block(variables, &tree, &told->blocks[i], false);
	}
	kymo_value_tree_release(&tree);
	variables->payload = told->payload;
	told->payload = NULL;
	return result;
}

/* The value that is returned, yielded or raised at the event. */
static int take_own(struct kymo_variables *variables, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	struct kymo_told_block block = {
		.line = kymo_event_line(event),
		.moment = kymo_moment_of(walker->cursor.timeline, event),
	};
	struct kymo_values values = event->values;
	struct kymo_value_tree tree = {0};
	int result;

	if (!values.bytes || event->kind == KYMO_LINE)
		return 0;
	variables->own_payload = malloc(walker->cursor.frame.header.raw_bytes);
	if (!variables->own_payload)
		return -ENOMEM;
	memcpy(variables->own_payload, values.payload, walker->cursor.frame.header.raw_bytes);
	values.payload = variables->own_payload;
	result = kymo_value_tree_read(&tree, values);
	if (!result)
		result = take_block(variables, &tree, &block, true);
	kymo_value_tree_release(&tree);
	return result;
}

static bool has_whole(const struct kymo_frame_told *told)
{
	for (uint32_t i = told->count; i-- > 0;)
		if (told->payload[told->blocks[i].at] & KYMO_VALUES_WHOLE)
			return true;
	return false;
}

/*
 * Fill @told with the variables of the frame on @level at @place, back to a record of all of them; if there is none, they are not
 * known.
 */
static int read_locals(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level, struct kymo_position place,
		       struct kymo_frame_told *told, struct kymo_error *error)
{
	struct kymo_position until = place;

	for (;;) {
		int result = kymo_frame_told_read(replay, chunk, level, place, until, told, error);

		if (!result)
			result = kymo_check_interrupt(replay, error);
		if (result || told->is_lost || told->has_first || has_whole(told) || told->has_ran_line)
			return result;
		chunk = kymo_find_level(replay, chunk, level);
		if (!chunk)
			return 0;
		place = until = at_end;
	}
}

/* If only arguments are recorded, they are recorded where the frame is entered. */
static int read_arguments(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level, struct kymo_position place,
			  struct kymo_frame_told *told, struct kymo_error *error)
{
	const struct kymo_chunk_summary *entry = kymo_chunk_of_entry(replay, chunk, level);
	int result = kymo_frame_told_read(replay, chunk, level, place, place, told, error);

	if (result || told->has_first || told->is_lost || entry >= chunk)
		return result;
	result = kymo_frame_told_read(replay, entry, level, at_end, at_end, told, error);
	if (!result && !told->is_there && entry + 1 < chunk)
		result = kymo_frame_told_read(replay, entry + 1, level, at_end, at_end, told, error);
	return result;
}

static int read_told(struct kymo_replay *replay, uint64_t level, struct kymo_frame_told *told, struct kymo_error *error)
{
	struct kymo_position place = kymo_position_of(&replay->walker.event);
	const struct kymo_chunk_summary *chunk = kymo_this_chunk(replay);
	const struct kymo_values values = replay->walker.event.values;

	/* The event may record all itself, as at a function's entry. */
	if (level == kymo_stack_depth(&replay->walker.stack) && values.bytes && values.payload[values.at] & KYMO_VALUES_WHOLE)
		return kymo_frame_told_here(told, &replay->walker, error);
	if (kymo_values_scope(replay->timeline) == KYMO__VALUES__SCOPE__ARGS)
		return read_arguments(replay, chunk, level, place, told, error);
	return read_locals(replay, chunk, level, place, told, error);
}

static enum kymo_untold why_untold(const struct kymo_replay *replay, const struct kymo_frame_told *told)
{
	if (has_whole(told))
		return KYMO_TOLD;
	if (!kymo_values_scope(replay->timeline))
		return KYMO_UNTOLD_NO_VALUES;
	return told->is_lost ? KYMO_UNTOLD_LOST : KYMO_UNTOLD_LEFT_OUT;
}

/* All names of the code, recorded or not, so that they are in the order of the code. */
static int add_names(struct kymo_variables *variables)
{
	const struct kymo_content *content = variables->code ? variables->code->content : NULL;

	for (uint32_t i = 0; content && i < content->local_count; i++)
		if (!add(variables, KYMO_VALUES_LOCAL(i)))
			return -ENOMEM;
	return 0;
}

/* Locals, then names, each in the order of the code, then OWN. */
static int compare(const void *a, const void *b)
{
	uint64_t left = ((const struct kymo_variable *)a)->number, right = ((const struct kymo_variable *)b)->number;

	/* OWN is 0 and locals are odd. */
	left = left % 2 ? left >> 1 : (left - 1) | UINT64_C(1) << 63;
	right = right % 2 ? right >> 1 : (right - 1) | UINT64_C(1) << 63;
	return left < right ? -1 : left > right;
}

int kymo_variables_read(struct kymo_replay *replay, size_t frame, struct kymo_variables *variables, struct kymo_error *error)
{
	const struct kymo_stack *stack = &replay->walker.stack;
	uint64_t depth = kymo_stack_depth(stack);
	struct kymo_frame_told told = {0};
	int result;

	*variables = (struct kymo_variables){.process = kymo_replay_event(replay)->stream->process};
	if (frame >= depth)
		return kymo_fail(error, -ENOENT, "no such frame here");
	if (frame < stack->count)
		variables->code = stack->frames[stack->count - 1 - frame].code;
	if (kymo_values_scope(replay->timeline)) {
		result = read_told(replay, depth - frame, &told, error);
		if (result)
			goto out;
	}
	if (told.code)
		variables->code = told.code;
	variables->untold = why_untold(replay, &told);
	result = add_names(variables);
	if (!result && told.count)
		result = take_blocks(variables, &told);
	if (!result && !frame)
		result = take_own(variables, &replay->walker);
	if (result)
		kymo_fail(error, result, "out of memory");
	else if (variables->count)
		qsort(variables->items, variables->count, sizeof(*variables->items), compare);
out:
	kymo_frame_told_release(&told);
	return result;
}

int kymo_variables_at(struct kymo_index *index, const struct kymo_walker *walker, struct kymo_variables *variables, struct kymo_error *error)
{
	struct kymo_replay here = {.timeline = index->timeline, .index = index, .walker = *walker, .is_open = true}; /* only read */

	return kymo_variables_read(&here, 0, variables, error);
}

const struct kymo_variable *kymo_variables_find(const struct kymo_variables *variables, const char *name)
{
	const struct kymo_variable *found = NULL;

	/* A comprehension's variable may have the same name: take the one that has a value. */
	for (uint32_t i = 0; i < variables->count; i++) {
		const struct kymo_variable *variable = &variables->items[i];

		if (!variable->name || strcmp(variable->name, name))
			continue;
		if (variable->state == KYMO_VARIABLE_TOLD)
			return variable;
		found = found ? found : variable;
	}
	return found;
}

const struct kymo_variable *kymo_variables_own(const struct kymo_variables *variables)
{
	return find_number(variables, KYMO_VALUES_OWN);
}

const char *kymo_untold_text(enum kymo_untold untold)
{
	switch (untold) {
	case KYMO_UNTOLD_NO_VALUES:
		return "the recording has no values; kymo record --values records them";
	case KYMO_UNTOLD_LOST:
		return "events are missing since it was told";
	case KYMO_UNTOLD_LEFT_OUT:
		return "--values and --values-for left it out";
	default:
		return "";
	}
}

int kymo_variables_path(const struct kymo_variables *variables, const char *path, uint32_t *node, struct kymo_error *error)
{
	size_t bytes = kymo_name_bytes(path);
	const struct kymo_variable *variable;
	char *name;
	int result;

	*node = 0;
	if (!bytes)
		return kymo_fail(error, -EINVAL, "'%s' does not begin with a variable", path);
	result = kymo_value_path_check(path, path + bytes, error);
	if (result)
		return result;
	name = strndup(path, bytes);
	if (!name)
		return kymo_fail(error, -ENOMEM, "out of memory");
	variable = kymo_variables_find(variables, name);
	if (!variable && variables->untold)
		result = kymo_fail(error, -ENODATA, "%s was not recorded: %s", name, kymo_untold_text(variables->untold));
	else if (!variable)
		result = kymo_fail(error, -ENODATA, "this frame has no variable %s that was recorded", name);
	else if (variable->state == KYMO_VARIABLE_NOT_RECORDED)
		result = kymo_fail(error, -ENODATA, "%s was not recorded: %s", name, kymo_untold_text(variables->untold));
	else if (variable->state == KYMO_VARIABLE_UNBOUND)
		result = kymo_fail(error, -ENODATA, "%s has no value here", name);
	else
		result = kymo_value_path(&variables->tree, variable->node, path, path + bytes, node, error);
	free(name);
	return result;
}
