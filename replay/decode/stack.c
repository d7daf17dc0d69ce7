// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/line_table.h"

/* As in replay/decode/rebuild_frames.c. */
#define MAX_FRAMES (1U << 20)

void kymo_stack_release(struct kymo_stack *stack)
{
	free(stack->frames);
	*stack = (struct kymo_stack){0};
}

static bool leaves(unsigned kind)
{
	const uint64_t kinds = UINT64_C(1) << KYMO_PY_RETURN | UINT64_C(1) << KYMO_PY_YIELD | UINT64_C(1) << KYMO_PY_UNWIND;

	return kind < KYMO_KINDS && kinds >> kind & 1;
}

/* Push a frame, to be filled in; NULL: no memory. */
static inline struct kymo_stack_frame *push(struct kymo_stack *stack)
{
	if (stack->count == MAX_FRAMES ||
	    (stack->count == stack->capacity &&
	     kymo_grow(&stack->frames, &stack->capacity, stack->count + 1, sizeof(*stack->frames))))
		return NULL;
	return &stack->frames[stack->count++];
}

static int64_t line_at_offset(const struct kymo_code *code, uint64_t offset_plus_1)
{
	return code && offset_plus_1 ? kymo_code_line(code, offset_plus_1 - 1) : KYMO_LINE_NONE;
}

/* The number of frames, from the outermost on, that are the same in @sync; 0 if known ones differ. */
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

/* The entry of @sync for the frame on @level. */
static struct kymo_stack_frame told_frame(const struct kymo_stack *stack, const struct kymo_traced_process *process,
					  const struct kymo_sync *sync, uint64_t level)
{
	const struct kymo_sync_frame *told = &sync->frames[sync->depth - 1 - level];
	const struct kymo_code *code = kymo_traced_code(process, told->code);

	return (struct kymo_stack_frame){
		.code_id = told->code,
		.code = code,
		.line = line_at_offset(code, told->offset_plus_1),
		.entered = stack->missing,
		.line_at = stack->missing,
	};
}

/* If the stack has become lower, @sync lists frames that were too far down before. */
static int reveal(struct kymo_stack *stack, const struct kymo_traced_process *process, const struct kymo_sync *sync)
{
	uint64_t hidden = sync->depth - sync->listed, more = stack->hidden > hidden ? stack->hidden - hidden : 0;

	if (!more)
		return 0;
	if (kymo_grow(&stack->frames, &stack->capacity, stack->count + (size_t)more, sizeof(*stack->frames)))
		return -ENOMEM;
	memmove(stack->frames + more, stack->frames, stack->count * sizeof(*stack->frames));
	for (uint64_t i = 0; i < more; i++)
		stack->frames[i] = told_frame(stack, process, sync, hidden + i);
	stack->count += (uint32_t)more;
	stack->hidden = hidden;
	return 0;
}

static int take_sync(struct kymo_stack *stack, const struct kymo_traced_process *process, const struct kymo_sync *sync)
{
	uint64_t same = same_frames(stack, sync);

	if (same <= stack->hidden || same < sync->depth - sync->listed) {
		stack->count = 0;
		same = stack->hidden = sync->depth - sync->listed;
	}
	stack->count = (uint32_t)(same - stack->hidden);
	if (reveal(stack, process, sync))
		return -ENOMEM;
	for (uint64_t level = sync->depth - sync->listed; level < same; level++) {
		struct kymo_stack_frame *frame = &stack->frames[level - stack->hidden];

		if (frame->line == KYMO_LINE_NONE)
			frame->line = line_at_offset(frame->code, sync->frames[sync->depth - 1 - level].offset_plus_1);
	}
	for (uint64_t level = same; level < sync->depth; level++) {
		struct kymo_stack_frame *frame = push(stack);

		if (!frame)
			return -ENOMEM;
		*frame = told_frame(stack, process, sync, level);
	}
	stack->missing = (struct kymo_position){0};
	return 0;
}

/* An event, returned or passed over. */
struct happening {
	unsigned kind;
	struct kymo_position at;
	uint64_t code_id;
	const struct kymo_code *code;
	int64_t line;
};

static int enter(struct kymo_stack *stack, const struct happening *event)
{
	struct kymo_stack_frame *frame = kymo_stack_top(stack);

	if (frame && stack->has_no_lines)
		frame->line = KYMO_LINE_NONE;
	frame = push(stack);
	if (!frame)
		return -ENOMEM;
	*frame = (struct kymo_stack_frame){
		.code_id = event->code_id,
		.code = event->code,
		.line = event->line,
		.entered = event->at,
	};
	return 0;
}

/*
 * Make the frame of @event the top one. It is that already, unless events that enter or leave frames were left out of the recording.
 */
