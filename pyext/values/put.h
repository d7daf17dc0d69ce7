// SPDX-License-Identifier: Apache-2.0
/* Shared by the files that write values: the pieces of format/value.h, and the functions for each kind. */
#ifndef KYMO_PYEXT_VALUES_PUT_H
#define KYMO_PYEXT_VALUES_PUT_H

#include "pyext/values/types.h"
#include "pyext/values/writer.h"

#include <string.h>

#include "format/varint.h"
#include "pyext/names.h"

/* The most bytes that a value has before its items, text or bytes: its kind, up to two types, an id and two counts. */
#define KYMO_VALUE_HEAD 48

kymo_inline size_t kymo_value_room(const struct kymo_value_writer *w)
{
	return w->at < w->end ? (size_t)(w->end - w->at) : 0;
}

kymo_inline void kymo_put_kind(struct kymo_value_writer *w, enum kymo_value_kind kind)
{
	*w->at++ = (uint8_t)kind;
}

kymo_inline void kymo_put_number(struct kymo_value_writer *w, uint64_t number)
{
	w->at += kymo_varint_put(w->at, number);
}

kymo_inline void kymo_put_fixed(struct kymo_value_writer *w, const void *from, size_t bytes)
{
	memcpy(w->at, from, bytes);
	w->at += bytes;
}

kymo_inline void kymo_put_id(struct kymo_value_writer *w, const PyObject *object)
{
	uint64_t id = (uintptr_t)object;

	kymo_put_fixed(w, &id, sizeof(id));
}

kymo_inline void kymo_put_type(struct kymo_value_writer *w, const PyObject *object)
{
	kymo_put_number(w, kymo_name_of_type(w->python, Py_TYPE(object)));
}

/* Write @c to @out, which has room for four bytes; return the length.  Surrogates are code points like others. */
static inline size_t kymo_utf8(uint8_t *out, Py_UCS4 c)
{
	if (c < 0x80)
		return *out = (uint8_t)c, 1;
	if (c < 0x800) {
		*out++ = (uint8_t)(0xc0 | c >> 6);
		*out = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		*out++ = (uint8_t)(0xe0 | c >> 12);
		*out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		*out = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	*out++ = (uint8_t)(0xf0 | c >> 18);
	*out++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	*out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	*out = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* CUT: there is no room. */
void kymo_value_put_cut(struct kymo_value_writer *w);

/* A list of items, whose number is known only after they were written. */
struct kymo_value_list {
	uint8_t *kept_at;
	uint64_t planned, done;
};

/* Begin a list of the first of @count items that the limits allow. */
struct kymo_value_list kymo_value_list_begin(struct kymo_value_writer *w, uint64_t count);
void kymo_value_list_end(struct kymo_value_writer *w, const struct kymo_value_list *list);

/* True if all of @text is written, and each of its counts is one byte. */
kymo_inline bool kymo_value_is_short(const struct kymo_value_writer *w, PyObject *text)
{
	size_t length = (size_t)PyUnicode_GET_LENGTH(text);

	return PyUnicode_IS_ASCII(text) && length < 0x80 && length <= w->limits.text_bytes &&
	       length + KYMO_VALUE_HEAD <= kymo_value_room(w);
}

kymo_inline void kymo_value_put_short(struct kymo_value_writer *w, PyObject *text)
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

/* Go on to one more item; false at the limit, or if there is no room. */
kymo_inline bool kymo_value_list_next(const struct kymo_value_writer *w, const struct kymo_value_list *list)
{
	return list->done < list->planned && w->at + 1 < w->end;
}

/* An attribute as an item of @list, or REDACTED; false: there is no room. @name is a str. */
bool kymo_value_put_attribute(struct kymo_value_writer *w, struct kymo_value_list *list, PyObject *name, PyObject *value);

/* The name of an attribute, a STR, from UTF-8; false: there is no room for it and for its value. */
bool kymo_value_put_name(struct kymo_value_writer *w, const char *name, size_t bytes);

/* A value that its container always has: CUT if it is nested too deep.  NULL: NONE. */
void kymo_value_put_part(struct kymo_value_writer *w, PyObject *object);

/* count and bytes of @length characters of a str from @data; there is room for a head. Returns how many characters. */
Py_ssize_t kymo_value_put_characters(struct kymo_value_writer *w, int kind, const void *data, Py_ssize_t length);
/* The same for @text if it is a str, else for "?". */
void kymo_value_put_text(struct kymo_value_writer *w, PyObject *text);
/* A STR, of an exact str. */
void kymo_value_put_string(struct kymo_value_writer *w, PyObject *object);
/* A STR from UTF-8. */
void kymo_value_put_str(struct kymo_value_writer *w, const char *text, size_t bytes);
/* count and bytes of UTF-8, cut between characters; and of bytes that are not text. */
void kymo_value_put_utf8(struct kymo_value_writer *w, const char *text, size_t bytes);
void kymo_value_put_bytes(struct kymo_value_writer *w, const char *bytes, size_t count);

kymo_inline void kymo_value_put_int64(struct kymo_value_writer *w, int64_t number)
{
	kymo_put_kind(w, KYMO_VALUE_INT);
	kymo_put_number(w, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

kymo_inline void kymo_value_put_float(struct kymo_value_writer *w, double number)
{
	kymo_put_kind(w, KYMO_VALUE_FLOAT);
	kymo_put_fixed(w, &number, sizeof(number));
}

/* True: this block has @object already, and it is written as SEEN. Else it is remembered. */
bool kymo_value_put_seen(struct kymo_value_writer *w, const PyObject *object);

/* Writers by family. There is room for a head. */
void kymo_value_write_object(struct kymo_value_writer *w, PyObject *object);
void kymo_value_write_exception(struct kymo_value_writer *w, PyObject *object);
void kymo_value_write_enum(struct kymo_value_writer *w, PyObject *object);
void kymo_value_write_named(struct kymo_value_writer *w, PyObject *object);
/* False: its layout is not the known one, and nothing is written. */
bool kymo_value_write_library(struct kymo_value_writer *w, PyObject *object, const struct kymo_value_type *type);

/* Begin an ARRAY up to its shape, whose @dimensions numbers follow, then the items; false: there is no room, and it is CUT. */
bool kymo_value_begin_array(struct kymo_value_writer *w, PyObject *object, const char *dtype, int dimensions);
void kymo_value_write_array(struct kymo_value_writer *w, PyObject *object);
void kymo_value_write_scalar(struct kymo_value_writer *w, PyObject *object, int kind);

/* False: its contents are not the known ones, and nothing is written. */
bool kymo_value_write_pandas(struct kymo_value_writer *w, PyObject *object);

void kymo_value_write_deque(struct kymo_value_writer *w, PyObject *object);

/* Write that @object was not read, and why, in words. */
void kymo_value_write_reason(struct kymo_value_writer *w, PyObject *object, const char *why);

/* Parts of kymo_value_fingerprint(): for a deque, for an object that looks like a Series or a DataFrame; others: 0. */
uint64_t kymo_deque_fingerprint(const struct kymo_value_limits *limits, PyObject *object);
uint64_t kymo_pandas_fingerprint(const struct kymo_value_limits *limits, PyObject *object);

#endif
