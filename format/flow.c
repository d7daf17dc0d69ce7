// SPDX-License-Identifier: Apache-2.0
#include "format/flow.h"

#include <errno.h>
#include <stdlib.h>


const struct kymo_handler *kymo_flow_handler(const struct kymo_flow *flow, uint32_t unit)
{
	const struct kymo_handler *found = NULL;

	for (uint32_t i = 0; i < flow->handler_count; i++)
		if (flow->handlers[i].start <= unit && unit < flow->handlers[i].end)
			found = &flow->handlers[i];
	return found;
}

/* With or without an event. */
static bool always_jumps(unsigned op)
{
	return kymo_op_is_jump(op) || op == KYMO_OP_JUMP_BACKWARD_NO_INTERRUPT;
}

static bool is_end(unsigned op)
{
	return op == KYMO_OP_RETURN || op == KYMO_OP_YIELD || op == KYMO_OP_RERAISE || op == KYMO_OP_RAISE;
}

/* A jump's destination; KYMO_NO_UNIT if it has none, or if it lies outside the code. */
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

/* In 3.14 a branch is followed by its own NOT_TAKEN, which has the event of one of the two ways. */
static bool is_well_formed_branch(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	if (!kymo_flow_is_instruction(flow, at->next) || !kymo_flow_is_instruction(flow, at->target))
		return false;
	if (at->op == KYMO_OP_FOR_ITER && !kymo_flow_is_instruction(flow, kymo_flow_loop_end(flow, at)))
		return false;
	if (flow->version < KYMO_CPYTHON_3_14)
		return true;
	if (at->op == KYMO_OP_FOR_ITER)
		return kymo_flow_is_instruction(flow, at->target + 1) && flow->at[at->target + 1].op == KYMO_OP_POP_ITER;
	return flow->at[at->next].op == KYMO_OP_NOT_TAKEN;
}

static bool is_well_formed(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	if (kymo_op_is_branch(at->op))
		return is_well_formed_branch(flow, at);
	if (always_jumps(at->op))
		return kymo_flow_is_instruction(flow, at->target) && flow->at[at->target].op != KYMO_OP_NOT_TAKEN;
	if (at->op == KYMO_OP_SEND)
		return kymo_flow_is_instruction(flow, at->target) && kymo_flow_is_instruction(flow, at->next) &&
		       flow->at[at->next].op == KYMO_OP_YIELD;
	return is_end(at->op) || kymo_flow_is_instruction(flow, at->next);
}

unsigned kymo_flow_ways(const struct kymo_flow *flow, uint32_t unit, uint32_t ways[2])
{
	const struct kymo_instruction *at = &flow->at[unit];

	if (is_end(at->op))
		return 0;
	ways[0] = always_jumps(at->op) ? at->target : at->next;
	if (at->target == KYMO_NO_UNIT || always_jumps(at->op))
		return 1;
	ways[1] = at->target + (at->op == KYMO_OP_FOR_ITER && flow->version >= KYMO_CPYTHON_3_14);
	return 2;
}

unsigned kymo_flow_silent_ways(const struct kymo_flow *flow, uint32_t unit, uint32_t ways[2])
{
	unsigned count = kymo_flow_ways(flow, unit, ways);

	if (!kymo_is_told(&flow->at[unit]))
		return count;
	if (flow->at[unit].op != KYMO_OP_FOR_ITER || flow->version < KYMO_CPYTHON_3_14)
		return 0;
	ways[0] = ways[1];
	return 1;
}

/* Objects/exception_handling_notes.txt of CPython: numbers with 6 bits in each byte, the most significant first. */
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
		    length > flow->units - start || !kymo_flow_is_instruction(flow, target)) {
			flow->is_exact = false;
			break;
		}
		*handler = (struct kymo_handler){start, start + length, target};
		flow->handler_count++;
	}
	return 0;
}

int kymo_flow_read(struct kymo_flow *flow, uint32_t version, const uint8_t *bytecode, size_t bytes,
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

		if (!at->site)
			continue;
		if (flow->version < KYMO_CPYTHON_3_14 || !kymo_op_is_branch(at->op)) {
			sites[unit] = at->site | (kymo_op_is_branch(at->op) && at->next == unit + 2 ? KYMO_SITE_HAS_CACHE : 0);
		} else if (at->op == KYMO_OP_FOR_ITER) {
			sites[at->next - 1] = at->site;
		} else {
			sites[at->next] = at->site;
			sites[unit] = at->site;
			if (flow->at[at->target].op == KYMO_OP_POP_ITER) {
				sites[unit] |= KYMO_SITE_ENDS_LOOP;
				sites[at->target] = KYMO_SITE_ENDS_LOOP;
			}
		}
	}
}
