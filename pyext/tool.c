// SPDX-License-Identifier: Apache-2.0
#include "pyext/tool.h"

#include "format/kinds.h"

/*
 * In this order: the standard library suggests uses for 0, 1, 2 and 5; nobody uses 5, for optimizers.  Other tools, such as
 * ddtrace, rely on 3 and 4, which it leaves free.
 */
static const int tool_ids[KYMO_TOOL_IDS] = {5, 4, 3, 0, 1, 2};

PyObject *kymo_tool_monitoring(void)
{
	PyObject *module = PySys_GetObject("monitoring");

	if (!module)
		PyErr_SetString(PyExc_RuntimeError, "kymo: sys.monitoring is not available");
	return module;
}

unsigned long kymo_tool_mask(enum kymo_kind kind)
{
	PyObject *events = kymo_tool_monitoring() ? PyObject_GetAttrString(kymo_tool_monitoring(), "events") : NULL;
	PyObject *value = events ? PyObject_GetAttrString(events, kymo_kind_name(kind)) : NULL;
	unsigned long mask = value ? PyLong_AsUnsignedLong(value) : 0;

	Py_XDECREF(value);
	Py_XDECREF(events);
	return PyErr_Occurred() ? 0 : mask;
}

/* A new reference to the name of the tool that holds @id, or to None. */
static PyObject *tool_name(int id)
{
	return kymo_tool_monitoring() ? PyObject_CallMethod(kymo_tool_monitoring(), "get_tool", "i", id) : NULL;
}

static bool fail_without_tool(void)
{
	PyObject *names = PyList_New(0);
	PyObject *separator = PyUnicode_FromString(", ");
	PyObject *text = NULL;

	for (int id = 0; names && id < KYMO_TOOL_IDS; id++) {
		PyObject *name = tool_name(id);
		PyObject *item = name ? PyUnicode_FromFormat("%S (%d)", name, id) : NULL;

		if (!item || PyList_Append(names, item) < 0)
			Py_CLEAR(names);
		Py_XDECREF(item);
		Py_XDECREF(name);
	}
	if (names && separator)
		text = PyUnicode_Join(separator, names);
	if (text)
		PyErr_Format(PyExc_RuntimeError, "kymo: no free tool id in sys.monitoring: %U", text);
	Py_XDECREF(text);
	Py_XDECREF(separator);
	Py_XDECREF(names);
	return false;
}

bool kymo_tool_take(struct kymo_python *python)
{
	for (int i = 0; i < KYMO_TOOL_IDS; i++) {
		PyObject *name = tool_name(tool_ids[i]);
		PyObject *done;

		if (!name)
			return false;
		Py_DECREF(name);
		if (name != Py_None)
			continue;
		done = PyObject_CallMethod(kymo_tool_monitoring(), "use_tool_id", "is", tool_ids[i], "kymo");
		if (!done)
			return false;
		Py_DECREF(done);
		python->tool = tool_ids[i];
		return true;
	}
	return fail_without_tool();
}

bool kymo_tool_register(const struct kymo_python *python, unsigned long mask, PyObject *callback)
{
	PyObject *before =
		PyObject_CallMethod(kymo_tool_monitoring(), "register_callback", "ikO", python->tool, mask, callback);

	Py_XDECREF(before);
	return before;
}

bool kymo_tool_set_events(const struct kymo_python *python, unsigned long mask)
{
	PyObject *done = PyObject_CallMethod(kymo_tool_monitoring(), "set_events", "ik", python->tool, mask);

	Py_XDECREF(done);
	return done;
}

bool kymo_tool_is_alone(const struct kymo_python *python)
{
	for (int id = 0; id < KYMO_TOOL_IDS; id++) {
		PyObject *name = id == python->tool ? Py_NewRef(Py_None) : tool_name(id);

		Py_XDECREF(name);
		if (name != Py_None)
			return false;
	}
	return true;
}

bool kymo_tool_set_local(const struct kymo_python *python, PyCodeObject *code, unsigned long events)
{
	PyObject *raised = PyErr_GetRaisedException();
	PyObject *done = kymo_tool_monitoring() ? PyObject_CallMethod(kymo_tool_monitoring(), "set_local_events", "iOk", python->tool,
							    code, events)
				      : NULL;

	Py_XDECREF(done);
	PyErr_Clear();
	PyErr_SetRaisedException(raised);
	return done;
}

bool kymo_tool_add_lines(const struct kymo_python *python, PyObject *code)
{
	PyObject *raised = PyErr_GetRaisedException();
	unsigned long line = kymo_tool_mask(KYMO_LINE);
	bool is_done = line && kymo_tool_set_local(python, (PyCodeObject *)code, line | python->local_exceptions);

	PyErr_Clear();
	PyErr_SetRaisedException(raised);
	return is_done;
}
