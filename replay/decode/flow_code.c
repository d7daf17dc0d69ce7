// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/flow_code.h"

#include <stdlib.h>
#include <string.h>

#include "replay/trace/line_table.h"
#include "replay/trace/timeline.h"

/* How much one code object may cache; beyond that, all its walks are dropped and searched again. */
#define MAX_STEPS (1U << 20)
#define MAX_WALKS (1U << 18)
#define FIRST_WALKS 16U
/*
 * Instructions that searches may visit: at first, and in addition for each walk. Real code needs a fraction; for bytes made to keep
 * a search busy, the history is reported as unknown.
 */
#define SEARCH_STEPS (UINT64_C(1) << 26)
#define SEARCH_STEPS_A_WALK 64U

struct walk {
	uint64_t key; /* 0: free */
	uint32_t first, count; /* range of its steps */
};

struct kymo_flow_code {
	struct kymo_flow flow;
	uint64_t kinds;
	uint32_t first_line;
	bool has_near_lines; /* see is_far() */
	int32_t *lines;	  /* by unit */
	bool *begins;	  /* by unit: a LINE event is due unless the line is that of the instruction before */
	bool *always_begins;  /* by unit: it is due whatever ran before */
	bool *is_hidden;  /* by unit: skipped by an instrumented FOR_ITER */
	uint32_t *owner;  /* by unit: the instruction that it is part of */
	uint32_t *sites;  /* by number - 1: unit */
	uint32_t *from;	  /* for searches, by unit: the instruction before it on the path */
	uint32_t *seen;	  /* by unit: the last search that visited it */
	uint32_t *path;	  /* paths still to follow, then the path found */
	uint32_t search;
	uint64_t steps_left; /* left for all searches */
	/* the cached walks: open addressing, a power of two */
	struct walk *walks;
	uint32_t walk_count, walk_capacity;
	struct kymo_step *steps;
	uint32_t step_count, step_capacity;
	struct kymo_moves moves;
};

const struct kymo_flow *kymo_flow_of(const struct kymo_flow_code *code)
{
	return &code->flow;
}

int32_t kymo_flow_line(const struct kymo_flow_code *code, uint32_t unit)
{
	return code->begins[unit] ? code->lines[unit] : KYMO_LINE_NONE;
}

struct kymo_moves *kymo_flow_moves(struct kymo_flow_code *code)
{
	return &code->moves;
}

uint32_t kymo_flow_instruction(const struct kymo_flow_code *code, uint32_t unit)
{
	return code->owner[unit < code->flow.units ? unit : code->flow.units - 1];
}

uint32_t kymo_flow_unit_before(const struct kymo_flow_code *code, uint32_t raw)
{
	uint32_t unit = kymo_flow_instruction(code, raw);

	/*
	 * On 3.12, a frame that called another by a fast path is in the caches of the call. Where LINE events are enabled, an instruction
	 * with such an event has no fast path; but calls, and instructions that resume a generator, need no fast path for that.
	 */
	return raw < code->flow.units && code->begins[unit] && code->flow.at[unit].op == KYMO_OP_OTHER ? unit : raw;
}

uint32_t kymo_flow_site_unit(const struct kymo_flow_code *code, uint32_t site)
{
	return site && site <= code->flow.site_count ? code->sites[site - 1] : KYMO_NO_UNIT;
}

static bool is_before(const struct kymo_flow_code *code, uint32_t version)
{
	return code->flow.version < version;
}

/*
 * Where the interpreter puts LINE events, as in initialize_lines() of Python/instrumentation.c: where the line changes from one
 * instruction to the next, at jump targets, and at handlers.
 */
static bool never_begins(const struct kymo_flow_code *code, unsigned op)
{
	return op == KYMO_OP_END_FOR || op == KYMO_OP_END_SEND || op == KYMO_OP_END_ASYNC_FOR ||
	       op == KYMO_OP_RESUME || (op == KYMO_OP_POP_ITER && !is_before(code, KYMO_CPYTHON_3_14));
}

