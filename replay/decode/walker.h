// SPDX-License-Identifier: Apache-2.0
/*
 * The events of one thread, from any of its chunks on, each with the call stack.
 *
 * A chunk's sync block says enough of the frame on top to continue, but not how it came there, and of a deep stack it lists only the
 * innermost frames. So a walker may begin in an earlier chunk, whose events it does not return.
 */
#ifndef KYMO_REPLAY_DECODE_WALKER_H
#define KYMO_REPLAY_DECODE_WALKER_H

#include "replay/decode/stack.h"
#include "replay/decode/thread_cursor.h"

struct kymo_walker {
	struct kymo_cursor cursor;
	struct kymo_stack stack;
	size_t first_chunk; /* of the stream: events before it are not returned */
	bool is_listed; /* its sync block lists the whole stack: the stack before does not matter */
	/* result of kymo_walker_next() */
	struct kymo_event event;
	size_t chunk; /* of the stream: of copies, the one that was read */
	bool is_passed_on;   /* it is the RAISE of an exception that just left the frame above */
	bool has_unwound;    /* an exception of this type just left a frame */
	uint64_t unwound;
	bool is_under_way;   /* the event before is known, so these two are valid */
};

/*
 * Open before the first event of @chunk of @stream, reading from the chunk @lead on, which is the same or an earlier one. What
 * @walker holds must have been released.
 */
void kymo_walker_open(struct kymo_walker *walker, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		      size_t chunk, size_t lead);
void kymo_walker_release(struct kymo_walker *walker);
/* A copy at the position of @from, to be released as well. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_walker_copy(struct kymo_walker *walker, const struct kymo_walker *from);

/* Go to the next event.  1; 0 at the end; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_walker_next(struct kymo_walker *walker, struct kymo_error *error);

/*
 * Skip what comes before event @n and what was rebuilt before it, within the chunk of the last event. walker->event is undefined
 * until the next one.
 */
void kymo_walker_skip(struct kymo_walker *walker, uint64_t n);
/*
 * The ordinal of the next recorded event of the chunk that leaves at most @depth frames on the stack; UINT64_MAX: none. No part of
 * the last event may be pending, and afterwards @walker can only be released.
 */
uint64_t kymo_walker_find_depth(struct kymo_walker *walker, uint64_t depth);

#endif
