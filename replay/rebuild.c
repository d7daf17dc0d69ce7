// SPDX-License-Identifier: Apache-2.0
#include "replay/rebuild.h"

#include <stdlib.h>
#include <string.h>

/* CPython's own limit on recursion is far below. */
#define MAX_FRAMES (1U << 20)

struct frame {
	uint64_t code_id;
	const struct kymo_code *code;	  /* NULL: not defined */
	struct kymo_flow_code *flow;	  /* NULL: its lines are not rebuilt */
	struct kymo_moves *moves;	  /* of @flow */
	uint32_t state;			  /* where it is; KYMO_NO_STATE: @place says it */
	struct kymo_place place;
	uint32_t raised;  /* unit of an exception that may leave the frame; KYMO_NO_UNIT: there is none */
	bool is_fresh;	  /* where it is was told by a stack: the next event says it better */
	bool is_idle;	  /* told by a stack, and has done nothing since, as a generator that only passes an
			     exception on */
};

/* Codes met lately, by id: looking them up takes longer than a walk. */
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
	struct frame *frames; /* outermost first */
	uint32_t count;
	size_t capacity;
	uint64_t hidden; /* frames below these, of which nothing is known */
	bool is_open; /* there was a chunk */
	/* registers that the next record uses */
	uint64_t code_id;
	uint32_t lasti; /* KYMO_NO_UNIT: none */
	struct kymo_rebuilt *out;
};

struct kymo_rebuild *kymo_rebuild_new(const struct kymo_traced_process *process, uint64_t kinds)
{
	struct kymo_rebuild *rebuild;
	uint32_t version = process->definition ? KYMO_FLOW_VERSION(process->definition->python_hex) : 0;

	if (!kymo_opcodes(version))
		return NULL;
	rebuild = calloc(1, sizeof(*rebuild));
	if (!rebuild)
		return NULL;
	rebuild->process = process;
	rebuild->version = version;
	rebuild->kinds = kinds;
	rebuild->lasti = KYMO_NO_UNIT;
	return rebuild;
}

void kymo_rebuild_free(struct kymo_rebuild *rebuild)
{
	if (rebuild)
		free(rebuild->frames);
	free(rebuild);
}

static bool is_before(const struct kymo_rebuild *rebuild, uint32_t version)
{
	return rebuild->version < version;
}

static struct frame *peek(struct kymo_rebuild *rebuild)
{
	return rebuild->count ? &rebuild->frames[rebuild->count - 1] : NULL;
}

static const struct kymo_place *place_of(const struct frame *frame)
{
	return frame->state == KYMO_NO_STATE ? &frame->place : &frame->moves->states[frame->state].place;
}

/* The frame on top, told by its place. */
static struct frame *top(struct kymo_rebuild *rebuild)
{
	struct frame *frame = peek(rebuild);

	if (frame && frame->state != KYMO_NO_STATE) {
		frame->place = *place_of(frame);
		frame->state = KYMO_NO_STATE;
	}
	return frame;
}

/* Tell by a state where @frame is, if there is nothing else to know. */
static void set_state(struct frame *frame)
{
	if (frame->flow && frame->raised == KYMO_NO_UNIT && !frame->is_fresh && !frame->is_idle)
		frame->state = kymo_moves_state(frame->moves, &frame->place);
}

static const struct kymo_instruction *instruction(const struct frame *frame, uint32_t unit)
{
	return &kymo_flow_of(frame->flow)->at[unit];
}

/* The instruction of @frame that @raw is part of. */
static uint32_t locate(const struct frame *frame, uint64_t raw)
{
	return kymo_flow_instruction(frame->flow, raw < KYMO_NO_UNIT ? (uint32_t)raw : KYMO_NO_UNIT);
}

