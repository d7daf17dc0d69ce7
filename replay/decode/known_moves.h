// SPDX-License-Identifier: Apache-2.0
/*
 * A cache of how frames continue: from a state, by a record, over some steps, to another state. What is not in it, or does not fit
 * in it, is worked out from the bytecode again.
 */
#ifndef KYMO_REPLAY_DECODE_KNOWN_MOVES_H
#define KYMO_REPLAY_DECODE_KNOWN_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rebuilt event. */
struct kymo_step {
	uint32_t unit : 24; /* where; of a branch that is reported one instruction later, the branch's own unit */
	uint32_t kind : 8;  /* LINE, INSTRUCTION, JUMP, BRANCH, BRANCH_LEFT or BRANCH_RIGHT */
	uint32_t value;	    /* line, or unit of the destination */
};

/* Where a frame is. */
struct kymo_place {
	uint32_t cur;  /* the instruction that it is in; KYMO_NO_UNIT: about to enter @next */
	uint32_t next; /* where it continues, if that is known, after a branch or at a handler; or KYMO_NO_UNIT */
	uint32_t prev; /* the unit with which the interpreter compares lines; may be a cache */
};

/* A place by its number in the code object, from 1; the first is for a frame that is not entered yet. */
#define KYMO_NO_STATE 0U
#define KYMO_STATE_BEFORE 1U

struct kymo_move {
	uint32_t token; /* kind and field of the record */
	uint32_t next;	/* next move of the same state, from 1; 0: no more */
	uint32_t to;	/* state */
	uint32_t first; /* range of its steps */
	uint32_t count : 24;
	uint32_t kind : 8;     /* of the event, with */
	uint32_t offset, dest; /* units */
	uint32_t hits; /* for counting: see index_build.c */
};

struct kymo_state {
	struct kymo_place place;
	uint32_t first_move; /* from 1; 0: none */
	uint32_t move_count;
	uint32_t next_state; /* with the same hash; 0: no more */
};

#define KYMO_STATE_CHAINS 64U

/* The states and moves of one code object. */
struct kymo_moves {
	struct kymo_state *states; /* the first is none */
	struct kymo_move *moves;   /* the first is none */
	struct kymo_step *steps;
	uint32_t state_count, move_count, step_count;
	size_t state_capacity, move_capacity, step_capacity;
	uint32_t chains[KYMO_STATE_CHAINS]; /* states by the hash of their places */
};

void kymo_moves_release(struct kymo_moves *moves);

/* The state of @place; KYMO_NO_STATE: no room. */
uint32_t kymo_moves_state(struct kymo_moves *moves, const struct kymo_place *place);

/* 0: moves are not cached for this record. */
static inline uint32_t kymo_move_token(unsigned kind, uint64_t field)
{
	return field < 1U << 26 ? (uint32_t)(kind << 26 | field) : 0;
}

/* NULL: not known. */
static inline const struct kymo_move *kymo_moves_find(const struct kymo_moves *moves, uint32_t state, uint32_t token)
{
	if (state == KYMO_NO_STATE)
		return NULL;
	for (uint32_t at = moves->states[state].first_move; at; at = moves->moves[at].next)
		if (moves->moves[at].token == token)
			return &moves->moves[at];
	return NULL;
}

/* Add @move from @state with its @steps; this function fills in its links and the place of its steps. */
void kymo_moves_add(struct kymo_moves *moves, uint32_t state, struct kymo_move move, const struct kymo_step *steps);

#endif