static void begin_at(struct kymo_flow_code *code, uint32_t unit, bool is_handler)
{
	const struct kymo_flow *flow = &code->flow;

	if (unit >= flow->units || !flow->at[unit].next || code->lines[unit] < 0)
		return;
	if (is_handler ? flow->at[unit].op == KYMO_OP_END_ASYNC_FOR
		       : flow->at[unit].op == KYMO_OP_POP_ITER && !is_before(code, KYMO_CPYTHON_3_14))
		return;
	code->begins[unit] = true;
}

/*
 * 3.13.0 to 3.13.2 keep lines in 8 bits, relative to one line per 16 units. A line that does not fit, and differs from that of the
 * instruction before in layout, is taken to differ from the line that ran before, too, except at jump targets.
 */
static bool is_far(const struct kymo_flow_code *code, uint32_t unit)
{
	int64_t expected = (int64_t)code->first_line + (unit >> 4);
	int64_t delta = code->lines[unit] - expected;

	return code->has_near_lines && (delta > INT8_MAX || delta <= INT8_MIN + 2);
}

static void find_beginnings(struct kymo_flow_code *code)
{
	const struct kymo_flow *flow = &code->flow;
	int32_t line = -1;

	for (uint32_t unit = flow->entry; unit < flow->units; unit = flow->at[unit].next) {
		if (never_begins(code, flow->at[unit].op))
			continue;
		code->begins[unit] = code->lines[unit] != line && code->lines[unit] >= 0;
		code->always_begins[unit] = code->begins[unit] && is_far(code, unit);
		line = code->lines[unit];
	}
	for (uint32_t unit = flow->entry; unit < flow->units; unit = flow->at[unit].next) {
		const struct kymo_instruction *at = &flow->at[unit];
		uint32_t target = at->target + (at->op == KYMO_OP_FOR_ITER || at->op == KYMO_OP_SEND);

		if (at->target == KYMO_NO_UNIT)
			continue;
		begin_at(code, target, false);
		code->always_begins[target] = false;
	}
	for (uint32_t i = 0; i < flow->handler_count; i++)
		begin_at(code, flow->handlers[i].target, true);
}

/*
 * Until 3.13 an exhausted FOR_ITER continues behind END_FOR and the instruction that pops the iterator. If it called a generator by
 * a fast path, these do run, but only if no tool enabled INSTRUCTION events.
 */
static void hide_loop_ends(struct kymo_flow_code *code)
{
	const struct kymo_flow *flow = &code->flow;

	for (uint32_t unit = 0; unit < flow->units && is_before(code, KYMO_CPYTHON_3_14); unit = flow->at[unit].next) {
		const struct kymo_instruction *at = &flow->at[unit];

		if (at->op != KYMO_OP_FOR_ITER)
			continue;
		for (uint32_t end = at->target; end < kymo_flow_loop_end(flow, at); end++)
			code->is_hidden[end] = true;
	}
}

static bool prepare(struct kymo_flow_code *code, const struct kymo_content *content)
{
	const struct kymo_place before = {KYMO_NO_UNIT, KYMO_NO_UNIT, KYMO_NO_UNIT};
	const struct kymo_flow *flow = &code->flow;
	size_t units = flow->units;

	code->lines = malloc((units + 1) * sizeof(*code->lines));
	code->begins = calloc(units + 1, sizeof(*code->begins));
	code->always_begins = calloc(units + 1, sizeof(*code->always_begins));
	code->is_hidden = calloc(units + 1, sizeof(*code->is_hidden));
	code->owner = calloc(units + 1, sizeof(*code->owner));
	code->sites = calloc(flow->site_count + 1, sizeof(*code->sites));
	code->from = calloc(units + 1, sizeof(*code->from));
	code->seen = calloc(units + 1, sizeof(*code->seen));
	code->path = calloc(units + 2, sizeof(*code->path));
	code->walk_capacity = FIRST_WALKS;
	code->walks = calloc(code->walk_capacity, sizeof(*code->walks));
	if (!code->lines || !code->begins || !code->always_begins || !code->is_hidden || !code->owner || !code->sites ||
	    !code->from || !code->seen || !code->path || !code->walks)
		return false;
	for (size_t unit = 0; unit < units; unit++)
		code->lines[unit] = KYMO_LINE_NONE;
	code->first_line = content->first_line;
	kymo_line_table_decode(content->line_table, content->line_table_bytes, content->first_line, code->lines, units);
	for (uint32_t unit = 0; unit < units; unit = flow->at[unit].next) {
		for (uint32_t part = unit; part < flow->at[unit].next && part < units; part++)
			code->owner[part] = unit;
		if (flow->at[unit].site)
			code->sites[flow->at[unit].site - 1] = unit;
	}
	find_beginnings(code);
	hide_loop_ends(code);
	return kymo_moves_state(&code->moves, &before) == KYMO_STATE_BEFORE;
}