static const struct recent_code *find_code(struct kymo_rebuild *rebuild, uint64_t id)
{
	struct recent_code *recent = &rebuild->recent[id % RECENT_CODES];

	if (recent->id == id && id)
		return recent;
	*recent = (struct recent_code){.id = id, .code = kymo_traced_code(rebuild->process, id)};
	if (recent->code)
		recent->flow = kymo_flow_code_get(recent->code->content, rebuild->version, rebuild->kinds);
	if (recent->flow && (recent->code->has_lines || !kymo_flow_of(recent->flow)->is_exact))
		recent->flow = NULL;
	if (recent->flow)
		recent->moves = kymo_flow_moves(recent->flow);
	return recent;
}

static struct frame *push(struct kymo_rebuild *rebuild, uint64_t code_id)
{
	const struct recent_code *known = find_code(rebuild, code_id);
	struct frame *frame;

	if (rebuild->count == rebuild->capacity && rebuild->count < MAX_FRAMES &&
	    kymo_grow(&rebuild->frames, &rebuild->capacity, rebuild->count + 1, sizeof(*rebuild->frames)))
		return NULL;
	if (rebuild->count == MAX_FRAMES)
		return NULL;
	frame = &rebuild->frames[rebuild->count++];
	*frame = (struct frame){
		.code_id = code_id,
		.code = known->code,
		.flow = known->flow,
		.moves = known->moves,
		.place = {KYMO_NO_UNIT, KYMO_NO_UNIT, KYMO_NO_UNIT},
		.raised = KYMO_NO_UNIT,
	};
	return frame;
}

static void pop(struct kymo_rebuild *rebuild)
{
	if (rebuild->count)
		rebuild->count--;
	else if (rebuild->hidden)
		rebuild->hidden--;
}

/* The frame is in the instruction of @raw, where the interpreter has it. */
static void put(struct frame *frame, uint64_t raw)
{
	uint32_t unit = locate(frame, raw);

	frame->place = (struct kymo_place){unit, KYMO_NO_UNIT, raw < KYMO_NO_UNIT ? (uint32_t)raw : unit};
	frame->raised = KYMO_NO_UNIT;
}

static void lose(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit)
{
	rebuild->out->is_unknown = !frame->is_fresh;
	frame->place = (struct kymo_place){unit, KYMO_NO_UNIT, unit};
	frame->raised = KYMO_NO_UNIT;
}

/* An exception that was raised in @frame has been handled there: it goes on at the handler. */
static bool enter_handler(struct frame *frame)
{
	const struct kymo_handler *handler = kymo_flow_handler(kymo_flow_of(frame->flow), frame->raised);

	if (!handler)
		return false;
	frame->place.cur = KYMO_NO_UNIT;
	frame->place.next = handler->target;
	frame->raised = KYMO_NO_UNIT;
	return true;
}

/* Take the frame on top to @unit, and what happens on the way to the output. */
static bool try_walk(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit, enum kymo_walk_end end)
{
	struct kymo_rebuilt *out = rebuild->out;

	if (!kymo_flow_walk(frame->flow, &frame->place, unit, end, &out->steps, &out->step_count))
		return false;
	frame->is_idle &= !out->step_count;
	out->steps_code = frame->code;
	out->steps_code_id = frame->code_id;
	return true;
}

/*
 * The same for what happens in the middle of the instruction.  It may be one that has told its branch or jump
 * already, and goes on.
 */
static bool try_walk_into(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit)
{
	if (frame->place.cur == unit && frame->place.next != KYMO_NO_UNIT && kymo_flow_lasts(frame->flow, unit))
		return true;
	return try_walk(rebuild, frame, unit, KYMO_WALK_TO);
}

static void walk(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit, enum kymo_walk_end end)
{
	if (frame->is_fresh || (frame->raised != KYMO_NO_UNIT && !enter_handler(frame)) ||
	    !try_walk(rebuild, frame, unit, end))
		lose(rebuild, frame, unit);
	frame->is_fresh = false;
}

