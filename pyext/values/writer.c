// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include "pyext/values/put.h"
#include "pyext/secrets.h"

static uint8_t byte_of(const digit *digits, size_t count, size_t at)
{
	size_t first = at * 8 / PyLong_SHIFT, shift = at * 8 % PyLong_SHIFT;
	uint64_t two = digits[first];

	if (first + 1 < count)
		two |= (uint64_t)digits[first + 1] << PyLong_SHIFT;
	return (uint8_t)(two >> shift);
}

/* Cut to the most significant bytes, which show how big it is. */
static void put_long(struct kymo_value_writer *w, PyObject *object, size_t count)
{
	const digit *digits = ((PyLongObject *)object)->long_value.ob_digit;
	size_t bits = count * PyLong_SHIFT - ((size_t)__builtin_clz(digits[count - 1]) - (32 - PyLong_SHIFT));
	size_t bytes = (bits + 7) / 8, kept = bytes;

	kymo_put_kind(w, KYMO_VALUE_LONG);
	*w->at++ = kymo_long_is_negative(object);
	if (kept > w->limits.text_bytes)
		kept = w->limits.text_bytes;
	if (kept > kymo_value_room(w) - 2 * KYMO_VARINT_MAX_BYTES)
		kept = kymo_value_room(w) - 2 * KYMO_VARINT_MAX_BYTES;
	kymo_put_number(w, bytes);
	kymo_put_number(w, kept);
	for (size_t i = bytes - kept; i < bytes; i++)
		*w->at++ = byte_of(digits, count, i);
}

static void write_int(struct kymo_value_writer *w, PyObject *object)
{
	const digit *digits = ((PyLongObject *)object)->long_value.ob_digit;
	size_t count = kymo_long_digits(object);
	bool is_negative = kymo_long_is_negative(object);
	uint64_t magnitude = count ? digits[0] : 0;

	if (count > 1)
		magnitude |= (uint64_t)digits[1] << PyLong_SHIFT;
	if (count > 2)
		magnitude |= (uint64_t)digits[2] << 2 * PyLong_SHIFT;
	if (count > 3 || (count == 3 && digits[2] >> (64 - 2 * PyLong_SHIFT)) ||
	    magnitude > (uint64_t)INT64_MAX + is_negative)
		put_long(w, object, count);
	else
		kymo_value_put_int64(w, (int64_t)(is_negative ? -magnitude : magnitude));
}

/* One digit, or none. */
kymo_inline void put_small_int(struct kymo_value_writer *w, PyObject *object)
{
	int64_t magnitude = ((PyLongObject *)object)->long_value.ob_digit[0];

	if (!kymo_long_digits(object))
		magnitude = 0;
	kymo_value_put_int64(w, kymo_long_is_negative(object) ? -magnitude : magnitude);
}

static void write_bytes(struct kymo_value_writer *w, PyObject *object)
{
	kymo_put_kind(w, KYMO_VALUE_BYTES);
	kymo_value_put_bytes(w, PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object));
}

static void write_bytearray(struct kymo_value_writer *w, PyObject *object)
{
	kymo_put_kind(w, KYMO_VALUE_BYTEARRAY);
	kymo_put_id(w, object);
	kymo_value_put_bytes(w, PyByteArray_AS_STRING(object), (size_t)PyByteArray_GET_SIZE(object));
}

static void write_items(struct kymo_value_writer *w, PyObject *const *items, Py_ssize_t count, PyObject *names)
{
	struct kymo_value_list list = kymo_value_list_begin(w, (uint64_t)count);

	for (; kymo_value_list_next(w, &list); list.done++) {
		PyObject *name = names && (Py_ssize_t)list.done < PyTuple_GET_SIZE(names) ? PyTuple_GET_ITEM(names, list.done) : NULL;

		if (name && PyUnicode_Check(name) && kymo_secrets_has(w->python->secrets, name))
			kymo_put_kind(w, KYMO_VALUE_REDACTED);
		else
			kymo_value_write(w, items[list.done]);
	}
	kymo_value_list_end(w, &list);
}

static void write_tuple(struct kymo_value_writer *w, PyObject *object, PyObject *fields)
{
	kymo_put_kind(w, KYMO_VALUE_TUPLE);
	write_items(w, ((PyTupleObject *)object)->ob_item, PyTuple_GET_SIZE(object), fields);
}

