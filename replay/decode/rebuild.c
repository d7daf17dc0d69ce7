// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "replay/decode/rebuild_frames.h"

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

struct kymo_rebuild *kymo_rebuild_copy(const struct kymo_rebuild *rebuild)
{
	struct kymo_rebuild *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *rebuild;
	copy->frames = NULL;
	copy->capacity = 0;
	if (kymo_grow(&copy->frames, &copy->capacity, rebuild->count + 1U, sizeof(*copy->frames))) {
		free(copy);
		return NULL;
	}
	if (rebuild->count)
		memcpy(copy->frames, rebuild->frames, rebuild->count * sizeof(*copy->frames));
	return copy;
}

static void set_event(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, unsigned kind, uint64_t offset)
{
	rebuild->out->kind = kind;
	rebuild->out->offset = offset;
	if (frame) {
		frame->is_idle = frame->is_copied = false;
		rebuild->out->code = frame->code;
		rebuild->out->code_id = frame->code_id;
	}
}

/* Cache the move of a frame that was in @from, for @record's field, with the output that it gave. */
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

static void put_steps(struct kymo_rebuild *rebuild, const struct kymo_rebuilt_frame *frame, const struct kymo_move *move)
{
	rebuild->out->steps_code = frame->code;
	rebuild->out->steps_code_id = frame->code_id;
	rebuild->out->steps = move->count ? frame->moves->steps + move->first : NULL;
	rebuild->out->step_count = move->count;
}

/* As kymo_rebuild_walk_caller(), if the move is cached. */
static void move_caller(struct kymo_rebuild *rebuild, uint32_t raw)
{
	struct kymo_rebuilt_frame *frame = peek(rebuild);
	uint32_t token = kymo_move_token(KYMO_LASTI, raw);
	uint32_t from = frame ? frame->state : KYMO_NO_STATE;
	const struct kymo_move *move = from ? kymo_moves_find(frame->moves, from, token) : NULL;

	if (move) {
		put_steps(rebuild, frame, move);
		frame->is_copied &= frame->state == move->to;
		frame->state = move->to;
		return;
	}
	kymo_rebuild_walk_caller(rebuild, raw);
	if (!frame)
		return;
	set_state(frame);
	if (frame->state != KYMO_NO_STATE)
		keep_move(rebuild, frame->moves, from, token, frame->state);
}

/* Where a frame begins or continues, by the record of its entry. */
static void put_entry(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, unsigned kind, uint64_t offset)
{
	uint32_t token = kymo_move_token(kind, offset);
	const struct kymo_move *move = kymo_moves_find(frame->moves, KYMO_STATE_BEFORE, token);

	if (move) {
		frame->state = move->to;
		return;
	}
	put(frame, offset);
	/* 3.13 and later name the RESUME behind the YIELD_VALUE at which the exception is raised. */
	if (kind == KYMO_PY_THROW && !is_before(rebuild, KYMO_CPYTHON_3_13) && offset)
		frame->place.cur = locate(frame, offset - 1);
	set_state(frame);
	if (frame->state != KYMO_NO_STATE)
		kymo_moves_add(frame->moves, KYMO_STATE_BEFORE, (struct kymo_move){.token = token, .to = frame->state, .kind = kind},
			       NULL);
}

static void enter(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	uint64_t id = record->kind == KYMO_PY_START ? record->a : rebuild->code_id;
	struct kymo_rebuilt_frame *frame;
	uint64_t offset = record->a;

	move_caller(rebuild, rebuild->lasti);
	frame = kymo_rebuild_push(rebuild, id);
	if (record->kind == KYMO_PY_START)
		offset = frame && frame->code ? frame->code->entry_offset : 0;
	set_event(rebuild, frame, record->kind, offset);
	if (frame && frame->flow)
		put_entry(rebuild, frame, record->kind, offset);
}

/* Events that name their instruction. */
static void be_at(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct kymo_rebuilt_frame *frame = top(rebuild);

	set_event(rebuild, frame, record->kind, record->a);
	if (frame && frame->flow)
		kymo_rebuild_walk(rebuild, frame, locate(frame, record->a), KYMO_WALK_TO);
}

