// SPDX-License-Identifier: Apache-2.0
/*
 * What makes lines rebuildable, held against a search that knows nothing of how branches are decided: between two
 * things that are recorded, no place can be reached in two ways.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "format/flow.h"

enum {
	MAX_INSTRUCTIONS = 28,
	MAX_UNITS = 4 * MAX_INSTRUCTIONS,
	PROGRAMS = 20000,
};

struct program {
	uint32_t version;
	uint8_t ops[MAX_INSTRUCTIONS];
	unsigned targets[MAX_INSTRUCTIONS], units[MAX_INSTRUCTIONS + 1], count;
	uint8_t bytes[2 * MAX_UNITS];
	uint8_t handlers[64];
	size_t handler_bytes;
};

static uint32_t state = 1;

static uint32_t any(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

static uint8_t opcode_of(uint32_t version, unsigned op)
{
	const struct kymo_opcode *opcodes = kymo_opcodes(version);

	for (unsigned opcode = 1; opcode < 256; opcode++)
		if (opcodes[opcode].op == op && (op || !opcodes[opcode].caches))
			return (uint8_t)opcode;
	cr_assert_fail("no such instruction");
	return 0;
}

static void add(struct program *program, unsigned op)
{
	program->ops[program->count++] = (uint8_t)op;
}

/* Instructions that compilers make in these orders, jumping anywhere. */
static void make_instructions(struct program *program)
{
	static const uint8_t ops[] = {
		KYMO_OP_OTHER, KYMO_OP_OTHER, KYMO_OP_OTHER, KYMO_OP_POP_JUMP, KYMO_OP_POP_JUMP, KYMO_OP_POP_JUMP_NONE,
		KYMO_OP_JUMP_FORWARD, KYMO_OP_JUMP_BACKWARD, KYMO_OP_RETURN, KYMO_OP_RAISE, KYMO_OP_FOR_ITER,
	};

	program->count = 0;
	add(program, KYMO_OP_RESUME);
	while (program->count < MAX_INSTRUCTIONS - 6) {
		unsigned op = ops[any(sizeof ops)];

		add(program, op);
		if ((op == KYMO_OP_POP_JUMP || op == KYMO_OP_POP_JUMP_NONE) &&
		    program->version >= KYMO_CPYTHON_3_14)
			add(program, KYMO_OP_NOT_TAKEN);
	}
	/* Where loops of 3.14 end. */
	add(program, KYMO_OP_END_FOR);
	add(program, program->version >= KYMO_CPYTHON_3_14 ? KYMO_OP_POP_ITER : KYMO_OP_OTHER);
	add(program, KYMO_OP_OTHER);
	add(program, KYMO_OP_RETURN);
}

static void choose_targets(struct program *program)
{
	for (unsigned i = 0; i < program->count; i++) {
		unsigned op = program->ops[i];

		if (op == KYMO_OP_JUMP_BACKWARD)
			program->targets[i] = any(i + 1);
		else if (op == KYMO_OP_FOR_ITER)
			program->targets[i] = program->count - 4;
		else
			program->targets[i] = i + 1 + any(program->count - i - 1 ? program->count - i - 1 : 1);
		while (program->ops[program->targets[i]] == KYMO_OP_NOT_TAKEN)
			program->targets[i]--;
		if (op != KYMO_OP_JUMP_BACKWARD && program->targets[i] <= i)
			program->targets[i] = program->count - 1;
	}
}

static size_t put_number(uint8_t *at, unsigned value, bool is_first)
{
	uint8_t first = is_first ? 0x80 : 0;

	if (value < 64)
		return at[0] = first | (uint8_t)value, 1;
	at[0] = first | 0x40 | (uint8_t)(value >> 6);
	at[1] = value & 63;
	return 2;
}

static void make_program(struct program *program)
{
	const struct kymo_opcode *opcodes = kymo_opcodes(program->version);
	unsigned unit = 0;

	make_instructions(program);
	choose_targets(program);
	for (unsigned i = 0; i < program->count; i++) {
		program->units[i] = unit;
		unit += 1U + opcodes[opcode_of(program->version, program->ops[i])].caches;
	}
	program->units[program->count] = unit;
	memset(program->bytes, 0, sizeof program->bytes);
	for (unsigned i = 0; i < program->count; i++) {
		unsigned target = program->units[program->targets[i]], next = program->units[i + 1];
		uint8_t *at = program->bytes + 2 * program->units[i];

		at[0] = opcode_of(program->version, program->ops[i]);
		if (program->ops[i] == KYMO_OP_JUMP_BACKWARD)
			at[1] = (uint8_t)(next - target);
		else if (kymo_op_is_branch(program->ops[i]) || program->ops[i] == KYMO_OP_JUMP_FORWARD)
			at[1] = (uint8_t)(target - next);
	}
	program->handler_bytes = 0;
	for (unsigned n = any(3); n; n--) {
		unsigned start = any(program->count - 2), end = start + 1 + any(program->count - start - 1);
		unsigned target = any(program->count);
		uint8_t *at = program->handlers + program->handler_bytes;

		if (program->ops[target] == KYMO_OP_NOT_TAKEN)
			continue;
		at += put_number(at, program->units[start], true);
		at += put_number(at, program->units[end] - program->units[start], false);
		at += put_number(at, program->units[target], false);
		at += put_number(at, 0, false);
		program->handler_bytes = (size_t)(at - program->handlers);
	}
}

