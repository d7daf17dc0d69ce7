// SPDX-License-Identifier: Apache-2.0
/* Where a way of a branch leads, in lines: up to the next branch, or out of the code object. */
#ifndef KYMO_REPLAY_COVERAGE_BRANCH_TRAIL_H
#define KYMO_REPLAY_COVERAGE_BRANCH_TRAIL_H

#include "replay/coverage/content_counts.h"

/* Lines of trails, one behind the other; zero it before the first. */
struct kymo_trails {
	uint32_t *lines;
	size_t count, capacity;
	/* by unit: the last trail that came by */
	uint32_t *seen;
	size_t seen_capacity;
	uint32_t trail;
};

/*
 * Add the lines of the instructions from @unit on, each once in a row: through jumps, to the next branch with its own line, or
 * to a return or raise (*@is_exit), or to where it comes by again.  At most KYMO_MAX_TRAIL of them.  0 or -ENOMEM.
 */
#define KYMO_MAX_TRAIL 1024U
KYMO_MUST_CHECK
int kymo_trail_follow(struct kymo_trails *trails, const struct kymo_content_counts *of, uint32_t unit, bool *is_exit);
void kymo_trails_release(struct kymo_trails *trails);

#endif
