// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include "pyext/values/types.h"

#include <stdlib.h>
#include <string.h>

#include "pyext/secrets.h"

/* Limit of the names of a class body: those that are looked for are at its beginning. */
#define BODY 24U

bool kymo_value_types_attach(struct kymo_python *python)
{
	python->value_types = calloc(1, sizeof(*python->value_types));
	python->secrets = kymo_secrets_new();
	if (!python->value_types || !python->secrets)
		return PyErr_NoMemory(), false;
	return true;
}

void kymo_value_types_forget(struct kymo_python *python)
{
	memset(python->value_types, 0, sizeof(*python->value_types));
}

static bool is_text(PyObject *object, const char *text)
{
	return object && PyUnicode_CheckExact(object) && PyUnicode_IS_ASCII(object) &&
	       (size_t)PyUnicode_GET_LENGTH(object) == strlen(text) && !memcmp(PyUnicode_1BYTE_DATA(object), text, strlen(text));
}

PyObject *kymo_type_entry(const PyTypeObject *type, const char *name)
{
	struct kymo_pairs pairs = {0};
	PyObject *key, *value;

	/* Static builtins have one for each interpreter, and NULL here. */
	if (type->tp_dict && PyDict_Check(type->tp_dict))
		pairs = kymo_pairs_of_dict(type->tp_dict);
	for (unsigned int i = 0; i < BODY && kymo_pairs_next(&pairs, &key, &value); i++)
		if (is_text(key, name))
			return value;
	return NULL;
}

/* True if a decorator or a metaclass left its marks in the class, after its body. */
static bool has_fields(const PyTypeObject *type)
{
	static const char *const marks[] = {"__dataclass_fields__", "__attrs_attrs__", "__pydantic_fields__"};
	struct kymo_pairs pairs = {0};
	PyObject *key, *value;

	if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_dict && PyDict_Check(type->tp_dict))
		pairs = kymo_pairs_of_dict(type->tp_dict);
	while (kymo_pairs_next(&pairs, &key, &value))
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if (is_text(key, marks[i]))
				return true;
	return false;
}

bool kymo_type_is_record(const PyTypeObject *type)
{
	PyObject *bases = type->tp_mro;

	for (Py_ssize_t i = 0; bases && PyTuple_Check(bases) && i < PyTuple_GET_SIZE(bases); i++) {
		PyObject *base = PyTuple_GET_ITEM(bases, i);

		if (PyType_Check(base) && has_fields((const PyTypeObject *)(void *)base))
			return true;
	}
	return false;
}

/* A class of the standard library written in Python. */
static bool is_class(const PyTypeObject *type, const char *module, const char *name)
{
	return type->tp_flags & Py_TPFLAGS_HEAPTYPE && is_text(((const PyHeapTypeObject *)type)->ht_qualname, name) &&
	       is_text(kymo_type_entry(type, "__module__"), module);
}

static bool has_enum_metaclass(const PyTypeObject *type)
{
	const PyTypeObject *meta = Py_TYPE(type);

	for (unsigned int i = 0; meta && meta != &PyType_Type && i < KYMO_VALUE_BASES; i++, meta = meta->tp_base)
		if (is_class(meta, "enum", "EnumType"))
			return true;
	return false;
}

static enum kymo_layout layout_by_flags(unsigned long flags)
{
	if (flags & Py_TPFLAGS_LONG_SUBCLASS)
		return KYMO_LAYOUT_INT;
	if (flags & Py_TPFLAGS_UNICODE_SUBCLASS)
		return KYMO_LAYOUT_STR;
	if (flags & Py_TPFLAGS_BYTES_SUBCLASS)
		return KYMO_LAYOUT_BYTES;
	if (flags & Py_TPFLAGS_LIST_SUBCLASS)
		return KYMO_LAYOUT_LIST;
	if (flags & Py_TPFLAGS_TUPLE_SUBCLASS)
		return KYMO_LAYOUT_TUPLE;
	if (flags & Py_TPFLAGS_DICT_SUBCLASS)
		return KYMO_LAYOUT_DICT;
	if (flags & Py_TPFLAGS_BASE_EXC_SUBCLASS)
		return KYMO_LAYOUT_EXCEPTION;
	if (flags & Py_TPFLAGS_TYPE_SUBCLASS)
		return KYMO_LAYOUT_NAMED;
	return 0;
}