/* An entry: the frame below is at @raw. */
static void walk_caller(struct kymo_rebuild *rebuild, uint32_t raw)
{
	struct frame *frame = top(rebuild);
	uint32_t unit;

	if (!frame || !frame->flow || raw == KYMO_NO_UNIT)
		return;
	unit = locate(frame, raw);
	if (frame->raised != KYMO_NO_UNIT) {
		struct frame handled = *frame;

		/* A destructor may run while the exception is on its way, wherever the interpreter says that
		 * it is; what the handler leads to, comes after it. */
		if (!enter_handler(&handled) || !try_walk_into(rebuild, &handled, unit))
			return;
		*frame = handled;
	} else if (!try_walk_into(rebuild, frame, unit)) {
		lose(rebuild, frame, unit);
	}
	frame->is_fresh = false;
	frame->place.prev = raw;
}

static void set_event(struct kymo_rebuild *rebuild, struct frame *frame, unsigned kind, uint64_t offset)
{
	rebuild->out->kind = kind;
	rebuild->out->offset = offset;
	if (frame) {
		frame->is_idle = false;
		rebuild->out->code = frame->code;
		rebuild->out->code_id = frame->code_id;
	}
}

/* Keep what @record's field has made of a frame that was in @from, and the output says. */
static void keep_move(struct kymo_rebuild *rebuild, struct kymo_moves *moves, uint32_t from, uint32_t token, uint32_t to)
{
	const struct kymo_rebuilt *out = rebuild->out;

	if (from == KYMO_NO_STATE || out->is_unknown || out->offset >= KYMO_NO_UNIT || out->dest >= KYMO_NO_UNIT)
		return;
	kymo_moves_add(moves, from, (struct kymo_move){
		.token = token,
		.to = to,
		.count = out->step_count,
		.kind = out->kind,
		.offset = (uint32_t)out->offset,
		.dest = (uint32_t)out->dest,
	}, out->steps);
}

static void put_steps(struct kymo_rebuild *rebuild, const struct frame *frame, const struct kymo_move *move)
{
	rebuild->out->steps_code = frame->code;
	rebuild->out->steps_code_id = frame->code_id;
	rebuild->out->steps = move->count ? frame->moves->steps + move->first : NULL;
	rebuild->out->step_count = move->count;
}

/* As walk_caller(), if that was done before. */
static void move_caller(struct kymo_rebuild *rebuild, uint32_t raw)
{
	struct frame *frame = peek(rebuild);
	uint32_t token = kymo_move_token(KYMO_LASTI, raw);
	uint32_t from = frame ? frame->state : KYMO_NO_STATE;
	const struct kymo_move *move = from ? kymo_moves_find(frame->moves, from, token) : NULL;

	if (move) {
		put_steps(rebuild, frame, move);
		frame->state = move->to;
		return;
	}
	walk_caller(rebuild, raw);
	if (!frame)
		return;
	set_state(frame);
	if (frame->state != KYMO_NO_STATE)
		keep_move(rebuild, frame->moves, from, token, frame->state);
}

/* Where a frame begins, or goes on, by the record of its entry. */
static void put_entry(struct kymo_rebuild *rebuild, struct frame *frame, unsigned kind, uint64_t offset)
{
	uint32_t token = kymo_move_token(kind, offset);
	const struct kymo_move *move = kymo_moves_find(frame->moves, KYMO_STATE_BEFORE, token);

	if (move) {
		frame->state = move->to;
		return;
	}
	put(frame, offset);
	/* 3.13 on names the RESUME behind the YIELD_VALUE that the exception is raised at. */
	if (kind == KYMO_PY_THROW && !is_before(rebuild, KYMO_CPYTHON_3_13) && offset)
		frame->place.cur = locate(frame, offset - 1);
	set_state(frame);
	if (frame->state != KYMO_NO_STATE)
		kymo_moves_add(frame->moves, KYMO_STATE_BEFORE, (struct kymo_move){.token = token, .to = frame->state},
			       NULL);
}

static void enter(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	uint64_t id = record->kind == KYMO_PY_START ? record->a : rebuild->code_id;
	struct frame *frame;
	uint64_t offset = record->a;

	move_caller(rebuild, rebuild->lasti);
	frame = push(rebuild, id);
	if (record->kind == KYMO_PY_START)
		offset = frame && frame->code ? frame->code->entry_offset : 0;
	set_event(rebuild, frame, record->kind, offset);
	if (frame && frame->flow)
		put_entry(rebuild, frame, record->kind, offset);
}

