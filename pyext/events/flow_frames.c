// SPDX-License-Identifier: Apache-2.0
/*
 * Which frame is on top, in a recording from which lines are rebuilt.
 *
 * In such a recording, entries and exits say which frame is on top of a thread's stack; events in that frame name no
 * code.  So a callback must know that the top frame is the one that the decoder assumes: the producer's frame register.
 * If it is not (generators that pass an exception on without running, an exception before the first instruction, stacks
 * that are switched in C), the whole stack is written again.
 */
#include "pyext/events/flow_frames.h"

#include "pyext/events/event_records.h"
#include "pyext/tool.h"

const void *kymo_recorded_frame(struct kymo_python *python, const void *frame)
{
	for (; frame; frame = kymo_frame_caller(frame)) {
		PyObject *code = (PyObject *)kymo_frame_code(frame);
		const struct kymo_code *known;

		/* Often there are dozens, for example if a test runner is left out. */
		if (kymo_code_is_left_out(python, code))
			continue;
		known = kymo_code_get(python, code);
		if (known && known->is_wanted)
			break;
	}
	return frame;
}

static const void *without_doubt(const void *frame)
{
	return (const void *)((uintptr_t)frame & ~(uintptr_t)1);
}

/*
 * Greenlets may have run between the last event and this one, of the same frame: each switch to a greenlet increments the
 * counter.  So does Context.run(), when it begins and when it ends; a single switch leaves another frame on top.
 */
static bool has_switched(const struct kymo_python *python, struct kymo_producer *p)
{
	uint64_t now, since;

	if (kymo_likely(!python->switches_stacks))
		return false;
	now = PyThreadState_Get()->context_ver;
	since = now - p->contexts_seen;
	p->contexts_seen = now;
	return since > 1;
}

/*
 * Record that @top is the top frame.  @before was known as the top frame before there was room for a record; NULL: none
 * was.  A chunk that began in between has the stack, but does not say that it is another one.
 */
static struct kymo_producer *match_stack(struct kymo_python *python, const void *before, const void *top)
{
	struct kymo_producer *p = kymo_producer;
	bool is_other = has_switched(python, p);

	p->frame = without_doubt(p->frame);
	before = without_doubt(before);
	if (before && (is_other || before != top))
		return kymo_append_stack(&python->host, KYMO_EXTENDED_OTHER_STACK);
	return p->frame == top ? p : kymo_append_stack(&python->host, KYMO_EXTENDED_STACK);
}

/*
 * A generator that passes an exception on to the one it delegates to is on the stack meanwhile, without running.  Its
 * caller may call it again, from another place and without an event: so the stack is written.
 */
static bool may_pass_on(enum kymo_way way, const void *top)
{
	return way == KYMO_THROWS && kymo_frame_can_yield(kymo_frame_caller(top));
}

kymo_out_of_line struct kymo_producer *kymo_flow_ready(PyObject *self, PyObject *code, enum kymo_way way)
{
	struct kymo_python *python = python_of(self);
	struct kymo_code *known = kymo_code_get(python, code);
	struct kymo_producer *p = kymo_producer;
	const void *top = kymo_frame_now(), *before;

	if (!known || !known->is_wanted || !known->sites)
		return NULL;
	/* Events without a frame, such as compiled modules may send; or an exception in a frame that is still being made, as for
	   generator expressions of 3.15. */
	if (!top || (PyObject *)kymo_frame_code(top) != code)
		return NULL;
	kymo_claim(p, &python->host);
	before = p->frame;
	if (may_pass_on(way, top)) {
		p->frame = NULL;
		if (!python->switches_stacks)
			before = NULL;
	}
	if (!kymo_is_ready(p) && !(p = kymo_refill_for(self)))
		return NULL;
	kymo_check_switch(p, &python->host);
	if (way != KYMO_STAYS)
		top = kymo_recorded_frame(python, kymo_frame_caller(top));
	python->entering = way != KYMO_STAYS;
	p = match_stack(python, before, top);
	python->entering = false;
	if (!p)
		return NULL;
	if (known->has_lines && !known->lines_are_on)
		known->lines_are_on = kymo_tool_add_lines(python, code);
	if (way == KYMO_STAYS)
		kymo_flow_set_code(p, code, known);
	return p;
}

struct kymo_producer *kymo_flow_place(struct kymo_python *python, const void *before)
{
	const void *top = kymo_recorded_frame(python, kymo_frame_now());
	struct kymo_producer *p = match_stack(python, before, top);

	if (p && top)
		kymo_append_lasti(p, kymo_frame_lasti(top));
	if (p)
		kymo_flow_doubt_frames(python, p);
	return p;
}
