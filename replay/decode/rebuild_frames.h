// SPDX-License-Identifier: Apache-2.0
/*
 * The frames of one thread while its lines are rebuilt. Only for rebuild*.c.
 */
#ifndef KYMO_REPLAY_DECODE_REBUILD_FRAMES_H
#define KYMO_REPLAY_DECODE_REBUILD_FRAMES_H

#include "replay/decode/rebuild.h"

struct kymo_rebuilt_frame {
	uint64_t code_id;
	const struct kymo_code *code;	  /* NULL: not defined */
	struct kymo_flow_code *flow;	  /* NULL: its lines are not rebuilt */
	struct kymo_moves *moves;	  /* of @flow */
	uint32_t state;			  /* where it is; KYMO_NO_STATE: see @place */
	struct kymo_place place;
	uint32_t raised;  /* unit of an exception that may leave the frame; KYMO_NO_UNIT: none */
	bool is_fresh;	  /* where it is comes from a stack: the next event is more exact */
	bool is_idle;	  /* from a stack, and it did nothing since, as a generator that only passes an exception on */
	bool is_copied;	  /* it existed when the process was forked, and has only waited for calls since */
};

/* Recently used codes, by id: looking them up takes longer than a walk. */
#define RECENT_CODES 1024U

struct recent_code {
	uint64_t id; /* 0: none */
	const struct kymo_code *code;
	struct kymo_flow_code *flow;
	struct kymo_moves *moves;
};

struct kymo_rebuild {
	const struct kymo_traced_process *process;
	struct recent_code recent[RECENT_CODES];
	uint32_t version;
	uint64_t kinds;
	struct kymo_rebuilt_frame *frames; /* outermost first */
	uint32_t count;
	size_t capacity;
	uint64_t hidden; /* frames below these, of which nothing is known */
	bool is_open; /* a chunk has begun */
	bool is_told; /* the last record was a stack that differed */
	/* registers for the next record */
	uint64_t code_id;
	uint32_t lasti; /* KYMO_NO_UNIT: none */
	struct kymo_rebuilt *out;
};

static inline bool is_before(const struct kymo_rebuild *rebuild, uint32_t version)
{
	return rebuild->version < version;
}

static inline struct kymo_rebuilt_frame *peek(struct kymo_rebuild *rebuild)
{
	return rebuild->count ? &rebuild->frames[rebuild->count - 1] : NULL;
}

static inline const struct kymo_place *place_of(const struct kymo_rebuilt_frame *frame)
{
	return frame->state == KYMO_NO_STATE ? &frame->place : &frame->moves->states[frame->state].place;
}

/* The frame on top, with its place filled in. */
static inline struct kymo_rebuilt_frame *top(struct kymo_rebuild *rebuild)
{
	struct kymo_rebuilt_frame *frame = peek(rebuild);

	if (frame && frame->state != KYMO_NO_STATE) {
		frame->place = *place_of(frame);
		frame->state = KYMO_NO_STATE;
	}
	return frame;
}

/* Say by a state where @frame is, if that is all there is to know. */
static inline void set_state(struct kymo_rebuilt_frame *frame)
{
	if (frame->flow && frame->raised == KYMO_NO_UNIT && !frame->is_fresh && !frame->is_idle)
		frame->state = kymo_moves_state(frame->moves, &frame->place);
}

static inline const struct kymo_instruction *instruction(const struct kymo_rebuilt_frame *frame, uint32_t unit)
{
	return &kymo_flow_of(frame->flow)->at[unit];
}

/* The instruction of @frame that @raw is part of. */
static inline uint32_t locate(const struct kymo_rebuilt_frame *frame, uint64_t raw)
{
	return kymo_flow_instruction(frame->flow, raw < KYMO_NO_UNIT ? (uint32_t)raw : KYMO_NO_UNIT);
}

/* The frame, known from a stack, is on top now because the one above it has ended: it may run. */
void kymo_rebuild_wake(struct kymo_rebuilt_frame *frame);

static inline void pop(struct kymo_rebuild *rebuild)
{
	if (rebuild->count)
		rebuild->count--;
	else if (rebuild->hidden)
		rebuild->hidden--;
	if (rebuild->count && peek(rebuild)->is_idle)
		kymo_rebuild_wake(peek(rebuild));
}

/* The frame is in the instruction of @raw, where the interpreter has it. */
static inline void put(struct kymo_rebuilt_frame *frame, uint64_t raw)
{
	uint32_t unit = locate(frame, raw);

	frame->place = (struct kymo_place){unit, KYMO_NO_UNIT,
					    raw < KYMO_NO_UNIT ? kymo_flow_unit_before(frame->flow, (uint32_t)raw) : unit};
	frame->raised = KYMO_NO_UNIT;
}

/* 3.12: a generator's end moves the frame that sent to it behind its SEND, or the one that looped over it to its END_FOR. */
void kymo_rebuild_return(struct kymo_rebuild *rebuild);

/* NULL: no memory, or too deep. */
struct kymo_rebuilt_frame *kymo_rebuild_push(struct kymo_rebuild *rebuild, uint64_t code_id);

/* The stack is that of @sync; how it came about is not known. */
void kymo_rebuild_replace_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync);

/*
 * Take over the stack @sync, keeping what is known of its frames. True: something happened that cannot be rebuilt. @is_other: the
 * frame on top is another, or was moved, even if it looks the same.
 */
bool kymo_rebuild_take_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, bool is_other);

/* What @frame did up to @unit is not known. */
void kymo_rebuild_lose(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit);
/* An exception raised in @frame was handled there: it continues at the handler. False: there is none. */
bool kymo_rebuild_enter_handler(struct kymo_rebuilt_frame *frame);
/* Move the frame on top to @unit, and add what happens on the path to the output; false: no silent path leads there. */
bool kymo_rebuild_try_walk(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit, enum kymo_walk_end end);
/*
 * The same for an event in the middle of the instruction, which may already have reported its branch or jump, and continues.
 */
bool kymo_rebuild_try_walk_into(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit);
/* The same after a handled exception; if no silent path leads there, what the frame did is lost. */
void kymo_rebuild_walk(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit, enum kymo_walk_end end);

/* A frame was entered, or has appeared: the frame below is at @raw, and what it did up to there goes to the output. */
void kymo_rebuild_walk_caller(struct kymo_rebuild *rebuild, uint32_t raw);

#endif
