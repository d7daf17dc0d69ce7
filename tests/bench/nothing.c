// SPDX-License-Identifier: Apache-2.0
/*
 * The floor of every measurement: callbacks that return at once.
 *
 *   callback = _nothing.Callback(ways, count)
 *   callback.events         how often it was called, if @count is true
 *   _nothing.instrument(on) callgrind --instr-atstart=no counts from here, or no longer
 *   _nothing.flow_sites(co_code, co_exceptiontable)
 *                           by code unit, the number of the site that `flow` records there, or 0
 *
 * @ways: 0 never answers DISABLE, 1 at once, 2 when a branch was seen to go both ways.
 * An object of a C type with a vectorcall slot, as Kymo's callbacks are; runner.py
 * registers it under a tool id found as Kymo finds its own.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#include "format/flow.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else /* tests build this too, and do not count */
#define CALLGRIND_START_INSTRUMENTATION ((void)0)
#define CALLGRIND_STOP_INSTRUMENTATION ((void)0)
#endif

struct callback {
	PyObject_HEAD
	vectorcallfunc call;
	unsigned long long events;
};

/* Where the branch at @code and @offset went first. */
static struct way {
	uintptr_t code;
	long offset, dest;
} ways[1 << 18];

static PyObject *disable; /* sys.monitoring.DISABLE; lives as long as the interpreter */

static PyObject *go_on(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	(void)self, (void)args, (void)count, (void)names;
	Py_RETURN_NONE;
}

static PyObject *at_once(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	(void)self, (void)args, (void)count, (void)names;
	return Py_NewRef(disable);
}

static long offset_of(PyObject *number)
{
	return PyUnstable_Long_CompactValue((PyLongObject *)number);
}

static PyObject *at_second(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	uintptr_t code = (uintptr_t)args[0];
	long offset = offset_of(args[1]), dest = offset_of(args[2]);
	struct way *way = &ways[(code / 16 * 31 + (uintptr_t)offset) % (sizeof ways / sizeof ways[0])];

	(void)self, (void)count, (void)names;
	if (way->code == code && way->offset == offset && way->dest != dest)
		return Py_NewRef(disable);
	*way = (struct way){code, offset, dest};
	Py_RETURN_NONE;
}

static const vectorcallfunc answers[] = {go_on, at_once, at_second};

static PyObject *count_go_on(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	((struct callback *)self)->events++;
	return go_on(self, args, count, names);
}

static PyObject *count_at_once(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	((struct callback *)self)->events++;
	return at_once(self, args, count, names);
}

static PyObject *count_at_second(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
	((struct callback *)self)->events++;
	return at_second(self, args, count, names);
}

static const vectorcallfunc counting[] = {count_go_on, count_at_once, count_at_second};

static PyObject *callback_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	int ways_until_off, counts;
	struct callback *self;

	(void)kwargs;
	if (!PyArg_ParseTuple(args, "ip", &ways_until_off, &counts))
		return NULL;
	if (ways_until_off < 0 || ways_until_off > 2)
		return PyErr_Format(PyExc_ValueError, "ways: 0, 1 or 2");
	self = (struct callback *)type->tp_alloc(type, 0);
	if (self)
		self->call = (counts ? counting : answers)[ways_until_off];
	return (PyObject *)self;
}

static PyMemberDef callback_members[] = {
	{"events", T_ULONGLONG, offsetof(struct callback, events), READONLY, NULL},
	{0},
};

static PyTypeObject callback_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "_nothing.Callback",
	.tp_basicsize = sizeof(struct callback),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.tp_vectorcall_offset = offsetof(struct callback, call),
	.tp_call = PyVectorcall_Call,
	.tp_members = callback_members,
	.tp_new = callback_new,
};

static PyObject *instrument(PyObject *self, PyObject *on)
{
	(void)self;
	if (on == Py_True)
		CALLGRIND_START_INSTRUMENTATION;
	else
		CALLGRIND_STOP_INSTRUMENTATION;
	Py_RETURN_NONE;
}

static PyObject *flow_sites(PyObject *self, PyObject *args)
{
	PyObject *bytecode, *table, *list;
	struct kymo_flow flow;
	uint16_t *sites;

	(void)self;
	if (!PyArg_ParseTuple(args, "SS", &bytecode, &table))
		return NULL;
	if (kymo_flow_make(&flow, KYMO_FLOW_VERSION(PY_VERSION_HEX), (uint8_t *)PyBytes_AS_STRING(bytecode),
			   (size_t)PyBytes_GET_SIZE(bytecode), (uint8_t *)PyBytes_AS_STRING(table),
			   (size_t)PyBytes_GET_SIZE(table)))
		return PyErr_NoMemory();
	sites = PyMem_Calloc(flow.units + 1, sizeof(*sites));
	list = PyList_New(flow.units);
	if (!sites || !list)
		return PyErr_NoMemory();
	kymo_flow_sites(&flow, sites);
	for (uint32_t unit = 0; unit < flow.units; unit++)
		PyList_SET_ITEM(list, unit, PyLong_FromLong(sites[unit]));
	kymo_flow_release(&flow);
	PyMem_Free(sites);
	return list;
}

static PyMethodDef functions[] = {
	{"flow_sites", flow_sites, METH_VARARGS, NULL},
	{"instrument", instrument, METH_O, NULL},
	{0},
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_nothing",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__nothing(void)
{
	PyObject *monitoring = PySys_GetObject("monitoring");
	PyObject *self = PyModule_Create(&module);

	disable = monitoring ? PyObject_GetAttrString(monitoring, "DISABLE") : NULL;
	if (!self || !disable || PyModule_AddType(self, &callback_type) < 0) {
		Py_XDECREF(self);
		return NULL;
	}
	return self;
}
