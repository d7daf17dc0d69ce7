// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/around.h"

#include "replay/decode/flow_code.h"
#include "replay/trace/line_table.h"

/* Events that are looked at behind a place, and units of bytecode for loops. */
#define EVENTS_AHEAD 100000U
#define UNITS_LOOKED_AT (1U << 22)

int kymo_walk_to(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_walker *walker,
		 struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(index, stream, at.n);
	int result;

	*walker = (struct kymo_walker){0};
	if (!chunk)
		return 0;
	kymo_index_walk(index, walker, chunk);
	while ((result = kymo_walker_next(walker, error)) > 0) {
		int order = kymo_position_compare(kymo_position_of(&walker->event), at);

		if (!order)
			return 1;
		if (order > 0)
			return 0;
		if (walker->event.n < at.n)
			kymo_walker_skip(walker, at.n);
	}
	return result;
}

static bool is_loss(const struct kymo_event *event)
{
	return event->kind == KYMO_EVENT_GAP || event->kind == KYMO_EVENT_UNKNOWN;
}

int kymo_find_body(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_code_line *body,
		   struct kymo_error *error)
{
	struct kymo_walker walker;
	int result = kymo_walk_to(index, stream, at, &walker, error);
	uint64_t depth = kymo_stack_depth(&walker.stack);

	*body = (struct kymo_code_line){NULL, KYMO_LINE_NONE};
	for (unsigned i = 0; result > 0 && i < EVENTS_AHEAD; i++) {
		result = kymo_walker_next(&walker, error);
		if (result <= 0 || is_loss(&walker.event) || kymo_stack_depth(&walker.stack) != depth)
			break;
		if (walker.event.kind == KYMO_LINE) {
			*body = (struct kymo_code_line){walker.event.code, kymo_event_line(&walker.event)};
			break;
		}
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : 0;
}

int kymo_find_end(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_code_line lines[2],
		  struct kymo_error *error)
{
	struct kymo_walker walker;
	int result = kymo_walk_to(index, stream, at, &walker, error), is_found = 0;

	for (unsigned i = 0; result > 0 && i < EVENTS_AHEAD && !is_found; i++) {
		const struct kymo_event *event = &walker.event;

		if (event->kind == KYMO_EVENT_UNKNOWN && event->code && event->first_line) {
			lines[0] = (struct kymo_code_line){event->code, event->first_line};
			lines[1] = (struct kymo_code_line){event->code, event->last_line};
			is_found = 1;
		}
		result = kymo_walker_next(&walker, error);
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : is_found;
}

/* Where an exception is on its way. */
struct flight {
	uint64_t depth; /* of the frame that has it */
	bool has_left;	/* it has just left the one above, and must be raised in this one, if that is Python's */
	struct kymo_code_line *lines;
	int count;
};

static bool is_new(const struct flight *flight, int64_t line)
{
	for (int i = 0; i < flight->count; i++)
		if (flight->lines[i].line == line)
			return false;
	return true;
}

/* False: it went no further, or is lost: then it has no lines. */
static bool follow(struct flight *flight, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	uint64_t depth = kymo_stack_depth(&walker->stack);

	if (is_loss(event)) {
		flight->count = 0;
		return false;
	}
	if (depth > flight->depth)
		return true;
	if (depth < flight->depth)
		return false;
	switch (event->kind) {
	case KYMO_PY_UNWIND:
		flight->depth--;
		flight->has_left = true;
		flight->count = 0;
		return true;
	case KYMO_RERAISE:
		flight->count = 0;
		return true;
	case KYMO_RAISE:
		if (!flight->has_left)
			return false;
		flight->has_left = false;
		return true;
	case KYMO_PY_RETURN:
	case KYMO_PY_YIELD:
		return false;
	case KYMO_LINE:
		/* What is not raised here was caught by code that is not Python's. */
		if (flight->has_left)
			return false;
		if (flight->count < (int)KYMO_HANDLER_LINES && is_new(flight, kymo_event_line(event)))
			flight->lines[flight->count++] = (struct kymo_code_line){event->code, kymo_event_line(event)};
		return true;
	default:
		return true;
	}
}

int kymo_find_handler(const struct kymo_index *index, size_t stream, struct kymo_position raise,
		      struct kymo_code_line lines[KYMO_HANDLER_LINES], struct kymo_error *error)
{
	struct kymo_walker walker;
	int result = kymo_walk_to(index, stream, raise, &walker, error);
	struct flight flight = {.depth = kymo_stack_depth(&walker.stack), .lines = lines};

