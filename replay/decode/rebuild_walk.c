// SPDX-License-Identifier: Apache-2.0
/* Moving a frame from where it was to where a record says that it is. */
#include "replay/decode/rebuild_frames.h"

void kymo_rebuild_lose(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit)
{
	rebuild->out->is_unknown = !frame->is_fresh;
	frame->place = (struct kymo_place){unit, KYMO_NO_UNIT, unit};
	frame->raised = KYMO_NO_UNIT;
}

bool kymo_rebuild_enter_handler(struct kymo_rebuilt_frame *frame)
{
	const struct kymo_handler *handler = kymo_flow_handler(kymo_flow_of(frame->flow), frame->raised);

	if (!handler)
		return false;
	frame->place.cur = KYMO_NO_UNIT;
	frame->place.next = handler->target;
	frame->raised = KYMO_NO_UNIT;
	return true;
}

bool kymo_rebuild_try_walk(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit, enum kymo_walk_end end)
{
	struct kymo_rebuilt *out = rebuild->out;

	if (!kymo_flow_walk(frame->flow, &frame->place, unit, end, &out->steps, &out->step_count))
		return false;
	frame->is_idle &= !out->step_count;
	out->steps_code = frame->code;
	out->steps_code_id = frame->code_id;
	return true;
}

bool kymo_rebuild_try_walk_into(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit)
{
	if (frame->place.cur == unit && frame->place.next != KYMO_NO_UNIT && kymo_flow_lasts(frame->flow, unit))
		return true;
	return kymo_rebuild_try_walk(rebuild, frame, unit, KYMO_WALK_TO);
}

void kymo_rebuild_walk(struct kymo_rebuild *rebuild, struct kymo_rebuilt_frame *frame, uint32_t unit, enum kymo_walk_end end)
{
	if (frame->is_fresh || (frame->raised != KYMO_NO_UNIT && !kymo_rebuild_enter_handler(frame)) ||
	    !kymo_rebuild_try_walk(rebuild, frame, unit, end))
		kymo_rebuild_lose(rebuild, frame, unit);
	frame->is_fresh = false;
}

void kymo_rebuild_walk_caller(struct kymo_rebuild *rebuild, uint32_t raw)
{
	struct kymo_rebuilt_frame *frame = top(rebuild);
	uint32_t unit;

	if (!frame || !frame->flow || raw == KYMO_NO_UNIT)
		return;
	unit = locate(frame, raw);
	frame->is_copied &= unit == frame->place.cur;
	if (frame->raised != KYMO_NO_UNIT) {
		struct kymo_rebuilt_frame handled = *frame;

		/*
		 * A destructor may run while the exception propagates, wherever the interpreter says that it is; what the handler
		 * leads to comes after it.
		 */
		if (!kymo_rebuild_enter_handler(&handled) || !kymo_rebuild_try_walk_into(rebuild, &handled, unit))
			return;
		*frame = handled;
	} else if (!kymo_rebuild_try_walk_into(rebuild, frame, unit)) {
		kymo_rebuild_lose(rebuild, frame, unit);
	}
	frame->is_fresh = false;
	frame->place.prev = kymo_flow_unit_before(frame->flow, raw);
}
