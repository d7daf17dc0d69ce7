// SPDX-License-Identifier: Apache-2.0
/*
 * The events of one thread from any of its chunks on, each with the call stack.
 *
 * What a chunk's sync block says of the frame on top is enough to go on, but not to rebuild how it came there, and of a deep
 * stack it lists only the innermost frames.  So a walker may begin in an earlier chunk, of which nothing is told.
 */
#ifndef KYMO_REPLAY_DECODE_WALKER_H
#define KYMO_REPLAY_DECODE_WALKER_H

#include "replay/decode/stack.h"
#include "replay/decode/thread_cursor.h"

struct kymo_walker {
	struct kymo_cursor cursor;
	struct kymo_stack stack;
	size_t first_chunk; /* of the stream: events before it are not told */
	bool is_listed; /* its sync block lists the whole stack: what was on it before does not matter */
	/* what kymo_walker_next() found */
	struct kymo_event event;
	size_t chunk; /* of the stream: of copies, the one that was read */
	bool is_passed_on;   /* it is the RAISE of an exception that has just left the frame above */
	bool has_unwound;    /* one has, of this type */
	uint64_t unwound;
	bool is_under_way;   /* the event before is known, as far as these are concerned */
};

/*
 * To before the first event of @chunk of @stream, beginning with the chunk @lead, which is that one or before it.  What
 * @walker holds must be released.
 */
void kymo_walker_open(struct kymo_walker *walker, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		      size_t chunk, size_t lead);
void kymo_walker_release(struct kymo_walker *walker);
/* Another that stands where @from does, to be released, too.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_walker_copy(struct kymo_walker *walker, const struct kymo_walker *from);

/* Go to the next event.  1; 0 at the end; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_walker_next(struct kymo_walker *walker, struct kymo_error *error);

/*
 * Pass over what comes before event @n and what was rebuilt before it, as far as the chunk of the last event has it.
 * walker->event says nothing until the next one.
 */
void kymo_walker_skip(struct kymo_walker *walker, uint64_t n);
/*
 * The ordinal of the next recorded event, as far as the chunk has it, that leaves at most @depth frames on the stack;
 * UINT64_MAX: none does.  Nothing of the last event may be left to tell, and @walker is good for nothing but its release then.
 */
uint64_t kymo_walker_find_depth(struct kymo_walker *walker, uint64_t depth);

#endif
