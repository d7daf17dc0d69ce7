// SPDX-License-Identifier: Apache-2.0
/* Which frame is on top, in a recording from which lines are rebuilt: for its callbacks, and those of values. */
#ifndef KYMO_PYEXT_EVENTS_FLOW_FRAMES_H
#define KYMO_PYEXT_EVENTS_FLOW_FRAMES_H

#include "pyext/codes.h"
#include "pyext/cpython/frames.h"

/* Set the code register to @known's code without a record: it is that of the top frame. */
kymo_inline void kymo_flow_set_code(struct kymo_producer *p, PyObject *code, const struct kymo_code *known)
{
	p->code = code;
	p->sites = known->sites;
}

/*
 * A greenlet may go on in another frame without an event: then nothing is assumed beyond what the next event says.  The
 * producer's frame is an address that no frame has until kymo_flow_ready() has looked.
 */
kymo_inline void kymo_flow_doubt_frames(const struct kymo_python *python, struct kymo_producer *p)
{
	if (kymo_unlikely(python->switches_stacks)) {
		kymo_forget_frames(p);
		p->frame = (const void *)((uintptr_t)p->frame | 1);
	}
}

/* What an event does with the stack.  KYMO_STAYS: exits are of the frame on top. */
enum kymo_way { KYMO_STAYS, KYMO_ENTERS, KYMO_THROWS };

/* @frame or the nearest frame that it returns to, directly or not, that is recorded. */
const void *kymo_recorded_frame(struct kymo_python *python, const void *frame);

/*
 * Make ready for an event of @code in the top frame or, if its @way enters a frame, in the one above; NULL if it is
 * not recorded.  A lost event is counted already.
 */
struct kymo_producer *kymo_flow_ready(PyObject *self, PyObject *code, enum kymo_way way);

/*
 * For events outside of a callback, in such a recording: record where the top frame is.  @before: the known top frame
 * before the producer was made ready.  Returns the producer, ready for an event, or NULL if it is lost.
 */
struct kymo_producer *kymo_flow_place(struct kymo_python *python, const void *before);

#endif