static void flow_code_free(struct kymo_flow_code *code)
{
	if (!code)
		return;
	kymo_flow_release(&code->flow);
	kymo_moves_release(&code->moves);
	free(code->lines);
	free(code->begins);
	free(code->always_begins);
	free(code->is_hidden);
	free(code->owner);
	free(code->sites);
	free(code->from);
	free(code->seen);
	free(code->path);
	free(code->walks);
	free(code->steps);
	free(code);
}

struct kymo_flow_code *kymo_flow_code_get(struct kymo_content *content, uint32_t python_hex, uint64_t kinds)
{
	struct kymo_flow_code *code = content->flow;

	if (code)
		return code;
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->kinds = kinds;
	code->has_near_lines = python_hex >= 0x030d0000 && python_hex < 0x030d0300;
	code->steps_left = SEARCH_STEPS;
	if (kymo_flow_make(&code->flow, KYMO_FLOW_VERSION(python_hex), content->bytecode, content->bytecode_bytes,
			   content->exception_table, content->exception_table_bytes) ||
	    (code->flow.is_exact && !prepare(code, content))) {
		flow_code_free(code);
		return NULL;
	}
	content->flow = code;
	content->release_flow = flow_code_free;
	return code;
}

/* The goal of a search: an instruction, or a backward jump to one. */
struct aim {
	uint32_t unit;
	bool is_jump_target;
};

static bool is_aim(const struct kymo_flow *flow, const struct aim *aim, uint32_t unit)
{
	if (!aim->is_jump_target)
		return unit == aim->unit;
	return flow->at[unit].op == KYMO_OP_JUMP_BACKWARD && flow->at[unit].target == aim->unit;
}

/* The instructions that may come next after @place without a record; returns how many. */
static unsigned first_ways(const struct kymo_flow *flow, const struct kymo_place *place, uint32_t ways[2])
{
	if (place->next != KYMO_NO_UNIT) {
		ways[0] = place->next;
		return 1;
	}
	/* A stack may name a frame without saying where it is. */
	return place->cur == KYMO_NO_UNIT ? 0 : kymo_flow_silent_ways(flow, place->cur, ways);
}

static void begin_search(struct kymo_flow_code *code)
{
	if (++code->search == 0) { /* once in 2^32 searches */
		memset(code->seen, 0, (code->flow.units + 1) * sizeof(*code->seen));
		code->search = 1;
	}
}

/* The instruction at the goal, with the path to it in code->from; KYMO_NO_UNIT: none can be reached. */
static uint32_t search(struct kymo_flow_code *code, const struct kymo_place *place, const struct aim *aim)
{
	const struct kymo_flow *flow = &code->flow;
	uint32_t depth = 0, ways[2], unit;
	unsigned count = first_ways(flow, place, ways);

	begin_search(code);
	for (unsigned i = 0; i < count; i++) {
		code->from[ways[i]] = KYMO_NO_UNIT;
		code->seen[ways[i]] = code->search;
		code->path[depth++] = ways[i];
	}
	while (depth) {
		unit = code->path[--depth];
		if (!code->steps_left--) {
			code->steps_left = 0;
			break;
		}
		if (is_aim(flow, aim, unit))
			return unit;
		count = kymo_flow_silent_ways(flow, unit, ways);
		for (unsigned i = 0; i < count; i++) {
			if (code->seen[ways[i]] == code->search)
				continue;
			code->seen[ways[i]] = code->search;
			code->from[ways[i]] = unit;
			code->path[depth++] = ways[i];
		}
	}
	return KYMO_NO_UNIT;
}

