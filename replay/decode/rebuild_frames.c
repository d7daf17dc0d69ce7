// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/rebuild_frames.h"

#include <string.h>

/* CPython's own limit on recursion is far below. */
#define MAX_FRAMES (1U << 20)

static const struct recent_code *find_code(struct kymo_rebuild *rebuild, uint64_t id)
{
	struct recent_code *recent = &rebuild->recent[id % RECENT_CODES];

	if (recent->id == id && id)
		return recent;
	*recent = (struct recent_code){.id = id, .code = kymo_traced_code(rebuild->process, id)};
	if (recent->code)
		recent->flow = kymo_flow_code_get(recent->code->content, rebuild->process->definition->python_hex,
						  rebuild->kinds);
	if (recent->flow && (recent->code->has_lines || !kymo_flow_of(recent->flow)->is_exact))
		recent->flow = NULL;
	if (recent->flow)
		recent->moves = kymo_flow_moves(recent->flow);
	return recent;
}

struct kymo_rebuilt_frame *kymo_rebuild_push(struct kymo_rebuild *rebuild, uint64_t code_id)
{
	const struct recent_code *known = find_code(rebuild, code_id);
	struct kymo_rebuilt_frame *frame;

	if (rebuild->count == rebuild->capacity && rebuild->count < MAX_FRAMES &&
	    kymo_grow(&rebuild->frames, &rebuild->capacity, rebuild->count + 1, sizeof(*rebuild->frames)))
		return NULL;
	if (rebuild->count == MAX_FRAMES)
		return NULL;
	frame = &rebuild->frames[rebuild->count++];
	*frame = (struct kymo_rebuilt_frame){
		.code_id = code_id,
		.code = known->code,
		.flow = known->flow,
		.moves = known->moves,
		.place = {KYMO_NO_UNIT, KYMO_NO_UNIT, KYMO_NO_UNIT},
		.raised = KYMO_NO_UNIT,
	};
	return frame;
}

/* @frame ran nothing to get to @unit, or does not run there: it has not begun, has yielded, or is about to be resumed. */
static bool is_at_rest(const struct kymo_rebuilt_frame *frame, uint32_t unit)
{
	if (!frame->flow || unit == KYMO_NO_UNIT)
		return false;
	return unit <= kymo_flow_of(frame->flow)->entry || instruction(frame, unit)->op == KYMO_OP_YIELD ||
	       instruction(frame, unit)->op == KYMO_OP_RESUME;
}

void kymo_rebuild_wake(struct kymo_rebuilt_frame *frame)
{
	/* A generator that passes an exception on has an event when it is resumed. */
	frame->is_idle = is_at_rest(frame, place_of(frame)->cur);
}

/* Push frame number @i of @sync, counted from the innermost; false: no memory. */
static bool push_told(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, uint64_t i)
{
	struct kymo_rebuilt_frame *frame = kymo_rebuild_push(rebuild, sync->frames[i].code);

	if (!frame)
		return false;
	if (frame->flow && sync->frames[i].offset_plus_1)
		put(frame, sync->frames[i].offset_plus_1 - 1);
	frame->is_fresh = i == 0;
	frame->is_idle = true;
	frame->is_copied = rebuild->process->forked_from;
	return true;
}

/* Push the innermost @count frames of @sync; false: no memory, or one of them has run. */
static bool push_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, uint64_t count)
{
	bool are_at_rest = true;

	for (uint64_t i = count; i-- > 0;) {
		if (!push_told(rebuild, sync, i))
			return false;
		are_at_rest &= is_at_rest(peek(rebuild), place_of(peek(rebuild))->cur);
	}
	return are_at_rest;
}

/* If the stack has become lower, @sync lists frames that were too far down before. */
static void reveal(struct kymo_rebuild *rebuild, const struct kymo_sync *sync)
{
	uint64_t hidden = sync->depth - sync->listed, more = rebuild->hidden > hidden ? rebuild->hidden - hidden : 0;
	uint32_t known = rebuild->count;

	if (!more || more > sync->listed || known + more > MAX_FRAMES ||
	    kymo_grow(&rebuild->frames, &rebuild->capacity, known + more, sizeof(*rebuild->frames)))
		return;
	memmove(rebuild->frames + more, rebuild->frames, known * sizeof(*rebuild->frames));
	rebuild->count = 0;
	for (uint64_t i = 0; i < more; i++)
		(void)push_told(rebuild, sync, sync->listed - 1 - i); /* there is room */
	rebuild->count += known;
	rebuild->hidden = hidden;
}

void kymo_rebuild_replace_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync)
{
	rebuild->count = 0;
	rebuild->hidden = sync->depth - sync->listed;
	(void)push_stack(rebuild, sync, sync->listed);
}

/* The number of frames, from the outermost on, that are the same in @sync. */
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
 * Generators that passed an exception on leave without an event. So those that pass one on now, and are still at their yield, may be
 * other ones even if they run the same code. Returns the number of frames that are the same, at most @common.
 */
static uint64_t same_frames(const struct kymo_rebuild *rebuild, const struct kymo_sync *sync, uint64_t common)
{
	for (; common > rebuild->hidden && sync->depth - common < sync->listed; common--) {
		const struct kymo_rebuilt_frame *frame = &rebuild->frames[common - rebuild->hidden - 1];
		uint64_t offset_plus_1 = sync->frames[sync->depth - common].offset_plus_1;

		if (!frame->is_idle || !frame->flow || !offset_plus_1 || !is_at_rest(frame, locate(frame, offset_plus_1 - 1)))
			break;
	}
	return common;
}

bool kymo_rebuild_take_stack(struct kymo_rebuild *rebuild, const struct kymo_sync *sync, bool is_other)
{
	bool is_unknown = false, looks_same;
	uint64_t common;

	reveal(rebuild, sync);
	common = common_frames(rebuild, sync);
	looks_same = common == sync->depth && common == rebuild->hidden + rebuild->count;

	/* The same stack a second time, at the beginning of a chunk. */
	is_other &= !rebuild->is_told;
	rebuild->is_told = !looks_same;

	if (rebuild->hidden > common || sync->depth - sync->listed > common ||
	    (is_other && looks_same && !(rebuild->count && top(rebuild)->is_idle))) {
		kymo_rebuild_replace_stack(rebuild, sync);
		return true;
	}
	common = same_frames(rebuild, sync, common);
	for (; rebuild->hidden + rebuild->count > common; rebuild->count--)
		is_unknown |= !top(rebuild)->is_idle;
	if (!is_unknown && common < sync->depth && common > sync->depth - sync->listed) {
		kymo_rebuild_walk_caller(rebuild, (uint32_t)sync->frames[sync->depth - common].offset_plus_1 - 1);
		if (rebuild->count)
			top(rebuild)->is_idle = false;
	}
	return !push_stack(rebuild, sync, sync->depth - common) || is_unknown;
}