void kymo_rebuild_return(struct kymo_rebuild *rebuild)
{
	struct kymo_rebuilt_frame *frame = is_before(rebuild, KYMO_CPYTHON_3_13) ? peek(rebuild) : NULL;
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

/* From 3.13 on, for an exception out of a frame that the instruction entered, the event names the unit before the instruction. */
static bool is_behind_call(const struct kymo_rebuild *rebuild, const struct kymo_rebuilt_frame *frame, uint64_t raw)
{
	return !is_before(rebuild, KYMO_CPYTHON_3_13) && frame->place.cur != KYMO_NO_UNIT && raw + 1 == frame->place.cur;
}

/* Tracebacks have the line of that instruction. */
static void set_place(struct kymo_rebuild *rebuild, const struct kymo_rebuilt_frame *frame, uint64_t raw)
{
	if (is_behind_call(rebuild, frame, raw))
		rebuild->out->place_plus_1 = frame->place.cur + 1U;
}

static void leave(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	if (record->kind == KYMO_PY_UNWIND) {
		struct kymo_rebuilt_frame *frame = top(rebuild);

		set_event(rebuild, frame, record->kind, record->a);
		if (frame && frame->flow)
			set_place(rebuild, frame, record->a);
	} else {
		be_at(rebuild, record);
	}
	pop(rebuild);
	if (record->kind == KYMO_PY_RETURN)
		kymo_rebuild_return(rebuild);
}

/* The instruction of an exception at @raw. */
static uint32_t find_raise(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t raw)
{
	const struct kymo_place *place = &frame->place;

	if (is_before(rebuild, KYMO_CPYTHON_3_13)) {
		/* Raised between a jump back and its target: the event names the unit before the target. */
		uint32_t jump = place->cur;

		if (jump != KYMO_NO_UNIT && instruction(frame, jump)->op == KYMO_OP_JUMP_BACKWARD &&
		    instruction(frame, jump)->target == raw + 1)
			return jump;
		return locate(frame, raw);
	}
	return is_behind_call(rebuild, frame, raw) ? place->cur : locate(frame, raw);
}

static void raise_at(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct kymo_rebuilt_frame *frame = top(rebuild);
	const struct kymo_instruction *at;
	uint32_t unit, raw = record->a < KYMO_NO_UNIT ? (uint32_t)record->a : 0;

	set_event(rebuild, frame, record->kind, record->a);
	if (!frame || !frame->flow)
		return;
	if (frame->raised != KYMO_NO_UNIT && !kymo_rebuild_enter_handler(frame))
		kymo_rebuild_lose(rebuild, frame, locate(frame, raw));
	unit = find_raise(rebuild, frame, raw);
	set_place(rebuild, frame, raw);
	if (frame->is_fresh) {
		kymo_rebuild_lose(rebuild, frame, unit);
	} else if (unit != frame->place.cur && !kymo_rebuild_try_walk(rebuild, frame, unit, KYMO_WALK_TO)) {
		uint32_t jump = is_before(rebuild, KYMO_CPYTHON_3_13)
					? kymo_flow_find_jump(frame->flow, &frame->place, raw + 1)
					: KYMO_NO_UNIT;

		if (jump == KYMO_NO_UNIT || !kymo_rebuild_try_walk(rebuild, frame, jump, KYMO_WALK_TO))
			kymo_rebuild_lose(rebuild, frame, unit);
		else
			unit = jump;
	} else if (unit == frame->place.cur && frame->place.next != KYMO_NO_UNIT &&
		   !kymo_rebuild_try_walk_into(rebuild, frame, unit)) {
		kymo_rebuild_lose(rebuild, frame, unit);
	}
	frame->is_fresh = false;
	at = instruction(frame, unit);
	/* An exception that ends a loop is not raised in its frame. */
	if ((at->op == KYMO_OP_FOR_ITER || at->op == KYMO_OP_SEND) &&
	    kymo_traced_name_is_stop(rebuild->process, record->b))
		return;
	frame->raised = raw;
	if (record->kind == KYMO_RERAISE && at->arg && rebuild->lasti != KYMO_NO_UNIT)
		frame->place.prev = kymo_flow_unit_before(frame->flow, rebuild->lasti);
}

/* A branch of 3.12 or 3.13: one event for both ways. */
static void take_branch(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit, bool is_taken)
{
	const struct kymo_instruction *at = instruction(frame, unit);
	uint32_t next = is_taken ? at->target : at->next;

	if (is_taken && at->op == KYMO_OP_FOR_ITER)
		next = kymo_flow_loop_end(kymo_flow_of(frame->flow), at);
	kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_TO);
	set_event(rebuild, frame, KYMO_BRANCH, unit);
	rebuild->out->dest = frame->place.next = next;
}

static void take_right(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit)
{
	kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_TO);
	set_event(rebuild, frame, KYMO_BRANCH_RIGHT, unit);
	rebuild->out->dest = frame->place.next = instruction(frame, unit)->target;
}

static void take_left(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit)
{
	const struct kymo_instruction *at = instruction(frame, unit);
	uint32_t source = unit;

	if (at->op == KYMO_OP_FOR_ITER) {
		kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_TO);
		frame->place.next = at->next;
	} else if (at->op == KYMO_OP_NOT_TAKEN) {
		kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_TO);
		frame->place.next = at->next;
		/* The END_SEND before it; if this instruction has a LINE event, it is itself what ran last. */
		source = kymo_flow_line(frame->flow, unit) == KYMO_LINE_NONE ? unit - 1 : unit;
	} else {
		kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_NOT_TAKEN);
		frame->place = (struct kymo_place){at->next, instruction(frame, at->next)->next, at->next};
	}
	set_event(rebuild, frame, KYMO_BRANCH_LEFT, source);
	rebuild->out->dest = frame->place.next;
}

