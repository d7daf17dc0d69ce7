// SPDX-License-Identifier: Apache-2.0
/*
 * One pass over all of a trace, stream by stream, for counting.
 *
 * In a `flow` recording lines are not expanded: what a record leads to is counted as a whole, as a move, and the counting code takes
 * the moves' hits when it wants them. Only new or rare records are passed on one by one.
 */
#ifndef KYMO_REPLAY_DECODE_PASS_H
#define KYMO_REPLAY_DECODE_PASS_H

#include "replay/decode/rebuild.h"
#include "replay/decode/walker.h"

struct kymo_passed_chunk {
	size_t stream; /* in kymo_timeline.streams */
	size_t chunk;  /* of the stream */
	uint64_t first_n; /* of its first event, or of a gap before that */
	uint64_t last_n;  /* of its last; of chunks passed on event by event, @first_n */
	uint64_t slice;	  /* the GIL's turn in which it begins; 0: not known */
	int64_t t_ns;	  /* when it began, earliest possible time */
	uint32_t interpreter;
	bool is_missing; /* events before it are missing */
};

struct kymo_pass;

/* The callbacks of a pass. A nonzero return of those that return an int ends the pass. */
struct kymo_passing {
	/* A chunk begins, with the stack @sync. */
	void (*begin_chunk)(struct kymo_pass *pass, const struct kymo_passed_chunk *chunk, const struct kymo_sync *sync);
	int (*end_chunk)(struct kymo_pass *pass);
	/* Its next event; for such a chunk there are no calls for records. */
	int (*event)(struct kymo_pass *pass, const struct kymo_walker *walker);
	/*
	 * A record that was not counted as a move. @rebuilt: what it leads to; NULL: not an event. @record is NULL at the beginning of a
	 * chunk, where there may be steps alone.
	 */
	void (*record)(struct kymo_pass *pass, const struct kymo_record *record, const struct kymo_rebuilt *rebuilt);
};

struct kymo_pass {
	struct kymo_timeline *timeline;
	const struct kymo_passing *tell;
	void *context; /* argument of the callbacks */
	struct kymo_error *error;
	struct kymo_counting counting; /* hits of moves, for the callbacks to take; lowest_depth is that of this chunk */
	/* its position, during calls for records */
	const struct kymo_rebuild *rebuild;
	uint64_t slice, clock;
	uint32_t interpreter;
	bool is_damaged; /* the rest of the chunk cannot be read */
};

/* Run the pass. 0, what a callback returned, or a negative errno with pass->error filled. */
KYMO_MUST_CHECK
int kymo_pass_run(struct kymo_pass *pass);
void kymo_pass_release(struct kymo_pass *pass);

#endif