/* Events that name their instruction. */
static void be_at(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct frame *frame = top(rebuild);

	set_event(rebuild, frame, record->kind, record->a);
	if (frame && frame->flow)
		walk(rebuild, frame, locate(frame, record->a), KYMO_WALK_TO);
}

/* 3.12: a generator's end takes the frame that sent to it, or had it in a loop, behind its SEND or to its END_FOR. */
static void return_to_sender(struct kymo_rebuild *rebuild)
{
	struct frame *frame = is_before(rebuild, KYMO_CPYTHON_3_13) ? peek(rebuild) : NULL;
	const struct kymo_instruction *at;
	const struct kymo_place *place;

	if (!frame || !frame->flow)
		return;
	place = place_of(frame);
	if (place->cur == KYMO_NO_UNIT || place->prev == place->cur)
		return;
	at = instruction(frame, place->cur);
	if (at->op != KYMO_OP_SEND && at->op != KYMO_OP_FOR_ITER)
		return;
	top(rebuild)->place.prev = at->op == KYMO_OP_SEND ? at->target - 1 : at->target;
	set_state(frame);
}

static void leave(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	if (record->kind == KYMO_PY_UNWIND)
		set_event(rebuild, top(rebuild), record->kind, record->a);
	else
		be_at(rebuild, record);
	pop(rebuild);
	if (record->kind == KYMO_PY_RETURN)
		return_to_sender(rebuild);
}

/* The instruction that an exception at @raw belongs to. */
static uint32_t find_raise(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t raw)
{
	const struct kymo_place *place = &frame->place;

	if (is_before(rebuild, KYMO_CPYTHON_3_13)) {
		/* Raised between a jump back and what it jumps to: named is the unit before that. */
		uint32_t jump = place->cur;

		if (jump != KYMO_NO_UNIT && instruction(frame, jump)->op == KYMO_OP_JUMP_BACKWARD &&
		    instruction(frame, jump)->target == raw + 1)
			return jump;
		return locate(frame, raw);
	}
	/* Out of a frame that the instruction had entered: named is the unit before the instruction. */
	if (place->cur != KYMO_NO_UNIT && raw + 1 == place->cur)
		return place->cur;
	return locate(frame, raw);
}

static void raise_at(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct frame *frame = top(rebuild);
	const struct kymo_instruction *at;
	uint32_t unit, raw = record->a < KYMO_NO_UNIT ? (uint32_t)record->a : 0;

	set_event(rebuild, frame, record->kind, record->a);
	if (!frame || !frame->flow)
		return;
	if (frame->raised != KYMO_NO_UNIT && !enter_handler(frame))
		lose(rebuild, frame, locate(frame, raw));
	unit = find_raise(rebuild, frame, raw);
	if (frame->is_fresh) {
		lose(rebuild, frame, unit);
	} else if (unit != frame->place.cur && !try_walk(rebuild, frame, unit, KYMO_WALK_TO)) {
		uint32_t jump = is_before(rebuild, KYMO_CPYTHON_3_13)
					? kymo_flow_find_jump(frame->flow, &frame->place, raw + 1)
					: KYMO_NO_UNIT;

		if (jump == KYMO_NO_UNIT || !try_walk(rebuild, frame, jump, KYMO_WALK_TO))
			lose(rebuild, frame, unit);
		else
			unit = jump;
	} else if (unit == frame->place.cur && frame->place.next != KYMO_NO_UNIT &&
		   !try_walk_into(rebuild, frame, unit)) {
		lose(rebuild, frame, unit);
	}
	frame->is_fresh = false;
	at = instruction(frame, unit);
	/* What ends a loop is no exception to its frame. */
	if ((at->op == KYMO_OP_FOR_ITER || at->op == KYMO_OP_SEND) &&
	    kymo_traced_name_is_stop(rebuild->process, record->b))
		return;
	frame->raised = raw;
	if (record->kind == KYMO_RERAISE && at->arg && rebuild->lasti != KYMO_NO_UNIT)
		frame->place.prev = rebuild->lasti;
}