uint32_t kymo_flow_find_jump(struct kymo_flow_code *code, const struct kymo_place *place, uint32_t target)
{
	const struct aim aim = {target, true};

	return search(code, place, &aim);
}

static bool add_step(struct kymo_flow_code *code, enum kymo_kind kind, uint32_t unit, uint32_t value)
{
	if (!(code->kinds >> kind & 1))
		return true;
	if (code->step_count == code->step_capacity) {
		uint32_t capacity = code->step_capacity ? 2 * code->step_capacity : 16;
		struct kymo_step *grown = realloc(code->steps, capacity * sizeof(*grown));

		if (!grown)
			return false;
		code->steps = grown;
		code->step_capacity = capacity;
	}
	code->steps[code->step_count++] = (struct kymo_step){unit & 0xffffff, kind & 0xff, value};
	return true;
}

/* The line with which that of @unit is compared; there is a LINE event where they differ. */
static int32_t line_before(const struct kymo_flow_code *code, uint32_t prev)
{
	const struct kymo_flow *flow = &code->flow;

	if (prev >= flow->units)
		return KYMO_LINE_NONE;
	/* 3.12 treats a cache as an instruction without a line; RESUME hides none. */
	if (!flow->at[prev].next)
		return is_before(code, KYMO_CPYTHON_3_13) ? KYMO_LINE_NONE : code->lines[prev];
	return flow->at[prev].op == KYMO_OP_RESUME ? KYMO_LINE_NONE : code->lines[prev];
}

static bool arrive(struct kymo_flow_code *code, struct kymo_place *place, uint32_t unit)
{
	const struct kymo_instruction *at = &code->flow.at[unit];
	uint32_t before = place->cur;
	bool is_good = true;

	if (code->is_hidden[unit]) {
		*place = (struct kymo_place){unit, KYMO_NO_UNIT, place->prev};
		return true;
	}
	if (code->begins[unit] && (code->always_begins[unit] || line_before(code, place->prev) != code->lines[unit]))
		is_good &= add_step(code, KYMO_LINE, unit, (uint32_t)code->lines[unit]);
	*place = (struct kymo_place){unit, KYMO_NO_UNIT, unit};
	if (unit >= code->flow.entry && at->op != KYMO_OP_RESUME)
		is_good &= add_step(code, KYMO_INSTRUCTION, unit, 0);
	/* Each event before what the instruction may call: signal handlers, and code run when the iterator is released. */
	if (is_before(code, KYMO_CPYTHON_3_13) && at->is_silent &&
	    (at->op == KYMO_OP_JUMP_FORWARD || at->op == KYMO_OP_JUMP_BACKWARD))
		is_good &= add_step(code, KYMO_JUMP, unit, at->target);
	if (at->op == KYMO_OP_POP_ITER && !is_before(code, KYMO_CPYTHON_3_14))
		is_good &= add_step(code, KYMO_BRANCH_RIGHT, before, at->next);
	return is_good;
}

/* The argument of the instruction at @unit, with its EXTENDED_ARG prefixes. */
static uint32_t whole_arg(const struct kymo_flow *flow, uint32_t unit)
{
	uint32_t arg = flow->at[unit].arg;

	for (unsigned shift = 8; shift < 32 && unit && flow->at[unit - 1].op == KYMO_OP_EXTENDED_ARG; shift += 8, unit--)
		arg |= (uint32_t)flow->at[unit - 1].arg << shift;
	return arg;
}

