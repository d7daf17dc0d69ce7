// SPDX-License-Identifier: Apache-2.0
#define Py_BUILD_CORE 1
#include "pyext/cpython/running_task.h"

#if PY_VERSION_HEX >= 0x030d0000
#include "internal/pycore_tstate.h"
#endif
#if PY_VERSION_HEX < 0x030e0000
#include "internal/pycore_interp.h"
#endif

bool kymo_task_finder_init(struct kymo_task_finder *finder)
{
	finder->asyncio = PyUnicode_InternFromString("_asyncio");
	finder->current_tasks = PyUnicode_InternFromString("_current_tasks");
	finder->running_loop = PyUnicode_InternFromString("__asyncio_running_event_loop__");
	return finder->asyncio && finder->current_tasks && finder->running_loop;
}

#if PY_VERSION_HEX >= 0x030e0000
PyObject *kymo_running_task(struct kymo_task_finder *finder)
{
	(void)finder;
	return ((_PyThreadStateImpl *)PyThreadState_GetUnchecked())->asyncio_running_task;
}
#else
/* Borrowed; NULL if @dict is not an exact dict or has no @key.  Keys are exact str here. */
static PyObject *look_up(PyObject *dict, PyObject *key)
{
	PyObject *found = dict && PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, key) : NULL;

	if (!found)
		PyErr_Clear();
	return found;
}

/* Borrowed; NULL or None: the thread runs none. */
static PyObject *running_loop(const struct kymo_task_finder *finder, PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030d0000
	(void)finder;
	return ((_PyThreadStateImpl *)thread)->asyncio_running_loop;
#else
	return look_up(thread->dict, finder->running_loop);
#endif
}

/* No two dicts of an interpreter ever have the same version, and a dict never gets an earlier one back after a change. */
static uint64_t version_of(PyObject *dict)
{
	return ((PyDictObject *)dict)->ma_version_tag;
}

/* _asyncio._current_tasks: the tasks of all threads by their loops, while each runs.  NULL: there is none. */
static PyObject *current_tasks(struct kymo_task_finder *finder, PyObject *modules)
{
	PyObject *module;

	if (finder->tasks && finder->modules == modules && finder->modules_version == version_of(modules) &&
	    finder->names_version == version_of(finder->names))
		return finder->tasks;
	finder->tasks = NULL;
	module = look_up(modules, finder->asyncio);
	if (!module || !PyModule_CheckExact(module))
		return NULL;
	finder->modules = modules;
	finder->modules_version = version_of(modules);
	finder->names = PyModule_GetDict(module);
	finder->names_version = version_of(finder->names);
	finder->tasks = look_up(finder->names, finder->current_tasks);
	return finder->tasks;
}

PyObject *kymo_running_task(struct kymo_task_finder *finder)
{
	PyThreadState *thread = _PyThreadState_UncheckedGet();
	PyObject *loop = running_loop(finder, thread), *tasks, *of, *task;
	Py_ssize_t at = 0;

	if (!loop || loop == Py_None)
		return NULL;
	tasks = current_tasks(finder, thread->interp->imports.modules);
	if (!tasks || !PyDict_CheckExact(tasks))
		return NULL;
	/* Not by a look-up: loops may have an __eq__ of the program's. */
	while (PyDict_Next(tasks, &at, &of, &task))
		if (of == loop)
			return task;
	return NULL;
}
#endif
