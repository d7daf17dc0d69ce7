// SPDX-License-Identifier: Apache-2.0
/* The pieces that values of all kinds are made of. */
#include "pyext/values/put.h"

#include "pyext/secrets.h"

/* Below the depth to which values are decoded; see replay/values/values.h. */
#define MAX_DEPTH 60U

/* How much of a tuple that is a key is looked at. */
#define MAX_KEY_DEPTH 4U
#define MAX_KEY_PARTS 64

void kymo_value_put_cut(struct kymo_value_writer *w)
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
	/* An object that is too deep here may be written later. */
	if (w->seen_count < KYMO_VALUES_SEEN && w->depth < w->limits.depth) {
		w->seen[at] = (struct kymo_value_seen){object, w->value};
		w->seen_count++;
	}
	return false;
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

/* Also for objects made in C, whose name may be missing. */
void kymo_value_put_text(struct kymo_value_writer *w, PyObject *text)
{
	if (text && PyUnicode_Check(text))
		kymo_value_put_characters(w, PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text));
	else
		kymo_value_put_bytes(w, "?", 1);
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
		kymo_value_put_cut(w);
		return;
	}
	w->depth++;
	kymo_value_write(w, object);
	w->depth--;
}

void kymo_value_put_string(struct kymo_value_writer *w, PyObject *object)
{
	Py_ssize_t length = PyUnicode_GET_LENGTH(object);

	if (kymo_value_is_short(w, object)) {
		kymo_value_put_short(w, object);
		return;
	}
	kymo_put_kind(w, KYMO_VALUE_STR);
	kymo_put_number(w, (uint64_t)length);
	if (PyUnicode_IS_ASCII(object))
		kymo_value_put_bytes(w, PyUnicode_DATA(object), (size_t)length);
	else
		kymo_value_put_text(w, object);
}

bool kymo_value_put_attribute(struct kymo_value_writer *w, struct kymo_value_list *list, PyObject *name, PyObject *value)
{
	/* The last byte is the value's. */
	if (kymo_value_room(w) < KYMO_VALUE_HEAD + 1)
		return false;
	w->end--;
	kymo_value_put_string(w, name);
	w->end++;
	if (kymo_secrets_has(w->python->secrets, name))
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
	else
		kymo_value_write(w, value);
	list->done++;
	return true;
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