/* A branch of 3.12 or 3.13, which one event tells both ways of. */
static void take_branch(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit, bool is_taken)
{
	const struct kymo_instruction *at = instruction(frame, unit);
	uint32_t next = is_taken ? at->target : at->next;

	if (is_taken && at->op == KYMO_OP_FOR_ITER)
		next = kymo_flow_loop_end(kymo_flow_of(frame->flow), at);
	walk(rebuild, frame, unit, KYMO_WALK_TO);
	set_event(rebuild, frame, KYMO_BRANCH, unit);
	rebuild->out->dest = frame->place.next = next;
}

static void take_right(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit)
{
	walk(rebuild, frame, unit, KYMO_WALK_TO);
	set_event(rebuild, frame, KYMO_BRANCH_RIGHT, unit);
	rebuild->out->dest = frame->place.next = instruction(frame, unit)->target;
}

static void take_left(struct kymo_rebuild *rebuild, struct frame *frame, uint32_t unit)
{
	const struct kymo_instruction *at = instruction(frame, unit);
	uint32_t source = unit;

	if (at->op == KYMO_OP_FOR_ITER) {
		walk(rebuild, frame, unit, KYMO_WALK_TO);
		frame->place.next = at->next;
	} else if (at->op == KYMO_OP_NOT_TAKEN) {
		walk(rebuild, frame, unit, KYMO_WALK_TO);
		frame->place.next = at->next;
		source = unit - 1; /* the END_SEND before it */
	} else {
		walk(rebuild, frame, unit, KYMO_WALK_NOT_TAKEN);
		frame->place = (struct kymo_place){at->next, instruction(frame, at->next)->next, at->next};
	}
	set_event(rebuild, frame, KYMO_BRANCH_LEFT, source);
	rebuild->out->dest = frame->place.next;
}

static bool is_jump(unsigned op)
{
	return op == KYMO_OP_JUMP_FORWARD || op == KYMO_OP_JUMP_BACKWARD;
}

static void take_site(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct frame *frame = top(rebuild);
	bool is_taken = record->a & 1;
	uint32_t unit = frame && frame->flow ? kymo_flow_site_unit(frame->flow, (uint32_t)(record->a >> 1))
					     : KYMO_NO_UNIT;

	set_event(rebuild, frame, is_before(rebuild, KYMO_CPYTHON_3_14) ? KYMO_BRANCH
			  : is_taken ? KYMO_BRANCH_RIGHT : KYMO_BRANCH_LEFT, 0);
	if (unit == KYMO_NO_UNIT) {
		rebuild->out->code = NULL;
		rebuild->out->is_unknown = true;
		return;
	}
	if (instruction(frame, unit)->op == KYMO_OP_CALL) {
		/* A generator was made: the interpreter has the frame in the caches of the call. */
		walk(rebuild, frame, unit, KYMO_WALK_TO);
		frame->place.prev = unit + 1;
		set_event(rebuild, frame, KYMO_CALL, unit);
	} else if (is_jump(instruction(frame, unit)->op)) {
		walk(rebuild, frame, unit, KYMO_WALK_TO);
		set_event(rebuild, frame, KYMO_JUMP, unit);
		rebuild->out->dest = frame->place.next = instruction(frame, unit)->target;
	} else if (is_before(rebuild, KYMO_CPYTHON_3_14)) {
		take_branch(rebuild, frame, unit, is_taken);
	} else if (is_taken) {
		take_right(rebuild, frame, unit);
	} else {
		take_left(rebuild, frame, unit);
	}
}

/* EXCEPTION_HANDLED, where the user asked for it, names the handler. */
static void handle(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct frame *frame = top(rebuild);

	set_event(rebuild, frame, record->kind, record->a);
	if (frame && frame->flow && frame->raised != KYMO_NO_UNIT)
		enter_handler(frame);
}

