// SPDX-License-Identifier: Apache-2.0
/*
 * Text that pyarrow keeps, read in place: pandas 3 keeps its labels and its text there.
 *
 * No C header fixes that layout, and asking pyarrow would run code and allocate.  So it is read only from library versions whose
 * layout was compared with pyarrow's own answers, and the data found must be consistent.
 *
 * All functions: GIL held; borrowed pointers are valid only while it is held.
 */
#ifndef KYMO_PYEXT_VALUES_ARROW_MEMORY_H
#define KYMO_PYEXT_VALUES_ARROW_MEMORY_H

#include "pyext/values/writer.h"

/* Texts in chunks, one after the other. */
struct kymo_arrow {
	const struct kymo_arrow_pointer *chunks;
	Py_ssize_t count; /* of chunks */
	Py_ssize_t length;
};

/* One of them; bytes is -1 for null. */
struct kymo_arrow_text {
	const char *utf8;
	Py_ssize_t bytes;
};

#define KYMO_ARROW_WHY 128

/* True if @object is a pyarrow.ChunkedArray. */
bool kymo_is_arrow(PyObject *object);

/* Fill @arrow with the contents of @object, one of these; false: it cannot be read, for the reason @why. */
bool kymo_arrow_of(struct kymo_python *python, PyObject *object, struct kymo_arrow *arrow, char why[KYMO_ARROW_WHY]);

/* Text @i of @arrow; false: it cannot be read. */
bool kymo_arrow_text(const struct kymo_arrow *arrow, Py_ssize_t i, struct kymo_arrow_text *text);

/* Write the texts as the array @object of @dtype, null as None; there is room for a head. */
void kymo_value_write_texts(struct kymo_value_writer *w, PyObject *object, const struct kymo_arrow *arrow, const char *dtype);

#endif
