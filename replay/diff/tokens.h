// SPDX-License-Identifier: Apache-2.0
/*
 * The history of one thread as tokens that can be compared between the sides.
 *
 * A token says what happened in which frame, by its depth among the frames that are shown: entries and ends of activations,
 * lines, ways of branches, exceptions.  Its key holds no number of this run.  Nothing else of a trace is compared.
 */
#ifndef KYMO_REPLAY_DIFF_TOKENS_H
#define KYMO_REPLAY_DIFF_TOKENS_H

#include "replay/diff/side.h"
#include "replay/decode/stack.h"

enum kymo_token_kind {
	KYMO_TOKEN_ENTER, /* a call, or a generator or coroutine that is resumed */
	KYMO_TOKEN_LINE,
	KYMO_TOKEN_BRANCH,
	KYMO_TOKEN_RAISE,
	KYMO_TOKEN_RETURN,
	KYMO_TOKEN_YIELD,
	KYMO_TOKEN_UNWIND,
	KYMO_TOKEN_RERAISE, /* an exception goes on, behind a finally or with */
	KYMO_TOKEN_MISSING, /* a gap, or what cannot be rebuilt; equal to nothing */
};

/* Of a token that belongs to whatever frame is on top. */
#define KYMO_ANY_DEPTH UINT32_MAX

struct kymo_token {
	uint64_t key;
	uint64_t n;
	int32_t line; /* or KYMO_LINE_NONE */
	uint32_t depth; /* from 1 */
	uint32_t code; /* in kymo_side.codes */
	uint32_t k : 24;
	uint32_t kind : 8; /* enum kymo_token_kind */
};

static inline struct kymo_position kymo_token_position(const struct kymo_token *token)
{
	return (struct kymo_position){token->n, token->k};
}

static inline bool kymo_token_leaves(const struct kymo_token *token)
{
	return token->kind == KYMO_TOKEN_RETURN || token->kind == KYMO_TOKEN_YIELD || token->kind == KYMO_TOKEN_UNWIND;
}

/* The part of a thread that is compared: its events behind @after and before @before. */
struct kymo_range {
	size_t stream; /* in kymo_timeline.streams */
	uint64_t after, before;
};

/* What must be known to begin with a chunk: how deep its first event is among the frames that are shown. */
struct kymo_chunk_depth {
	uint32_t depth;
	bool is_left_out;
	bool is_known;
};

/* Tokens that follow each other: one, or several lines and branches of one frame in one turn of the GIL. */
struct kymo_token_run {
	const struct kymo_token *tokens;
	size_t count;
	uint64_t slice; /* number of the turn; 0: not known */
	uint32_t interpreter;
	const struct kymo_values *values; /* of the only token, during the call; NULL: none, or not wanted */
	const struct kymo_code *values_code; /* that names them; NULL: not known */
};
/* False: no more. */
typedef bool (*kymo_token_taker)(void *context, const struct kymo_token_run *run);

struct kymo_token_walking {
	const struct kymo_side *side;
	struct kymo_range range;
	size_t first_chunk, end_chunk; /* in index.chunks */
	struct kymo_chunk_depth *depths; /* by chunk of the stream, from its first on; unknown ones are filled in */
	kymo_token_taker take;
	void *context;
	bool has_values; /* they are wanted */
	const bool *pauses; /* kymo_tokens_go_on() returns soon after @take has set it; may be NULL */
};

/* Pass on all tokens of these chunks in the range. 0 or a negative errno. */
KYMO_MUST_CHECK
int kymo_tokens_walk(const struct kymo_token_walking *walking, struct kymo_error *error);

/* The same in parts.  @walking must outlive the walk.  NULL: no memory. */
struct kymo_token_walk *kymo_tokens_open(const struct kymo_token_walking *walking);
/* 1: it pauses; 0: that was all; or a negative errno. */
KYMO_MUST_CHECK
int kymo_tokens_go_on(struct kymo_token_walk *walk, struct kymo_error *error);
void kymo_tokens_close(struct kymo_token_walk *walk);

#endif