/* Put the innermost @count frames of @sync on top; false: no memory. */
static bool push_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, uint64_t count)
{
	for (uint64_t i = count; i-- > 0;) {
		struct frame *frame = push(rebuild, sync->frames[i].code);

		if (!frame)
			return false;
		if (frame->flow && sync->frames[i].offset_plus_1)
			put(frame, sync->frames[i].offset_plus_1 - 1);
		frame->is_fresh = i == 0;
		frame->is_idle = true;
	}
	return true;
}

static bool replace_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync)
{
	rebuild->count = 0;
	rebuild->hidden = sync->depth - sync->listed;
	return push_stack(rebuild, sync, sync->listed);
}

/* The number of frames that are in @sync as they are here, from the outermost on. */
static uint64_t common_frames(const struct kymo_rebuild *rebuild, const struct kymo_sync *sync)
{
	uint64_t hidden = sync->depth - sync->listed;
	uint64_t depth = rebuild->hidden;

	if (rebuild->hidden < hidden)
		depth = hidden;
	while (depth < sync->depth && depth - rebuild->hidden < rebuild->count &&
	       rebuild->frames[depth - rebuild->hidden].code_id == sync->frames[sync->depth - 1 - depth].code)
		depth++;
	return depth;
}

/*
 * Generators that passed an exception on leave no event behind: those that pass one on now, and are at their yield still, may
 * be others, also where they run the same code.  The number of frames that are the same, @common at most.
 */
static uint64_t same_frames(const struct kymo_rebuild *rebuild, const struct kymo_sync *sync, uint64_t common)
{
	for (; common > rebuild->hidden && sync->depth - common < sync->listed; common--) {
		const struct frame *frame = &rebuild->frames[common - rebuild->hidden - 1];
		uint64_t offset_plus_1 = sync->frames[sync->depth - common].offset_plus_1;
		unsigned op;

		if (!frame->is_idle || !frame->flow || !offset_plus_1)
			break;
		op = instruction(frame, locate(frame, offset_plus_1 - 1))->op;
		if (op != KYMO_OP_YIELD && op != KYMO_OP_RESUME)
			break;
	}
	return common;
}

/*
 * Take over @sync, keeping what is known of frames that are in it.  True: something happened on the way that
 * nobody can tell.  @is_other: the frame on top is another, or was moved, even if it looks the same.
 */
static bool take_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, bool is_other)
{
	uint64_t common = common_frames(rebuild, sync);
	bool looks_same = common == sync->depth && common == rebuild->hidden + rebuild->count;
	bool is_unknown = false;

	if (rebuild->hidden > common || sync->depth - sync->listed > common ||
	    (is_other && looks_same && rebuild->count && !top(rebuild)->is_idle)) {
		replace_stack(rebuild, sync);
		return true;
	}
	common = same_frames(rebuild, sync, common);
	for (; rebuild->hidden + rebuild->count > common; rebuild->count--)
		is_unknown |= !top(rebuild)->is_idle;
	if (!is_unknown && common < sync->depth && common > sync->depth - sync->listed) {
		walk_caller(rebuild, (uint32_t)sync->frames[sync->depth - common].offset_plus_1 - 1);
		if (rebuild->count)
			top(rebuild)->is_idle = false;
	}
	return !push_stack(rebuild, sync, sync->depth - common) || is_unknown;
}

bool kymo_rebuild_open(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, bool is_next,
		       struct kymo_rebuilt *out)
{
	*out = (struct kymo_rebuilt){0};
	rebuild->out = out;
	rebuild->lasti = KYMO_NO_UNIT;
	rebuild->code_id = 0;
	if (!is_next || !rebuild->is_open) {
		rebuild->is_open = true;
		replace_stack(rebuild, sync);
		return false;
	}
	out->is_unknown = take_stack(rebuild, sync, false);
	return out->is_unknown || out->step_count;
}

