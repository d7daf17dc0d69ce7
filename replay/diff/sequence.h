// SPDX-License-Identifier: Apache-2.0
/*
 * What one activation did itself, in order: its lines, branches and exceptions, and each call that it made as one item.
 *
 * Large calls are skipped with the results of the first pass; small ones are folded again.
 */
#ifndef KYMO_REPLAY_DIFF_SEQUENCE_H
#define KYMO_REPLAY_DIFF_SEQUENCE_H

#include "replay/diff/pages.h"

struct kymo_item {
	uint64_t key;	/* of a call: its hash */
	uint64_t alike; /* the same for all calls of one function in one line; else the key */
	struct kymo_position at;
	struct kymo_position end; /* of a call: see kymo_activation.end */
	uint64_t size; /* in tokens */
	int32_t line; /* of a call: the line of the caller; or KYMO_LINE_NONE */
	uint32_t code; /* of a call: the one that was called */
	uint32_t depth; /* of a call: its */
	uint8_t kind; /* enum kymo_token_kind; KYMO_TOKEN_ENTER is a call; the last one is the end, or KYMO_CUT */
	uint8_t left; /* of a call: how, as kymo_activation.left */
	bool is_incomplete; /* something is missing in it */
	bool is_passed_on; /* of RAISE: it came out of the call before */
	bool is_end;
};

struct kymo_sequence {
	struct kymo_pages *pages;
	const struct kymo_thread_tree *tree;
	struct kymo_page *page; /* NULL: at the end of what the thread did */
	size_t at; /* in the page */
	bool is_ahead; /* it goes on at @ahead instead: that page is not needed while blocks are passed over */
	struct kymo_position ahead;
	uint32_t depth, code;
	int32_t line; /* where it is */
	uint64_t line_key;
	bool is_begun, is_over;
	bool is_unwound; /* the item before is a call that an exception left */
	struct kymo_fold fold;
	struct kymo_activation closed;
	const struct kymo_block *block, *blocks_end; /* those that are still to come */
};

/* The activation on @depth that begins at @begin; depth 0: all that the thread did. */
KYMO_MUST_CHECK
int kymo_sequence_open(struct kymo_sequence *sequence, struct kymo_pages *pages, const struct kymo_thread_tree *tree,
		       struct kymo_position begin, uint32_t depth, struct kymo_error *error);
void kymo_sequence_close(struct kymo_sequence *sequence);

/* The next item.  1; 0: it was the last; a negative errno. */
KYMO_MUST_CHECK
int kymo_sequence_next(struct kymo_sequence *sequence, struct kymo_item *item, struct kymo_error *error);

/* The block that the next item begins, if it is known where that ends; or NULL. */
const struct kymo_block *kymo_sequence_block(struct kymo_sequence *sequence);
/* Pass over it. */
void kymo_sequence_skip(struct kymo_sequence *sequence, const struct kymo_block *block);

#endif
