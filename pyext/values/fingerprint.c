// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/values/arrays.h"
#include "pyext/values/put.h"

kymo_inline uint64_t mix(uint64_t print, uint64_t word)
{
	print = (print ^ word) * 0x9e3779b97f4a7c15U;
	return print ^ print >> 29;
}

static uint64_t mix_bytes(uint64_t print, const void *bytes, size_t count, uint32_t limit)
{
	return mix(mix(print, count), XXH3_64bits(bytes, count < limit ? count : limit));
}

static uint64_t mix_items(uint64_t print, PyObject *const *items, Py_ssize_t count, uint32_t limit)
{
	print = mix(print, (uint64_t)count);
	for (Py_ssize_t i = 0; i < count && i < (Py_ssize_t)limit; i++)
		print = mix(print, (uintptr_t)items[i]);
	return print;
}

static uint64_t mix_pairs(uint64_t print, struct kymo_pairs pairs, uint32_t limit)
{
	PyObject *key, *value;

	print = mix(print, pairs.count);
	for (uint32_t i = 0; i < limit && kymo_pairs_next(&pairs, &key, &value); i++)
		print = mix(mix(print, (uintptr_t)key), (uintptr_t)value);
	return print;
}

static uint64_t mix_set(uint64_t print, PyObject *object, uint32_t limit)
{
	PyObject *item;
	Py_ssize_t at = 0;

	print = mix(print, (uint64_t)((PySetObject *)object)->used);
	for (uint32_t i = 0; i < limit && (item = kymo_set_next(object, &at)); i++)
		print = mix(print, (uintptr_t)item);
	return print;
}

static uint64_t mix_slots(uint64_t print, PyObject *object, uint32_t limit)
{
	uint32_t done = 0;

	for (const PyTypeObject *type = Py_TYPE(object); type && done < limit; type = type->tp_base) {
		const PyMemberDef *member = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? type->tp_members : NULL;

		for (; member && member->name && done < limit; member++) {
			if (kymo_is_slot(member)) {
				print = mix(print, (uintptr_t)kymo_slot_value(object, member));
				done++;
			}
		}
	}
	return print;
}

static uint64_t mix_long(uint64_t print, PyObject *object, uint32_t limit)
{
	const digit *digits = ((PyLongObject *)object)->long_value.ob_digit;
	size_t count = kymo_long_digits(object);

	print = mix(print, kymo_long_is_negative(object));
	return count == 1 ? mix(print, digits[0]) : mix_bytes(print, digits, count * sizeof(digit), limit);
}

static uint64_t mix_float(uint64_t print, PyObject *object)
{
	uint64_t bits;

	memcpy(&bits, &((PyFloatObject *)object)->ob_fval, sizeof(bits));
	return mix(print, bits);
}

static uint64_t mix_text(uint64_t print, PyObject *text, uint32_t limit)
{
	return mix_bytes(print, PyUnicode_DATA(text), (size_t)PyUnicode_GET_LENGTH(text) * (size_t)PyUnicode_KIND(text), limit);
}

static uint64_t mix_exception(uint64_t print, PyObject *object)
{
	const PyBaseExceptionObject *self = (PyBaseExceptionObject *)object;

	print = mix(mix(print, (uintptr_t)self->args), (uintptr_t)self->cause);
	return mix(print, self->suppress_context ? 0 : (uintptr_t)self->context);
}

/* For objects that can change, or whose address may have been another object's before. */
static kymo_out_of_line uint64_t look_inside(const struct kymo_value_limits *limits, PyObject *object, uint64_t print)
{
	unsigned long flags = Py_TYPE(object)->tp_flags;
	const struct kymo_array *array;

	if (flags & Py_TPFLAGS_UNICODE_SUBCLASS)
		return mix_text(print, object, limits->text_bytes);
	if (PyFloat_Check(object))
		return mix_float(print, object);
	if (flags & Py_TPFLAGS_LIST_SUBCLASS)
		return mix_items(print, ((PyListObject *)object)->ob_item, PyList_GET_SIZE(object), limits->items);
	if (kymo_is_dict(object))
		return mix_pairs(print, kymo_pairs_of_dict(object), limits->items);
	if (flags & Py_TPFLAGS_TUPLE_SUBCLASS)
		return mix_items(print, ((PyTupleObject *)object)->ob_item, PyTuple_GET_SIZE(object), limits->items);
	if (flags & Py_TPFLAGS_LONG_SUBCLASS)
		return mix_long(print, object, limits->text_bytes);
	if (flags & Py_TPFLAGS_BYTES_SUBCLASS)
		return mix_bytes(print, PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object), limits->text_bytes);
	if (PyByteArray_Check(object))
		return mix_bytes(print, PyByteArray_AS_STRING(object), (size_t)PyByteArray_GET_SIZE(object), limits->text_bytes);
	if (PyAnySet_Check(object))
		return mix_set(print, object, limits->items);
	if (flags & Py_TPFLAGS_TYPE_SUBCLASS)
		return print;
	if (flags & Py_TPFLAGS_BASE_EXC_SUBCLASS)
		print = mix_exception(print, object);
	else if ((array = kymo_array_of(object)))
		print = mix(print, kymo_array_fingerprint(limits, array));
	else
		print = mix(mix(print, kymo_deque_fingerprint(limits, object)), kymo_pandas_fingerprint(limits, object));
	return mix_pairs(mix_slots(print, object, limits->items), kymo_pairs_of_instance(object), limits->items);
}

uint64_t kymo_value_fingerprint(const struct kymo_value_limits *limits, PyObject *object)
{
	const PyTypeObject *type;
	uint64_t print;

	if (!object)
		return 0;
	type = Py_TYPE(object);
	print = mix((uintptr_t)object, (uintptr_t)type);
	/* Most objects are of these: a small int, and those that neither change nor go away. */
	if (type == &PyLong_Type && kymo_long_digits(object) == 1)
		print = mix(print, ((uint64_t)kymo_long_is_negative(object) << 32) + ((PyLongObject *)object)->long_value.ob_digit[0]);
	else if (!_Py_IsImmortal(object) || (type != &PyUnicode_Type && type != &PyBool_Type && object != Py_None))
		print = look_inside(limits, object, print);
	return print ? print : 1;
}
