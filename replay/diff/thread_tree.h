// SPDX-License-Identifier: Apache-2.0
/*
 * The first pass over a thread: the hash of its history, of every activation that is large, and what ran in each turn of the GIL.
 *
 * Small activations are not kept, but decoded again when needed. The limit grows with the run, so that a side keeps at most
 * KYMO_MAX_NODES.
 */
#ifndef KYMO_REPLAY_DIFF_THREAD_TREE_H
#define KYMO_REPLAY_DIFF_THREAD_TREE_H

#include "replay/diff/fold.h"

#define KYMO_MAX_NODES (1U << 20)

/* What a thread did in one turn of the GIL. */
#define KYMO_TURN_CODES 4
struct kymo_tree_turn {
	uint64_t slice;
	uint32_t interpreter;
	uint32_t last_code; /* where it was when the turn ended */
	int32_t last_line;
	uint32_t depth; /* then */
	uint32_t first_code;
	int32_t first_line;
	struct kymo_position begin, end;
	struct kymo_turn_code {
		uint32_t code; /* 0: no more */
		int32_t low, high; /* lines */
	} codes[KYMO_TURN_CODES]; /* of no library */
};

struct kymo_thread_tree {
	struct kymo_range range;
	size_t first_chunk, end_chunk; /* in index.chunks */
	struct kymo_chunk_depth *depths; /* by chunk of the stream */
	struct kymo_activation *nodes; /* the larger ones, callers before those that they called */
	size_t node_count, node_capacity;
	struct kymo_block *blocks; /* by activation, and in order */
	size_t block_count, block_capacity;
	uint64_t hash;
	uint64_t size, own;
	uint32_t first_code; /* what it began with */
	bool is_incomplete;
	struct kymo_tree_turn *turns;
	size_t turn_count, turn_capacity;
	bool has_more_turns; /* than were kept */
};

struct kymo_forest {
	struct kymo_side side;
	struct kymo_thread_tree *trees; /* by stream */
	size_t tree_count;
	uint64_t smallest; /* activation that is kept, in tokens */
	size_t node_count;
};

/* Go through @tree's thread, of which the range is set. */
KYMO_MUST_CHECK
int kymo_thread_tree_make(struct kymo_forest *forest, struct kymo_thread_tree *tree, struct kymo_error *error);
void kymo_thread_tree_release(struct kymo_thread_tree *tree);

/* The activation on @depth that begins at @begin; NULL: it was not kept. */
const struct kymo_activation *kymo_thread_tree_find(const struct kymo_thread_tree *tree, struct kymo_position begin,
						    uint32_t depth);
/* The blocks of that activation, and how many; NULL: it has none. */
const struct kymo_block *kymo_thread_tree_blocks(const struct kymo_thread_tree *tree, struct kymo_position begin,
						 uint32_t depth, size_t *count);

#endif