static void write_list(struct kymo_value_writer *w, PyObject *object)
{
	kymo_put_kind(w, KYMO_VALUE_LIST);
	kymo_put_id(w, object);
	write_items(w, ((PyListObject *)object)->ob_item, PyList_GET_SIZE(object), NULL);
}

static void write_set(struct kymo_value_writer *w, PyObject *object, enum kymo_value_kind kind)
{
	struct kymo_value_list list;
	PyObject *item;
	Py_ssize_t at = 0;

	kymo_put_kind(w, kind);
	kymo_put_id(w, object);
	list = kymo_value_list_begin(w, (uint64_t)((PySetObject *)object)->used);
	for (; kymo_value_list_next(w, &list) && (item = kymo_set_next(object, &at)); list.done++)
		kymo_value_write(w, item);
	kymo_value_list_end(w, &list);
}

static void write_dict(struct kymo_value_writer *w, PyObject *object)
{
	struct kymo_pairs pairs = kymo_pairs_of_dict(object);
	struct kymo_value_list list;
	PyObject *key, *value;

	kymo_put_kind(w, KYMO_VALUE_DICT);
	kymo_put_id(w, object);
	list = kymo_value_list_begin(w, pairs.count);
	for (; kymo_value_list_next(w, &list) && kymo_pairs_next(&pairs, &key, &value); list.done++) {
		w->end--; /* the last byte is the value's */
		kymo_value_write(w, key);
		w->end++;
		if (kymo_value_is_secret_key(w, key))
			kymo_put_kind(w, KYMO_VALUE_REDACTED);
		else
			kymo_value_write(w, value);
	}
	kymo_value_list_end(w, &list);
}

/* start, stop and step; the last bytes of the room are kept for those that come after. */
static void write_three(struct kymo_value_writer *w, enum kymo_value_kind kind, PyObject *const three[3])
{
	kymo_put_kind(w, kind);
	w->end -= 2;
	kymo_value_put_part(w, three[0]);
	w->end++;
	kymo_value_put_part(w, three[1]);
	w->end++;
	kymo_value_put_part(w, three[2]);
}

static void write_range(struct kymo_value_writer *w, PyObject *object)
{
	const struct kymo_range *range = (const void *)object;

	write_three(w, KYMO_VALUE_RANGE, (PyObject *[]){range->start, range->stop, range->step});
}

static void write_slice(struct kymo_value_writer *w, PyObject *object)
{
	const PySliceObject *slice = (PySliceObject *)object;

	write_three(w, KYMO_VALUE_SLICE, (PyObject *[]){slice->start, slice->stop, slice->step});
}

static void write_complex(struct kymo_value_writer *w, PyObject *object)
{
	Py_complex number = ((PyComplexObject *)object)->cval;

	kymo_put_kind(w, KYMO_VALUE_COMPLEX);
	kymo_put_fixed(w, &number.real, sizeof(double));
	kymo_put_fixed(w, &number.imag, sizeof(double));
}

/* True: @object is a singleton, and was written as such. */
static bool write_singleton(struct kymo_value_writer *w, const PyObject *object)
{
	enum kymo_value_kind kind;

	if (!object)
		kind = KYMO_VALUE_UNBOUND;
	else if (object == Py_None)
		kind = KYMO_VALUE_NONE;
	else if (object == Py_True)
		kind = KYMO_VALUE_TRUE;
	else if (object == Py_False)
		kind = KYMO_VALUE_FALSE;
	else if (object == Py_Ellipsis)
		kind = KYMO_VALUE_ELLIPSIS;
	else if (object == Py_NotImplemented)
		kind = KYMO_VALUE_NOT_IMPLEMENTED;
	else
		return false;
	if (w->at <= w->end)
		kymo_put_kind(w, kind);
	return true;
}

static bool has_identity(enum kymo_layout layout)
{
	switch (layout) {
	case KYMO_LAYOUT_INT:
	case KYMO_LAYOUT_FLOAT:
	case KYMO_LAYOUT_COMPLEX:
	case KYMO_LAYOUT_STR:
	case KYMO_LAYOUT_BYTES:
	case KYMO_LAYOUT_TUPLE:
	case KYMO_LAYOUT_RANGE:
	case KYMO_LAYOUT_SLICE:
	case KYMO_LAYOUT_LIBRARY:
	case KYMO_LAYOUT_SCALAR:
	case KYMO_LAYOUT_ENUM: /* it has a value, but its name says more */
		return false;
	default:
		return true;
	}
}

