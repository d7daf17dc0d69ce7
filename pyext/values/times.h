// SPDX-License-Identifier: Apache-2.0
/* Dates, times, durations and fixed offsets of the module datetime as str() returns them. */
#ifndef KYMO_PYEXT_VALUES_TIMES_H
#define KYMO_PYEXT_VALUES_TIMES_H

#include "pyext/values/types.h"

#define KYMO_TIME_TEXT 128
#define KYMO_TIME_ZONE 64 /* longer names are left out */

/* Write the text of @object, which is of @type or a derived type, to @text, terminated; false: its layout is not the known one. */
bool kymo_time_text(struct kymo_python *python, PyObject *object, enum kymo_library_type type, char text[KYMO_TIME_TEXT]);

/* The name that a fixed offset was given; NULL: none. Borrowed. */
PyObject *kymo_zone_name(struct kymo_python *python, PyObject *zone);

#endif
