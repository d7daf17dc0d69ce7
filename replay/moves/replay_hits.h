// SPDX-License-Identifier: Apache-2.0
/* Hits of a replay's breaks, for who does not stop at them. */
#ifndef KYMO_REPLAY_MOVES_REPLAY_HITS_H
#define KYMO_REPLAY_MOVES_REPLAY_HITS_H

#include "replay/moves/replay.h"

/* Before all moments of a run, and after them. */
struct kymo_moment kymo_before_all(void);
struct kymo_moment kymo_after_all(void);

/* The first hit of any break after @now in any thread; the last one before it.  1: @found is it; 0: there is none. */
KYMO_MUST_CHECK
int kymo_replay_hit_after(struct kymo_replay *replay, const struct kymo_moment *now, struct kymo_moment *found,
			  struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_replay_hit_before(struct kymo_replay *replay, const struct kymo_moment *now, struct kymo_moment *found,
			   struct kymo_error *error);

/* Hits from @first to @last, in order within each thread, and thread after thread. */
struct kymo_hits_asked {
	struct kymo_moment first, last;
	bool with_first, with_last; /* and not only between them */
	/*
	 * Told of a hit of @at, at which @walker stands; @hits as kymo_break.wants has it.  False: enough of this
	 * thread. Of breaks that are hit by the same event, the first one is told.
	 */
	bool (*on_hit)(void *context, const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits);
	void *context;
};
KYMO_MUST_CHECK
int kymo_replay_each_hit(struct kymo_replay *replay, const struct kymo_hits_asked *asked, struct kymo_error *error);

#endif