static const struct {
	PyTypeObject *type;
	enum kymo_layout layout;
} builtins[] = {
	{&PyFloat_Type, KYMO_LAYOUT_FLOAT},
	{&PyComplex_Type, KYMO_LAYOUT_COMPLEX},
	{&PyByteArray_Type, KYMO_LAYOUT_BYTEARRAY},
	{&PySet_Type, KYMO_LAYOUT_SET},
	{&PyFrozenSet_Type, KYMO_LAYOUT_FROZENSET},
	{&PyRange_Type, KYMO_LAYOUT_RANGE},
	{&PySlice_Type, KYMO_LAYOUT_SLICE},
#if PY_VERSION_HEX >= 0x030f0000
	{&PyFrozenDict_Type, KYMO_LAYOUT_DICT},
#endif
	{&PyFunction_Type, KYMO_LAYOUT_NAMED},
	{&PyCFunction_Type, KYMO_LAYOUT_NAMED},
	{&PyMethod_Type, KYMO_LAYOUT_NAMED},
	{&PyModule_Type, KYMO_LAYOUT_NAMED},
	{&PyCode_Type, KYMO_LAYOUT_NAMED},
	{&PyGen_Type, KYMO_LAYOUT_NAMED},
	{&PyCoro_Type, KYMO_LAYOUT_NAMED},
	{&PyAsyncGen_Type, KYMO_LAYOUT_NAMED},
	{&PyMethodDescr_Type, KYMO_LAYOUT_NAMED},
	{&PyClassMethodDescr_Type, KYMO_LAYOUT_NAMED},
	{&PyWrapperDescr_Type, KYMO_LAYOUT_NAMED},
	{&PyMemberDescr_Type, KYMO_LAYOUT_NAMED},
	{&PyGetSetDescr_Type, KYMO_LAYOUT_NAMED},
};

/* Types made in C, which a program cannot imitate. */
static const struct {
	const char *name;
	enum kymo_layout layout;
	uint8_t detail;
} named[] = {
	{"datetime.datetime", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_DATETIME},
	{"datetime.date", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_DATE},
	{"datetime.time", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_TIME},
	{"datetime.timedelta", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_TIMEDELTA},
	{"datetime.timezone", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_TIMEZONE},
	{"decimal.Decimal", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_DECIMAL},
	{"collections.deque", KYMO_LAYOUT_DEQUE, 0},
	{"numpy.ndarray", KYMO_LAYOUT_ARRAY, 0},
	{"numpy.bool", KYMO_LAYOUT_SCALAR, 0},
	{"numpy.bool_", KYMO_LAYOUT_SCALAR, 0}, /* before 2.0 */
	{"numpy.int8", KYMO_LAYOUT_SCALAR, 1},
	{"numpy.uint8", KYMO_LAYOUT_SCALAR, 2},
	{"numpy.int16", KYMO_LAYOUT_SCALAR, 3},
	{"numpy.uint16", KYMO_LAYOUT_SCALAR, 4},
	{"numpy.int32", KYMO_LAYOUT_SCALAR, 5},
	{"numpy.uint32", KYMO_LAYOUT_SCALAR, 6},
	{"numpy.int64", KYMO_LAYOUT_SCALAR, 7},
	{"numpy.uint64", KYMO_LAYOUT_SCALAR, 8},
	{"numpy.longlong", KYMO_LAYOUT_SCALAR, 9},
	{"numpy.ulonglong", KYMO_LAYOUT_SCALAR, 10},
	{"numpy.float32", KYMO_LAYOUT_SCALAR, 11},
	{"numpy.float64", KYMO_LAYOUT_SCALAR, 12}, /* float is a base, but not one that determines its layout */
	{"numpy.float16", KYMO_LAYOUT_SCALAR, 23},
	{"numpy.complex64", KYMO_LAYOUT_SCALAR, 14},
	{"numpy.complex128", KYMO_LAYOUT_SCALAR, 15},
	{"numpy.datetime64", KYMO_LAYOUT_SCALAR, 21},
	{"numpy.timedelta64", KYMO_LAYOUT_SCALAR, 22},
};

