// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frames.h"

#include "pyext/cpython/thread_places.h"

#include <stdbool.h>
#include <string.h>

#include "pyext/codes.h"

static bool is_watching_exec;

/*
 * The instruction of the frame that @p has on top; UINT32_MAX: not known.  @frame is the innermost of its thread, which does not
 * run code now; between the two may be frames that are not recorded.
 */
static uint32_t find_place(const struct kymo_producer *p, const void *frame)
{
	while (frame && frame != p->frame)
		frame = kymo_frame_caller(frame);
	return frame && p->code == (const void *)kymo_frame_code(frame) ? kymo_frame_lasti(frame) : UINT32_MAX;
}

static int hook(const char *event, PyObject *Py_UNUSED(arguments), void *Py_UNUSED(context))
{
	struct kymo_python *python;
	uint32_t place;

	if (!kymo_codes_flow || strcmp(event, "os.exec") != 0)
		return 0;
	python = kymo_python_find();
	/* A forked child without an event of its own has no place to record. */
	if (!python || kymo_process_is_orphan() || !kymo_producer->ticket)
		return 0;
	kymo_claim(kymo_producer, &python->host);
	place = find_place(kymo_producer, kymo_frame_now());
	if (place != UINT32_MAX)
		kymo_thread_tell_place(kymo_producer, place);
	return 0;
}

void kymo_thread_places_watch_exec(void)
{
	if (is_watching_exec)
		return;
	is_watching_exec = !PySys_AddAuditHook(hook, NULL);
	/* The program's own hooks may forbid it. */
	if (!is_watching_exec)
		PyErr_Clear();
}

static uint32_t place_of(const struct kymo_producer *p, uint32_t native_id)
{
	PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

	while (state && state->native_thread_id != native_id)
		state = PyThreadState_Next(state);
	return state ? find_place(p, kymo_frame_of(state)) : UINT32_MAX;
}

void kymo_thread_places_tell(const struct kymo_python *python)
{
	if (kymo_codes_flow)
		kymo_process_tell_places(&python->gil, place_of);
}
