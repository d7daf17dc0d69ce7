// SPDX-License-Identifier: Apache-2.0
#include "format/flow.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Branches are decided from the last to the first, so that all that lies behind one is decided: a way that
 * leads back to a branch which is not, makes a site of this one.
 */

/* Steps for each unit of the code, all searches together; what is left when they are spent becomes sites. */
#define STEPS_PER_UNIT 64U

#define NO_MARK UINT32_MAX

struct search {
	struct kymo_flow *flow;
	uint32_t *marks; /* by unit: the search that was there last */
	uint32_t *stack; /* ways still to go; two at most for each unit */
	uint32_t mark;
	uint64_t steps; /* left */
};

const struct kymo_handler *kymo_flow_handler(const struct kymo_flow *flow, uint32_t unit)
{
	const struct kymo_handler *found = NULL;

	for (uint32_t i = 0; i < flow->handler_count; i++)
		if (flow->handlers[i].start <= unit && unit < flow->handlers[i].end)
			found = &flow->handlers[i];
	return found;
}

static bool is_instruction(const struct kymo_flow *flow, uint32_t unit)
{
	return unit < flow->units && flow->at[unit].next;
}

static bool is_jump(unsigned op)
{
	return op == KYMO_OP_JUMP_FORWARD || op == KYMO_OP_JUMP_BACKWARD || op == KYMO_OP_JUMP_BACKWARD_NO_INTERRUPT;
}

static bool is_end(unsigned op)
{
	return op == KYMO_OP_RETURN || op == KYMO_OP_YIELD || op == KYMO_OP_RERAISE || op == KYMO_OP_RAISE;
}

/* A jump's destination; what lies outside the code, or is nowhere, is told by KYMO_NO_UNIT. */
static uint32_t find_target(const struct kymo_flow *flow, unsigned op, uint32_t next, uint32_t arg)
{
	switch (op) {
	case KYMO_OP_POP_JUMP:
	case KYMO_OP_POP_JUMP_NONE:
	case KYMO_OP_FOR_ITER:
	case KYMO_OP_SEND:
	case KYMO_OP_JUMP_FORWARD:
		return arg < flow->units && next + arg < flow->units ? next + arg : KYMO_NO_UNIT;
	case KYMO_OP_JUMP_BACKWARD:
	case KYMO_OP_JUMP_BACKWARD_NO_INTERRUPT:
		return arg <= next ? next - arg : KYMO_NO_UNIT;
	default:
		return KYMO_NO_UNIT;
	}
}

static void read_instructions(struct kymo_flow *flow, const struct kymo_opcode *opcodes, const uint8_t *bytecode)
{
	uint32_t extended = 0;

	flow->entry = KYMO_NO_UNIT;
	for (uint32_t unit = 0; unit < flow->units;) {
		const struct kymo_opcode *opcode = &opcodes[bytecode[2 * unit]];
		struct kymo_instruction *at = &flow->at[unit];
		uint32_t arg = extended | bytecode[2 * unit + 1];

		at->op = opcode->op;
		at->arg = (uint8_t)arg;
		at->next = unit + 1 + opcode->caches;
		at->target = find_target(flow, opcode->op, at->next, arg);
		extended = opcode->op == KYMO_OP_EXTENDED_ARG ? arg << 8 : 0;
		if (opcode->op == KYMO_OP_RESUME && flow->entry == KYMO_NO_UNIT)
			flow->entry = unit;
		unit = at->next;
	}
	if (flow->entry == KYMO_NO_UNIT) {
		flow->entry = 0;
		flow->is_exact = false;
	}
}

/* Branches of 3.14 have a NOT_TAKEN behind them, where the one way is told; it belongs to no other. */
static bool is_well_formed_branch(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	if (!is_instruction(flow, at->next) || !is_instruction(flow, at->target))
		return false;
	if (at->op == KYMO_OP_FOR_ITER && !is_instruction(flow, kymo_flow_loop_end(flow, at)))
		return false;
	if (flow->version < KYMO_CPYTHON_3_14)
		return true;
	if (at->op == KYMO_OP_FOR_ITER)
		return is_instruction(flow, at->target + 1) && flow->at[at->target + 1].op == KYMO_OP_POP_ITER;
	return flow->at[at->next].op == KYMO_OP_NOT_TAKEN;
}

