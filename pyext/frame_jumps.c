// SPDX-License-Identifier: Apache-2.0
#include "pyext/frame_jumps.h"

#include "pyext/codes.h"

static setter set_lineno;
/* The address of no frame. */
static const char moved;

static int watched_set_lineno(PyObject *frame, PyObject *line, void *closure)
{
	int result = set_lineno(frame, line, closure);
	struct kymo_producer *p = kymo_producer;

	/* Only the frame on top can be moved, and only by its own thread. */
	if (!result && kymo_codes_flow && p->frame) {
		p->frame = &moved;
		kymo_forget_frames(p);
	}
	return result;
}

void kymo_watch_frame_jumps(void)
{
	PyObject *types = PyType_GetDict(&PyFrame_Type);
	PyObject *found = types ? PyDict_GetItemString(types, "f_lineno") : NULL;

	/* The table that it points to is CPython's, and one for all interpreters. */
	if (found && Py_IS_TYPE(found, &PyGetSetDescr_Type)) {
		PyGetSetDef *definition = ((PyGetSetDescrObject *)found)->d_getset;

		if (definition->set && definition->set != watched_set_lineno) {
			set_lineno = definition->set;
			definition->set = watched_set_lineno;
		}
	}
	Py_XDECREF(types);
}
