// SPDX-License-Identifier: Apache-2.0
/* Answers for events that are not recorded, and room for those that are. */
#include "pyext/events/event_records.h"

PyObject *kymo_disable_place(PyObject *self, PyObject *code)
{
	struct kymo_python *python = python_of(self);
	struct kymo_code *known = kymo_code_of(python, code);

	/* Remembered for kymo_monitor_detach(). */
	if (!known)
		Py_RETURN_NONE;
	known->is_disabled = true;
	return Py_NewRef(python->disable);
}

kymo_cold PyObject *kymo_skip_event(PyObject *self, PyObject *code)
{
	const struct kymo_code *known = kymo_code_get(python_of(self), code);

	if (known && !known->is_wanted && ((struct kymo_callback *)self)->event->can_disable)
		return kymo_disable_place(self, code);
	Py_RETURN_NONE;
}

kymo_out_of_line struct kymo_producer *kymo_refill_for(PyObject *self)
{
	struct kymo_python *python = python_of(self);
	struct kymo_producer *p;

	python->entering = ((struct kymo_callback *)self)->event->enters;
	p = kymo_refill(&python->host);
	python->entering = false;
	/* Stopped under another GIL during this event, and there is another recording already. */
	return python->recording == kymo_process_generation() ? p : NULL;
}