static bool is_well_formed(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	if (kymo_op_is_branch(at->op))
		return is_well_formed_branch(flow, at);
	if (is_jump(at->op))
		return is_instruction(flow, at->target) && flow->at[at->target].op != KYMO_OP_NOT_TAKEN;
	if (at->op == KYMO_OP_SEND)
		return is_instruction(flow, at->target) && is_instruction(flow, at->next) &&
		       flow->at[at->next].op == KYMO_OP_YIELD;
	return is_end(at->op) || is_instruction(flow, at->next);
}

/*
 * Go every silent way from @unit.  False if it comes upon @other, the mark of another search, upon
 * @branch or upon a branch before it, which is not decided yet.
 */
static bool search_from(struct search *search, uint32_t unit, uint32_t branch, uint32_t other)
{
	const struct kymo_flow *flow = search->flow;
	uint32_t depth = 0;

	search->stack[depth++] = unit;
	while (depth) {
		unit = search->stack[--depth];
		for (;;) {
			const struct kymo_instruction *at;

			if (!search->steps || !is_instruction(flow, unit))
				return false;
			search->steps--;
			at = &flow->at[unit];
			if (search->marks[unit] == other || unit == branch)
				return false;
			if (search->marks[unit] == search->mark)
				break;
			search->marks[unit] = search->mark;
			if (at->op == KYMO_OP_POP_JUMP || at->op == KYMO_OP_POP_JUMP_NONE) {
				if (unit < branch && branch != KYMO_NO_UNIT)
					return false;
				if (!at->is_silent)
					break;
			}
			if (kymo_is_told(at) || at->op == KYMO_OP_FOR_ITER || is_end(at->op))
				break;
			if (at->target == KYMO_NO_UNIT) {
				unit = at->next;
			} else {
				if (!is_jump(at->op))
					search->stack[depth++] = at->next;
				unit = at->target;
			}
		}
	}
	return true;
}

static void decide_branches(struct search *search)
{
	const struct kymo_flow *flow = search->flow;

	for (uint32_t unit = flow->units; unit-- > 0;) {
		struct kymo_instruction *at = &flow->at[unit];
		uint32_t first = search->mark + 1;

		if (at->op != KYMO_OP_POP_JUMP && at->op != KYMO_OP_POP_JUMP_NONE)
			continue;
		search->mark = first;
		if (!search_from(search, at->next, unit, NO_MARK))
			continue;
		search->mark = first + 1;
		at->is_silent = search_from(search, at->target, unit, first);
	}
}

/* The only silent way on from @unit, or KYMO_NO_UNIT.  No silent branch lies on a silent loop. */
static uint32_t only_way(const struct kymo_flow *flow, uint32_t unit)
{
	const struct kymo_instruction *at = &flow->at[unit];

	if (kymo_is_told(at) || kymo_op_is_branch(at->op) || is_end(at->op))
		return KYMO_NO_UNIT;
	return at->target == KYMO_NO_UNIT ? at->next : at->target;
}

/* Make a site of a jump in the loop that @unit is in; false: it has none. */
static bool open_loop(struct kymo_flow *flow, uint32_t unit)
{
	uint32_t jump = KYMO_NO_UNIT, at = unit;

	do {
		if (flow->at[at].op == KYMO_OP_JUMP_BACKWARD && (jump == KYMO_NO_UNIT || at > jump))
			jump = at;
		at = only_way(flow, at);
	} while (at != unit);
	if (jump == KYMO_NO_UNIT)
		return false;
	flow->at[jump].site = 1; /* numbered later */
	return true;
}

/* Something is to be recorded in every loop. */
static void open_loops(struct search *search)
{
	struct kymo_flow *flow = search->flow;
	uint32_t base = search->mark;

	for (uint32_t start = 0; start < flow->units; start++) {
		uint32_t unit = start;

		search->mark++;
		while (is_instruction(flow, unit) && search->marks[unit] <= base) {
			search->marks[unit] = search->mark;
			unit = only_way(flow, unit);
		}
		if (is_instruction(flow, unit) && search->marks[unit] == search->mark && !open_loop(flow, unit))
			flow->is_exact = false;
	}
}

