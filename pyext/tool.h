// SPDX-License-Identifier: Apache-2.0
/* Our tool id with sys.monitoring, and what is asked of sys.monitoring with it.  GIL held. */
#ifndef KYMO_PYEXT_TOOL_H
#define KYMO_PYEXT_TOOL_H

#include "pyext/python.h"

/* sys.monitoring: borrowed, and NULL with an exception set if a program has removed it. */
PyObject *kymo_tool_monitoring(void);

/* Take a free id; false with an exception set. */
bool kymo_tool_take(struct kymo_python *python);

/* True if no other tool has an id; false with an exception set if that is not known. */
bool kymo_tool_is_alone(const struct kymo_python *python);

/* Switch on the events of @mask for all code; false with an exception set. */
bool kymo_tool_set_events(const struct kymo_python *python, unsigned long mask);

/* The bit of @kind, which this CPython has, in masks of sys.monitoring; 0 with an exception set. */
unsigned long kymo_tool_mask(enum kymo_kind kind);

/* Have @callback, or None, called for the event of @mask; false with an exception set. */
bool kymo_tool_register(const struct kymo_python *python, unsigned long mask, PyObject *callback);

/* Switch on @events, and no others, for @code alone; false if that failed.  Leaves the thread's exception as it is. */
bool kymo_tool_set_local(const struct kymo_python *python, PyCodeObject *code, unsigned long events);

/* Switch on LINE events for @code alone; false if that failed.  Leaves the thread's exception as it is. */
bool kymo_tool_add_lines(const struct kymo_python *python, PyObject *code);

#endif
