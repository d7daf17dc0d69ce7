// SPDX-License-Identifier: Apache-2.0
/*
 * The call stack of one thread, followed from event to event.
 *
 * A frame is on the stack from the event that enters it to the one that leaves it, inclusive. A chunk's sync block takes precedence;
 * frames that are unchanged in it keep what is known of them.
 */
#ifndef KYMO_REPLAY_DECODE_STACK_H
#define KYMO_REPLAY_DECODE_STACK_H

#include "format/record.h"
#include "replay/decode/thread_cursor.h"

/* An event's place in its thread: see kymo_event.n and .k.  n is 0: none, or before what was read. */
struct kymo_position {
	uint64_t n;
	uint32_t k;
};

static inline struct kymo_position kymo_position_of(const struct kymo_event *event)
{
	return (struct kymo_position){event->n, event->k};
}

/* < 0: @a comes before @b. A rebuilt event comes before the recorded event of its ordinal. */
static inline int kymo_position_compare(struct kymo_position a, struct kymo_position b)
{
	uint32_t left = a.k - 1, right = b.k - 1;

	if (a.n != b.n)
		return a.n < b.n ? -1 : 1;
	return left < right ? -1 : left > right;
}

struct kymo_stack_frame {
	uint64_t code_id;
	const struct kymo_code *code;	/* NULL: not defined */
	int64_t line;			/* or KYMO_LINE_NONE */
	struct kymo_position entered;	/* by this event */
	struct kymo_position line_at;	/* its last LINE, or where something is missing */
	struct kymo_position before;	/* the one before that */
};

struct kymo_stack {
	struct kymo_stack_frame *frames; /* outermost first */
	uint32_t count;
	size_t capacity;
	uint64_t hidden; /* frames below these, of which nothing is known */
	bool is_leaving; /* the last event was the last one of the frame on top */
	bool has_no_lines; /* the recording has no LINE: the place of a frame is known at its own events only */
	struct kymo_position missing; /* something is missing up to here: the stack is yet to come */
};

void kymo_stack_release(struct kymo_stack *stack);

/* Frames that run or wait, the one on top included. */
static inline uint64_t kymo_stack_depth(const struct kymo_stack *stack)
{
	return stack->hidden + stack->count;
}

/* The same without the one that the last event left. */
static inline uint64_t kymo_stack_left(const struct kymo_stack *stack)
{
	uint64_t depth = kymo_stack_depth(stack);

	return stack->is_leaving && depth ? depth - 1 : depth;
}

static inline struct kymo_stack_frame *kymo_stack_top(const struct kymo_stack *stack)
{
	return stack->count ? &stack->frames[stack->count - 1] : NULL;
}

/* True for events at which a debugger stops: LINE, and where something is missing. */
bool kymo_is_stop(const struct kymo_event *event);

/*
 * Apply @event. @sync is the stack of a KYMO_EVENT_STACK. 0 or -ENOMEM, which leaves the stack as it was.
 */
KYMO_MUST_CHECK
int kymo_stack_take(struct kymo_stack *stack, const struct kymo_event *event, const struct kymo_sync *sync);

/* The same for a skipped event; without memory it is left out. */
void kymo_stack_skip(struct kymo_stack *stack, const struct kymo_stream *stream, const struct kymo_skipped *skipped,
		     const struct kymo_sync *sync);

#endif
