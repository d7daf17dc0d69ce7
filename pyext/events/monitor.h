// SPDX-License-Identifier: Apache-2.0
/* Our tool in sys.monitoring: the id, the callbacks, the events. */
#ifndef KYMO_PYEXT_EVENTS_MONITOR_H
#define KYMO_PYEXT_EVENTS_MONITOR_H

#include "pyext/python.h"

/* The type of callback objects in this interpreter: a new reference, or NULL with an exception set. */
PyObject *kymo_callback_type(void);

/*
 * Take a free tool id in the calling interpreter and put callbacks for the events of @config
 * in place.  No event comes before kymo_monitor_enable().  False with an exception set.
 * @is_early: the program has not begun.
 */
bool kymo_monitor_attach(struct kymo_python *python, const Kymo__Config *config);
bool kymo_monitor_enable(struct kymo_python *python, const Kymo__Config *config, bool is_early);

/*
 * Stop all events; the tool id is free again, and no place in the code stays switched off for
 * the next tool that gets it.
 */
void kymo_monitor_detach(struct kymo_python *python);

#endif