/* The events between @unit and @next that come when @unit is done. */
static bool depart(struct kymo_flow_code *code, uint32_t unit, uint32_t next)
{
	const struct kymo_instruction *at = &code->flow.at[unit];

	switch (at->op) {
	case KYMO_OP_JUMP_FORWARD:
	case KYMO_OP_JUMP_BACKWARD:
		return is_before(code, KYMO_CPYTHON_3_13) || add_step(code, KYMO_JUMP, unit, next);
	case KYMO_OP_FOR_ITER:
		if (is_before(code, KYMO_CPYTHON_3_14))
			return add_step(code, KYMO_BRANCH, unit,
					next == at->next ? next : kymo_flow_loop_end(&code->flow, at));
		/* POP_ITER reports the other way. */
		return next != at->next || add_step(code, KYMO_BRANCH_LEFT, unit, next);
	case KYMO_OP_POP_JUMP:
	case KYMO_OP_POP_JUMP_NONE:
		if (is_before(code, KYMO_CPYTHON_3_14))
			return add_step(code, KYMO_BRANCH, unit, next);
		/* NOT_TAKEN reports the other way. */
		return next != at->target || add_step(code, KYMO_BRANCH_RIGHT, unit, next);
	case KYMO_OP_NOT_TAKEN:
		return add_step(code, KYMO_BRANCH_LEFT, kymo_flow_instruction(code, unit - 1), next);
	case KYMO_OP_END_ASYNC_FOR:
		/* Its argument leads back to the END_SEND of the loop. */
		return is_before(code, KYMO_CPYTHON_3_14) ||
		       add_step(code, KYMO_BRANCH_RIGHT, next - whole_arg(&code->flow, unit), next);
	default:
		return true;
	}
}

/* Follow the path that search() found to @target. */
static bool follow(struct kymo_flow_code *code, struct kymo_place *place, uint32_t target)
{
	uint32_t count = 0;
	bool is_good = true;

	for (uint32_t unit = target; unit != KYMO_NO_UNIT; unit = code->from[unit])
		code->path[count++] = unit;
	while (count) {
		uint32_t unit = code->path[--count];

		if (place->next == KYMO_NO_UNIT)
			is_good &= depart(code, place->cur, unit);
		is_good &= arrive(code, place, unit);
	}
	return is_good;
}

static void reach_line(struct kymo_reach *reach, int32_t line)
{
	reach->is_any = true;
	if (reach->first_line == KYMO_LINE_NONE || line < reach->first_line)
		reach->first_line = line;
	if (line > reach->last_line)
		reach->last_line = line;
}

/* Add what happens between @place and the instruction at @unit, which comes next. */
static void reach_unit(struct kymo_flow_code *code, struct kymo_place place, uint32_t unit, struct kymo_reach *reach)
{
	uint32_t first = code->step_count;

	if (place.next == KYMO_NO_UNIT)
		(void)depart(code, place.cur, unit);
	(void)arrive(code, &place, unit);
	for (uint32_t i = first; i < code->step_count; i++) {
		reach->is_any = true;
		if (code->steps[i].kind == KYMO_LINE)
			reach_line(reach, (int32_t)code->steps[i].value);
	}
	code->step_count = first;
}

static void reach_all(const struct kymo_flow_code *code, struct kymo_reach *reach)
{
	for (uint32_t unit = 0; unit < code->flow.units; unit++)
		if (code->begins[unit])
			reach_line(reach, code->lines[unit]);
}

void kymo_flow_reach(struct kymo_flow_code *code, const struct kymo_place *place, struct kymo_reach *reach)
{
	const struct kymo_flow *flow = &code->flow;
	uint64_t kinds = code->kinds;
	uint32_t depth = 0, ways[2];
	unsigned count = first_ways(flow, place, ways);
	struct kymo_place from = *place;

	if (place->next == KYMO_NO_UNIT && place->cur == KYMO_NO_UNIT) {
		reach_all(code, reach);
		return;
	}
	/* Search for all kinds: what is missing does not depend on those that are wanted. */
	code->kinds = KYMO_REBUILT_KINDS;
	begin_search(code);
	for (;;) {
		for (unsigned i = 0; i < count; i++) {
			reach_unit(code, from, ways[i], reach);
			if (code->seen[ways[i]] == code->search)
				continue;
			code->seen[ways[i]] = code->search;
			code->path[depth++] = ways[i];
		}
		if (!depth)
			break;
		from.cur = from.prev = code->path[--depth];
		from.next = KYMO_NO_UNIT;
		count = kymo_flow_silent_ways(flow, from.cur, ways);
	}
	code->kinds = kinds;
}

