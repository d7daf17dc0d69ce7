// SPDX-License-Identifier: Apache-2.0
/*
 * Counting without expanding: most records of a chunk make a cached move. This loop takes them by their bytes alone, and leaves what
 * is new or rare to rebuild.c.
 */
#include "replay/decode/rebuild_frames.h"

uint64_t kymo_rebuild_depth(const struct kymo_rebuild *rebuild)
{
	return rebuild->hidden + rebuild->count;
}

static bool has_line(const struct kymo_rebuilt_frame *frame, const struct kymo_move *move)
{
	for (uint32_t i = 0; i < move->count; i++)
		if (frame->moves->steps[move->first + i].kind == KYMO_LINE)
			return true;
	return false;
}

/* True if counting must stop before the frame on top makes @move. */
static inline bool stops_at(const struct kymo_rebuild *rebuild, const struct kymo_counting *counting,
			    const struct kymo_rebuilt_frame *frame, const struct kymo_move *move)
{
	return counting->line_depth && kymo_rebuild_depth(rebuild) <= counting->line_depth && has_line(frame, move);
}

/* Count a hit of @move.  False: no memory; nothing has changed. */
static inline bool hit(struct kymo_counting *counting, const struct kymo_rebuilt_frame *frame,
		       const struct kymo_move *move)
{
	uint32_t number = (uint32_t)(move - frame->moves->moves);

	if (counting->is_blind)
		return true;
	if (frame->moves->moves[number].hits)
		return frame->moves->moves[number].hits++;
	if (kymo_grow(&counting->touched, &counting->touched_capacity, counting->touched_count + 1,
		      sizeof(*counting->touched)))
		return false;
	counting->touched[counting->touched_count++] =
		(struct kymo_counted_move){frame->moves, frame->code->content, number};
	frame->moves->moves[number].hits = 1;
	return true;
}

static inline void note_depth(const struct kymo_rebuild *rebuild, struct kymo_counting *counting)
{
	uint64_t depth = rebuild->hidden + rebuild->count;

	if (depth < counting->lowest_depth)
		counting->lowest_depth = depth;
}

/* A branch, or the end of a frame. False: it is not cached. */
static inline bool move(struct kymo_rebuild *rebuild, struct kymo_counting *counting, unsigned kind, uint32_t field)
{
	struct kymo_rebuilt_frame *frame = peek(rebuild);
	const struct kymo_move *move = frame && frame->state != KYMO_NO_STATE
					       ? kymo_moves_find(frame->moves, frame->state, kymo_move_token(kind, field))
					       : NULL;

	if (!move || stops_at(rebuild, counting, frame, move) || !hit(counting, frame, move))
		return false;
	note_depth(rebuild, counting);
	frame->state = move->to;
	frame->is_copied = false;
	if (kind == KYMO_SITE)
		return true;
	pop(rebuild);
	if (kind == KYMO_PY_RETURN && is_before(rebuild, KYMO_CPYTHON_3_13))
		kymo_rebuild_return(rebuild);
	return true;
}

/* A call of the code @id. False: a part of it is not cached. */
static inline bool call(struct kymo_rebuild *rebuild, struct kymo_counting *counting, uint32_t id)
{
	const struct recent_code *code = &rebuild->recent[id % RECENT_CODES];
	struct kymo_rebuilt_frame *caller = peek(rebuild), *frame;
	const struct kymo_move *on_the_way, *entry;

	if (!caller || caller->state == KYMO_NO_STATE || rebuild->lasti == KYMO_NO_UNIT || code->id != id || !code->moves ||
	    rebuild->count == rebuild->capacity)
		return false;
	on_the_way = kymo_moves_find(caller->moves, caller->state, kymo_move_token(KYMO_LASTI, rebuild->lasti));
	entry = kymo_moves_find(code->moves, KYMO_STATE_BEFORE, kymo_move_token(KYMO_PY_START, code->code->entry_offset));
	if (!on_the_way || !entry || stops_at(rebuild, counting, caller, on_the_way))
		return false;
	frame = &rebuild->frames[rebuild->count];
	frame->code_id = id;
	frame->code = code->code;
	frame->flow = code->flow;
	frame->moves = code->moves;
	frame->state = entry->to;
	frame->raised = KYMO_NO_UNIT;
	frame->is_fresh = frame->is_idle = frame->is_copied = false;
	if (!hit(counting, caller, on_the_way) || !hit(counting, frame, entry))
		return false;
	note_depth(rebuild, counting);
	caller->is_copied &= caller->state == on_the_way->to;
	caller->state = on_the_way->to;
	rebuild->count++;
	return true;
}

size_t kymo_rebuild_count(struct kymo_rebuild *rebuild, const uint8_t *payload, size_t bytes,
			  struct kymo_counting *counting)
{
	size_t at = 0;

	/* A record here has at most three bytes. */
	while (bytes - at >= 3) {
		unsigned tag = payload[at], kind = tag >> 2, length = 1;
		uint32_t field;
		bool is_done;

		if (tag >= KYMO_TAG_SITE) {
			kind = KYMO_SITE;
			field = tag - KYMO_TAG_SITE + KYMO_SITE_BIAS;
		} else {
			if ((tag & 3) > 1)
				break;
			length = 2 + (tag & 1);
			field = tag & 1 ? payload[at + 1] | (uint32_t)payload[at + 2] << 8 : payload[at + 1];
		}
		switch (kind) {
		case KYMO_SITE:
		case KYMO_PY_RETURN:
		case KYMO_PY_YIELD:
			is_done = move(rebuild, counting, kind, field);
			break;
		case KYMO_PY_START:
			is_done = call(rebuild, counting, field);
			break;
		case KYMO_LASTI:
			rebuild->lasti = field;
			at += length;
			continue;
		default:
			return at;
		}
		if (!is_done)
			break;
		rebuild->lasti = KYMO_NO_UNIT;
		rebuild->is_told = false;
		counting->events++;
		at += length;
		if (kymo_rebuild_depth(rebuild) < counting->stop_below)
			break;
	}
	return at;
}
