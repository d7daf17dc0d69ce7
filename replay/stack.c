// SPDX-License-Identifier: Apache-2.0
#include "replay/stack.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/line_table.h"

/* As replay/rebuild_frames.c has it. */
#define MAX_FRAMES (1U << 20)

void kymo_stack_release(struct kymo_stack *stack)
{
	free(stack->frames);
	*stack = (struct kymo_stack){0};
}

bool kymo_is_stop(const struct kymo_event *event)
{
	return event->kind == KYMO_LINE || event->kind == KYMO_EVENT_GAP || event->kind == KYMO_EVENT_UNKNOWN;
}

static bool enters(unsigned kind)
{
	return kind == KYMO_PY_START || kind == KYMO_PY_START_AT || kind == KYMO_PY_RESUME || kind == KYMO_PY_THROW;
}

static bool leaves(unsigned kind)
{
	return kind == KYMO_PY_RETURN || kind == KYMO_PY_YIELD || kind == KYMO_PY_UNWIND;
}

static int push(struct kymo_stack *stack, struct kymo_stack_frame frame)
{
	if (stack->count == MAX_FRAMES || kymo_grow(&stack->frames, &stack->capacity, stack->count + 1, sizeof(frame)))
		return -ENOMEM;
	stack->frames[stack->count++] = frame;
	return 0;
}

static int64_t line_at_offset(const struct kymo_code *code, uint64_t offset_plus_1)
{
	return code && offset_plus_1 ? kymo_code_line(code, offset_plus_1 - 1) : KYMO_LINE_NONE;
}

/* The number of frames, from the outermost on, that are in @sync as they are here; 0 if those differ that are known. */
static uint64_t same_frames(const struct kymo_stack *stack, const struct kymo_sync *sync)
{
	uint64_t hidden = sync->depth - sync->listed;
	uint64_t level = stack->hidden > hidden ? stack->hidden : hidden;

	if (level > sync->depth || level > kymo_stack_depth(stack))
		return 0;
	while (level < sync->depth && level < kymo_stack_depth(stack) &&
	       stack->frames[level - stack->hidden].code_id == sync->frames[sync->depth - 1 - level].code)
		level++;
	return level;
}

static int take_sync(struct kymo_stack *stack, const struct kymo_traced_process *process, const struct kymo_sync *sync)
{
	uint64_t same = same_frames(stack, sync);

	if (same <= stack->hidden || same < sync->depth - sync->listed) {
		stack->count = 0;
		same = stack->hidden = sync->depth - sync->listed;
	}
	stack->count = (uint32_t)(same - stack->hidden);
	for (uint64_t level = sync->depth - sync->listed; level < same; level++) {
		struct kymo_stack_frame *frame = &stack->frames[level - stack->hidden];

		if (frame->line == KYMO_LINE_NONE)
			frame->line = line_at_offset(frame->code, sync->frames[sync->depth - 1 - level].offset_plus_1);
	}
	for (uint64_t level = same; level < sync->depth; level++) {
		const struct kymo_sync_frame *told = &sync->frames[sync->depth - 1 - level];
		const struct kymo_code *code = kymo_traced_code(process, told->code);

		if (push(stack, (struct kymo_stack_frame){
					.code_id = told->code,
					.code = code,
					.line = line_at_offset(code, told->offset_plus_1),
					.entered = stack->missing,
					.line_at = stack->missing,
				}))
			return -ENOMEM;
	}
	stack->missing = (struct kymo_position){0};
	return 0;
}

static int enter(struct kymo_stack *stack, const struct kymo_event *event)
{
	struct kymo_stack_frame *caller = kymo_stack_top(stack);

	if (caller && stack->has_no_lines)
		caller->line = KYMO_LINE_NONE;
	return push(stack, (struct kymo_stack_frame){
				   .code_id = event->code_id,
				   .code = event->code,
				   .line = kymo_event_line(event),
				   .entered = kymo_position_of(event),
			   });
}

/*
 * Have the frame of @event on top.  It is there already, unless events were left out of the recording by which
 * frames are entered or left.
 */
static int find_frame(struct kymo_stack *stack, const struct kymo_event *event)
{
	for (uint32_t at = stack->count; at-- > 0;)
		if (stack->frames[at].code_id == event->code_id) {
			stack->count = at + 1;
			return 0;
		}
	return enter(stack, event);
}

static void be_at(struct kymo_stack *stack, const struct kymo_event *event)
{
	struct kymo_stack_frame *top = kymo_stack_top(stack);
	int64_t line = kymo_event_line(event);

	if (!top)
		return;
	if (event->kind == KYMO_EVENT_UNKNOWN)
		top->line = KYMO_LINE_NONE;
	else if (line != KYMO_LINE_NONE)
		top->line = line;
	if (kymo_is_stop(event)) {
		top->before = top->line_at;
		top->line_at = kymo_position_of(event);
	}
}

int kymo_stack_take(struct kymo_stack *stack, const struct kymo_event *event, const struct kymo_sync *sync)
{
	if (stack->is_leaving && stack->count)
		stack->count--;
	else if (stack->is_leaving && stack->hidden)
		stack->hidden--;
	stack->is_leaving = false;

	if (event->kind == KYMO_EVENT_STACK)
		return take_sync(stack, event->stream->process, sync);
	if (event->kind == KYMO_EVENT_GAP) {
		stack->count = 0;
		stack->hidden = 0;
		stack->missing = kymo_position_of(event);
		return 0;
	}
	if (enters(event->kind))
		return enter(stack, event);
	if (event->code && event->kind < KYMO_KINDS &&
	    (!stack->count || kymo_stack_top(stack)->code_id != event->code_id) && find_frame(stack, event))
		return -ENOMEM;
	be_at(stack, event);
	stack->is_leaving = leaves(event->kind);
	return 0;
}
