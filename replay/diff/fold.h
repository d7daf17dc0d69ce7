// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens folded into activations: each gets a hash over its own tokens and the hashes of those that it called.
 *
 * An activation ends with the token that leaves it, or where a token shows that it is gone: one of a lower depth, an entry at its
 * depth, or one of another code object at its depth. A token deeper than the open activations opens the missing ones: they were on
 * the stack before the first token.
 */
#ifndef KYMO_REPLAY_DIFF_FOLD_H
#define KYMO_REPLAY_DIFF_FOLD_H

#include "replay/diff/tokens.h"

/* What kymo_activation.end is where no token left it. */
#define KYMO_CUT KYMO_TOKEN_MISSING

struct kymo_activation {
	uint64_t hash;
	struct kymo_position begin; /* its first token */
	struct kymo_position end;   /* the token that left it, or, where it was cut, the next one */
	uint64_t size; /* tokens, with all that it called */
	uint64_t own;  /* its own, each activation that it called counted as one */
	uint64_t entry; /* key of its ENTER; 0: it was found on the stack */
	uint32_t depth;
	uint32_t code; /* 0: not known */
	uint8_t left;  /* enum kymo_token_kind of its end, or KYMO_CUT */
	bool is_incomplete; /* something is missing in it */
	int32_t line; /* the first that ran */
	uint32_t number; /* for the code that keeps them */
};

/*
 * A stretch of one activation's items: its own tokens, and its calls. Its end is decided by its contents, so that equal stretches of
 * two activations are cut alike, whatever comes before them.
 */
struct kymo_block {
	struct kymo_position of; /* where its activation begins, and its depth */
	uint32_t depth;
	bool is_unwound; /* its last item is a call that an exception left */
	int32_t last_line; /* the last line that the activation ran in it; KYMO_LINE_NONE: none */
	uint64_t last_line_key;
	struct kymo_position last_line_at;
	struct kymo_position begin; /* the first token of its first item */
	struct kymo_position end;   /* of the first item behind it */
	uint64_t hash;
	uint64_t size;
	uint64_t items;
};

struct kymo_open_activation {
	struct kymo_activation is;
	struct kymo_block block;
};

struct kymo_fold {
	struct kymo_open_activation *open;
	size_t count, capacity;
	uint32_t base; /* depth of the activation that called those that are folded */
	void (*opened)(void *context, struct kymo_activation *activation); /* may be NULL */
	void (*closed)(void *context, const struct kymo_activation *activation);
	void (*cut)(void *context, const struct kymo_block *block); /* NULL: blocks are not wanted */
	void *context;
	bool is_short; /* of memory */
};

void kymo_fold_release(struct kymo_fold *fold);

/*
 * Take @token.  False: it is not below the base, and has closed all that was open; or it begins another activation on the first
 * level, if @is_single.
 */
bool kymo_fold_take(struct kymo_fold *fold, const struct kymo_token *token, bool is_single);
/* The same for the tokens of one run: see kymo_token_run. They are taken, or fold->is_short is set. */
void kymo_fold_take_run(struct kymo_fold *fold, const struct kymo_token *tokens, size_t count);
/* There are no more tokens. */
void kymo_fold_end(struct kymo_fold *fold);

#endif
