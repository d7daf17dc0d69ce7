// SPDX-License-Identifier: Apache-2.0
#include "replay/coverage/content_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* BRANCH_LEFT leads behind the instruction that reports it. */
static uint32_t left_of(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	bool is_told_behind = flow->version >= KYMO_CPYTHON_3_14 && at->op != KYMO_OP_FOR_ITER &&
			      kymo_flow_is_instruction(flow, at->next);

	return is_told_behind ? flow->at[at->next].next : at->next;
}

static uint32_t right_of(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	if (at->target == KYMO_NO_UNIT)
		return KYMO_NO_UNIT;
	return at->op == KYMO_OP_FOR_ITER ? kymo_flow_loop_end(flow, at) : at->target;
}

static bool is_branch(const struct kymo_flow *flow, uint32_t unit)
{
	const struct kymo_instruction *at = &flow->at[unit];

	return kymo_op_is_branch(at->op) || (at->op == KYMO_OP_END_SEND && kymo_flow_is_instruction(flow, at->next) &&
					     flow->at[at->next].op == KYMO_OP_NOT_TAKEN);
}

static int find_branches(struct kymo_content_counts *of, const struct kymo_flow *flow)
{
	uint32_t count = 0;

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		count += is_branch(flow, unit);
	of->branches = calloc(count + 1U, sizeof(*of->branches));
	if (!of->branches)
		return -ENOMEM;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		const struct kymo_instruction *at = &flow->at[unit];

		if (is_branch(flow, unit))
			of->branches[of->branch_count++] = (struct kymo_counted_branch){
				unit, {left_of(flow, at), right_of(flow, at)}, {0, 0}};
	}
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	int32_t a = ((const struct kymo_counted_line *)left)->line, b = ((const struct kymo_counted_line *)right)->line;

	return a < b ? -1 : a > b;
}

static int find_lines(struct kymo_content_counts *of)
{
	const struct kymo_code code = {.content = of->content};
	const struct kymo_content *content = of->content;
	size_t capacity = 0;
	uint32_t count = 0;

	kymo_code_line(&code, 0); /* decodes them */
	for (size_t i = 0; i < content->units; i++) {
		if (content->lines[i] < 0 || (i && content->lines[i] == content->lines[i - 1]))
			continue;
		if (kymo_grow(&of->lines, &capacity, count + 1U, sizeof(*of->lines)))
			return -ENOMEM;
		of->lines[count++] = (struct kymo_counted_line){.line = content->lines[i]};
	}
	if (count)
		qsort(of->lines, count, sizeof(*of->lines), compare_lines);
	for (uint32_t i = 0; i < count; i++)
		if (!i || of->lines[i].line != of->lines[of->line_count - 1].line)
			of->lines[of->line_count++] = of->lines[i];
	return 0;
}

int kymo_content_counts_init(struct kymo_content_counts *of, struct kymo_content *content, uint32_t python_hex,
			     uint64_t kinds)
{
	*of = (struct kymo_content_counts){.content = content, .version = KYMO_FLOW_VERSION(python_hex)};
	if (find_lines(of))
		return -ENOMEM;
	if (kymo_opcodes(of->version))
		of->code = kymo_flow_code_get(content, python_hex, kinds);
	if (of->code && !kymo_flow_of(of->code)->is_exact)
		of->code = NULL;
	return of->code ? find_branches(of, kymo_flow_of(of->code)) : 0;
}

void kymo_content_counts_release(struct kymo_content_counts *of)
{
	for (uint32_t i = 0; i < of->set_count; i++)
		free(of->sets[i].bits);
	free(of->sets);
	free(of->lines);
	free(of->branches);
}

/* The set of @context, added if missing; NULL: no memory. */
static struct kymo_context_set *set_of(struct kymo_content_counts *of, uint32_t context)
{
	uint32_t low = 0, high = of->set_count;
	size_t bits = (size_t)of->line_count + 2 * (size_t)of->branch_count;
	uint64_t *made;

