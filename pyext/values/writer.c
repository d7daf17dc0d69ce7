// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include "pyext/values/put.h"
#include "pyext/secrets.h"

/* What ends there is decoded with; see replay/values/values.h. */
#define MAX_DEPTH 60U

/* Of a tuple that is a key: so much is looked at. */
#define MAX_KEY_DEPTH 4U
#define MAX_KEY_PARTS 64

static void put_cut(struct kymo_value_writer *w)
{
	if (w->at <= w->end)
		kymo_put_kind(w, KYMO_VALUE_CUT);
}

struct kymo_value_list kymo_value_list_begin(struct kymo_value_writer *w, uint64_t count)
{
	struct kymo_value_list list = {0};
	bool is_deep = w->depth >= w->limits.depth || w->depth >= MAX_DEPTH;

	list.planned = is_deep ? 0 : count < w->limits.items ? count : w->limits.items;
	kymo_put_number(w, count);
	list.kept_at = w->at;
	kymo_put_number(w, list.planned);
	w->depth++;
	return list;
}

void kymo_value_list_end(struct kymo_value_writer *w, const struct kymo_value_list *list)
{
	uint8_t number[KYMO_VARINT_MAX_BYTES];
	size_t had, has;

	w->depth--;
	if (list->done == list->planned)
		return;
	had = kymo_varint_put(number, list->planned);
	has = kymo_varint_put(number, list->done);
	memmove(list->kept_at + has, list->kept_at + had, (size_t)(w->at - list->kept_at) - had);
	memcpy(list->kept_at, number, has);
	w->at -= had - has;
}

bool kymo_value_put_seen(struct kymo_value_writer *w, const PyObject *object)
{
	uint32_t at = (uint32_t)(((uintptr_t)object >> 4) * 0x9e3779b97f4a7c15U >> (64 - KYMO_VALUES_SEEN_BITS));

	for (; w->seen[at].value == w->value; at = (at + 1) % (1U << KYMO_VALUES_SEEN_BITS)) {
		if (w->seen[at].object == object) {
			kymo_put_kind(w, KYMO_VALUE_SEEN);
			kymo_put_type(w, object);
			kymo_put_id(w, object);
			return true;
		}
	}
	/* What is too deep here may be told later. */
	if (w->seen_count < KYMO_VALUES_SEEN && w->depth < w->limits.depth) {
		w->seen[at] = (struct kymo_value_seen){object, w->value};
		w->seen_count++;
	}
	return false;
}

static uint8_t byte_of(const digit *digits, size_t count, size_t at)
{
	size_t first = at * 8 / PyLong_SHIFT, shift = at * 8 % PyLong_SHIFT;
	uint64_t two = digits[first];

	if (first + 1 < count)
		two |= (uint64_t)digits[first + 1] << PyLong_SHIFT;
	return (uint8_t)(two >> shift);
}

/* Cut to the most significant bytes, which tell how big it is. */
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

/* Put the counts before @bytes of text, which were written where a head ends. */
static void put_counts(struct kymo_value_writer *w, const uint8_t *text, uint64_t count, size_t bytes)
{
	kymo_put_number(w, count);
	kymo_put_number(w, bytes);
	memmove(w->at, text, bytes);
	w->at += bytes;
}

Py_ssize_t kymo_value_put_characters(struct kymo_value_writer *w, int kind, const void *data, Py_ssize_t length)
{
	uint8_t *text = w->at + 2 * KYMO_VARINT_MAX_BYTES, *to = text;
	size_t room = (size_t)(w->end - text), limit = w->limits.text_bytes < room ? w->limits.text_bytes : room;
	Py_ssize_t done = 0;

	for (; done < length; done++) {
		uint8_t character[4];
		size_t bytes = kymo_utf8(character, PyUnicode_READ(kind, data, done));

		if ((size_t)(to - text) + bytes > limit)
			break;
		memcpy(to, character, bytes);
		to += bytes;
	}
	put_counts(w, text, (uint64_t)(to - text) + (uint64_t)(length - done), (size_t)(to - text));
	return done;
}

static size_t fitting(const struct kymo_value_writer *w, size_t bytes)
{
	size_t room = kymo_value_room(w) - 2 * KYMO_VARINT_MAX_BYTES;

	if (room > w->limits.text_bytes)
		room = w->limits.text_bytes;
	return bytes < room ? bytes : room;
}

void kymo_value_put_bytes(struct kymo_value_writer *w, const char *bytes, size_t count)
{
	size_t kept = fitting(w, count);

	kymo_put_number(w, count);
	kymo_put_number(w, kept);
	kymo_put_fixed(w, bytes, kept);
}

void kymo_value_put_utf8(struct kymo_value_writer *w, const char *text, size_t bytes)
{
	size_t kept = fitting(w, bytes);

	while (kept && kept < bytes && (text[kept] & 0xc0) == 0x80)
		kept--;
	kymo_put_number(w, bytes);
	kymo_put_number(w, kept);
	kymo_put_fixed(w, text, kept);
}

void kymo_value_put_str(struct kymo_value_writer *w, const char *text, size_t bytes)
{
	uint64_t characters = 0;

	for (size_t i = 0; i < bytes; i++)
		characters += (text[i] & 0xc0) != 0x80;
	kymo_put_kind(w, KYMO_VALUE_STR);
	kymo_put_number(w, characters);
	kymo_value_put_utf8(w, text, bytes);
}

bool kymo_value_put_name(struct kymo_value_writer *w, const char *name, size_t bytes)
{
	/* The last byte is the value's. */
	if (kymo_value_room(w) < KYMO_VALUE_HEAD + 1)
		return false;
	w->end--;
	kymo_value_put_str(w, name, bytes);
	w->end++;
	return true;
}

