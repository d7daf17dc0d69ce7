// SPDX-License-Identifier: Apache-2.0
/* The lines that a way of a branch leads to: up to the next branch, or out of the code object. */
#ifndef KYMO_REPLAY_COVERAGE_BRANCH_TRAIL_H
#define KYMO_REPLAY_COVERAGE_BRANCH_TRAIL_H

#include "replay/coverage/content_counts.h"

/* Lines of trails, one after the other; zero it before the first. */
struct kymo_trails {
	uint32_t *lines;
	size_t count, capacity;
	/* by unit: the last trail that visited it */
	uint32_t *seen;
	size_t seen_capacity;
	uint32_t trail;
};

/*
 * Add the lines of the instructions from @unit on, without repeats in a row: through jumps, to the next branch with its own line, to
 * a return or raise (*@is_exit), or to a unit visited before. At most KYMO_MAX_TRAIL of them. 0 or -ENOMEM.
 */
#define KYMO_MAX_TRAIL 1024U
KYMO_MUST_CHECK
int kymo_trail_follow(struct kymo_trails *trails, const struct kymo_content_counts *of, uint32_t unit, bool *is_exit);
void kymo_trails_release(struct kymo_trails *trails);

#endif
