// SPDX-License-Identifier: Apache-2.0
#include "pyext/object_layout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/values/put.h"

struct fingerprint {
	uint64_t value;
};

static void mix(struct fingerprint *print, uint64_t word)
{
	print->value = (print->value ^ word) * 0x9e3779b97f4a7c15U;
	print->value ^= print->value >> 29;
}

static void mix_bytes(struct fingerprint *print, const void *bytes, size_t count, uint32_t limit)
{
	mix(print, count);
	mix(print, XXH3_64bits(bytes, count < limit ? count : limit));
}

static void mix_items(struct fingerprint *print, PyObject *const *items, Py_ssize_t count, uint32_t limit)
{
	mix(print, (uint64_t)count);
	for (Py_ssize_t i = 0; i < count && i < (Py_ssize_t)limit; i++)
		mix(print, (uintptr_t)items[i]);
}

static void mix_pairs(struct fingerprint *print, struct kymo_pairs pairs, uint32_t limit)
{
	PyObject *key, *value;

	mix(print, pairs.count);
	for (uint32_t i = 0; i < limit && kymo_pairs_next(&pairs, &key, &value); i++) {
		mix(print, (uintptr_t)key);
		mix(print, (uintptr_t)value);
	}
}

static void mix_set(struct fingerprint *print, PyObject *object, uint32_t limit)
{
	PyObject *item;
	Py_ssize_t at = 0;

	mix(print, (uint64_t)((PySetObject *)object)->used);
	for (uint32_t i = 0; i < limit && (item = kymo_set_next(object, &at)); i++)
		mix(print, (uintptr_t)item);
}

static void mix_slots(struct fingerprint *print, PyObject *object, uint32_t limit)
{
	uint32_t done = 0;

	for (const PyTypeObject *type = Py_TYPE(object); type && done < limit; type = type->tp_base) {
		const PyMemberDef *member = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? type->tp_members : NULL;

		for (; member && member->name && done < limit; member++) {
			if (kymo_is_slot(member)) {
				mix(print, (uintptr_t)kymo_slot_value(object, member));
				done++;
			}
		}
	}
}

static void mix_text(struct fingerprint *print, PyObject *text, uint32_t limit)
{
	mix_bytes(print, PyUnicode_DATA(text), (size_t)PyUnicode_GET_LENGTH(text) * (size_t)PyUnicode_KIND(text), limit);
}

static void mix_exception(struct fingerprint *print, PyObject *object)
{
	const PyBaseExceptionObject *self = (PyBaseExceptionObject *)object;

	mix(print, (uintptr_t)self->args);
	mix(print, (uintptr_t)self->cause);
	mix(print, self->suppress_context ? 0 : (uintptr_t)self->context);
}

/* What can change, or what an address alone does not tell from what was there before. */
uint64_t kymo_value_fingerprint(const struct kymo_value_limits *limits, PyObject *object)
{
	struct fingerprint print = {.value = (uintptr_t)object};
	unsigned long flags;

	if (!object)
		return 0;
	flags = Py_TYPE(object)->tp_flags;
	mix(&print, (uintptr_t)Py_TYPE(object));
	if (flags & Py_TPFLAGS_LONG_SUBCLASS) {
		mix(&print, kymo_long_is_negative(object));
		mix_bytes(&print, ((PyLongObject *)object)->long_value.ob_digit, kymo_long_digits(object) * sizeof(digit),
			  limits->text_bytes);
	} else if (PyFloat_Check(object))
		mix_bytes(&print, &((PyFloatObject *)object)->ob_fval, sizeof(double), sizeof(double));
	else if (flags & Py_TPFLAGS_UNICODE_SUBCLASS)
		mix_text(&print, object, limits->text_bytes);
	else if (flags & Py_TPFLAGS_BYTES_SUBCLASS)
		mix_bytes(&print, PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object), limits->text_bytes);
	else if (PyByteArray_Check(object))
		mix_bytes(&print, PyByteArray_AS_STRING(object), (size_t)PyByteArray_GET_SIZE(object), limits->text_bytes);
	else if (flags & Py_TPFLAGS_TUPLE_SUBCLASS)
		mix_items(&print, ((PyTupleObject *)object)->ob_item, PyTuple_GET_SIZE(object), limits->items);
	else if (flags & Py_TPFLAGS_LIST_SUBCLASS)
		mix_items(&print, ((PyListObject *)object)->ob_item, PyList_GET_SIZE(object), limits->items);
	else if (kymo_is_dict(object))
		mix_pairs(&print, kymo_pairs_of_dict(object), limits->items);
	else if (PyAnySet_Check(object))
		mix_set(&print, object, limits->items);
	else if (!(flags & Py_TPFLAGS_TYPE_SUBCLASS)) {
		if (flags & Py_TPFLAGS_BASE_EXC_SUBCLASS)
			mix_exception(&print, object);
		else
			mix(&print, kymo_array_fingerprint(limits, object));
		mix_slots(&print, object, limits->items);
		mix_pairs(&print, kymo_pairs_of_instance(object), limits->items);
	}
	return print.value ? print.value : 1;
}