/* Ways of going from @unit to @target with nothing recorded in between; more than @limit are not counted. */
static unsigned count_ways(const struct kymo_flow *flow, uint32_t unit, uint32_t target, unsigned depth)
{
	const struct kymo_instruction *at = &flow->at[unit];
	unsigned ways = 0;

	if (unit == target)
		return 1;
	cr_assert_lt(depth, 2 * flow->units, "a loop in which nothing is recorded");
	switch (at->op) {
	case KYMO_OP_RETURN:
	case KYMO_OP_RAISE:
		return 0;
	case KYMO_OP_FOR_ITER:
		/* From 3.14 on the end of a loop is not told by itself. */
		if (flow->version >= KYMO_CPYTHON_3_14)
			ways = count_ways(flow, at->target + 1, target, depth + 1);
		else if (!at->site)
			ways = count_ways(flow, at->target, target, depth + 1);
		return at->site ? ways : ways + count_ways(flow, at->next, target, depth + 1);
	case KYMO_OP_POP_JUMP:
	case KYMO_OP_POP_JUMP_NONE:
		if (at->site)
			return 0;
		ways = count_ways(flow, at->next, target, depth + 1);
		return ways + count_ways(flow, at->target, target, depth + 1);
	case KYMO_OP_JUMP_FORWARD:
	case KYMO_OP_JUMP_BACKWARD:
		return at->site ? 0 : count_ways(flow, at->target, target, depth + 1);
	default:
		return count_ways(flow, at->next, target, depth + 1);
	}
}

static void check(const struct program *program, unsigned *silent)
{
	struct kymo_flow flow;

	cr_assert_eq(kymo_flow_make(&flow, program->version, program->bytes, 2 * program->units[program->count],
				    program->handlers, program->handler_bytes), 0);
	for (unsigned i = 0; flow.is_exact && i < program->count; i++) {
		cr_assert_eq(flow.at[program->units[i]].op, program->ops[i]);
		*silent += flow.at[program->units[i]].is_silent;
		for (unsigned k = 0; k < program->count; k++)
			cr_assert_leq(count_ways(&flow, program->units[i], program->units[k], 0), 1,
				      "two ways from instruction %u to %u", i, k);
	}
	kymo_flow_release(&flow);
}

Test(flow, between_what_is_recorded_there_is_one_way)
{
	unsigned silent = 0;

	for (unsigned n = 0; n < PROGRAMS; n++) {
		struct program program = {.version = KYMO_CPYTHON_3_12 + n % 4};

		make_program(&program);
		check(&program, &silent);
	}
	cr_assert_gt(silent, PROGRAMS / 4, "hardly a branch is silent");
}

/* for: if: return; else: next round.  No branch need be told: the next round is, and so is the return. */
Test(flow, branches_that_lead_to_other_places_are_silent)
{
	struct program program = {
		.version = KYMO_CPYTHON_3_13,
		.ops = {KYMO_OP_RESUME, KYMO_OP_FOR_ITER, KYMO_OP_POP_JUMP, KYMO_OP_JUMP_BACKWARD, KYMO_OP_RETURN,
			KYMO_OP_END_FOR, KYMO_OP_OTHER, KYMO_OP_RETURN},
		.count = 8,
	};
	/* RESUME; FOR_ITER +7; cache; POP_JUMP +2; cache; JUMP_BACKWARD -6; cache; RETURN; END_FOR; … */
	const uint8_t bytes[] = {
		opcode_of(program.version, KYMO_OP_RESUME), 0, opcode_of(program.version, KYMO_OP_FOR_ITER), 5, 0, 0,
		opcode_of(program.version, KYMO_OP_POP_JUMP), 2, 0, 0,
		opcode_of(program.version, KYMO_OP_JUMP_BACKWARD), 6, 0, 0,
		opcode_of(program.version, KYMO_OP_RETURN), 0, opcode_of(program.version, KYMO_OP_END_FOR), 0,
		opcode_of(program.version, KYMO_OP_OTHER), 0, opcode_of(program.version, KYMO_OP_RETURN), 0,
	};
	struct kymo_flow flow;

	cr_assert_eq(kymo_flow_make(&flow, program.version, bytes, sizeof bytes, NULL, 0), 0);
	cr_assert(flow.is_exact);
	cr_assert(flow.at[1].is_silent);
	cr_assert(flow.at[3].is_silent);
	cr_assert_eq(flow.site_count, 1);
	cr_assert_eq(flow.at[5].site, 1);
	kymo_flow_release(&flow);
}

Test(flow, a_loop_without_branches_tells_its_jump)
{
	const uint32_t version = KYMO_CPYTHON_3_13;
	const uint8_t bytes[] = {
		opcode_of(version, KYMO_OP_RESUME), 0, opcode_of(version, KYMO_OP_OTHER), 0,
		opcode_of(version, KYMO_OP_JUMP_BACKWARD), 3, 0, 0,
	};
	struct kymo_flow flow;

	cr_assert_eq(kymo_flow_make(&flow, version, bytes, sizeof bytes, NULL, 0), 0);
	cr_assert(flow.is_exact);
	cr_assert_eq(flow.at[2].site, 1);
	kymo_flow_release(&flow);
}

Test(flow, bytes_that_are_no_code_are_not_exact)
{
	const uint8_t falls_off[] = {opcode_of(KYMO_CPYTHON_3_13, KYMO_OP_RESUME), 0};
	struct kymo_flow flow;

	cr_assert_eq(kymo_flow_make(&flow, KYMO_CPYTHON_3_13, falls_off, sizeof falls_off, NULL, 0), 0);
	cr_assert_not(flow.is_exact);
	kymo_flow_release(&flow);
	cr_assert_eq(kymo_flow_make(&flow, KYMO_CPYTHON_3_13, falls_off, 0, NULL, 0), 0);
	cr_assert_not(flow.is_exact);
	kymo_flow_release(&flow);
	cr_assert_neq(kymo_flow_make(&flow, 0x030b, falls_off, sizeof falls_off, NULL, 0), 0, "3.11 is not known");
}
