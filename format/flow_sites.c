// SPDX-License-Identifier: Apache-2.0
/*
 * At first every branch and jump is a site, so no silent path is a loop.  Then they are made silent one by one,
 * as long as no two silent paths lead to the same place: loops first, since a FOR_ITER with an event runs
 * without the interpreter's fast paths, then the other branches, then jumps.
 */
#include "format/flow.h"

#include <errno.h>
#include <stdlib.h>

/* Steps allowed per unit of the code, for all searches together; what has not been tried when they are used up stays a site. */
#define STEPS_PER_UNIT 256U

#define NO_MARK UINT32_MAX

/* How much it costs to record a place, compared with others in the same loop: a jump forward is not taken on each round. */
enum { COST_BRANCH = 2, COST_BACK = 2, COST_FORWARD = 1 };

struct chooser {
	struct kymo_flow *flow;
	uint32_t *marks;  /* by unit: the last search that reached it */
	uint32_t mark;
	uint32_t *stack;  /* units still to visit; at most two for each unit */
	uint32_t *forks;  /* forks that lead to the place in question */
	uint32_t *jumps;  /* jumps that a branch leads to */
	uint32_t *first;  /* by unit: its first entry in @before; one more entry marks the end of the last */
	uint32_t *before; /* the instructions that may be run before a unit */
	uint64_t steps;	  /* left */
};

static bool is_conditional(unsigned op)
{
	return op == KYMO_OP_POP_JUMP || op == KYMO_OP_POP_JUMP_NONE;
}

/* False if the searches have taken too long. */
static bool step(struct chooser *chooser)
{
	if (!chooser->steps)
		return false;
	chooser->steps--;
	return true;
}

/*
 * Mark everything that silent paths from @unit lead to.  False if they lead to @end, or to something with
 * the mark @other.
 */
static bool spread(struct chooser *chooser, uint32_t unit, uint32_t end, uint32_t other)
{
	uint32_t depth = 0, ways[2];

	chooser->stack[depth++] = unit;
	while (depth) {
		unit = chooser->stack[--depth];
		if (!step(chooser) || !kymo_flow_is_instruction(chooser->flow, unit) || unit == end ||
		    chooser->marks[unit] == other)
			return false;
		if (chooser->marks[unit] == chooser->mark)
			continue;
		chooser->marks[unit] = chooser->mark;
		for (unsigned count = kymo_flow_silent_ways(chooser->flow, unit, ways); count; count--)
			chooser->stack[depth++] = ways[count - 1];
	}
	return true;
}

/* The silent paths from @unit neither meet nor lead back to it. */
static bool ways_part(struct chooser *chooser, uint32_t unit)
{
	uint32_t ways[2], other = NO_MARK;

	for (unsigned count = kymo_flow_silent_ways(chooser->flow, unit, ways); count; count--) {
		chooser->mark++;
		if (!spread(chooser, ways[count - 1], unit, other))
			return false;
		other = chooser->mark;
	}
	return true;
}

static bool leads_to(const struct kymo_flow *flow, uint32_t unit, uint32_t next)
{
	uint32_t ways[2];

	for (unsigned count = kymo_flow_silent_ways(flow, unit, ways); count; count--)
		if (ways[count - 1] == next)
			return true;
	return false;
}

/* Find the forks from which silent paths lead to @unit; false if that took too long. */
static bool find_forks(struct chooser *chooser, uint32_t unit, uint32_t *count)
{
	uint32_t depth = 0, ways[2];

	*count = 0;
	chooser->mark++;
	chooser->stack[depth++] = unit;
	while (depth) {
		unit = chooser->stack[--depth];
		for (uint32_t i = chooser->first[unit]; i < chooser->first[unit + 1]; i++) {
			uint32_t before = chooser->before[i];

			if (!step(chooser))
				return false;
			if (chooser->marks[before] == chooser->mark || !leads_to(chooser->flow, before, unit))
				continue;
			chooser->marks[before] = chooser->mark;
			if (kymo_flow_silent_ways(chooser->flow, before, ways) == 2)
				chooser->forks[(*count)++] = before;
			chooser->stack[depth++] = before;
		}
	}
	return true;
}

static void set_silent(struct kymo_instruction *at, bool is_silent)
{
	at->is_silent = is_silent;
	at->site = !is_silent;
}