static void take_site(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct kymo_rebuilt_frame *frame = top(rebuild);
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
		/* A generator was made: for the interpreter, the frame is in the caches of the call. */
		kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_TO);
		frame->place.prev = unit + 1;
		set_event(rebuild, frame, KYMO_CALL, unit);
	} else if (kymo_op_is_jump(instruction(frame, unit)->op)) {
		kymo_rebuild_walk(rebuild, frame, unit, KYMO_WALK_TO);
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
	struct kymo_rebuilt_frame *frame = top(rebuild);

	set_event(rebuild, frame, record->kind, record->a);
	if (frame && frame->flow && frame->raised != KYMO_NO_UNIT)
		kymo_rebuild_enter_handler(frame);
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
		kymo_rebuild_replace_stack(rebuild, sync);
		return false;
	}
	out->is_unknown = kymo_rebuild_take_stack(rebuild, sync, false);
	return out->is_unknown || out->step_count;
}

bool kymo_rebuild_stop_at(struct kymo_rebuild *rebuild, uint32_t raw, struct kymo_rebuilt *out)
{
	struct kymo_rebuilt_frame *frame = top(rebuild), before;

	*out = (struct kymo_rebuilt){0};
	rebuild->out = out;
	if (!frame || !frame->flow)
		return false;
	before = *frame;
	kymo_rebuild_walk_caller(rebuild, raw);
	if (!out->is_unknown)
		return true;
	*frame = before;
	*out = (struct kymo_rebuilt){0};
	return false;
}

bool kymo_rebuild_end(struct kymo_rebuild *rebuild, struct kymo_rebuilt_end *end)
{
	struct kymo_rebuilt_frame *frame = top(rebuild);
	struct kymo_reach reach = KYMO_REACH_NONE;
	const struct kymo_handler *handler = NULL;

	*end = (struct kymo_rebuilt_end){.first_line = KYMO_LINE_NONE, .last_line = KYMO_LINE_NONE};
	if (!frame)
		return rebuild->hidden;
	end->code = frame->code;
	end->code_id = frame->code_id;
	end->is_copied = frame->is_copied;
	if (!frame->flow)
		return !frame->code; /* else its lines are recorded as they come */
	if (frame->raised != KYMO_NO_UNIT)
		handler = kymo_flow_handler(kymo_flow_of(frame->flow), frame->raised);
	else if (frame->is_fresh && frame->place.cur != KYMO_NO_UNIT) /* an exception may have passed through it */
		handler = kymo_flow_handler(kymo_flow_of(frame->flow), frame->place.cur);
	if (frame->raised == KYMO_NO_UNIT)
		kymo_flow_reach(frame->flow, &frame->place, &reach);
	if (handler)
		kymo_flow_reach(frame->flow, &(struct kymo_place){KYMO_NO_UNIT, handler->target, frame->place.prev}, &reach);
	end->first_line = reach.first_line;
	end->last_line = reach.last_line;
	return reach.is_any;
}

static bool take_special(struct kymo_rebuild *rebuild, const struct kymo_record *record, const uint8_t *bytes)
{
	struct kymo_sync sync;

	if (record->special != KYMO_TAG_EXTENDED)
		return false;
	if (kymo_is_stack(record) && kymo_sync_decode(bytes + KYMO_EXTENDED_BYTES, record->bytes - KYMO_EXTENDED_BYTES,
						      &sync) == KYMO_DECODE_OK) {
		rebuild->out->is_unknown = kymo_rebuild_take_stack(rebuild, &sync, record->extended == KYMO_EXTENDED_OTHER_STACK);
		return rebuild->out->is_unknown || rebuild->out->step_count;
	}
	if (record->extended != KYMO_EXTENDED_MARK)
		return false;
	kymo_rebuild_walk_caller(rebuild, rebuild->lasti);
	rebuild->lasti = KYMO_NO_UNIT;
	set_event(rebuild, top(rebuild), KYMO_KIND_SPECIAL, 0);
	return true;
}

/* Events that name their place in the frame on top, and for which moves are cached. */
static bool has_moves(unsigned kind)
{
	return kind == KYMO_SITE || kind == KYMO_PY_RETURN || kind == KYMO_PY_YIELD;
}

/* True if the move is cached, and was made. */
static bool move(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	struct kymo_rebuilt_frame *frame = peek(rebuild);
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
		kymo_rebuild_return(rebuild);
	return true;
}

static void move_slowly(struct kymo_rebuild *rebuild, const struct kymo_record *record)
{
	uint32_t token = kymo_move_token(record->kind, record->a);
	struct kymo_rebuilt_frame *frame = peek(rebuild);
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
		rebuild->is_told = false;
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
	rebuild->is_told = false;
	return true;
}
