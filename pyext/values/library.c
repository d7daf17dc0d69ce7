// SPDX-License-Identifier: Apache-2.0
/* Values of the standard library that are recorded as text: as str() of the library's own type returns it. */
#include "pyext/cpython/object_layout.h"

#include "pyext/values/put.h"
#include "pyext/values/times.h"

#define MAX_BASES 64U
/* The number of parts that a path is made of. */
#define MAX_PARTS 64

/* A text that is made character by character, up to the limits. */
struct text {
	uint8_t *start, *at, *end;
	bool is_cut;
};

static struct text text_begin(struct kymo_value_writer *w, PyObject *object)
{
	struct text text;

	kymo_put_kind(w, KYMO_VALUE_TEXT);
	kymo_put_type(w, object);
	text.start = text.at = w->at + 2 * KYMO_VARINT_MAX_BYTES;
	text.end = w->end - text.start < w->limits.text_bytes ? w->end : text.start + w->limits.text_bytes;
	text.is_cut = false;
	return text;
}

static void text_add(struct text *text, Py_UCS4 c)
{
	uint8_t bytes[4];
	size_t count = kymo_utf8(bytes, c);

	if (text->is_cut || (size_t)(text->end - text->at) < count) {
		text->is_cut = true;
		return;
	}
	memcpy(text->at, bytes, count);
	text->at += count;
}

static void text_add_ascii(struct text *text, const char *ascii)
{
	while (*ascii)
		text_add(text, (uint8_t)*ascii++);
}

/* The length of the cut part was not counted. */
static void text_end(struct kymo_value_writer *w, const struct text *text)
{
	size_t bytes = (size_t)(text->at - text->start);

	kymo_put_number(w, bytes + text->is_cut);
	kymo_put_number(w, bytes);
	memmove(w->at, text->start, bytes);
	w->at += bytes;
}

static void write_str(struct kymo_value_writer *w, PyObject *object, PyObject *str)
{
	kymo_put_kind(w, KYMO_VALUE_TEXT);
	kymo_put_type(w, object);
	kymo_value_put_text(w, str);
}

static void write_ascii(struct kymo_value_writer *w, PyObject *object, const char *ascii)
{
	kymo_put_kind(w, KYMO_VALUE_TEXT);
	kymo_put_type(w, object);
	kymo_value_put_utf8(w, ascii, strlen(ascii));
}

void kymo_value_write_reason(struct kymo_value_writer *w, PyObject *object, const char *why)
{
	kymo_put_kind(w, KYMO_VALUE_NOT_READ);
	kymo_put_type(w, object);
	kymo_value_put_utf8(w, why, strlen(why));
}

/* The value in the slot @name of @object; NULL: there is no such slot, or it is empty. */
static PyObject *slot_named(PyObject *object, const char *name)
{
	const PyTypeObject *type = Py_TYPE(object);

	for (unsigned int i = 0; type && i < MAX_BASES; i++, type = type->tp_base) {
		const PyMemberDef *member = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? type->tp_members : NULL;

		for (; member && member->name; member++)
			if (kymo_is_slot(member) && !strcmp(member->name, name))
				return kymo_slot_value(object, member);
	}
	return NULL;
}

/* 32 bits of the magnitude from bit @at on. */
static uint32_t bits_of(PyObject *integer, size_t at)
{
	const digit *digits = ((PyLongObject *)integer)->long_value.ob_digit;
	size_t count = kymo_long_digits(integer);
	uint32_t bits = 0;

	for (size_t i = 0; i < 32; i++) {
		size_t place = (at + i) / PyLong_SHIFT;

		if (place < count)
			bits |= (digits[place] >> (at + i) % PyLong_SHIFT & 1) << i;
	}
	return bits;
}

