// SPDX-License-Identifier: Apache-2.0
/* For tests: write a value without a recording. */
#ifndef KYMO_PYEXT_VALUES_VALUES_MODULE_H
#define KYMO_PYEXT_VALUES_VALUES_MODULE_H

#include "pyext/cpython/cpython.h"

extern const char kymo_encode_value_doc[];
PyObject *kymo_encode_value(PyObject *module, PyObject *args, PyObject *keywords);

extern const char kymo_fingerprint_value_doc[];
PyObject *kymo_fingerprint_value(PyObject *module, PyObject *args, PyObject *keywords);

#endif