static bool take_special(struct kymo_rebuild *rebuild, const struct kymo_record *record, const uint8_t *bytes)
{
	struct kymo_sync sync;

	if (record->special != KYMO_TAG_EXTENDED)
		return false;
	if ((record->extended == KYMO_EXTENDED_STACK || record->extended == KYMO_EXTENDED_OTHER_STACK) &&
	    kymo_sync_decode(bytes + 6, record->bytes - 6, &sync) == KYMO_DECODE_OK) {
		rebuild->out->is_unknown = take_stack(rebuild, &sync, record->extended == KYMO_EXTENDED_OTHER_STACK);
		return rebuild->out->is_unknown || rebuild->out->step_count;
	}
	if (record->extended != KYMO_EXTENDED_MARK)
		return false;
	walk_caller(rebuild, rebuild->lasti);
	rebuild->lasti = KYMO_NO_UNIT;
	set_event(rebuild, top(rebuild), KYMO_KIND_SPECIAL, 0);
	return true;
}

/* Events that name their place in the frame on top, and that moves are kept for. */
static bool has_moves(unsigned kind)
{
	return kind == KYMO_SITE || kind == KYMO_PY_RETURN || kind == KYMO_PY_YIELD;
}

/* True if it was met before in the same place, and is done. */
static bool move(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct frame *frame = peek(rebuild);
	const struct kymo_move *move;

	if (!frame || frame->state == KYMO_NO_STATE || !has_moves(record->kind))
		return false;
	move = kymo_moves_find(frame->moves, frame->state, kymo_move_token(record->kind, record->a));
	if (!move)
		return false;
	put_steps(rebuild, frame, move);
	set_event(rebuild, frame, move->kind, move->offset);
	rebuild->out->dest = move->dest;
	frame->state = move->to;
	if (record->kind != KYMO_SITE)
		pop(rebuild);
	if (record->kind == KYMO_PY_RETURN)
		return_to_sender(rebuild);
	return true;
}

static void move_slowly(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	uint32_t token = kymo_move_token(record->kind, record->a);
	struct frame *frame = peek(rebuild);
	uint32_t from = frame ? frame->state : KYMO_NO_STATE;

	if (record->kind == KYMO_SITE)
		take_site(rebuild, record);
	else
		leave(rebuild, record);
	if (!frame || !frame->flow)
		return;
	if (record->kind == KYMO_SITE)
		set_state(frame);
	if (record->kind != KYMO_SITE || frame->state != KYMO_NO_STATE)
		keep_move(rebuild, frame->moves, from, token, frame->state);
}

bool kymo_rebuild_take(struct kymo_rebuild *rebuild, const struct kymo_record *record, const uint8_t *bytes,
		       struct kymo_rebuilt *out)
{
	*out = (struct kymo_rebuilt){0};
	if (record->kind == KYMO_LASTI) {
		rebuild->lasti = record->a < KYMO_NO_UNIT ? (uint32_t)record->a : KYMO_NO_UNIT;
		return false;
	}
	rebuild->out = out;
	if (move(rebuild, record)) {
		rebuild->lasti = KYMO_NO_UNIT;
		return true;
	}
	switch (record->kind) {
	case KYMO_KIND_SPECIAL:
		return take_special(rebuild, record, bytes);
	case KYMO_CODE:
		rebuild->code_id = record->a;
		return false;
	case KYMO_TIME:
	case KYMO_SWITCH:
		return false;
	case KYMO_PY_START:
	case KYMO_PY_START_AT:
	case KYMO_PY_RESUME:
	case KYMO_PY_THROW:
		enter(rebuild, record);
		break;
	case KYMO_SITE:
	case KYMO_PY_RETURN:
	case KYMO_PY_YIELD:
		move_slowly(rebuild, record);
		break;
	case KYMO_PY_UNWIND:
		leave(rebuild, record);
		break;
	case KYMO_RAISE:
	case KYMO_RERAISE:
		raise_at(rebuild, record);
		break;
	case KYMO_EXCEPTION_HANDLED:
		handle(rebuild, record);
		break;
	case KYMO_LINE:
		set_event(rebuild, top(rebuild), record->kind, 0);
		break;
	default:
		be_at(rebuild, record);
		break;
	}
	rebuild->lasti = KYMO_NO_UNIT;
	return true;
}