static int find_frame(struct kymo_stack *stack, const struct happening *event)
{
	/* All frames above one without events have been left. */
	if (!stack->count && stack->hidden) {
		struct kymo_stack_frame *frame = push(stack);

		stack->hidden--;
		if (!frame)
			return -ENOMEM;
		*frame = (struct kymo_stack_frame){.code_id = event->code_id, .code = event->code, .line = event->line};
		return 0;
	}
	for (uint32_t at = stack->count; at-- > 0;)
		if (stack->frames[at].code_id == event->code_id) {
			stack->count = at + 1;
			return 0;
		}
	return enter(stack, event);
}

static bool is_stop(unsigned kind)
{
	return kind == KYMO_LINE || kind == KYMO_EVENT_GAP || kind == KYMO_EVENT_UNKNOWN;
}

bool kymo_is_stop(const struct kymo_event *event)
{
	return is_stop(event->kind);
}

static void be_at(struct kymo_stack *stack, const struct happening *event)
{
	struct kymo_stack_frame *top = kymo_stack_top(stack);

	if (!top)
		return;
	if (event->kind == KYMO_EVENT_UNKNOWN)
		top->line = KYMO_LINE_NONE;
	else if (event->line != KYMO_LINE_NONE)
		top->line = event->line;
	if (is_stop(event->kind)) {
		top->before = top->line_at;
		top->line_at = event->at;
	}
}

/* The frame that the last event left is gone. */
static void settle(struct kymo_stack *stack)
{
	if (stack->is_leaving && stack->count)
		stack->count--;
	else if (stack->is_leaving && stack->hidden)
		stack->hidden--;
	stack->is_leaving = false;
}

static inline int take(struct kymo_stack *stack, const struct happening *event)
{
	settle(stack);
	if (event->kind == KYMO_EVENT_GAP) {
		stack->count = 0;
		stack->hidden = 0;
		stack->missing = event->at;
		return 0;
	}
	if (kymo_kind_enters(event->kind))
		return enter(stack, event);
	if (event->code && event->kind < KYMO_KINDS &&
	    (!stack->count || kymo_stack_top(stack)->code_id != event->code_id) && find_frame(stack, event))
		return -ENOMEM;
	be_at(stack, event);
	stack->is_leaving = leaves(event->kind);
	return 0;
}

int kymo_stack_take(struct kymo_stack *stack, const struct kymo_event *event, const struct kymo_sync *sync)
{
	if (event->kind == KYMO_EVENT_STACK) {
		settle(stack);
		return take_sync(stack, event->stream->process, sync);
	}
	return take(stack, &(struct happening){event->kind, kymo_position_of(event), event->code_id, event->code,
					       kymo_event_line(event)});
}

static int64_t line_of(const struct kymo_skipped *skipped)
{
	if (skipped->kind == KYMO_LINE)
		return (int64_t)skipped->line;
	return skipped->code && skipped->kind < KYMO_KINDS ? kymo_code_line(skipped->code, kymo_place_of(skipped->offset, skipped->place_plus_1))
							    : KYMO_LINE_NONE;
}

/* The first of @steps, all in one frame, that matters after them: the last line but one. */
static uint32_t first_that_counts(const struct kymo_skipped *skipped)
{
	uint32_t at = skipped->step_count, lines = 0;

	while (at && lines < 2)
		lines += skipped->steps[--at].kind == KYMO_LINE;
	return at;
}

void kymo_stack_skip(struct kymo_stack *stack, const struct kymo_stream *stream, const struct kymo_skipped *skipped,
		     const struct kymo_sync *sync)
{
	struct happening step = {.kind = KYMO_EVENT_UNKNOWN, .at = {skipped->n, skipped->first_k - 1},
				 .line = KYMO_LINE_NONE};

	if (skipped->kind == KYMO_EVENT_STACK) {
		settle(stack);
		(void)take_sync(stack, stream->process, sync);
		return;
	}
	if (skipped->is_unknown)
		(void)take(stack, &step);
	step.code = skipped->steps_code;
	step.code_id = skipped->steps_code_id;
	for (uint32_t i = first_that_counts(skipped); i < skipped->step_count; i++) {
		step.kind = skipped->steps[i].kind;
		step.at.k = skipped->first_k + i;
		step.line = step.kind == KYMO_LINE ? (int64_t)skipped->steps[i].value
			    : step.code		   ? kymo_code_line(step.code, skipped->steps[i].unit)
						   : KYMO_LINE_NONE;
		(void)take(stack, &step);
	}
	if (skipped->kind)
		(void)take(stack, &(struct happening){skipped->kind, {skipped->n, 0}, skipped->code_id, skipped->code,
						      line_of(skipped)});
}