/* Also what was written in C, where a name may be missing. */
void kymo_value_put_text(struct kymo_value_writer *w, PyObject *text)
{
	if (text && PyUnicode_Check(text))
		kymo_value_put_characters(w, PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text));
	else
		kymo_value_put_bytes(w, "?", 1);
}

/* One digit, or none. */
kymo_inline void put_small_int(struct kymo_value_writer *w, PyObject *object)
{
	int64_t magnitude = ((PyLongObject *)object)->long_value.ob_digit[0];

	if (!kymo_long_digits(object))
		magnitude = 0;
	kymo_value_put_int64(w, kymo_long_is_negative(object) ? -magnitude : magnitude);
}

/* All of it is told, and each count of it is one byte. */
kymo_inline bool is_short(const struct kymo_value_writer *w, PyObject *text)
{
	size_t length = (size_t)PyUnicode_GET_LENGTH(text);

	return PyUnicode_IS_ASCII(text) && length < 0x80 && length <= w->limits.text_bytes &&
	       length + KYMO_VALUE_HEAD <= kymo_value_room(w);
}

kymo_inline void put_short(struct kymo_value_writer *w, PyObject *text)
{
	size_t length = (size_t)PyUnicode_GET_LENGTH(text);
	const uint8_t *from = PyUnicode_DATA(text);
	uint8_t *at = w->at;

	at[0] = KYMO_VALUE_STR;
	at[1] = at[2] = at[3] = (uint8_t)length; /* code points, bytes, bytes that follow */
	at += 4;
	w->at = at + length;
	if (length > 16) {
		memcpy(at, from, length);
	} else if (length >= 8) {
		memcpy(at, from, 8);
		memcpy(at + length - 8, from + length - 8, 8);
	} else if (length >= 4) {
		memcpy(at, from, 4);
		memcpy(at + length - 4, from + length - 4, 4);
	} else {
		for (size_t i = 0; i < length; i++)
			at[i] = from[i];
	}
}

static void write_str(struct kymo_value_writer *w, PyObject *object)
{
	Py_ssize_t length = PyUnicode_GET_LENGTH(object);

	if (is_short(w, object)) {
		put_short(w, object);
		return;
	}
	kymo_put_kind(w, KYMO_VALUE_STR);
	kymo_put_number(w, (uint64_t)length);
	if (PyUnicode_IS_ASCII(object))
		kymo_value_put_bytes(w, PyUnicode_DATA(object), (size_t)length);
	else
		kymo_value_put_text(w, object);
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

bool kymo_value_put_attribute(struct kymo_value_writer *w, struct kymo_value_list *list, PyObject *name, PyObject *value)
{
	/* The last byte is the value's. */
	if (kymo_value_room(w) < KYMO_VALUE_HEAD + 1)
		return false;
	w->end--;
	write_str(w, name);
	w->end++;
	if (kymo_secrets_has(w->python->secrets, name))
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
	else
		kymo_value_write(w, value);
	list->done++;
	return true;
}

static bool is_leaf(const PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);

	return object == Py_None || type == &PyLong_Type || type == &PyBool_Type || type == &PyFloat_Type ||
	       type == &PyComplex_Type || type == &PyUnicode_Type || type == &PyBytes_Type;
}

void kymo_value_put_part(struct kymo_value_writer *w, PyObject *object)
{
	if (!object)
		object = Py_None;
	if (!is_leaf(object) && (w->depth >= w->limits.depth || w->depth >= MAX_DEPTH)) {
		put_cut(w);
		return;
	}
	w->depth++;
	kymo_value_write(w, object);
	w->depth--;
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

static bool is_secret_key(const struct kymo_value_writer *w, PyObject *key, unsigned int depth)
{
	if (PyUnicode_Check(key))
		return kymo_secrets_has(w->python->secrets, key);
	if (PyBytes_Check(key))
		return kymo_secrets_has_text(w->python->secrets, PyBytes_AS_STRING(key));
	if (PyTuple_Check(key) && depth)
		for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key) && i < MAX_KEY_PARTS; i++)
			if (is_secret_key(w, PyTuple_GET_ITEM(key, i), depth - 1))
				return true;
	return false;
}

bool kymo_value_is_secret_key(const struct kymo_value_writer *w, PyObject *key)
{
	return is_secret_key(w, key, MAX_KEY_DEPTH);
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

/* start, stop and step; the last bytes of the room are those of what comes after. */
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

/* True: @object is no value that is told by what it holds, but one of a kind. */
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
	case KYMO_LAYOUT_ENUM: /* it has one, but its name says more */
		return false;
	default:
		return true;
	}
}

/* True: @object is of one of the builtins' layouts. */
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
		write_str(w, object);
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

/* What is told most, written as the rest of this file would; true: done.  There is room for a head. */
kymo_inline bool write_often(struct kymo_value_writer *w, PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);

	if (type == &PyLong_Type && kymo_long_digits(object) <= 1)
		put_small_int(w, object);
	else if (type == &PyUnicode_Type && is_short(w, object))
		put_short(w, object);
	else if (type == &PyFloat_Type)
		kymo_value_put_float(w, ((PyFloatObject *)object)->ob_fval);
	else if (object == Py_None)
		kymo_put_kind(w, KYMO_VALUE_NONE);
	else
		return false;
	return true;
}

void kymo_value_write(struct kymo_value_writer *w, PyObject *object)
{
	const struct kymo_value_type *type;

	if (object && kymo_value_room(w) >= KYMO_VALUE_HEAD && write_often(w, object))
		return;
	if (write_singleton(w, object))
		return;
	if (kymo_value_room(w) < KYMO_VALUE_HEAD) {
		put_cut(w);
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
