// SPDX-License-Identifier: Apache-2.0
/* The callbacks of sys.monitoring, one for each event. */
#ifndef KYMO_PYEXT_EVENTS_CALLBACKS_H
#define KYMO_PYEXT_EVENTS_CALLBACKS_H

#include "pyext/python.h"

struct kymo_callback {
	PyObject_HEAD
	vectorcallfunc call;
	vectorcallfunc record; /* KYMO_VALUES: what records the event itself, after its values */
	struct kymo_python *python;
	const struct kymo_event *event;
};

/* What the recording asks of a callback. */
enum kymo_variant {
	KYMO_PLAIN,
	KYMO_TIMED, /* --clock=exact */
	KYMO_BITS,  /* branches as bits */
	KYMO_CALLS, /* flow: calls are recorded as events */
	KYMO_ONCE,  /* each place is switched off after its first event */
	KYMO_VALUES, /* values are recorded before it */
	KYMO_VARIANTS,
};

struct kymo_event {
	const char *name; /* in sys.monitoring.events */
	enum kymo_kind kind;
	bool can_disable; /* the interpreter accepts DISABLE as an answer */
	bool enters;      /* the event's frame was not on the stack before */
	vectorcallfunc call[KYMO_VARIANTS]; /* NULL: as KYMO_PLAIN */
};

/* The events of this CPython; ends with an entry without a name. */
extern const struct kymo_event kymo_events[];

/* As kymo_events, for recordings from which lines are rebuilt. */
extern const struct kymo_event kymo_flow_events[];

/* Callbacks that write values, then have @record record the event: see pyext/values/value_callbacks.c. */
PyObject *kymo_start_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names);
PyObject *kymo_return_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names);
PyObject *kymo_yield_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names);
PyObject *kymo_raise_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names);
PyObject *kymo_variables_with_values(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names);

/* CALL if it must be on for C_RETURN and C_RAISE, but is not wanted itself. */
extern const struct kymo_event kymo_event_ignored_call;

/* The same for PY_START, which LINE needs. */
extern const struct kymo_event kymo_event_ignored_start;

#endif