/* Make @unit silent, if there is still only one silent path between any two places. */
static bool try_silence(struct chooser *chooser, uint32_t unit)
{
	struct kymo_instruction *at = &chooser->flow->at[unit];
	uint32_t forks;
	bool is_good;

	set_silent(at, true);
	is_good = ways_part(chooser, unit) && find_forks(chooser, unit, &forks);
	for (uint32_t i = 0; is_good && i < forks; i++)
		is_good = ways_part(chooser, chooser->forks[i]);
	if (!is_good)
		set_silent(at, false);
	return is_good;
}

static unsigned cost_of(const struct kymo_instruction *at)
{
	return at->op == KYMO_OP_JUMP_FORWARD ? COST_FORWARD : COST_BACK;
}

/*
 * Record the silent branch @unit if that saves more than it costs: jumps that its ways lead to may then be silent.
 */
static void try_exchange(struct chooser *chooser, uint32_t unit)
{
	struct kymo_flow *flow = chooser->flow;
	uint32_t depth = 0, ways[2], count = 0, silenced = 0;
	unsigned saved = 0;

	chooser->mark++;
	chooser->stack[depth++] = unit;
	while (depth) {
		uint32_t at = chooser->stack[--depth];

		if (chooser->marks[at] == chooser->mark)
			continue;
		if (!step(chooser))
			return;
		chooser->marks[at] = chooser->mark;
		if (flow->at[at].site && kymo_op_is_jump(flow->at[at].op))
			chooser->jumps[count++] = at;
		for (unsigned i = kymo_flow_silent_ways(flow, at, ways); i; i--)
			chooser->stack[depth++] = ways[i - 1];
	}
	set_silent(&flow->at[unit], false);
	for (uint32_t i = 0; i < count; i++) {
		if (try_silence(chooser, chooser->jumps[i])) {
			saved += cost_of(&flow->at[chooser->jumps[i]]);
			chooser->jumps[silenced++] = chooser->jumps[i];
		}
	}
	if (saved > COST_BRANCH)
		return;
	for (uint32_t i = 0; i < silenced; i++)
		set_silent(&flow->at[chooser->jumps[i]], false);
	set_silent(&flow->at[unit], true);
}

static void choose(struct chooser *chooser)
{
	struct kymo_flow *flow = chooser->flow;

	for (uint32_t unit = flow->units; unit-- > 0;)
		if (flow->at[unit].next && flow->at[unit].op == KYMO_OP_FOR_ITER)
			try_silence(chooser, unit);
	for (uint32_t unit = flow->units; unit-- > 0;)
		if (flow->at[unit].next && is_conditional(flow->at[unit].op))
			try_silence(chooser, unit);
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		if (kymo_op_is_jump(flow->at[unit].op))
			try_silence(chooser, unit);
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		if (is_conditional(flow->at[unit].op) && flow->at[unit].is_silent)
			try_exchange(chooser, unit);
}

/*
 * Where a handler leads back to the code that it protects, an event there would not show whether the
 * exception had been handled before it: so the jump back is recorded.
 */
static void tell_retries(struct chooser *chooser)
{
	struct kymo_flow *flow = chooser->flow;

	for (uint32_t i = 0; i < flow->handler_count; i++) {
		const struct kymo_handler *handler = &flow->handlers[i];
		uint32_t length = handler->end - handler->start;
		bool is_retry = false, is_told = false;

		chooser->mark++;
		if (!spread(chooser, handler->target, KYMO_NO_UNIT, NO_MARK) || chooser->steps < length) {
			flow->is_exact = false;
			return;
		}
		chooser->steps -= length;
		for (uint32_t unit = handler->start; unit < handler->end && !is_retry; unit++)
			is_retry = chooser->marks[unit] == chooser->mark;
		for (uint32_t unit = 0; is_retry && unit < flow->units; unit++) {
			if (chooser->marks[unit] == chooser->mark && flow->at[unit].op == KYMO_OP_JUMP_BACKWARD) {
				set_silent(&flow->at[unit], false);
				is_told = true;
			}
		}
		if (is_retry && !is_told)
			flow->is_exact = false;
	}
}

