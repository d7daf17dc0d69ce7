// SPDX-License-Identifier: Apache-2.0
/*
 * Moments of a run: where one thread is, and where the others are at the same time.
 *
 * Threads that share a GIL are ordered exactly, by its turns. Where turns are not known, and between processes, the order is that of
 * time, within the error bounds.
 */
#ifndef KYMO_REPLAY_MOVES_MOMENT_H
#define KYMO_REPLAY_MOVES_MOMENT_H

#include "replay/index/index.h"
#include "replay/decode/stack.h"

/* Just after an event. */
struct kymo_moment {
	size_t stream; /* in kymo_timeline.streams */
	struct kymo_position at;
	int64_t t_ns;
	uint64_t slice; /* of the GIL of @interpreter; 0: not known */
	uint32_t interpreter;
};

struct kymo_moment kymo_moment_of(const struct kymo_timeline *timeline, const struct kymo_event *event);

/* < 0: @a comes before @b. */
int kymo_moment_compare(const struct kymo_timeline *timeline, const struct kymo_moment *a, const struct kymo_moment *b);

/* The last chunk of @stream that begins at @moment or before; NULL: none. */
const struct kymo_chunk_summary *kymo_moment_chunk(const struct kymo_index *index, size_t stream,
						   const struct kymo_moment *moment);
/* The moment at which @chunk begins. */
struct kymo_moment kymo_chunk_begin(const struct kymo_index *index, const struct kymo_chunk_summary *chunk);

/*
 * Write the last event of @stream at @moment or before it to @out. 1; 0: the thread has not begun; or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_moment_of_thread(const struct kymo_index *index, size_t stream, const struct kymo_moment *moment,
			  struct kymo_moment *out, struct kymo_error *error);

#endif
