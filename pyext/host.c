// SPDX-License-Identifier: Apache-2.0
/* What the recorder asks its host: the stack, the thread's name. */
#include "pyext/cpython/frames.h"

#include <unistd.h>

#include <stdlib.h>

#include "pyext/codes.h"
#include "pyext/events/monitor.h"
#include "pyext/names.h"
#include "pyext/tasks.h"
#include "pyext/strings.h"
#include "pyext/values/types.h"

/* Deeper stacks are not counted to their end. */
#define MAX_DEPTH 100000

static void call_stack(const struct kymo_host *host, struct kymo_sync *sync)
{
	struct kymo_python *python = (struct kymo_python *)(uintptr_t)host;
	const void *frame = kymo_frame_now();

	sync->depth = 0;
	sync->listed = 0;
	kymo_producer->frame = NULL;
	if (python->entering)
		frame = kymo_frame_caller(frame);
	for (; frame && sync->depth < MAX_DEPTH; frame = kymo_frame_caller(frame)) {
		struct kymo_code *known = kymo_code_get(python, (PyObject *)kymo_frame_code(frame));

		/* Code that is not recorded will have no return event either. */
		if (!known || !known->is_wanted)
			continue;
		if (sync->depth++ == 0)
			kymo_producer->frame = frame;
		if (sync->listed < KYMO_MAX_SYNC_FRAMES) {
			sync->frames[sync->listed].code = known->id;
			sync->frames[sync->listed++].offset_plus_1 = (uint64_t)kymo_frame_lasti(frame) + 1;
		}
	}
}

static uint64_t thread_ident(const struct kymo_host *host)
{
	(void)host;
	return PyThread_get_thread_ident();
}

/* Borrowed; NULL if @dict is not an exact dict or has no @key.  Keys are exact str and int here. */
static PyObject *look_up(PyObject *dict, PyObject *key)
{
	PyObject *found = dict && key && PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, key) : NULL;

	if (!found)
		PyErr_Clear();
	return found;
}

/* threading._active[ident]._name, if it can be read without running the program's code. */
static bool thread_name(const struct kymo_host *host, char *name, size_t bytes)
{
	const struct kymo_python *python = (const struct kymo_python *)host;
	PyObject *module = look_up(PySys_GetObject("modules"), python->threading);
	PyObject *ident, *thread, *value;
	struct kymo_arena arena = {0};

	if (!module || !PyModule_CheckExact(module)) {
		/* The name that threading will give it, once it is imported. */
		snprintf(name, bytes, "MainThread");
		return getpid() == gettid();
	}
	ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
	thread = look_up(look_up(PyModule_GetDict(module), python->active), ident);
	Py_XDECREF(ident);
	if (!thread || Py_TYPE(thread)->tp_getattro != PyObject_GenericGetAttr ||
	    _PyType_Lookup(Py_TYPE(thread), python->name))
		return false;
	value = PyObject_GenericGetAttr(thread, python->name);
	if (!value || !PyUnicode_Check(value)) {
		PyErr_Clear();
		Py_XDECREF(value);
		return false;
	}
	snprintf(name, bytes, "%s", kymo_text(&arena, value));
	kymo_arena_free(&arena);
	Py_DECREF(value);
	return true;
}

struct kymo_python *kymo_python_get(void)
{
	int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
	struct kymo_python *python = kymo_python_find();
	PyObject *monitoring, *wrapper;

	if (python)
		return python;
	monitoring = PySys_GetObject("monitoring");
	if (!monitoring)
		return PyErr_SetString(PyExc_ImportError, "kymo needs sys.monitoring, which CPython has from 3.12 on"), NULL;
	python = calloc(1, sizeof(*python));
	if (!python)
		return PyErr_NoMemory(), NULL;
	python->host = (struct kymo_host){
		.call_stack = call_stack,
		.thread_ident = thread_ident,
		.thread_name = thread_name,
		.interpreter = (uint32_t)interpreter,
		.gil = &python->gil,
	};
	python->gil.owner = KYMO_GIL_NOBODY;
	python->tool = -1;
	python->threading = PyUnicode_InternFromString("threading");
	python->active = PyUnicode_InternFromString("_active");
	python->name = PyUnicode_InternFromString("_name");
	python->linecache = PyUnicode_InternFromString("linecache");
	python->cache = PyUnicode_InternFromString("cache");
	python->interactive_cache = PyUnicode_InternFromString("_interactive_cache");
	python->getlines = PyUnicode_InternFromString("getlines");
	python->disable = PyObject_GetAttrString(monitoring, "DISABLE");
	python->callback_type = kymo_callback_type();
	wrapper = PyObject_GetAttrString(Py_None, "__init__");
	if (wrapper)
		python->method_wrapper = (PyTypeObject *)Py_NewRef(Py_TYPE(wrapper));
	Py_XDECREF(wrapper);
	if (!python->method_wrapper || !python->threading || !python->active || !python->name || !python->linecache ||
	    !python->cache || !python->interactive_cache || !python->getlines || !python->disable ||
	    !python->callback_type || !kymo_names_attach(python) || !kymo_tasks_attach(python) ||
	    !kymo_value_types_attach(python) || !kymo_codes_attach(python)) {
		free(python);
		return NULL;
	}
	kymo_python_add(python);
	return python;
}
