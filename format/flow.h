// SPDX-License-Identifier: Apache-2.0
/*
 * The flow of control in one code object, as its bytecode fixes it, and the places where a recorder
 * must record which way was taken.
 *
 * Everything here is a pure function of bytecode, exception table and CPython version, so the
 * recorder and the decoder that rebuilds its lines always agree. docs/flow.md has the rules.
 *
 * These places are branches and jumps, called sites.  All others are silent.  Sites are chosen so that at most one
 * silent path leads from one recorded place to the next: the next recorded place then says which path was taken.
 *
 * In 3.12 a call that makes a generator has no event, but may have another LINE event after it.  Such a call is a
 * site, too, but it is recorded only if it makes a generator, so silent paths lead through it.
 */
#ifndef KYMO_FORMAT_FLOW_H
#define KYMO_FORMAT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kymo_op {
	KYMO_OP_OTHER = 0, /* goes on with the next instruction */
	KYMO_OP_EXTENDED_ARG,
	KYMO_OP_RESUME,
	KYMO_OP_JUMP_FORWARD,
	KYMO_OP_JUMP_BACKWARD,
	KYMO_OP_JUMP_BACKWARD_NO_INTERRUPT,
	KYMO_OP_POP_JUMP,      /* POP_JUMP_IF_TRUE and _FALSE */
	KYMO_OP_POP_JUMP_NONE, /* POP_JUMP_IF_NONE and _NOT_NONE */
	KYMO_OP_FOR_ITER,
	KYMO_OP_SEND,
	KYMO_OP_YIELD,
	KYMO_OP_RETURN,
	KYMO_OP_RERAISE,
	KYMO_OP_RAISE,
	KYMO_OP_END_FOR,
	KYMO_OP_END_SEND,
	KYMO_OP_END_ASYNC_FOR,
	KYMO_OP_POP_ITER,
	KYMO_OP_NOT_TAKEN,
	KYMO_OP_CALL,
};

struct kymo_opcode {
	uint8_t op;     /* enum kymo_op */
	uint8_t caches; /* cache units behind the instruction */
};

/* CPython 3.@minor as 0x030c … 0x030f: the upper half of its sys.hexversion. */
#define KYMO_FLOW_VERSION(hexversion) ((uint32_t)(hexversion) >> 16)
#define KYMO_CPYTHON_3_12 0x030cU
#define KYMO_CPYTHON_3_13 0x030dU
#define KYMO_CPYTHON_3_14 0x030eU
#define KYMO_CPYTHON_3_15 0x030fU

/* The instructions of @version, by opcode; NULL if the version is not known. */
const struct kymo_opcode *kymo_opcodes(uint32_t version);

#define KYMO_NO_UNIT UINT32_MAX
/* Longer than any function that a compiler makes; longer code is recorded line by line. */
#define KYMO_FLOW_MAX_UNITS (1U << 20)
#define KYMO_FLOW_MAX_SITES 32767U
/* In kymo_flow_sites(): a cache unit lies behind the instruction, so the next instruction is two units further on. */
#define KYMO_SITE_HAS_CACHE 0x8000U
/* In kymo_flow_sites(), from 3.14 on: a POP_ITER, and a branch that leads to one; the POP_ITER repeats the branch's event, with the
   same source. */
#define KYMO_SITE_ENDS_LOOP 0x8000U

struct kymo_instruction {
	uint32_t next;   /* unit of the instruction behind it; 0: no instruction begins at this unit */
	uint32_t target; /* destination of a jump or branch, or KYMO_NO_UNIT; for FOR_ITER, where it goes when exhausted */
	uint16_t site;   /* number from 1; 0: none */
	uint8_t op;      /* enum kymo_op */
	uint8_t arg;     /* lowest byte */
	bool is_silent;  /* a branch or jump that has an event and is not a site */
};

struct kymo_handler {
	uint32_t start, end; /* units that it protects */
	uint32_t target;
};

struct kymo_flow {
	uint32_t version;
	uint32_t units;
	uint32_t entry; /* unit of the first RESUME: no line begins before it */
	uint32_t site_count;
	uint32_t handler_count;
	bool is_exact; /* lines can be rebuilt from what is recorded */
	struct kymo_instruction *at; /* by unit */
	struct kymo_handler *handlers; /* of those that protect a unit, the last one is the innermost */
};

/*
 * Work out @flow of @bytecode (co_code: no caches filled, nothing instrumented).  0 or -ENOMEM; -EINVAL if
 * the version is not known.  A total function: from bytes that are not bytecode it makes a flow that is
 * not exact.  Takes time in proportion to the length.
 */
int kymo_flow_make(struct kymo_flow *flow, uint32_t version, const uint8_t *bytecode, size_t bytes,
		   const uint8_t *exception_table, size_t exception_bytes);
/* The same without sites, which take most of the time; here, exact means that every way leads to an instruction. */
int kymo_flow_read(struct kymo_flow *flow, uint32_t version, const uint8_t *bytecode, size_t bytes,
		   const uint8_t *exception_table, size_t exception_bytes);
void kymo_flow_release(struct kymo_flow *flow);

static inline bool kymo_op_is_branch(unsigned op)
{
	return op == KYMO_OP_POP_JUMP || op == KYMO_OP_POP_JUMP_NONE || op == KYMO_OP_FOR_ITER;
}

/* It has a JUMP event. */
static inline bool kymo_op_is_jump(unsigned op)
{
	return op == KYMO_OP_JUMP_FORWARD || op == KYMO_OP_JUMP_BACKWARD;
}

static inline bool kymo_flow_is_instruction(const struct kymo_flow *flow, uint32_t unit)
{
	return unit < flow->units && flow->at[unit].next;
}

/* An event is recorded whichever way @at is left. */
static inline bool kymo_is_told(const struct kymo_instruction *at)
{
	return at->site && at->op != KYMO_OP_CALL;
}

/* The instructions that may be run after the one at @unit, but for exceptions; returns how many. */
unsigned kymo_flow_ways(const struct kymo_flow *flow, uint32_t unit, uint32_t ways[2]);
/* Those of them that nothing is recorded on the way to. */
unsigned kymo_flow_silent_ways(const struct kymo_flow *flow, uint32_t unit, uint32_t ways[2]);

/* Where FOR_ITER @at goes on when it is exhausted: behind END_FOR and, from 3.13 on, what takes the iterator away. */
static inline uint32_t kymo_flow_loop_end(const struct kymo_flow *flow, const struct kymo_instruction *at)
{
	return at->target + (flow->version < KYMO_CPYTHON_3_13 ? 1 : 2);
}

/* The handler of an exception that was raised at @unit; NULL: it leaves the frame. */
const struct kymo_handler *kymo_flow_handler(const struct kymo_flow *flow, uint32_t unit);

/*
 * The site number at each of @flow's units as the interpreter's events name the place, with the flags above: of
 * BRANCH_LEFT by the unit before its destination, of all others by their source.  0: nothing is to be recorded
 * there.  @sites has room for flow->units.
 */
void kymo_flow_sites(const struct kymo_flow *flow, uint16_t *sites);

#endif
