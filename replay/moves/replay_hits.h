// SPDX-License-Identifier: Apache-2.0
/* Hits of a replay's breaks, for callers that do not stop at them. */
#ifndef KYMO_REPLAY_MOVES_REPLAY_HITS_H
#define KYMO_REPLAY_MOVES_REPLAY_HITS_H

#include "replay/moves/replay.h"

/* Before all moments of a run, and after them. */
struct kymo_moment kymo_before_all(void);
struct kymo_moment kymo_after_all(void);

/* The first hit of any break after @now in any thread, or the last one before it, to @found. 1; 0: there is none. */
KYMO_MUST_CHECK
int kymo_replay_hit_after(struct kymo_replay *replay, const struct kymo_moment *now, struct kymo_moment *found,
			  struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_replay_hit_before(struct kymo_replay *replay, const struct kymo_moment *now, struct kymo_moment *found,
			   struct kymo_error *error);

/* Hits from @first to @last, thread by thread, and in order within each. */
struct kymo_hits_asked {
	struct kymo_moment first, last;
	bool with_first, with_last; /* else only those between them */
	/*
	 * Called at a hit of @at, where @walker stands; @hits as in kymo_break.wants. False: nothing more is wanted from this thread. If an
	 * event hits several breaks, only the first is reported.
	 */
	bool (*on_hit)(void *context, const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits);
	void *context;
};
KYMO_MUST_CHECK
int kymo_replay_each_hit(struct kymo_replay *replay, const struct kymo_hits_asked *asked, struct kymo_error *error);

#endif