static void forget_walks(struct kymo_flow_code *code)
{
	memset(code->walks, 0, code->walk_capacity * sizeof(*code->walks));
	code->walk_count = 0;
	code->step_count = 0;
}

static struct walk *find_walk(const struct kymo_flow_code *code, uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15U >> 32) & (code->walk_capacity - 1);

	while (code->walks[at].key && code->walks[at].key != key)
		at = (at + 1) & (code->walk_capacity - 1);
	return &code->walks[at];
}

static bool grow_walks(struct kymo_flow_code *code)
{
	struct walk *old = code->walks;
	uint32_t capacity = code->walk_capacity;

	if (2 * code->walk_count < capacity)
		return true;
	code->walks = calloc(2 * (size_t)capacity, sizeof(*code->walks));
	if (!code->walks) {
		code->walks = old;
		return false;
	}
	code->walk_capacity = 2 * capacity;
	for (uint32_t i = 0; i < capacity; i++)
		if (old[i].key)
			*find_walk(code, old[i].key) = old[i];
	free(old);
	return true;
}

/* What the steps depend on; never 0. */
static uint64_t walk_key(const struct kymo_place *place, uint32_t target, enum kymo_walk_end end)
{
	bool is_next = place->next != KYMO_NO_UNIT;
	uint64_t start = is_next ? place->next : place->cur;

	static_assert(KYMO_FLOW_MAX_UNITS == 1U << 20, "three units and three bits in 63");
	return UINT64_C(1) << 63 | start << 43 | (uint64_t)(place->prev & 0xfffff) << 23 | (uint64_t)target << 3 |
	       (uint64_t)end << 1 | is_next;
}

static uint32_t end_unit(const struct kymo_flow_code *code, uint32_t target, enum kymo_walk_end end)
{
	return end == KYMO_WALK_TO ? target : code->flow.at[target].next;
}

bool kymo_flow_walk(struct kymo_flow_code *code, struct kymo_place *place, uint32_t target,
		    enum kymo_walk_end end, const struct kymo_step **steps, uint32_t *count)
{
	uint64_t key = walk_key(place, target, end);
	bool is_there = place->next == KYMO_NO_UNIT && place->cur == target;
	uint32_t last = end_unit(code, target, end);
	struct walk *walk;

	*count = 0;
	if (is_there && end == KYMO_WALK_TO)
		return true;
	code->steps_left += SEARCH_STEPS_A_WALK;
	walk = find_walk(code, key);
	if (!walk->key) {
		const struct aim aim = {target, false};
		struct kymo_place moved = *place;
		uint32_t first;

		if (!is_there && search(code, place, &aim) == KYMO_NO_UNIT)
			return false;
		if (code->step_count > MAX_STEPS || code->walk_count > MAX_WALKS)
			forget_walks(code);
		if (!grow_walks(code))
			return false;
		first = code->step_count;
		if ((!is_there && !follow(code, &moved, target)) || (last != target && !arrive(code, &moved, last)))
			return false;
		walk = find_walk(code, key);
		*walk = (struct walk){key, first, code->step_count - first};
		code->walk_count++;
	}
	*place = (struct kymo_place){last, KYMO_NO_UNIT, last};
	*steps = walk->count ? code->steps + walk->first : NULL;
	*count = walk->count;
	return true;
}

bool kymo_flow_lasts(const struct kymo_flow_code *code, uint32_t unit)
{
	unsigned op = code->flow.at[unit].op;

	if (is_before(code, KYMO_CPYTHON_3_13))
		return op == KYMO_OP_JUMP_BACKWARD;
	if (is_before(code, KYMO_CPYTHON_3_14))
		return false;
	return op == KYMO_OP_POP_JUMP_NONE || op == KYMO_OP_END_ASYNC_FOR;
}
