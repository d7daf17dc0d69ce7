// SPDX-License-Identifier: Apache-2.0
/*
 * What runs once per event if values are recorded: the event's values, then the event by the callback
 * that is used without values.
 *
 * The values lie behind the chunk's committed length until the event's own store publishes both, so they are taken back if the
 * event is not recorded after all.  They must be in the event's chunk: so room for both is made before they are written.
 */
#include "pyext/cpython/frames.h"

#include "pyext/events/event_records.h"
#include "pyext/events/flow_frames.h"
#include "pyext/values/capture.h"

/* Beside values: their head, and the open branches before them. */
#define HEAD (5 + KYMO_EXTENDED_BYTES)

kymo_inline PyObject *record(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	return ((struct kymo_callback *)self)->record(self, args, nargs, names);
}

/* Ready for an event, as far as chunks go. */
static struct kymo_producer *refill(PyObject *self, PyObject *code)
{
	struct kymo_python *python = python_of(self);
	struct kymo_producer *p;

	if (python->values->is_flow)
		return kymo_flow_ready(self, code, ((struct kymo_callback *)self)->event->enters ? KYMO_ENTERS : KYMO_STAYS);
	p = kymo_refill_for(self);
	if (p)
		kymo_check_switch(p, &python->host);
	return p;
}

/* Write the stack, and make room for an event of @known and for @bytes of values before it.  False: the event is lost, and counted. */
static kymo_out_of_line bool make_room(PyObject *self, const struct kymo_code *known, uint32_t bytes)
{
	struct kymo_producer *p = kymo_producer;

	/* Open the next chunk, unless there is none yet. */
	if (p->payload && (uint32_t)p->word + bytes >= p->chunk_limit)
		p->limit = p->chunk_limit = 0;
	return refill(self, (PyObject *)known->code);
}

/* True if the decoder assumes that the event is in @frame, so that the stack need not be written first. */
kymo_inline bool is_placed(const struct kymo_value_recorder *values, const struct kymo_producer *p, const void *frame, bool enters)
{
	if (!values->is_flow)
		return true;
	return p->frame == (enters ? kymo_frame_below(frame, p->frame) : frame);
}

kymo_inline bool has_room(const struct kymo_producer *p, uint32_t bytes)
{
	return p->payload && (uint32_t)p->word + bytes < p->chunk_limit;
}

/* The event cannot be recorded. */
static kymo_cold PyObject *lose(PyObject *self, PyObject *const *args)
{
	/* A task's start must be noticed. */
	if (((struct kymo_callback *)self)->event->kind == KYMO_PY_START && kymo_is_coroutine(args[0]))
		kymo_task_now(python_of(self), args, true);
	return kymo_skip_event(self, args[0]);
}

enum parts {
	START = 1,
	OWN = 2, /* the event's own value */
	SUSPEND = 4,
};

static kymo_out_of_line PyObject *record_after_values(PyObject *self, PyObject *const *args, size_t nargs,
						      PyObject *names, const struct kymo_code *known, enum parts parts)
{
	struct kymo_value_recorder *values = python_of(self)->values;
	const void *frame = kymo_frame_running();
	uint32_t bytes = kymo_values_room(values, known) + HEAD;
	struct kymo_producer *p = kymo_producer;
	uint64_t before, after;
	const uint8_t *payload;
	PyObject *answer;

	if (!frame || (PyObject *)kymo_frame_code(frame) != args[0])
		return record(self, args, nargs, names);
	kymo_claim(p, &python_of(self)->host);
	if (kymo_unlikely(!has_room(p, bytes) || (known->has_lines && !known->lines_are_on) ||
			  !is_placed(values, p, frame, parts & START))) {
		if (!make_room(self, known, bytes))
			return lose(self, args);
		p = kymo_producer;
		if (!has_room(p, bytes)) /* not in any chunk */
			return record(self, args, nargs, names);
	}
	before = p->word;
	payload = p->payload;
	kymo_flush_branches(p);
	kymo_values_open(values, p);
	if (values->scope >= KYMO__VALUES__SCOPE__LOCALS)
		kymo_values_add_variables(values, known, frame, parts & START);
	else if (parts & START)
		kymo_values_add_arguments(values, known, frame);
	if (parts & OWN)
		kymo_values_add(values, known, KYMO_VALUES_OWN, args[2]);
	kymo_values_close(values);
	/* The decoder cannot know which generator of the same code goes on. */
	if (parts & SUSPEND)
		kymo_values_forget_frame(values, frame);
	after = p->word;
	answer = record(self, args, nargs, names);
	if (kymo_unlikely(p->word == after && p->payload == payload)) {
		p->word = before;
		kymo_values_forget(values);
	}
	return answer;
}

kymo_inline PyObject *with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names, enum parts parts)
{
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);

	if (kymo_unlikely(!known))
		known = kymo_code_get(python_of(self), args[0]);
	if (!known || !known->has_values || known->id == KYMO_ID_UNKNOWN)
		return record(self, args, nargs, names);
	return record_after_values(self, args, nargs, names, known, parts);
}

PyObject *kymo_start_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	return with_values(self, args, nargs, names, START);
}

PyObject *kymo_return_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	return with_values(self, args, nargs, names, OWN);
}

PyObject *kymo_yield_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	return with_values(self, args, nargs, names, OWN | SUSPEND);
}

/* The frame's variables alone. */
PyObject *kymo_variables_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	if (python_of(self)->values->scope < KYMO__VALUES__SCOPE__LOCALS)
		return record(self, args, nargs, names);
	return with_values(self, args, nargs, names, 0);
}

/* True at the place of the raise: only this frame is in the exception's traceback. */
static bool is_new(PyObject *exception)
{
	PyObject *traceback = PyExceptionInstance_Check(exception) ? ((PyBaseExceptionObject *)exception)->traceback : NULL;

	return !traceback || !PyTraceBack_Check(traceback) || !((PyTracebackObject *)traceback)->tb_next;
}

PyObject *kymo_raise_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	if (is_new(args[2]))
		return with_values(self, args, nargs, names, OWN);
	return kymo_variables_with_values(self, args, nargs, names);
}

