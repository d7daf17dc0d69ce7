// SPDX-License-Identifier: Apache-2.0
/*
 * The values of the variables of one thread, token by token.
 *
 * For each value, its hash and the event that recorded it are kept. Records contain changes or all variables; the resulting values
 * are compared.
 */
#ifndef KYMO_REPLAY_DIFF_VALUE_SIDE_H
#define KYMO_REPLAY_DIFF_VALUE_SIDE_H

#include "replay/diff/likeness.h"
#include "replay/diff/thread_tree.h"
#include "replay/decode/walker.h"

struct kymo_variable_state {
	uint64_t key;	/* of its name: the same on both sides; 0: the event's own value */
	uint64_t name;	/* as format/value.h has it */
	uint64_t hash;
	struct kymo_position told; /* by this event */
	uint64_t index; /* of that event's token among those that were gone through */
	int32_t line;	/* that the frame ran before, which set it; or KYMO_LINE_NONE */
	uint8_t kind;	/* enum kymo_value_kind */
	bool may_be_stale;
	bool has_time; /* it is, or holds, a time at which a clock was read */
};

struct kymo_value_frame {
	uint32_t code; /* in kymo_side.codes; 0: not known */
	int32_t line;  /* that it runs */
	size_t first;  /* of its variables; those of the frame on top go on to the end */
};

/* A token with its recorded values: bindings of value_side.told. */
struct kymo_value_token {
	struct kymo_token is;
	uint32_t first, count;
	bool is_whole;
};

struct kymo_value_side {
	struct kymo_forest *forest;
	const struct kymo_thread_tree *tree;
	struct kymo_owner owner;
	bool has_arguments_alone; /* variables are recorded where a call begins, not when they change */
	bool wants_none; /* tokens alone, from the next part on */
	/* the token that was taken last: kymo_value_side_next() */
	struct kymo_value_token token;
	uint64_t index; /* its number, from 1 */
	uint64_t lines; /* so many LINE up to it */
	struct kymo_variable_state own; /* its own value; told.n is 0 where it has none */
	struct kymo_value_frame *frames; /* as many as its depth is */
	size_t frame_count, frame_capacity;
	struct kymo_variable_state *variables;
	size_t variable_count, variable_capacity;
	uint64_t values; /* that were read */
	/* a part of the tokens that follow */
	struct kymo_token_walking walking;
	struct kymo_token_walk *walk;
	struct kymo_value_token *tokens;
	size_t token_count, token_capacity, at;
	struct kymo_variable_state *told;
	size_t told_count, told_capacity;
	struct kymo_value_tree values_tree;
	struct kymo_known_key {
		const struct kymo_code *code;
		uint64_t name, key;
	} keys[256]; /* those that were asked for last */
	bool pauses, is_over, is_short;
};

/* Begin with @first_chunk of @tree's thread (in index.chunks).  0 or -ENOMEM, reported.  Release it in any case; it must not be moved. */
KYMO_MUST_CHECK
int kymo_value_side_open(struct kymo_value_side *side, struct kymo_forest *forest, const struct kymo_thread_tree *tree,
			 size_t first_chunk, const char *const *ignored, struct kymo_error *error);
void kymo_value_side_release(struct kymo_value_side *side);

/* Take the next token.  1; 0: there is none; or a negative errno. */
KYMO_MUST_CHECK
int kymo_value_side_next(struct kymo_value_side *side, struct kymo_error *error);

/* The token that comes next; NULL: there is none.  0 or a negative errno. */
KYMO_MUST_CHECK
int kymo_value_side_peek(struct kymo_value_side *side, const struct kymo_token **token, struct kymo_error *error);
/* A frame that the token leaves is gone, as with the next one. */
void kymo_value_side_leave(struct kymo_value_side *side);

const struct kymo_value_frame *kymo_value_side_top(const struct kymo_value_side *side);
/* The variable of the frame on top; NULL: it is not known. */
const struct kymo_variable_state *kymo_value_side_find(const struct kymo_value_side *side, uint64_t key);

/* A variable of the frame on top has such a time. */
bool kymo_value_side_has_time(const struct kymo_value_side *side);

/* What the event at @at tells is of the frame on top, too.  0 or a negative errno. */
KYMO_MUST_CHECK
int kymo_value_side_add(struct kymo_value_side *side, struct kymo_position at, struct kymo_error *error);

/* A value that was told, read again. */
struct kymo_told_value {
	struct kymo_walker walker;
	struct kymo_value_tree tree;
	const struct kymo_code *code; /* of its event */
	unsigned event_kind;
	uint32_t number; /* 0: it is not there */
};

KYMO_MUST_CHECK
int kymo_told_value_read(struct kymo_told_value *value, const struct kymo_index *index, size_t stream,
			 const struct kymo_variable_state *state, struct kymo_error *error);
void kymo_told_value_release(struct kymo_told_value *value);

#endif
