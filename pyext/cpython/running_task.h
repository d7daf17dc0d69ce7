// SPDX-License-Identifier: Apache-2.0
/* The asyncio task that the calling thread runs, as far as _asyncio knows it. */
#ifndef KYMO_PYEXT_CPYTHON_RUNNING_TASK_H
#define KYMO_PYEXT_CPYTHON_RUNNING_TASK_H

#include "pyext/cpython/cpython.h"

/* How it is found in one interpreter.  Before 3.14: */
struct kymo_task_finder {
	PyObject *asyncio, *current_tasks, *running_loop; /* strings to look up with */
	/* where it was found, valid while these dicts have not changed; no reference is held */
	PyObject *modules, *names, *tasks;
	uint64_t modules_version, names_version;
};

/* False with an exception set. */
bool kymo_task_finder_init(struct kymo_task_finder *finder);

/* Borrowed, and of any type; NULL: none, or not known.  Nothing is made, imported or raised.  GIL held. */
PyObject *kymo_running_task(struct kymo_task_finder *finder);

#endif