/* Jumps that have no event must not close a loop by themselves. */
static void check_loops(struct chooser *chooser)
{
	struct kymo_flow *flow = chooser->flow;

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		if (flow->at[unit].op == KYMO_OP_JUMP_BACKWARD_NO_INTERRUPT && !ways_part(chooser, unit))
			flow->is_exact = false;
}

/* Everything that has an event of its own is a site at first. */
static void tell_all(struct kymo_flow *flow)
{
	unsigned before = KYMO_OP_OTHER;

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		struct kymo_instruction *at = &flow->at[unit];

		/* NOT_TAKEN of an `async for`; all others belong to the branch before them. */
		at->site = kymo_op_is_branch(at->op) || kymo_op_is_jump(at->op) ||
			   (at->op == KYMO_OP_NOT_TAKEN && !is_conditional(before));
		before = at->op;
	}
}

/* Calls of 3.12 with a LINE event behind them that depends on what was called: where some jump leads. */
static void tell_calls(struct chooser *chooser)
{
	struct kymo_flow *flow = chooser->flow;

	chooser->mark++;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		const struct kymo_instruction *at = &flow->at[unit];

		if (at->target != KYMO_NO_UNIT)
			chooser->marks[at->target] = chooser->mark;
		if (at->op == KYMO_OP_FOR_ITER || at->op == KYMO_OP_SEND)
			chooser->marks[at->target + 1] = chooser->mark;
	}
	for (uint32_t i = 0; i < flow->handler_count; i++)
		chooser->marks[flow->handlers[i].target] = chooser->mark;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		struct kymo_instruction *at = &flow->at[unit];

		at->site |= at->op == KYMO_OP_CALL && chooser->marks[at->next] == chooser->mark;
	}
}

static void number_sites(struct kymo_flow *flow)
{
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		struct kymo_instruction *at = &flow->at[unit];

		if (!at->site)
			continue;
		if (flow->site_count == KYMO_FLOW_MAX_SITES)
			flow->is_exact = false;
		else
			at->site = (uint16_t)++flow->site_count;
	}
}

/* What may be run before each instruction, silently or not. */
static void find_before(struct chooser *chooser)
{
	struct kymo_flow *flow = chooser->flow;
	uint32_t *first = chooser->first, ways[2];

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		for (unsigned count = kymo_flow_ways(flow, unit, ways); count; count--)
			first[ways[count - 1]]++;
	for (uint32_t unit = 0; unit < flow->units; unit++)
		first[unit + 1] += first[unit];
	/* Each unit's entries are filled in from their end, so first[unit] ends up at their beginning. */
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		for (unsigned count = kymo_flow_ways(flow, unit, ways); count; count--)
			chooser->before[--first[ways[count - 1]]] = unit;
}

/*
 * Choose and number the sites of @flow, whose instructions and handlers are known and well-formed; @flow is no
 * longer exact if no choice of sites works.  0 or -ENOMEM.  Takes time in proportion to the length.
 */
static int choose_sites(struct kymo_flow *flow)
{
	size_t units = flow->units;
	struct chooser chooser = {.flow = flow, .steps = (uint64_t)STEPS_PER_UNIT * units};
	uint32_t *memory = calloc(9 * units + 16, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	chooser.marks = memory;
	chooser.forks = chooser.marks + units + 1;
	chooser.jumps = chooser.forks + units;
	chooser.first = chooser.jumps + units;
	chooser.before = chooser.first + units + 1;
	/* Each step pushes at most two units. */
	chooser.stack = chooser.before + 2 * units;
	tell_all(flow);
	find_before(&chooser);
	check_loops(&chooser);
	choose(&chooser);
	chooser.steps = (uint64_t)STEPS_PER_UNIT * units;
	tell_retries(&chooser);
	if (flow->version < KYMO_CPYTHON_3_13)
		tell_calls(&chooser);
	number_sites(flow);
	free(memory);
	return 0;
}

int kymo_flow_make(struct kymo_flow *flow, uint32_t version, const uint8_t *bytecode, size_t bytes,
		   const uint8_t *exception_table, size_t exception_bytes)
{
	int result = kymo_flow_read(flow, version, bytecode, bytes, exception_table, exception_bytes);

	/* Bytes that are not bytecode get no sites. */
	if (!result && flow->is_exact && (result = choose_sites(flow)))
		kymo_flow_release(flow);
	return result;
}
