// SPDX-License-Identifier: Apache-2.0
/*
 * What pandas' rows and columns are called.
 *
 * Labels are names, as keys of a dict are, so what they name may be a secret: where they cannot be read, no items are told, and why is.
 *
 * All functions: GIL held; nothing is borrowed for longer.
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

/* The first ones that @object has; of one that the collector does not know yet or any more, none: it need not be whole. */
struct kymo_references kymo_references_of(PyObject *object);

/* NULL: it has none of that name among its first. */
PyObject *kymo_attribute_of(PyObject *object, const char *name);

/* An array of numpy's beside which there is nothing to know about @values: what objects are, and times; NULL: there is none. */
const struct kymo_array *kymo_plain_array_of(PyObject *values);

/* What @values, of pandas, keeps in Arrow; NULL: it does nothing there. */
PyObject *kymo_arrow_in(PyObject *values);
/* As kymo_value_write_texts(), of that. */
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

/* They are known, and none of those whose items would be told is that of a secret. */
bool kymo_labels_are_harmless(const struct kymo_value_writer *w, const struct kymo_labels *labels);
bool kymo_label_is_secret(const struct kymo_value_writer *w, const struct kymo_labels *labels, Py_ssize_t place);

void kymo_labels_write(struct kymo_value_writer *w, const struct kymo_labels *labels);

/* Label @place as the name of an attribute: if that is a str or a number, else its place.  False: there is no room. */
bool kymo_label_put_name(struct kymo_value_writer *w, const struct kymo_labels *labels, Py_ssize_t place);

/* Of a type, without the module's. */
const char *kymo_short_name(const PyTypeObject *type);

/* A number of one digit that is not negative; else @otherwise. */
int64_t kymo_small_int(PyObject *object, int64_t otherwise);

#endif
