// SPDX-License-Identifier: Apache-2.0
/*
 * Ids and names of asyncio tasks.
 *
 * No reference to a task is held, so a task is known by its address, and distinguished from a later one at the same address by
 * the start of its own coroutine or, if that is not recorded, by its name.
 */
#ifndef KYMO_PYEXT_TASKS_H
#define KYMO_PYEXT_TASKS_H

#include "pyext/python.h"

/* Give @python a table; false with an exception set. */
bool kymo_tasks_attach(struct kymo_python *python);

/* A recording begins; @has_starts: it records the start of each coroutine, without which tasks are not recorded. */
void kymo_tasks_begin(struct kymo_python *python, bool has_starts);

/*
 * The task that runs while a coroutine is entered by an event with @args, or KYMO_ID_UNKNOWN: none, one that is not asyncio's own
 * in C, or not known.  It is defined when first seen, and again when its name has changed.  @may_begin: the coroutine may not
 * have run before.
 */
uint32_t kymo_task_now(struct kymo_python *python, PyObject *const *args, bool may_begin);

#endif
