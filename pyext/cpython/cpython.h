// SPDX-License-Identifier: Apache-2.0
/*
 * What differs between CPython 3.12, 3.13, 3.14 and 3.15, and what is in no public
 * header.  Nothing else in this folder looks at the version.
 */
#ifndef KYMO_PYEXT_CPYTHON_CPYTHON_H
#define KYMO_PYEXT_CPYTHON_CPYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* 3.14 split BRANCH, one event for both ways of a branch, into one event for each. */
#define KYMO_HAS_BRANCH_SIDES (PY_VERSION_HEX >= 0x030e0000)

/* 3.12: a call that makes a generator has no event, but its caller goes on behind it. */
#define KYMO_HAS_SILENT_GENERATORS (PY_VERSION_HEX < 0x030d0000)

/* From 3.13 on a line that begins with the entry has its event only where PY_START is on, so code of a single line has none: cpython#155992. */
#define KYMO_LINE_NEEDS_START (PY_VERSION_HEX >= 0x030d0000)

/* Exceptions can be asked for code by code; asking for all of them costs time wherever one is raised. */
#define KYMO_HAS_LOCAL_EXCEPTIONS (PY_VERSION_HEX >= 0x030f0000)

#ifdef Py_GIL_DISABLED
#define KYMO_FREE_THREADED true
#else
#define KYMO_FREE_THREADED false
#endif

/* The type of `object().__init__`; its layout is unchanged since 2.2. */
struct kymo_method_wrapper {
	PyObject_HEAD
	PyObject *descriptor;
};

/* The value of an int from 0 to 2**32 - 1, without a call. */
static inline uint32_t kymo_long_value(PyObject *integer)
{
	const PyLongObject *number = (PyLongObject *)integer;
	uint32_t value = number->long_value.ob_digit[0];

	if (__builtin_expect(!PyUnstable_Long_IsCompact(number), 0))
		value |= number->long_value.ob_digit[1] << PyLong_SHIFT;
	return value;
}

/* True if a call of @callable makes a generator, a coroutine or an asynchronous generator, in 3.12 without an event. */
static inline bool kymo_makes_generator(PyObject *callable)
{
	if (PyMethod_Check(callable))
		callable = PyMethod_GET_FUNCTION(callable);
	return PyFunction_Check(callable) &&
	       ((PyCodeObject *)PyFunction_GET_CODE(callable))->co_flags &
		       (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
}

/* True if @code is that of a coroutine, which tasks run. */
static inline bool kymo_is_coroutine(PyObject *code)
{
	return ((PyCodeObject *)code)->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE);
}

/* True if the branch at @offset, which went on at @dest (both in bytes), jumped. */
bool kymo_branch_is_taken(PyObject *code, uint32_t offset, uint32_t dest);

/* Offset in bytes of the RESUME at which PY_START is delivered, out of co_code. */
uint32_t kymo_entry_offset(const uint8_t *bytecode, size_t bytes);

/* co_code as a new reference; unlike `code.co_code` it leaves no copy behind.  NULL: no memory. */
PyObject *kymo_code_bytes(PyCodeObject *code);

#endif
