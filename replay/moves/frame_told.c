// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/frame_told.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kymo_frame_told_release(struct kymo_frame_told *told)
{
	free(told->blocks);
	free(told->payload);
	*told = (struct kymo_frame_told){0};
}

static void begin(struct kymo_frame_told *told)
{
	*told = (struct kymo_frame_told){
		.blocks = told->blocks,
		.capacity = told->capacity,
		.payload = told->payload,
		.payload_capacity = told->payload_capacity,
	};
}

/* Another activation begins, or there is none. */
static void forget(struct kymo_frame_told *told)
{
	told->count = 0;
	told->code = NULL;
	told->first.at.n = 0;
	told->is_there = told->has_first = told->has_ran_line = told->is_lost = false;
}

static int add_block(struct kymo_frame_told *told, const struct kymo_walker *walker)
{
	const struct kymo_event *event = &walker->event;
	uint32_t bytes = walker->cursor.frame.header.raw_bytes;

	if (!told->payload_bytes) {
		if (kymo_grow(&told->payload, &told->payload_capacity, bytes, 1))
			return -ENOMEM;
		memcpy(told->payload, event->values.payload, bytes);
		told->payload_bytes = bytes;
	}
	if (kymo_grow(&told->blocks, &told->capacity, told->count + 1U, sizeof(*told->blocks)))
		return -ENOMEM;
	told->blocks[told->count++] = (struct kymo_told_block){
		.at = event->values.at,
		.bytes = event->values.bytes,
		.line = kymo_event_line(event),
		.moment = kymo_moment_of(walker->cursor.timeline, event),
	};
	return 0;
}

/* The frame on @level where @walker stands; NULL: there is none, or it is too far down to be listed. */
static const struct kymo_stack_frame *frame_at(const struct kymo_walker *walker, uint64_t level)
{
	const struct kymo_stack *stack = &walker->stack;

	return level > stack->hidden && level <= kymo_stack_depth(stack) ? &stack->frames[level - stack->hidden - 1] : NULL;
}

static bool is_same_frame(const struct kymo_stack_frame *a, const struct kymo_stack_frame *b)
{
	return a->code_id == b->code_id && !kymo_position_compare(a->entered, b->entered);
}

static bool is_entered_by(const struct kymo_stack_frame *frame, const struct kymo_event *event)
{
	return kymo_kind_enters(event->kind) && !kymo_position_compare(frame->entered, kymo_position_of(event));
}

int kymo_frame_told_here(struct kymo_frame_told *told, const struct kymo_walker *walker, struct kymo_error *error)
{
	const struct kymo_stack_frame *top = kymo_stack_top(&walker->stack);

	begin(told);
	told->is_there = true;
	told->code = top ? top->code : NULL;
	return add_block(told, walker) ? kymo_fail(error, -ENOMEM, "out of memory") : 0;
}

int kymo_frame_told_read(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level,
			 struct kymo_position place, struct kymo_position limit, struct kymo_frame_told *told,
			 struct kymo_error *error)
{
	struct kymo_stack_frame current = {.entered = {0}};
	struct kymo_moment before = kymo_chunk_begin(replay->index, chunk);
	bool is_known = false, is_passed = !place.n, is_leaving = false, is_begin = true;
	struct kymo_walker walker;
	int result;

	begin(told);
	told->is_there = is_passed;
	before.at = (struct kymo_position){chunk->first_n - 1, 0};
	kymo_walk(replay, &walker, chunk);
	while ((result = kymo_walk_next(&walker, chunk, error)) > 0) {
		const struct kymo_moment here = kymo_moment_of(replay->timeline, &walker.event);
		bool is_gap = walker.event.kind == KYMO_EVENT_GAP, has_level = kymo_stack_depth(&walker.stack) >= level;
		const struct kymo_stack_frame *frame = frame_at(&walker, level);
		bool is_new = frame && is_entered_by(frame, &walker.event);

		if (kymo_position_compare(here.at, limit) > 0)
			break;
		if (!has_level || is_new || (frame && is_known && !is_same_frame(frame, &current))) {
			if (is_passed && told->is_there) {
				told->has_last = is_leaving || !is_gap;
				told->is_lost = !told->has_last;
				told->last = before;
				break;
			}
			forget(told);
			told->is_lost = is_gap;
			is_known = false;
		}
		if (has_level) {
			if (!told->is_there && (is_new || !is_begin))
				told->first = here;
			told->is_there = true;
			told->has_first |= is_new;
		}
		if (frame) {
			current = *frame;
			is_known = true;
			told->code = frame->code;
		}
		is_leaving = walker.stack.is_leaving && kymo_stack_depth(&walker.stack) == level;
		if (frame && frame == kymo_stack_top(&walker.stack)) {
			told->has_ran_line |= walker.event.kind == KYMO_LINE;
			if (walker.event.values.bytes && add_block(told, &walker)) {
				result = kymo_fail(error, -ENOMEM, "out of memory");
				break;
			}
		}
		is_passed |= kymo_position_compare(here.at, place) >= 0;
		before = here;
		is_begin = false;
	}
	kymo_walker_release(&walker);
	/* The event that leaves it may be the last of all. */
	if (is_passed && is_leaving && told->is_there && !told->last.at.n) {
		told->has_last = true;
		told->last = before;
	}
	return result < 0 ? result : 0;
}

const struct kymo_chunk_summary *kymo_chunk_of_entry(const struct kymo_replay *replay, const struct kymo_chunk_summary *chunk,
						     uint64_t level)
{
	const struct kymo_chunk_summary *found = level > 1 ? kymo_find_level(replay, chunk, level - 1) : NULL;

	return found ? found : kymo_first_chunk(replay, chunk->stream);
}
