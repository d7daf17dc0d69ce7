// SPDX-License-Identifier: Apache-2.0
/*
 * The shortest way to make one sequence of keys of another: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations",
 * Algorithmica 1 (1986), 251-266, the greedy algorithm of its section 3.
 *
 * It keeps to a band: after @limit differences it stops, and the path that came furthest is the alignment.
 */
#ifndef KYMO_REPLAY_DIFF_ALIGN_H
#define KYMO_REPLAY_DIFF_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "format/error.h"

#define KYMO_UNALIGNED SIZE_MAX

struct kymo_alignment {
	size_t *pairs; /* for each key on the left, its match on the right; or KYMO_UNALIGNED */
	size_t pair_capacity;
	size_t left, right; /* number of aligned keys of each */
	size_t matches;	    /* number of pairs among them */
	uint64_t steps; /* total number of steps */
	/* the furthest points for each number of differences */
	uint32_t *trace;
	size_t trace_capacity;
};

/* Lists of keys: element i is at base + i * stride bytes. */
struct kymo_keys {
	const void *base;
	size_t count, stride;
};

/* 0 or -ENOMEM.  @limit: at least 1. */
KYMO_MUST_CHECK
int kymo_align(struct kymo_alignment *alignment, struct kymo_keys left, struct kymo_keys right, uint32_t limit);
void kymo_alignment_release(struct kymo_alignment *alignment);

/*
 * The nearest place where @run keys in a row are the same in both: the first @left_at + @right_at that is smallest.  1: found; 0; or
 * -ENOMEM.
 */
KYMO_MUST_CHECK
int kymo_find_anchor(struct kymo_keys left, struct kymo_keys right, size_t run, size_t *left_at, size_t *right_at);

#endif
