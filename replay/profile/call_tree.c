// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/call_tree.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "replay/coverage/contexts.h"

#define NONE KYMO_CALL_NODE_NONE

static uint32_t hash_text(uint64_t hash, const char *text)
{
	return (uint32_t)XXH3_64bits_withSeed(text, text ? strlen(text) : 0, hash);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* NONE: no memory. */
static uint32_t function_by_name(struct kymo_call_tree *tree, struct kymo_called_function wanted)
{
	uint32_t hash = hash_text(kymo_hash_mix(hash_text(wanted.is_c, wanted.file), wanted.first_line), wanted.name), number;

	for (size_t at = hash; (number = kymo_lookup_next(&tree->by_function, hash, &at)); at++) {
		const struct kymo_called_function *has = &tree->functions[number - 1];

		if (has->first_line == wanted.first_line && has->is_c == wanted.is_c && is_same_text(has->name, wanted.name) &&
		    is_same_text(has->file, wanted.file))
			return number - 1;
	}
	number = (uint32_t)tree->function_count;
	if (kymo_grow(&tree->functions, &tree->function_capacity, tree->function_count + 1, sizeof(wanted)) ||
	    kymo_shares_add(&tree->function_shares) == UINT32_MAX || kymo_lookup_add(&tree->by_function, hash, number + 1))
		return NONE;
	tree->functions[tree->function_count++] = wanted;
	return number;
}

/* NONE: no memory. */
static uint32_t function_of(struct kymo_call_tree *tree, const struct kymo_call *call)
{
	const void *identity = call->content ? (const void *)call->content : call->c_name; /* NULL: not known */
	uint32_t hash = (uint32_t)kymo_hash_mix(0, (uintptr_t)identity), number, function;

	for (size_t at = hash; (number = kymo_lookup_next(&tree->by_identity, hash, &at)); at++)
		if (tree->identities[number - 1].identity == identity)
			return tree->identities[number - 1].function;
	function = function_by_name(tree, (struct kymo_called_function){
		.file = call->content ? call->content->file : NULL,
		.name = call->content ? call->content->function : call->c_name,
		.first_line = call->content ? call->content->first_line : 0,
		.is_c = call->c_name,
	});
	number = (uint32_t)tree->identity_count;
	if (function == NONE ||
	    kymo_grow(&tree->identities, &tree->identity_capacity, tree->identity_count + 1, sizeof(*tree->identities)) ||
	    kymo_lookup_add(&tree->by_identity, hash, number + 1))
		return NONE;
	tree->identities[tree->identity_count++] = (struct kymo_identity){identity, function};
	return function;
}

static uint32_t add_node(struct kymo_call_tree *tree, struct kymo_call_node added, uint32_t hash)
{
	uint32_t number = (uint32_t)tree->node_count;

	if (kymo_grow(&tree->nodes, &tree->node_capacity, tree->node_count + 1, sizeof(added)) ||
	    kymo_shares_add(&tree->node_shares) == UINT32_MAX || kymo_lookup_add(&tree->by_node, hash, number + 1))
		return NONE;
	tree->nodes[tree->node_count++] = added;
	return number;
}

static uint32_t find_node(struct kymo_call_tree *tree, const struct kymo_call_node *wanted, uint32_t *hash)
{
	uint64_t mixed = kymo_hash_mix(kymo_hash_mix(wanted->parent == NONE ? ~(uint64_t)wanted->thread : wanted->parent,
						     wanted->function), wanted->line);
	uint32_t number;

	*hash = (uint32_t)(wanted->is_more ? ~mixed : mixed);
	for (size_t at = *hash; (number = kymo_lookup_next(&tree->by_node, *hash, &at)); at++) {
		const struct kymo_call_node *has = &tree->nodes[number - 1];

		if (has->parent == wanted->parent && has->function == wanted->function && has->line == wanted->line &&
		    has->thread == wanted->thread && has->is_more == wanted->is_more)
			return number - 1;
	}
	return NONE;
}

/* The node of @function where @parent called it; NONE: no memory. */
static uint32_t node_of(struct kymo_call_tree *tree, uint32_t parent, uint32_t function, uint32_t line)
{
	struct kymo_call_node *above = parent == NONE ? NULL : &tree->nodes[parent];
	struct kymo_call_node wanted = {
		.parent = parent,
		.function = function,
		.thread = (uint32_t)tree->thread_count - 1,
		.line = line,
		.child = NONE,
	};
	uint32_t number, hash;

	if (above && above->child != NONE && above->child_function == function && above->child_line == line)
		return above->child;
	number = find_node(tree, &wanted, &hash);
	if (number == NONE && tree->node_count >= tree->node_limit) {
		wanted.is_more = true;
		wanted.line = wanted.function = 0;
		number = find_node(tree, &wanted, &hash);
	}
	if (number == NONE)
		number = add_node(tree, wanted, hash);
	if (number != NONE && parent != NONE) {
		above = &tree->nodes[parent];
		above->child = number;
		above->child_function = function;
		above->child_line = line;
	}
	return number;
}

/* The share of @line of @function; UINT32_MAX: no memory. */
static uint32_t line_share(struct kymo_call_tree *tree, uint32_t function, uint32_t line)
{
	uint32_t hash = (uint32_t)kymo_hash_mix(function, line), number;

	for (size_t at = hash; (number = kymo_lookup_next(&tree->by_line, hash, &at)); at++)
		if (tree->lines[number - 1].function == function && tree->lines[number - 1].line == line)
			return number;
	number = (uint32_t)tree->line_count + 1;
	if (kymo_grow(&tree->lines, &tree->line_capacity, tree->line_count + 1, sizeof(*tree->lines)) ||
	    kymo_shares_add(&tree->line_shares) == UINT32_MAX || kymo_lookup_add(&tree->by_line, hash, number))
		return UINT32_MAX;
	tree->lines[tree->line_count++] = (struct kymo_called_line){.function = function, .line = line};
	return number;
}

static void count(uint64_t *calls, uint64_t *resumes, enum kymo_call_how how)
{
	*calls += how == KYMO_CALL_CALLED;
	*resumes += how == KYMO_CALL_RESUMED || how == KYMO_CALL_THROWN;
}

static void begin_function(struct kymo_call_tree *tree, uint32_t number, enum kymo_call_how how, bool is_early)
{
	struct kymo_called_function *function = &tree->functions[number];

	count(&function->calls, &function->resumes, how);
	if (!function->running++) {
		function->outermost += how != KYMO_CALL_FOUND;
		kymo_shares_call_begins(&tree->function_shares, number + 1, is_early);
	}
	kymo_shares_top(&tree->function_shares, number + 1, is_early);
}

static bool begin_call(struct kymo_call_tree *tree, const struct kymo_call *call, bool is_early)
{
	uint32_t parent = tree->open_count ? tree->open[tree->open_count - 1].node : NONE;
	uint32_t line = tree->wants_lines && call->line > 0 && call->line < UINT32_MAX ? (uint32_t)call->line : 0;
	struct kymo_tree_call open = {.node = parent, .function = function_of(tree, call)};
	struct kymo_call_node *node;

	open.is_inside_more = parent != NONE && tree->nodes[parent].is_more;
	if (open.function != NONE && !open.is_inside_more)
		open.node = node_of(tree, parent, open.function, line);
	if (open.function == NONE || open.node == NONE ||
	    kymo_grow(&tree->open, &tree->open_capacity, tree->open_count + 1, sizeof(open)))
		return false;
	begin_function(tree, open.function, call->how, is_early);
	node = &tree->nodes[open.node];
	count(&node->calls, &node->resumes, call->how);
	node->is_cut |= call->how == KYMO_CALL_FOUND;
	if (!open.is_inside_more)
		kymo_shares_call_begins(&tree->node_shares, open.node + 1, is_early);
	kymo_shares_top(&tree->node_shares, open.node + 1, is_early);
	if (tree->wants_lines && call->content)
		open.line = line_share(tree, open.function, call->content->first_line);
	tree->open[tree->open_count++] = open;
	return open.line != UINT32_MAX;
}

static void end_call(struct kymo_call_tree *tree, const struct kymo_call *call, bool is_early)
{
	const struct kymo_tree_call *open = &tree->open[--tree->open_count], *below = tree->open_count ? open - 1 : NULL;

	tree->nodes[open->node].is_cut |= call->how == KYMO_CALL_LOST || call->how == KYMO_CALL_OPEN;
	if (!open->is_inside_more)
		kymo_shares_call_ends(&tree->node_shares, open->node + 1, is_early);
	kymo_shares_top(&tree->node_shares, below ? below->node + 1 : 0, is_early);
	if (!--tree->functions[open->function].running)
		kymo_shares_call_ends(&tree->function_shares, open->function + 1, is_early);
	kymo_shares_top(&tree->function_shares, below ? below->function + 1 : 0, is_early);
}

static bool come_to_line(struct kymo_call_tree *tree, const struct kymo_call *call)
{
	struct kymo_tree_call *open = &tree->open[tree->open_count - 1];

	if (call->line < 0 || call->line >= UINT32_MAX)
		return true;
	open->line = line_share(tree, open->function, (uint32_t)call->line);
	if (open->line == UINT32_MAX)
		return false;
	tree->lines[open->line - 1].hits++;
	return true;
}

/* False: no memory. */
static bool add_step(struct kymo_call_tree *tree, const struct kymo_call *call)
{
	bool is_bound = call->step == KYMO_CALL_BEGIN || call->step == KYMO_CALL_END, is_line_early = false;
	bool has_line = tree->wants_lines && (is_bound || call->step == KYMO_CALL_LINE), is_early;

	if (has_line)
		is_line_early = kymo_shares_step(&tree->line_shares, call->t_ns, call->low_ns, call->high_ns);
	if (is_bound) {
		is_early = kymo_shares_step(&tree->node_shares, call->t_ns, call->low_ns, call->high_ns);
		kymo_shares_step(&tree->function_shares, call->t_ns, call->low_ns, call->high_ns);
		if (call->step == KYMO_CALL_END)
			end_call(tree, call, is_early);
		else if (!begin_call(tree, call, is_early))
			return false;
	} else if (call->step == KYMO_CALL_LINE && tree->wants_lines && tree->open_count && !come_to_line(tree, call)) {
		return false;
	}
	tree->events += call->step != KYMO_CALL_LINE && call->step != KYMO_CALL_GAP;
	if (call->step == KYMO_CALL_GAP)
		tree->threads[tree->thread_count - 1].lost += call->lost;
	if (has_line)
		kymo_shares_top(&tree->line_shares, tree->open_count ? tree->open[tree->open_count - 1].line : 0, is_line_early);
	return true;
}

/* Process the steps of a window after all of it was read. */
static int add_window(struct kymo_call_tree *tree, const struct kymo_call *next, struct kymo_error *error)
{
	struct kymo_spread *spread = &tree->spread;
	bool is_short = kymo_spread_settle(spread, next);

	for (size_t i = 0; i < spread->count && !is_short; i++)
		is_short = !add_step(tree, &spread->steps[i]);
	spread->count = 0;
	return is_short ? kymo_fail(error, -ENOMEM, "out of memory") : 0;
}

static int read_steps(struct kymo_call_tree *tree, struct kymo_sliced_calls *calls, struct kymo_error *error)
{
	struct kymo_called_thread *thread = &tree->threads[tree->thread_count - 1];
	int64_t outside_ns = tree->node_shares.items[0].self_ns;
	struct kymo_call call;
	bool is_first = true;
	int result;

	kymo_spread_begin_thread(&tree->spread, tree->timeline->clock.has_tick);
	while ((result = kymo_sliced_calls_next(calls, &call, error)) > 0) {
		if (is_first) {
			thread->begin_ns = call.low_ns;
			kymo_shares_begin(&tree->node_shares, call.low_ns);
			kymo_shares_begin(&tree->function_shares, call.low_ns);
			kymo_shares_begin(&tree->line_shares, call.low_ns);
			is_first = false;
		}
		if (!kymo_spread_has_room(&tree->spread, &call) && (result = add_window(tree, &call, error)))
			return result;
		if (kymo_spread_add(&tree->spread, &call))
			return kymo_fail(error, -ENOMEM, "out of memory");
	}
	if (!result)
		result = add_window(tree, NULL, error);
	if (result || is_first)
		return result;
	kymo_shares_end(&tree->line_shares);
	kymo_shares_end(&tree->function_shares);
	thread->end_ns = kymo_shares_end(&tree->node_shares);
	thread->outside_ns = tree->node_shares.items[0].self_ns - outside_ns;
	tree->lost += thread->lost;
	if (tree->node_shares.is_short || tree->function_shares.is_short || tree->line_shares.is_short)
		return kymo_fail(error, -ENOMEM, "out of memory");
	return 0;
}

static int read_stream(struct kymo_call_tree *tree, const struct kymo_stream *stream, const struct kymo_slice *slice,
		       const struct kymo_contexts *contexts, struct kymo_error *error)
{
	struct kymo_sliced_calls *calls;
	int result;

	if (kymo_grow(&tree->threads, &tree->thread_capacity, tree->thread_count + 1, sizeof(*tree->threads)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	tree->threads[tree->thread_count++] = (struct kymo_called_thread){.stream = stream};
	result = kymo_sliced_calls_open(&calls, tree->timeline, stream, slice, contexts, error);
	if (!result)
		result = read_steps(tree, calls, error);
	kymo_sliced_calls_close(calls);
	tree->open_count = 0;
	return result;
}

int kymo_call_tree_read(struct kymo_call_tree *tree, struct kymo_timeline *timeline, const struct kymo_slice *slice,
			bool wants_lines, uint32_t node_limit, struct kymo_error *error)
{
	struct kymo_contexts contexts = {0};
	int result = 0;

	*tree = (struct kymo_call_tree){.timeline = timeline, .wants_lines = wants_lines, .node_limit = node_limit};
	if (kymo_shares_add(&tree->node_shares) == UINT32_MAX || kymo_shares_add(&tree->function_shares) == UINT32_MAX ||
	    kymo_shares_add(&tree->line_shares) == UINT32_MAX)
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (slice->test) {
		result = kymo_contexts_find(&contexts, timeline, error);
		if (result)
			goto end;
	}
	if (!wants_lines)
		timeline->rebuilt_kinds = 0;
	for (size_t i = 0; i < timeline->stream_count && !result; i++)
		if (kymo_slice_wants_stream(slice, &timeline->streams[i]))
			result = read_stream(tree, &timeline->streams[i], slice, slice->test ? &contexts : NULL, error);
end:
	if (slice->test)
		kymo_contexts_release(&contexts);
	return result;
}

void kymo_call_tree_release(struct kymo_call_tree *tree)
{
	kymo_shares_release(&tree->node_shares);
	kymo_shares_release(&tree->function_shares);
	kymo_shares_release(&tree->line_shares);
	kymo_spread_release(&tree->spread);
	free(tree->by_identity.slots);
	free(tree->by_function.slots);
	free(tree->by_node.slots);
	free(tree->by_line.slots);
	free(tree->identities);
	free(tree->functions);
	free(tree->nodes);
	free(tree->lines);
	free(tree->threads);
	free(tree->open);
}