static bool write_uuid(struct kymo_value_writer *w, PyObject *object)
{
	PyObject *number = slot_named(object, "int");
	char text[40];

	if (!number || !PyLong_CheckExact(number) || kymo_long_digits(number) > 5 || kymo_long_is_negative(number))
		return false;
	snprintf(text, sizeof(text), "%08x-%04x-%04x-%04x-%04x%08x", bits_of(number, 96), bits_of(number, 64) >> 16,
		 bits_of(number, 64) & 0xffff, bits_of(number, 32) >> 16, bits_of(number, 32) & 0xffff, bits_of(number, 0));
	write_ascii(w, object, text);
	return true;
}

static bool is_small(PyObject *number)
{
	return number && PyLong_CheckExact(number) && kymo_long_digits(number) <= 2;
}

static long long small(PyObject *number)
{
	long long value = (long long)((uint64_t)bits_of(number, 32) << 32 | bits_of(number, 0));

	return kymo_long_is_negative(number) ? -value : value;
}

/* With bigger numbers it is written as an object with two attributes. */
static bool write_fraction(struct kymo_value_writer *w, PyObject *object)
{
	PyObject *numerator = slot_named(object, "_numerator"), *denominator = slot_named(object, "_denominator");
	char text[64];

	if (!is_small(numerator) || !is_small(denominator))
		return false;
	if (small(denominator) == 1)
		snprintf(text, sizeof(text), "%lld", small(numerator));
	else
		snprintf(text, sizeof(text), "%lld/%lld", small(numerator), small(denominator));
	write_ascii(w, object, text);
	return true;
}

#if SIZEOF_SIZE_T == 8
#define DECIMAL_DIGITS 19
#else
#define DECIMAL_DIGITS 9
#endif

/* The layout of libmpdec and _decimal since 3.3; no installed header has it. */
struct decimal {
	PyObject_HEAD
	Py_hash_t hash;
	uint8_t flags; /* 1: negative, 2: infinite, 4: NaN, 8: signalling NaN */
	Py_ssize_t exponent, digits, words, room;
	const size_t *data; /* words of MPD_RDIGITS digits, least significant first */
	size_t own[4];
};

static char decimal_digit(const struct decimal *number, Py_ssize_t from_left)
{
	Py_ssize_t from_right = number->digits - 1 - from_left;
	size_t word = number->data[from_right / DECIMAL_DIGITS];

	for (Py_ssize_t i = from_right % DECIMAL_DIGITS; i > 0; i--)
		word /= 10;
	return (char)('0' + word % 10);
}

static void add_coefficient(struct text *text, const struct decimal *number, Py_ssize_t point)
{
	if (point <= 0)
		text_add_ascii(text, "0.");
	for (Py_ssize_t i = point; i < 0; i++)
		text_add(text, '0');
	for (Py_ssize_t i = 0; i < number->digits && !text->is_cut; i++) {
		if (i && i == point)
			text_add(text, '.');
		text_add(text, (Py_UCS4)decimal_digit(number, i));
	}
}

/* By the rule of the General Decimal Arithmetic Specification, to-scientific-string. */
static void add_decimal(struct text *text, const struct decimal *number)
{
	Py_ssize_t left = number->exponent + number->digits, point = 1;
	char exponent[32];

	if (number->exponent <= 0 && left > -6)
		point = left;
	add_coefficient(text, number, point);
	if (left != point) {
		snprintf(exponent, sizeof(exponent), "E%+zd", left - point);
		text_add_ascii(text, exponent);
	}
}

static bool write_decimal(struct kymo_value_writer *w, PyObject *object)
{
	const struct decimal *number = (const void *)object;
	struct text text;

	if (Py_TYPE(object)->tp_basicsize < (Py_ssize_t)sizeof(*number) ||
	    (number->digits + DECIMAL_DIGITS - 1) / DECIMAL_DIGITS > number->words)
		return false;
	text = text_begin(w, object);
	if (number->flags & 1)
		text_add(&text, '-');
	if (number->flags & 2) {
		text_add_ascii(&text, "Infinity");
	} else if (number->flags & 12) {
		text_add_ascii(&text, number->flags & 8 ? "sNaN" : "NaN");
		for (Py_ssize_t i = 0; i < number->digits && !text.is_cut; i++)
			text_add(&text, (Py_UCS4)decimal_digit(number, i));
	} else {
		add_decimal(&text, number);
	}
	text_end(w, &text);
	return true;
}