/*
 * Where a handler leads back to what it protects, an event there would not tell whether the exception
 * had been handled by then: so the jump back is recorded.
 */
static void open_retries(struct search *search)
{
	struct kymo_flow *flow = search->flow;

	for (uint32_t i = 0; i < flow->handler_count; i++) {
		const struct kymo_handler *handler = &flow->handlers[i];
		uint32_t length = handler->end - handler->start;
		bool is_retry = false, is_open = false;

		search->mark++;
		if (!search_from(search, handler->target, KYMO_NO_UNIT, NO_MARK) || search->steps < length) {
			flow->is_exact = false;
			return;
		}
		search->steps -= length;
		for (uint32_t unit = handler->start; unit < handler->end && !is_retry; unit++)
			is_retry = search->marks[unit] == search->mark;
		for (uint32_t unit = 0; is_retry && unit < flow->units; unit++) {
			if (search->marks[unit] == search->mark && flow->at[unit].op == KYMO_OP_JUMP_BACKWARD) {
				flow->at[unit].site = 1;
				is_open = true;
			}
		}
		if (is_retry && !is_open)
			flow->is_exact = false;
	}
}

static bool is_site(const struct kymo_flow *flow, uint32_t unit, unsigned before)
{
	const struct kymo_instruction *at = &flow->at[unit];

	if (kymo_op_is_branch(at->op))
		return !at->is_silent;
	/* Of an `async for`; all others belong to the branch before them. */
	if (at->op == KYMO_OP_NOT_TAKEN)
		return before != KYMO_OP_POP_JUMP && before != KYMO_OP_POP_JUMP_NONE;
	return at->site;
}

/* NOT_TAKEN of an `async for` is known as a site before anything is searched. */
static void mark_not_taken(struct kymo_flow *flow)
{
	unsigned before = KYMO_OP_OTHER;

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		if (flow->at[unit].op == KYMO_OP_NOT_TAKEN)
			flow->at[unit].site = is_site(flow, unit, before);
		before = flow->at[unit].op;
	}
}

/* Calls of 3.12 with a LINE event behind them that depends on what was called: where some jump leads. */
static void mark_calls(struct search *search)
{
	struct kymo_flow *flow = search->flow;

	search->mark++;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		const struct kymo_instruction *at = &flow->at[unit];

		if (at->target != KYMO_NO_UNIT)
			search->marks[at->target] = search->mark;
		if (at->op == KYMO_OP_FOR_ITER || at->op == KYMO_OP_SEND)
			search->marks[at->target + 1] = search->mark;
	}
	for (uint32_t i = 0; i < flow->handler_count; i++)
		search->marks[flow->handlers[i].target] = search->mark;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		struct kymo_instruction *at = &flow->at[unit];

		at->site |= at->op == KYMO_OP_CALL && search->marks[at->next] == search->mark;
	}
}

static void number_sites(struct kymo_flow *flow)
{
	unsigned before = KYMO_OP_OTHER;

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		struct kymo_instruction *at = &flow->at[unit];

		if (is_site(flow, unit, before)) {
			if (flow->site_count == KYMO_FLOW_MAX_SITES)
				flow->is_exact = false;
			else
				at->site = (uint16_t)++flow->site_count;
		}
		before = at->op;
	}
}

static int decide(struct kymo_flow *flow)
{
	struct search search = {.flow = flow, .steps = (uint64_t)STEPS_PER_UNIT * flow->units};

	search.marks = calloc((size_t)flow->units + 1, sizeof(*search.marks));
	/* Each step leaves at most one way for later, and none twice. */
	search.stack = calloc((size_t)flow->units + 2, sizeof(*search.stack));
	if (search.marks && search.stack) {
		mark_not_taken(flow);
		decide_branches(&search);
		open_loops(&search);
		search.steps = (uint64_t)STEPS_PER_UNIT * flow->units;
		open_retries(&search);
		if (flow->version < KYMO_CPYTHON_3_13)
			mark_calls(&search);
		number_sites(flow);
	}
	free(search.marks);
	free(search.stack);
	return search.marks && search.stack ? 0 : -ENOMEM;
}

