// SPDX-License-Identifier: Apache-2.0
/*
 * Going once through all that a trace holds, stream by stream, for who counts what happened.
 *
 * In a `flow` recording lines are not expanded: what a record leads to is counted as a whole, as a move, and whoever counts
 * takes the moves' hits when it wants them.  Only records that are new, or rare, are told one by one.
 */
#ifndef KYMO_REPLAY_DECODE_PASS_H
#define KYMO_REPLAY_DECODE_PASS_H

#include "replay/decode/rebuild.h"
#include "replay/decode/walker.h"

struct kymo_passed_chunk {
	size_t stream; /* in kymo_timeline.streams */
	size_t chunk;  /* of the stream */
	uint64_t first_n; /* of its first event, or of a gap before that */
	uint64_t last_n;  /* of its last; of chunks told event by event, @first_n */
	uint64_t slice;	  /* of the GIL's turns, the one that it begins in; 0: not known */
	int64_t t_ns;	  /* when it began, at the earliest */
	uint32_t interpreter;
	bool is_missing; /* events before it are */
};

struct kymo_pass;

/* Whom a pass tells.  Those that return an int end the pass by what is not 0. */
struct kymo_passing {
	/* A chunk begins, with the stack @sync. */
	void (*begin_chunk)(struct kymo_pass *pass, const struct kymo_passed_chunk *chunk, const struct kymo_sync *sync);
	int (*end_chunk)(struct kymo_pass *pass);
	/* Its next event; after these it is told nothing of records. */
	int (*event)(struct kymo_pass *pass, const struct kymo_walker *walker);
	/* A record that was not counted as a move.  @rebuilt: what it leads to; NULL: it is no event.  @record is NULL at the
	 * beginning of a chunk, where steps may be told alone. */
	void (*record)(struct kymo_pass *pass, const struct kymo_record *record, const struct kymo_rebuilt *rebuilt);
};

struct kymo_pass {
	struct kymo_timeline *timeline;
	const struct kymo_passing *tell;
	void *context; /* of who is told */
	struct kymo_error *error;
	struct kymo_counting counting; /* hits of moves, to be taken; lowest_depth is that of this chunk */
	/* where it is, while records are told */
	const struct kymo_rebuild *rebuild;
	uint64_t slice, clock;
	uint32_t interpreter;
	bool is_damaged; /* the rest of the chunk cannot be read */
};

/* Go through the trace.  0, what one that was told has returned, or a negative errno with pass->error filled. */
KYMO_MUST_CHECK
int kymo_pass_run(struct kymo_pass *pass);
void kymo_pass_release(struct kymo_pass *pass);

#endif
