// SPDX-License-Identifier: Apache-2.0
/*
 * numpy's arrays, read in place.  All functions also take a part of an array, which is not an object.
 *
 * All functions: GIL held; borrowed pointers are valid only while it is held.
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
	PyObject *base; /* the owner of its memory; NULL: itself, or one that the array does not know */
	PyObject *dtype;
	int flags;
};

/* @object as an array; NULL: it is not one, or has more dimensions than numpy allows. */
const struct kymo_array *kymo_array_of(PyObject *object);

/* Whether its items are of one of @kinds, the letters of numpy.dtype.kind. */
bool kymo_array_is_of(const struct kymo_array *array, const char *kinds);

/* True if its memory is its own, or belongs to an object that keeps it while it is used. */
bool kymo_array_is_held(const struct kymo_array *array);

/* The part @array[i] of an array with at least two dimensions and more than @i items in the first one. */
struct kymo_array kymo_array_part(const struct kymo_array *array, Py_ssize_t i);

/* Item @i of an array of objects in one dimension, or of 64-bit integers; NULL, -1: there is none, or it cannot be read. */
PyObject *kymo_array_object(const struct kymo_array *array, Py_ssize_t i);
int64_t kymo_array_int64(const struct kymo_array *array, Py_ssize_t i);

/* Write @array, which may be a part of the array @object; there is room for a head. */
void kymo_value_write_items(struct kymo_value_writer *w, PyObject *object, const struct kymo_array *array);

/* A fingerprint of the shape and of the items that would be recorded. */
uint64_t kymo_array_fingerprint(const struct kymo_value_limits *limits, const struct kymo_array *array);

#endif
