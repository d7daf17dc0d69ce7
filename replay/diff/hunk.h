// SPDX-License-Identifier: Apache-2.0
/* The items between two places where aligned activations did the same, and how to classify them. */
#ifndef KYMO_REPLAY_DIFF_HUNK_H
#define KYMO_REPLAY_DIFF_HUNK_H

#include "replay/diff/comparison.h"

struct kymo_hunk_side {
	uint64_t items, lines, calls, rounds;
	struct kymo_item first, first_line, raise, passed_call;
	uint64_t last_line_key;
	uint32_t called[KYMO_CALLS_TOLD];
	uint32_t called_count;
	bool has_line, has_raise, has_passed_call, is_incomplete;
	bool has_any_raise;
	bool is_raise_first; /* nothing that a branch could have led to comes before it */
	bool has_ways; /* lines or branches */
};

/* Where two activations are, while they are gone through together. */
struct kymo_hunk {
	struct kymo_comparison *comparison;
	const struct kymo_pair *pair;
	uint32_t code[2];
	struct kymo_item common_line[2]; /* the last line that both ran */
	bool has_common_line;
	bool is_behind_exception; /* the last thing that both did is a call that an exception left, on one side or both */
	bool is_behind_library;	  /* and it is of a library, called by other code */
	bool has_missing[2];	  /* something is, from here or before on */
	bool is_behind_missing;	  /* the last thing that both did is a call in which something is missing, on one side or both */
	bool has_exception[2];	  /* an exception that the other does not have was reported: it may continue */
	struct kymo_item earlier[2][KYMO_LINES_BEFORE]; /* lines that both ran before that one, the last one first */
	struct kymo_moved {	  /* calls that one side alone made here: the other may make them later */
		struct kymo_item items[16];
		size_t count;
	} moved[2];
	struct kymo_hunk_side sides[2];
	struct kymo_item last_call[2];
	size_t aligned; /* number + 1 of the stretch of comparison->aligned that goes on; 0: none does */
	size_t outer; /* the last difference of this activation, or what is around it */
	bool is_unaligned;
};

void kymo_hunk_begin(struct kymo_hunk *hunk, struct kymo_comparison *comparison, const struct kymo_pair *pair);
/* @item is of side @side alone. */
KYMO_MUST_CHECK
int kymo_hunk_add(struct kymo_hunk *hunk, size_t side, const struct kymo_item *item);
/* What both did: @items are equal, or calls of the same function. */
KYMO_MUST_CHECK
int kymo_hunk_match(struct kymo_hunk *hunk, const struct kymo_item *left, const struct kymo_item *right);
/* The same of two blocks that are equal. */
KYMO_MUST_CHECK
int kymo_hunk_match_blocks(struct kymo_hunk *hunk, const struct kymo_block *left, const struct kymo_block *right);
/* Tell what there is; @next: what both did next, or NULL. */
KYMO_MUST_CHECK
int kymo_hunk_flush(struct kymo_hunk *hunk, const struct kymo_item *left_next, const struct kymo_item *right_next);

#endif