/* Objects/exception_handling_notes.txt of CPython: numbers of 6 bits a byte, the highest first. */
static bool get_number(const uint8_t **at, const uint8_t *end, uint32_t *number)
{
	*number = 0;
	while (*at < end) {
		uint8_t byte = *(*at)++;

		if (*number >> 25)
			return false;
		*number = *number << 6 | (byte & 63);
		if (!(byte & 64))
			return true;
	}
	return false;
}

static int read_handlers(struct kymo_flow *flow, const uint8_t *table, size_t bytes)
{
	const uint8_t *at = table, *end = table + bytes;

	flow->handlers = calloc(bytes / 4 + 1, sizeof(*flow->handlers));
	if (!flow->handlers)
		return -ENOMEM;
	while (at < end) {
		struct kymo_handler *handler = &flow->handlers[flow->handler_count];
		uint32_t start, length, target, depth;

		if (!get_number(&at, end, &start) || !get_number(&at, end, &length) ||
		    !get_number(&at, end, &target) || !get_number(&at, end, &depth) || start > flow->units ||
		    length > flow->units - start || !is_instruction(flow, target)) {
			flow->is_exact = false;
			break;
		}
		*handler = (struct kymo_handler){start, start + length, target};
		flow->handler_count++;
	}
	return 0;
}

int kymo_flow_make(struct kymo_flow *flow, uint32_t version, const uint8_t *bytecode, size_t bytes,
		   const uint8_t *exception_table, size_t exception_bytes)
{
	const struct kymo_opcode *opcodes = kymo_opcodes(version);
	int result;

	*flow = (struct kymo_flow){.version = version, .is_exact = true};
	if (!opcodes)
		return -EINVAL;
	if (bytes / 2 > KYMO_FLOW_MAX_UNITS || bytes / 2 == 0) {
		flow->is_exact = false;
		return 0;
	}
	flow->units = (uint32_t)(bytes / 2);
	/* One more, so that the last instruction has something behind it. */
	flow->at = calloc((size_t)flow->units + 1, sizeof(*flow->at));
	if (!flow->at)
		return -ENOMEM;
	read_instructions(flow, opcodes, bytecode);
	result = read_handlers(flow, exception_table, exception_bytes);
	for (uint32_t unit = 0; !result && unit < flow->units; unit = flow->at[unit].next) {
		if (!is_well_formed(flow, &flow->at[unit]))
			flow->is_exact = false;
	}
	/* Of what is no bytecode nothing else is asked. */
	if (!result && flow->is_exact)
		result = decide(flow);
	if (result)
		kymo_flow_release(flow);
	return result;
}

void kymo_flow_release(struct kymo_flow *flow)
{
	free(flow->at);
	free(flow->handlers);
	flow->at = NULL;
	flow->handlers = NULL;
}

void kymo_flow_sites(const struct kymo_flow *flow, uint16_t *sites)
{
	for (uint32_t unit = 0; unit < flow->units; unit++)
		sites[unit] = 0;
	for (uint32_t unit = 0; flow->is_exact && unit < flow->units; unit = flow->at[unit].next) {
		const struct kymo_instruction *at = &flow->at[unit];
		bool has_left = kymo_op_is_branch(at->op) && flow->version >= KYMO_CPYTHON_3_14;

		if (!at->site)
			continue;
		sites[unit] = at->site | (at->next == unit + 2 ? KYMO_SITE_HAS_CACHE : 0);
		if (!has_left)
			continue;
		/* FOR_ITER tells its body behind its cache, and its end at the POP_ITER, if it is told at all
		 * by that: when some tool has INSTRUCTION on. */
		sites[at->op == KYMO_OP_FOR_ITER ? at->next - 1 : at->next] = sites[unit];
		if (at->op == KYMO_OP_FOR_ITER)
			sites[at->target + 1] = sites[unit];
	}
}