/* True: @object has the layout of a builtin, and was written. */
static bool write_builtin(struct kymo_value_writer *w, PyObject *object, enum kymo_layout layout, PyObject *fields)
{
	switch (layout) {
	case KYMO_LAYOUT_INT:
		write_int(w, object);
		return true;
	case KYMO_LAYOUT_FLOAT:
		kymo_value_put_float(w, ((PyFloatObject *)object)->ob_fval);
		return true;
	case KYMO_LAYOUT_COMPLEX:
		write_complex(w, object);
		return true;
	case KYMO_LAYOUT_STR:
		kymo_value_put_string(w, object);
		return true;
	case KYMO_LAYOUT_BYTES:
		write_bytes(w, object);
		return true;
	case KYMO_LAYOUT_BYTEARRAY:
		write_bytearray(w, object);
		return true;
	case KYMO_LAYOUT_TUPLE:
		write_tuple(w, object, fields);
		return true;
	case KYMO_LAYOUT_LIST:
		write_list(w, object);
		return true;
	case KYMO_LAYOUT_SET:
		write_set(w, object, KYMO_VALUE_SET);
		return true;
	case KYMO_LAYOUT_FROZENSET:
		write_set(w, object, KYMO_VALUE_FROZENSET);
		return true;
	case KYMO_LAYOUT_DICT:
		write_dict(w, object);
		return true;
	case KYMO_LAYOUT_RANGE:
		write_range(w, object);
		return true;
	case KYMO_LAYOUT_SLICE:
		write_slice(w, object);
		return true;
	default:
		return false;
	}
}

static void write_other(struct kymo_value_writer *w, PyObject *object, const struct kymo_value_type *type)
{
	switch (type->layout) {
	case KYMO_LAYOUT_EXCEPTION:
		kymo_value_write_exception(w, object);
		return;
	case KYMO_LAYOUT_ENUM:
		kymo_value_write_enum(w, object);
		return;
	case KYMO_LAYOUT_NAMED:
		kymo_value_write_named(w, object);
		return;
	case KYMO_LAYOUT_LIBRARY:
		if (kymo_value_write_library(w, object, type))
			return;
		break;
	case KYMO_LAYOUT_ARRAY:
		kymo_value_write_array(w, object);
		return;
	case KYMO_LAYOUT_SCALAR:
		kymo_value_write_scalar(w, object, type->detail);
		return;
	case KYMO_LAYOUT_DEQUE:
		kymo_value_write_deque(w, object);
		return;
	case KYMO_LAYOUT_PANDAS:
		if (kymo_value_write_pandas(w, object))
			return;
		break;
	default:
		break;
	}
	kymo_value_write_object(w, object);
}

/* The most frequent values, written as the rest of this file would; true: done.  There is room for a head. */
kymo_inline bool write_often(struct kymo_value_writer *w, PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);

	if (type == &PyLong_Type && kymo_long_digits(object) <= 1)
		put_small_int(w, object);
	else if (type == &PyUnicode_Type && kymo_value_is_short(w, object))
		kymo_value_put_short(w, object);
	else if (type == &PyFloat_Type)
		kymo_value_put_float(w, ((PyFloatObject *)object)->ob_fval);
	else if (object == Py_None)
		kymo_put_kind(w, KYMO_VALUE_NONE);
	else
		return false;
	return true;
}

void kymo_value_write_any(struct kymo_value_writer *w, PyObject *object)
{
	const struct kymo_value_type *type;

	if (object && kymo_value_room(w) >= KYMO_VALUE_HEAD && write_often(w, object))
		return;
	if (write_singleton(w, object))
		return;
	if (kymo_value_room(w) < KYMO_VALUE_HEAD) {
		kymo_value_put_cut(w);
		return;
	}
	type = kymo_value_type_of(w->python, Py_TYPE(object));
	if (has_identity(type->layout) && kymo_value_put_seen(w, object))
		return;
	if (type->is_derived && type->layout <= KYMO_LAYOUT_SLICE) {
		kymo_put_kind(w, KYMO_VALUE_SUBCLASS);
		kymo_put_type(w, object);
	}
	if (!write_builtin(w, object, type->layout, type->fields))
		write_other(w, object, type);
}
