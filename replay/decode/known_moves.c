// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/known_moves.h"

#include <stdlib.h>
#include <string.h>

#include "replay/trace/trace.h"

/* How much one code object may cache, and how far a lookup goes: bytes made to fill the cache must not make it slow. */
#define MAX_CHAIN 64U
#define MAX_MOVES_OF_STATE 256U
#define MAX_STATES (1U << 16)
#define MAX_MOVES (1U << 18)
#define MAX_STEPS (1U << 20)

void kymo_moves_release(struct kymo_moves *moves)
{
	free(moves->states);
	free(moves->moves);
	free(moves->steps);
}

static uint32_t *chain_of(struct kymo_moves *moves, const struct kymo_place *place)
{
	return &moves->chains[(place->cur * 31 + place->next * 7 + place->prev) % KYMO_STATE_CHAINS];
}

uint32_t kymo_moves_state(struct kymo_moves *moves, const struct kymo_place *place)
{
	uint32_t *chain = chain_of(moves, place), length = 0, state;

	for (state = *chain; state && length < MAX_CHAIN; state = moves->states[state].next_state, length++)
		if (!memcmp(&moves->states[state].place, place, sizeof *place))
			return state;
	if (length == MAX_CHAIN)
		return KYMO_NO_STATE;
	state = moves->state_count ? moves->state_count : 1;
	if (state == MAX_STATES || kymo_grow(&moves->states, &moves->state_capacity, state + 1, sizeof *moves->states))
		return KYMO_NO_STATE;
	moves->states[state] = (struct kymo_state){.place = *place, .next_state = *chain};
	moves->state_count = state + 1;
	*chain = state;
	return state;
}

void kymo_moves_add(struct kymo_moves *moves, uint32_t state, struct kymo_move move, const struct kymo_step *steps)
{
	uint32_t at = moves->move_count ? moves->move_count : 1;

	if (state == KYMO_NO_STATE || !move.token || at == MAX_MOVES ||
	    moves->states[state].move_count == MAX_MOVES_OF_STATE || moves->step_count + move.count > MAX_STEPS ||
	    kymo_grow(&moves->moves, &moves->move_capacity, at + 1, sizeof *moves->moves) ||
	    kymo_grow(&moves->steps, &moves->step_capacity, moves->step_count + move.count, sizeof *moves->steps))
		return;
	move.first = moves->step_count;
	move.next = moves->states[state].first_move;
	if (move.count)
		memcpy(moves->steps + move.first, steps, move.count * sizeof *steps);
	moves->moves[at] = move;
	moves->move_count = at + 1;
	moves->step_count += move.count;
	moves->states[state].first_move = at;
	moves->states[state].move_count++;
}
