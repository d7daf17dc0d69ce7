// SPDX-License-Identifier: Apache-2.0
/*
 * What the callbacks of callbacks.c and flow_callbacks.c have in common: how an event becomes a record.
 *
 * Arguments are as documented for sys.monitoring; offsets are in bytes there and in code units in records.
 */
#ifndef KYMO_PYEXT_EVENTS_EVENT_RECORDS_H
#define KYMO_PYEXT_EVENTS_EVENT_RECORDS_H

#include "pyext/events/callbacks.h"
#include "pyext/codes.h"
#include "pyext/names.h"
#include "pyext/tasks.h"

kymo_inline struct kymo_python *python_of(PyObject *self)
{
	return ((struct kymo_callback *)self)->python;
}

/* Relaxed: the GIL orders these accesses, see kymo_check_switch(). */
kymo_inline bool is_last_recorder(PyObject *self, const struct kymo_producer *p)
{
	return kymo_load_relaxed_u32(&python_of(self)->gil.owner) == p->ticket;
}

kymo_inline uint32_t units(PyObject *offset)
{
	return kymo_long_value(offset) / KYMO_CODE_UNIT;
}

/* The answer at a place whose events are no longer wanted. */
PyObject *kymo_disable_place(PyObject *self, PyObject *code);

/* The answer for an event that is not recorded. */
PyObject *kymo_skip_event(PyObject *self, PyObject *code);

/* As kymo_refill(), for the event of callback @self. */
struct kymo_producer *kymo_refill_for(PyObject *self);

/* Events that consist of their place alone. */
kymo_inline PyObject *place(struct kymo_producer *p, PyObject *const *args, enum kymo_kind kind, bool is_timed)
{
	if (is_timed)
		kymo_append_time(p);
	kymo_append1(p, kind, units(args[1]));
	Py_RETURN_NONE;
}

/* Record the task of the coroutine that the event enters. */
kymo_inline void task(PyObject *self, struct kymo_producer *p, PyObject *const *args, bool may_begin)
{
	kymo_append_task(p, kymo_task_now(python_of(self), args, may_begin));
}

/* Events with an exception: the name of its type. */
kymo_inline PyObject *exception(PyObject *self, struct kymo_producer *p, PyObject *const *args,
				  enum kymo_kind kind, bool is_timed)
{
	if (is_timed)
		kymo_append_time(p);
	kymo_append2(p, kind, units(args[1]), kymo_name_of_type(python_of(self), Py_TYPE(args[2])));
	Py_RETURN_NONE;
}

kymo_inline PyObject *call(PyObject *self, struct kymo_producer *p, PyObject *const *args, enum kymo_kind kind,
			     bool is_timed)
{
	if (is_timed)
		kymo_append_time(p);
	kymo_append2(p, kind, units(args[1]), kymo_name_of_callable(python_of(self), args[2]));
	Py_RETURN_NONE;
}

kymo_inline PyObject *instruction(struct kymo_producer *p, PyObject *const *args)
{
	kymo_append_instruction(p, units(args[1]));
	Py_RETURN_NONE;
}

#endif
