// SPDX-License-Identifier: Apache-2.0
/* Names of callables and of exceptions' types, as ids that records carry. */
#ifndef KYMO_PYEXT_NAMES_H
#define KYMO_PYEXT_NAMES_H

#include "pyext/python.h"

/* Begin a recording; 0: it ends. */
void kymo_names_begin(uint32_t generation);

/* Give @python a cache; false with an exception set. */
bool kymo_names_attach(struct kymo_python *python);

/* The qualified name of @type: no attribute is looked up, so none of the program's code runs. */
uint32_t kymo_name_of_type(struct kymo_python *python, PyTypeObject *type);

/*
 * What is called: a C function by its method definition, a Python function by its code's
 * qualified name, a type by its own name, anything else by its type's.
 */
uint32_t kymo_name_of_callable(struct kymo_python *python, PyObject *callable);

/* The id of a mark's text. */
uint32_t kymo_text_id(const char *text);

#endif