	for (unsigned i = 0; result > 0 && i < EVENTS_AHEAD; i++) {
		result = kymo_walker_next(&walker, error);
		if (result > 0 && !follow(&flight, &walker))
			break;
	}
	kymo_walker_release(&walker);
	/* The thread ended, and what was seen of it last may have been a finally. */
	return result > 0 ? flight.count : result;
}

/* A for loop, by its lines. */
struct loop {
	int64_t header, last;
	uint64_t round;
};

/* The loop of the FOR_ITER at @unit, if @line is in its body. */
static bool is_around(const struct kymo_code *code, const struct kymo_flow *flow, uint32_t unit, int64_t line, struct loop *loop,
		      uint32_t *left)
{
	bool is_in_body = false;

	*loop = (struct loop){.header = kymo_code_line(code, unit)};
	loop->last = loop->header;
	if (loop->header == KYMO_LINE_NONE || loop->header == line)
		return false;
	for (uint32_t i = unit; i < flow->at[unit].target && i < flow->units && *left; i++, --*left) {
		int64_t own = kymo_flow_is_instruction(flow, i) ? kymo_code_line(code, i) : KYMO_LINE_NONE;

		is_in_body |= own == line;
		if (own > loop->last)
			loop->last = own;
	}
	return is_in_body;
}

static uint32_t list_loops(const struct kymo_code *code, int64_t line, struct loop loops[KYMO_LOOPS_TOLD])
{
	const struct kymo_flow *flow = code && code->content && code->content->flow ? kymo_flow_of(code->content->flow) : NULL;
	uint32_t count = 0, left = UNITS_LOOKED_AT;

	for (uint32_t unit = flow ? flow->units : 0; unit-- > 0 && count < KYMO_LOOPS_TOLD;)
		if (kymo_flow_is_instruction(flow, unit) && flow->at[unit].op == KYMO_OP_FOR_ITER &&
		    is_around(code, flow, unit, line, &loops[count], &left) && (!count || loops[count].header != loops[count - 1].header))
			count++;
	return count;
}

/* The frame ran @line: that begins a round of a loop, or is behind the last one. */
static void count_rounds(struct loop *loops, uint32_t count, int64_t line)
{
	for (uint32_t i = 0; i < count; i++) {
		if (line == loops[i].header)
			loops[i].round++;
		else if (line < loops[i].header || line > loops[i].last)
			loops[i].round = 0;
	}
}

int kymo_find_loops(const struct kymo_index *index, size_t stream, struct kymo_position at, int64_t line,
		    const struct kymo_stack_frame *frame, struct kymo_loop_round loops[KYMO_LOOPS_TOLD], struct kymo_error *error)
{
	struct loop found[KYMO_LOOPS_TOLD];
	uint32_t count = list_loops(frame->code, line, found);
	struct kymo_walker walker;
	bool is_there = false;
	uint64_t depth;
	int result;

	if (!count)
		return 0;
	result = kymo_walk_to(index, stream, frame->entered, &walker, error);
	depth = kymo_stack_depth(&walker.stack);
	/* Of a generator that was resumed, its earlier rounds are not known. */
	if (result > 0 && walker.event.kind != KYMO_PY_START)
		result = 0;
	for (unsigned i = 0; result > 0 && i < EVENTS_AHEAD && !is_there; i++) {
		result = kymo_walker_next(&walker, error);
		if (result <= 0 || is_loss(&walker.event) || kymo_stack_depth(&walker.stack) < depth)
			break;
		if (kymo_stack_depth(&walker.stack) == depth && walker.event.kind == KYMO_LINE)
			count_rounds(found, count, kymo_event_line(&walker.event));
		is_there = kymo_position_compare(kymo_position_of(&walker.event), at) >= 0;
	}
	kymo_walker_release(&walker);
	for (uint32_t i = 0; i < count; i++)
		loops[i] = (struct kymo_loop_round){found[i].header, is_there ? found[i].round : 0};
	return result < 0 ? result : (int)count;
}
