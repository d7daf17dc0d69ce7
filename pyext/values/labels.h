// SPDX-License-Identifier: Apache-2.0
/*
 * The labels of pandas' rows and columns.
 *
 * Labels are names, like keys of a dict, so what they name may be secret: if they cannot be read, the reason is recorded instead of
 * the items.
 *
 * All functions: GIL held; borrowed pointers are valid only while it is held.
 */
#ifndef KYMO_PYEXT_VALUES_LABELS_H
#define KYMO_PYEXT_VALUES_LABELS_H

#include "pyext/values/arrays.h"
#include "pyext/values/arrow_memory.h"

#define KYMO_REFERENCES 16

struct kymo_references {
	PyObject *objects[KYMO_REFERENCES];
	unsigned int count;
};

/* The first references of @object; none if the garbage collector does not track it: it may not be complete. */
struct kymo_references kymo_references_of(PyObject *object);

/* NULL: it has none of that name among its first attributes. */
PyObject *kymo_attribute_of(PyObject *object, const char *name);

/* The numpy array that alone makes up @values, such as objects and times; NULL: there is none. */
const struct kymo_array *kymo_plain_array_of(PyObject *values);

/* The Arrow array in which @values, of pandas, are kept; NULL: they are not. */
PyObject *kymo_arrow_in(PyObject *values);
/* As kymo_value_write_texts(), for that array. */
void kymo_value_write_arrow(struct kymo_value_writer *w, PyObject *values, const struct kymo_arrow *arrow);

/* The labels of an Index. */
struct kymo_labels {
	PyObject *index;
	enum kymo_labels_in {
		KYMO_LABELS_UNKNOWN,
		KYMO_LABELS_IN_RANGE,
		KYMO_LABELS_IN_ARRAY, /* of objects or numbers */
		KYMO_LABELS_IN_ARROW,
	} in;
	const struct kymo_range *range;
	const struct kymo_array *array;
	struct kymo_arrow arrow;
	char why[KYMO_ARROW_WHY]; /* UNKNOWN */
};

struct kymo_labels kymo_labels_of(struct kymo_python *python, PyObject *index);

/* True if the labels are known, and none whose item would be recorded names a secret. */
bool kymo_labels_are_harmless(const struct kymo_value_writer *w, const struct kymo_labels *labels);
bool kymo_label_is_secret(const struct kymo_value_writer *w, const struct kymo_labels *labels, Py_ssize_t place);

void kymo_labels_write(struct kymo_value_writer *w, const struct kymo_labels *labels);

/* Write label @place as the name of an attribute: its text if it is a str or a number, else its place.  False: there is no room. */
bool kymo_label_put_name(struct kymo_value_writer *w, const struct kymo_labels *labels, Py_ssize_t place);

/* A type's name without the module's. */
const char *kymo_short_name(const PyTypeObject *type);

/* The value of @object if it is a non-negative int of one digit; else @otherwise. */
int64_t kymo_small_int(PyObject *object, int64_t otherwise);

#endif
