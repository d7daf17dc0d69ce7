// SPDX-License-Identifier: Apache-2.0
/*
 * The events of one thread from any of its chunks on, each with the call stack.
 *
 * What a chunk's sync block says of the frame on top is enough to go on, not to know how it came there.  So a walker
 * reads the chunk before, too, unless something is missing in between; what it tells of a chunk is then the same wherever
 * it began, but for what frames below the top were about to do that had an exception on its way: this is UNKNOWN.
 */
#ifndef KYMO_REPLAY_WALKER_H
#define KYMO_REPLAY_WALKER_H

#include "replay/stack.h"
#include "replay/thread_cursor.h"

struct kymo_walker {
	struct kymo_cursor cursor;
	struct kymo_stack stack;
	size_t first_chunk; /* of the stream: events before it are not told */
	/* what kymo_walker_next() found */
	struct kymo_event event;
	size_t chunk; /* of the stream: of copies, the one that was read */
	bool is_passed_on;   /* it is the RAISE of an exception that has just left the frame above */
	bool has_unwound;    /* one has, of this type */
	uint64_t unwound;
};

/* To before the first event of @chunk of @stream.  What @walker holds must be released. */
void kymo_walker_open(struct kymo_walker *walker, struct kymo_timeline *timeline, const struct kymo_stream *stream,
		      size_t chunk);
void kymo_walker_release(struct kymo_walker *walker);

/* Go to the next event.  1; 0 at the end; a negative errno when memory or the disk fails. */
KYMO_MUST_CHECK
int kymo_walker_next(struct kymo_walker *walker, struct kymo_error *error);

#endif