/* A path as it was given, part by part, joined as by pathlib's str(). */
struct path {
	PyObject *const *parts;
	Py_ssize_t count;
};

static Py_UCS4 character(PyObject *part, Py_ssize_t at)
{
	return at < PyUnicode_GET_LENGTH(part) ? PyUnicode_READ_CHAR(part, at) : 0;
}

static bool path_begin(struct path *path, PyObject *parts)
{
	if (!parts || !PyList_CheckExact(parts) || PyList_GET_SIZE(parts) > MAX_PARTS)
		return false;
	path->parts = ((PyListObject *)parts)->ob_item;
	path->count = PyList_GET_SIZE(parts);
	for (Py_ssize_t i = 0; i < path->count; i++)
		if (!PyUnicode_Check(path->parts[i]))
			return false;
	return true;
}

/* Parts before the last absolute one are dropped. */
static void add_root(struct text *text, struct path *path)
{
	Py_ssize_t i = path->count;

	while (i-- > 0) {
		PyObject *part = path->parts[i];

		if (character(part, 0) != '/')
			continue;
		text_add_ascii(text, character(part, 1) == '/' && character(part, 2) != '/' ? "//" : "/");
		path->parts += i;
		path->count -= i;
		return;
	}
}

static void add_names(struct text *text, PyObject *part, bool *has_name)
{
	Py_ssize_t length = PyUnicode_GET_LENGTH(part), at = 0;

	while (at < length && !text->is_cut) {
		Py_UCS4 first = character(part, at), second = character(part, at + 1);

		if (first == '/' || (first == '.' && (at + 1 == length || second == '/'))) {
			at++;
			continue;
		}
		if (*has_name)
			text_add(text, '/');
		*has_name = true;
		for (; at < length && character(part, at) != '/' && !text->is_cut; at++)
			text_add(text, character(part, at));
	}
}

static bool is_windows(const PyTypeObject *type)
{
	for (unsigned int i = 0; type && i < MAX_BASES; i++, type = type->tp_base)
		if (strstr(type->tp_name, "WindowsPath"))
			return true;
	return false;
}

static bool write_path(struct kymo_value_writer *w, PyObject *object)
{
	PyObject *made = slot_named(object, "_str");
	struct path path;
	struct text text;
	bool has_name = false;

	if (made && PyUnicode_Check(made)) {
		write_str(w, object, made);
		return true;
	}
	if (is_windows(Py_TYPE(object)) || !path_begin(&path, slot_named(object, "_raw_paths")))
		return false;
	text = text_begin(w, object);
	add_root(&text, &path);
	for (Py_ssize_t i = 0; i < path.count; i++)
		add_names(&text, path.parts[i], &has_name);
	if (text.at == text.start)
		text_add(&text, '.');
	text_end(w, &text);
	return true;
}

static bool write_time(struct kymo_value_writer *w, PyObject *object, enum kymo_library_type type)
{
	PyObject *name = type == KYMO_LIBRARY_TIMEZONE ? kymo_zone_name(w->python, object) : NULL;
	char text[KYMO_TIME_TEXT];

	if (name)
		write_str(w, object, name);
	else if (kymo_time_text(w->python, object, type, text))
		write_ascii(w, object, text);
	else
		return false;
	return true;
}

bool kymo_value_write_library(struct kymo_value_writer *w, PyObject *object, const struct kymo_value_type *type)
{
	switch ((enum kymo_library_type)type->detail) {
	case KYMO_LIBRARY_DECIMAL:
		return write_decimal(w, object);
	case KYMO_LIBRARY_FRACTION:
		return write_fraction(w, object);
	case KYMO_LIBRARY_UUID:
		return write_uuid(w, object);
	case KYMO_LIBRARY_PATH:
		return write_path(w, object);
	default:
		return write_time(w, object, type->detail);
	}
}
