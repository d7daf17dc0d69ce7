// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frame_jumps.h"

#include "pyext/codes.h"

/* The setter before ours; kept after we are removed, for threads that are still in ours. */
static setter set_lineno;
static bool is_watched;
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

/* The definition that all interpreters share, in CPython's own table.  NULL: not found. */
static PyGetSetDef *find_definition(void)
{
	PyObject *types = PyType_GetDict(&PyFrame_Type);
	PyObject *found = types ? PyDict_GetItemString(types, "f_lineno") : NULL;
	PyGetSetDef *definition =
		found && Py_IS_TYPE(found, &PyGetSetDescr_Type) ? ((PyGetSetDescrObject *)found)->d_getset : NULL;

	Py_XDECREF(types);
	return definition && definition->set ? definition : NULL;
}

void kymo_frame_jumps_watch(void)
{
	PyGetSetDef *definition = find_definition();

	/* Another tool may have put its own setter before ours, and still call ours: do not install ours again, or the calls never
	   end. */
	if (!definition || definition->set == watched_set_lineno || (is_watched && definition->set != set_lineno))
		return;
	set_lineno = definition->set;
	definition->set = watched_set_lineno;
	is_watched = true;
}

void kymo_frame_jumps_leave(void)
{
	PyGetSetDef *definition = is_watched ? find_definition() : NULL;

	if (!definition || definition->set != watched_set_lineno)
		return;
	definition->set = set_lineno;
	is_watched = false;
}