	if (of->last_set < of->set_count && of->sets[of->last_set].context == context)
		return &of->sets[of->last_set];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (of->sets[middle].context < context)
			low = middle + 1;
		else
			high = middle;
	}
	of->last_set = low;
	if (low < of->set_count && of->sets[low].context == context)
		return &of->sets[low];
	made = calloc(bits / 64 + 1, sizeof(*made));
	if (!made || kymo_grow(&of->sets, &of->set_capacity, of->set_count + 1U, sizeof(*of->sets))) {
		free(made);
		return NULL;
	}
	memmove(&of->sets[low + 1], &of->sets[low], (of->set_count - low) * sizeof(*of->sets));
	of->sets[low] = (struct kymo_context_set){context, made};
	of->set_count++;
	return &of->sets[low];
}

static int note(struct kymo_content_counts *of, uint32_t bit, uint32_t context)
{
	struct kymo_context_set *set;

	if (context == KYMO_NO_CONTEXT)
		return 0;
	set = set_of(of, context);
	if (!set)
		return -ENOMEM;
	set->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	return 0;
}

int kymo_count_line(struct kymo_content_counts *of, int64_t line, uint64_t times, uint32_t context)
{
	uint32_t low = 0, high = of->line_count;

	of->has_run = true;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (of->lines[middle].line < line)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == of->line_count || of->lines[low].line != line)
		return 0;
	of->lines[low].hits += times;
	return note(of, low, context);
}

/* The branch at @unit, or whose left way leads to @left; NULL: there is none. */
static struct kymo_counted_branch *find_branch(const struct kymo_content_counts *of, uint64_t unit, uint64_t left)
{
	uint32_t low = 0, high = of->branch_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct kymo_counted_branch *at = &of->branches[middle];

		if (unit == KYMO_NO_UNIT ? at->dests[0] < left : at->unit < unit)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == of->branch_count)
		return NULL;
	return (unit == KYMO_NO_UNIT ? of->branches[low].dests[0] == left : of->branches[low].unit == unit)
		       ? &of->branches[low]
		       : NULL;
}

/*
 * The source of BRANCH_LEFT, and of BRANCH_RIGHT at the end of a loop, depends on the events that other tools enabled; their
 * destination does not.
 */
static struct kymo_counted_branch *find_right(const struct kymo_content_counts *of, uint64_t offset, uint64_t dest)
{
	struct kymo_counted_branch *branch = find_branch(of, offset, 0);
	const struct kymo_flow *flow = kymo_flow_of(of->code);

	/* The end of `async for` may name the CLEANUP_THROW before the END_SEND instead. */
	if (!branch && offset < KYMO_NO_UNIT && kymo_flow_is_instruction(flow, (uint32_t)offset)) {
		branch = find_branch(of, flow->at[offset].next, 0);
		if (branch && flow->at[branch->unit].op != KYMO_OP_END_SEND)
			branch = NULL;
	}
	if (branch && flow->at[branch->unit].op == KYMO_OP_END_SEND) {
		if (kymo_flow_is_instruction(flow, (uint32_t)dest) && dest < KYMO_NO_UNIT)
			branch->dests[1] = (uint32_t)dest;
		return branch;
	}
	if (branch)
		return branch->dests[1] == dest ? branch : NULL;
	for (uint32_t i = 0; i < of->branch_count; i++)
		if (of->branches[i].dests[1] == dest && flow->at[of->branches[i].unit].op == KYMO_OP_FOR_ITER)
			return &of->branches[i];
	return NULL;
}

int kymo_count_way(struct kymo_content_counts *of, unsigned kind, uint64_t offset, uint64_t dest, uint64_t times,
		   uint32_t context)
{
	struct kymo_counted_branch *branch;
	bool is_right;

	of->has_run = true;
	if (!of->code)
		return 0;
	if (kind == KYMO_BRANCH_RIGHT)
		branch = find_right(of, offset, dest);
	else if (kind == KYMO_BRANCH_LEFT)
		branch = find_branch(of, KYMO_NO_UNIT, dest);
	else
		branch = find_branch(of, offset, 0);
	if (!branch)
		return 0;
	is_right = kind == KYMO_BRANCH_RIGHT || (kind == KYMO_BRANCH && dest == branch->dests[1]);
	branch->hits[is_right] += times;
	return note(of, of->line_count + 2 * (uint32_t)(branch - of->branches) + is_right, context);
}
