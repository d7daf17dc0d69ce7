// SPDX-License-Identifier: Apache-2.0
/*
 * numpy's arrays, read where they lie.  What is read of one may be told of a part of it as well, which is no object.
 *
 * All functions: GIL held; nothing is borrowed for longer.
 */
#ifndef KYMO_PYEXT_VALUES_ARRAYS_H
#define KYMO_PYEXT_VALUES_ARRAYS_H

#include "pyext/values/writer.h"

/* The head of an ndarray, as numpy's C interface has fixed it. */
struct kymo_array {
	PyObject_HEAD
	char *data;
	int dimensions;
	Py_ssize_t *shape, *strides; /* strides in bytes */
	PyObject *base; /* whose memory it is; NULL: its own, or of somebody that the array does not know */
	PyObject *dtype;
	int flags;
};

/* @object as an array; NULL: it is none, or has more dimensions than numpy knows. */
const struct kymo_array *kymo_array_of(PyObject *object);

/* Whether its items are of one of @kinds, the letters of numpy.dtype.kind. */
bool kymo_array_is_of(const struct kymo_array *array, const char *kinds);

/* Its memory is its own, or of what never lets go of it while it is used. */
bool kymo_array_is_held(const struct kymo_array *array);

/* What @array[i] would be, of one with two dimensions or more and so many items in its first one. */
struct kymo_array kymo_array_part(const struct kymo_array *array, Py_ssize_t i);

/* Item @i of an array of objects in one dimension, or of 64-bit integers; NULL, -1: there is none, or it cannot be read. */
PyObject *kymo_array_object(const struct kymo_array *array, Py_ssize_t i);
int64_t kymo_array_int64(const struct kymo_array *array, Py_ssize_t i);

/* Write @array, which may be a part of the array @object; there is room for a head. */
void kymo_value_write_items(struct kymo_value_writer *w, PyObject *object, const struct kymo_array *array);

/* Of the shape and of the items that would be told. */
uint64_t kymo_array_fingerprint(const struct kymo_value_limits *limits, const struct kymo_array *array);

#endif