static const struct {
	const char *module, *name;
	enum kymo_layout layout;
	uint8_t detail;
} classes[] = {
	{"fractions", "Fraction", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_FRACTION},
	{"uuid", "UUID", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_UUID},
	{"pathlib", "PurePath", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_PATH},
	{"pathlib._local", "PurePath", KYMO_LAYOUT_LIBRARY, KYMO_LIBRARY_PATH}, /* 3.13 */
	{"pandas", "DataFrame", KYMO_LAYOUT_PANDAS, 0},
	{"pandas", "Series", KYMO_LAYOUT_PANDAS, 0},
	{"pandas.core.frame", "DataFrame", KYMO_LAYOUT_PANDAS, 0}, /* before 3.0 */
	{"pandas.core.series", "Series", KYMO_LAYOUT_PANDAS, 0},
};

/* The layout that @type itself stands for; 0: none. */
static enum kymo_layout layout_of(const PyTypeObject *type, uint8_t *detail)
{
	for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (type == builtins[i].type)
			return builtins[i].layout;
	if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) {
		for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
			if (!strcmp(type->tp_name, named[i].name)) {
				*detail = named[i].detail;
				return named[i].layout;
			}
		}
		return 0;
	}
	/* Derived from datetime, but not a point in time.  A type that takes its name is written as what it is. */
	if (!strcmp(type->tp_name, "pandas._libs.tslibs.nattype._NaT"))
		return KYMO_LAYOUT_OBJECT;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (is_class(type, classes[i].module, classes[i].name)) {
			*detail = classes[i].detail;
			return classes[i].layout;
		}
	}
	return 0;
}

static PyObject *find_fields(const PyTypeObject *type)
{
	PyObject *fields = NULL;

	for (unsigned int i = 0; type && type != &PyTuple_Type && !fields && i < KYMO_VALUE_BASES; i++, type = type->tp_base)
		fields = kymo_type_entry(type, "_fields");
	return fields && PyTuple_Check(fields) ? fields : NULL;
}

unsigned int kymo_value_layout_types(const PyTypeObject *type, const PyTypeObject *types[KYMO_VALUE_BASES])
{
	const PyTypeObject *all[KYMO_VALUE_BASES];
	unsigned int count = 0, reversed = 0;

	for (; type && count < KYMO_VALUE_BASES; type = type->tp_base)
		if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_members)
			all[count++] = type;
	while (count)
		types[reversed++] = all[--count];
	return reversed;
}

static void find_slots(const struct kymo_secrets *secrets, struct kymo_value_type *known, const PyTypeObject *type)
{
	const PyTypeObject *types[KYMO_VALUE_BASES];
	unsigned int count = kymo_value_layout_types(type, types), number = 0;

	for (unsigned int i = 0; i < count; i++) {
		for (const PyMemberDef *member = types[i]->tp_members; member->name; member++) {
			if (!kymo_is_slot(member))
				continue;
			known->has_slots = true;
			if (number < 64 && kymo_secrets_has_text(secrets, member->name))
				known->secret_slots |= 1ULL << number;
			number++;
		}
	}
}

static void classify(struct kymo_value_type *known, const PyTypeObject *type)
{
	const PyTypeObject *base = type;

	known->layout = has_enum_metaclass(type) ? KYMO_LAYOUT_ENUM : layout_by_flags(type->tp_flags);
	if (known->layout == KYMO_LAYOUT_TUPLE)
		known->fields = find_fields(type);
	known->is_derived = known->layout != 0;
	for (unsigned int i = 0; base && !known->layout && i < KYMO_VALUE_BASES; i++, base = base->tp_base) {
		known->layout = layout_of(base, &known->detail);
		known->is_derived = i > 0;
	}
	if (!known->layout)
		known->layout = KYMO_LAYOUT_OBJECT;
	if (known->layout == KYMO_LAYOUT_OBJECT || type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type ||
	    type == &PyList_Type || type == &PyTuple_Type || type == &PyDict_Type)
		known->is_derived = false;
}

const struct kymo_value_type *kymo_value_type_find(struct kymo_python *python, PyTypeObject *type)
{
	struct kymo_value_types *types = python->value_types;
	struct kymo_value_type *known = kymo_value_type_entry(types, type);

	/*
	 * A version is never given twice; a type without one may be another type the next time.  So one is assigned, as by the first
	 * look-up of an attribute: many types in C never have such a look-up.
	 */
	if (!type->tp_version_tag && type->tp_flags & Py_TPFLAGS_HEAPTYPE && !PyUnstable_Type_AssignVersionTag(type))
		known = &types->uncached;
	*known = (struct kymo_value_type){.type = type, .name = type->tp_name, .version = type->tp_version_tag};
	classify(known, type);
	find_slots(python->secrets, known, type);
	return known;
}
