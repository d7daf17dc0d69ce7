// SPDX-License-Identifier: Apache-2.0
/*
 * The interpreter's frames, read where they lie: no frame object is made, nothing is called that
 * could run the program's code.  To be included before all else, for CPython's internal headers.
 *
 * A frame is identified by its address, which is valid as long as the frame runs or is suspended.
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_CPYTHON_FRAMES_H
#define KYMO_PYEXT_CPYTHON_FRAMES_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "pyext/cpython/cpython.h"

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#endif

/* The frame that runs, to be asked for in one of its events; frames that are still being made have no events but
 * exceptions.  NULL: the thread has run only compiled code so far. */
static inline const void *kymo_frame_running(void)
{
#if PY_VERSION_HEX >= 0x030d0000
	return PyThreadState_GetUnchecked()->current_frame;
#else
	return _PyThreadState_UncheckedGet()->cframe->current_frame;
#endif
}

/* The innermost frame of the calling thread; NULL: it has none.  Entries from C, and frames that are still being
 * made, are skipped. */
static inline const void *kymo_frame_now(void)
{
	return _PyFrame_GetFirstComplete((_PyInterpreterFrame *)(uintptr_t)kymo_frame_running());
}

/* The same for any thread under this GIL. */
static inline const void *kymo_frame_of(const PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030d0000
	return _PyFrame_GetFirstComplete(state->current_frame);
#else
	return state->cframe ? _PyFrame_GetFirstComplete(state->cframe->current_frame) : NULL;
#endif
}

/* The frame that @frame, which may be NULL, returns to; NULL: none. */
static inline const void *kymo_frame_caller(const void *frame)
{
	return !frame ? NULL : _PyFrame_GetFirstComplete(((const _PyInterpreterFrame *)frame)->previous);
}

/* The same, quickly if it is @expected, which was complete when it was last seen. */
static inline const void *kymo_frame_below(const void *frame, const void *expected)
{
	return frame && ((const _PyInterpreterFrame *)frame)->previous == expected ? expected : kymo_frame_caller(frame);
}

/* True if @frame, which may be NULL, belongs to a generator or a coroutine. */
static inline bool kymo_frame_can_yield(const void *frame)
{
	return frame && ((const _PyInterpreterFrame *)frame)->owner == FRAME_OWNED_BY_GENERATOR;
}

/* Borrowed. */
static inline PyCodeObject *kymo_frame_code(const void *frame)
{
#if PY_VERSION_HEX >= 0x030d0000
	return _PyFrame_GetCode((_PyInterpreterFrame *)(uintptr_t)frame);
#else
	return ((const _PyInterpreterFrame *)frame)->f_code;
#endif
}

/*
 * Code units from the start of the bytecode; for a frame that runs, those of the instruction that it
 * executes.  3.12 has the last unit that was finished, which may be a cache.
 */
static inline uint32_t kymo_frame_lasti(const void *frame)
{
	return (uint32_t)_PyInterpreterFrame_LASTI((_PyInterpreterFrame *)(uintptr_t)frame);
}

/* Variable @i of co_localsplusnames as the frame holds it: the cell, if it has one already.  Borrowed; NULL: it has no value. */
static inline PyObject *kymo_frame_slot(const void *frame, uint32_t i)
{
#if PY_VERSION_HEX >= 0x030e0000
	_PyStackRef slot = ((const _PyInterpreterFrame *)frame)->localsplus[i];

	return PyStackRef_IsNull(slot) || PyStackRef_IsTaggedInt(slot) ? NULL : PyStackRef_AsPyObjectBorrow(slot);
#else
	return ((const _PyInterpreterFrame *)frame)->localsplus[i];
#endif
}

/* The value of that variable, taken out of its cell if it is in one.  Borrowed; NULL: it has none. */
static inline PyObject *kymo_frame_variable(const void *frame, const PyCodeObject *code, uint32_t i)
{
	PyObject *object = kymo_frame_slot(frame, i);
	const char *kinds = PyBytes_AS_STRING(code->co_localspluskinds);

	if (object && kinds[i] & (CO_FAST_CELL | CO_FAST_FREE) && PyCell_Check(object))
		object = ((const PyCellObject *)object)->ob_ref;
	return object;
}

/* True if the compiler made variable @i for itself: what a class body passes on in a cell, such as __classdict__. */
static inline bool kymo_is_of_compiler(const PyCodeObject *code, uint32_t i)
{
	return !(code->co_flags & CO_OPTIMIZED) && PyBytes_AS_STRING(code->co_localspluskinds)[i] & CO_FAST_CELL;
}

/* The namespaces that names are looked up in; for functions, locals is NULL.  Borrowed. */
static inline PyObject *kymo_frame_locals(const void *frame)
{
	return ((const _PyInterpreterFrame *)frame)->f_locals;
}

static inline PyObject *kymo_frame_globals(const void *frame)
{
	return ((const _PyInterpreterFrame *)frame)->f_globals;
}

#endif
