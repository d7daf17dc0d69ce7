// SPDX-License-Identifier: Apache-2.0
/*
 * What objects hold, read in place: what differs between CPython 3.12 and 3.15, and what is in no public header.  Nothing is
 * called that could run the program's code, and no dict is made.  To be included before all else, for CPython's internal headers.
 *
 * All functions: GIL held; what they return is borrowed, until the program goes on.
 */
#ifndef KYMO_PYEXT_CPYTHON_OBJECT_LAYOUT_H
#define KYMO_PYEXT_CPYTHON_OBJECT_LAYOUT_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include "pyext/cpython/cpython.h"

#include "internal/pycore_dict.h"
#include "internal/pycore_moduleobject.h"
#include "internal/pycore_object.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#endif

/* Entries that are looked at for each item that is asked for: after many deletions, most entries of a dict or a set are empty. */
#define KYMO_EMPTY_ENTRIES 64U

/* Keys with their values, of a dict or of an instance's attributes. */
struct kymo_pairs {
	PyDictKeysObject *keys; /* NULL: none */
	PyObject *const *values; /* by index; NULL: they lie beside the keys */
	const uint8_t *order; /* index into @values of the pair at place 0; each further one is @step bytes behind */
	int step;
	Py_ssize_t at, end;
	uint64_t count; /* of pairs */
};

static inline struct kymo_pairs kymo_pairs_of_values(PyDictKeysObject *keys, PyDictValues *values)
{
	struct kymo_pairs pairs = {.keys = keys, .values = values->values};

#if PY_VERSION_HEX >= 0x030d0000
	pairs.order = (const uint8_t *)&values->values[values->capacity];
	pairs.step = 1;
	pairs.end = values->size;
#else
	pairs.order = (const uint8_t *)values - 3;
	pairs.step = -1;
	pairs.end = ((const uint8_t *)values)[-2];
#endif
	pairs.count = (uint64_t)pairs.end;
	return pairs;
}

/* @dict is a dict, or of a type derived from dict. */
static inline struct kymo_pairs kymo_pairs_of_dict(PyObject *dict)
{
	PyDictObject *self = (PyDictObject *)dict;
	struct kymo_pairs pairs = {.keys = self->ma_keys, .end = self->ma_keys->dk_nentries, .count = (uint64_t)self->ma_used};

	return self->ma_values ? kymo_pairs_of_values(self->ma_keys, self->ma_values) : pairs;
}

/* True if @object is a dict or of a derived type: it has the layout of a dict. */
static inline bool kymo_is_dict(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030f0000
	return PyDict_Check(object) || PyFrozenDict_Check(object);
#else
	return PyDict_Check(object);
#endif
}

/* The attributes of @object that its __dict__ has, or would have if it were asked for. */
static inline struct kymo_pairs kymo_pairs_of_instance(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);
	struct kymo_pairs none = {0};
	PyObject *dict = NULL;

	if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
#if PY_VERSION_HEX >= 0x030d0000
		dict = (PyObject *)_PyObject_GetManagedDict(object);
		if (!dict && type->tp_flags & Py_TPFLAGS_INLINE_VALUES) {
			PyDictValues *values = _PyObject_InlineValues(object);

			return values->valid ? kymo_pairs_of_values(((PyHeapTypeObject *)type)->ht_cached_keys, values) : none;
		}
#else
		PyDictOrValues held = *_PyObject_DictOrValuesPointer(object);

		if (_PyDictOrValues_IsValues(held))
			return kymo_pairs_of_values(((PyHeapTypeObject *)type)->ht_cached_keys,
						    _PyDictOrValues_GetValues(held));
		dict = _PyDictOrValues_GetDict(held);
#endif
	} else if (type->tp_dictoffset > 0) {
		dict = *(PyObject **)((char *)object + type->tp_dictoffset);
	}
	return dict && PyDict_Check(dict) ? kymo_pairs_of_dict(dict) : none;
}

/* The next pair; false: there is none, or too many empty entries came first. */
static inline bool kymo_pairs_next(struct kymo_pairs *pairs, PyObject **key, PyObject **value)
{
	if (!pairs->keys)
		return false;
	for (unsigned int empty = 0; pairs->at < pairs->end && empty < KYMO_EMPTY_ENTRIES; empty++) {
		Py_ssize_t at = pairs->at++;

		if (pairs->values) {
			at = pairs->order[at * pairs->step];
			*key = DK_UNICODE_ENTRIES(pairs->keys)[at].me_key;
			*value = pairs->values[at];
		} else if (DK_IS_UNICODE(pairs->keys)) {
			*key = DK_UNICODE_ENTRIES(pairs->keys)[at].me_key;
			*value = DK_UNICODE_ENTRIES(pairs->keys)[at].me_value;
		} else {
			*key = DK_ENTRIES(pairs->keys)[at].me_key;
			*value = DK_ENTRIES(pairs->keys)[at].me_value;
		}
		if (*key && *value)
			return true;
	}
	return false;
}

/* A member of __slots__, of a class made by Python or of one made in C. */
static inline bool kymo_is_slot(const PyMemberDef *member)
{
	return member->type == Py_T_OBJECT_EX && !(member->flags & Py_RELATIVE_OFFSET) && member->offset > 0;
}

/* The value of a slot, which lies in the object at an offset that its type has; NULL: it has none. */
static inline PyObject *kymo_slot_value(PyObject *object, const PyMemberDef *slot)
{
	return *(PyObject **)((char *)object + slot->offset);
}

/* The next item of @set from slot *@at; NULL: there is none, or too many empty slots came first. */
static inline PyObject *kymo_set_next(PyObject *set, Py_ssize_t *at)
{
	const PySetObject *self = (PySetObject *)set;

	for (unsigned int empty = 0; *at <= self->mask && empty < KYMO_EMPTY_ENTRIES; empty++) {
		const setentry *entry = &self->table[(*at)++];

		if (entry->key && entry->hash != -1) /* it is -1 for a deleted entry */
			return entry->key;
	}
	return NULL;
}

static inline size_t kymo_long_digits(PyObject *integer)
{
	return ((PyLongObject *)integer)->long_value.lv_tag >> _PyLong_NON_SIZE_BITS;
}

static inline bool kymo_long_is_negative(PyObject *integer)
{
	return (((PyLongObject *)integer)->long_value.lv_tag & _PyLong_SIGN_MASK) == 2;
}

/* The layout of a range since 3.3; no header has it. */
struct kymo_range {
	PyObject_HEAD
	PyObject *start, *stop, *step, *length;
};

/* May be anything, or NULL. */
static inline PyObject *kymo_module_name(PyObject *module)
{
	return ((PyModuleObject *)module)->md_name;
}

/* A generator, coroutine or asynchronous generator: their heads are the same. */
static inline PyObject *kymo_generator_name(PyObject *generator)
{
	return ((PyGenObject *)generator)->gi_qualname;
}

#endif
