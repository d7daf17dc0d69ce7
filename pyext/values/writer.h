// SPDX-License-Identifier: Apache-2.0
/*
 * Write a Python object in the form of format/value.h.
 *
 * An object is read in place, by the C layout of its exact type, or of the builtin that its type derives from.  None of the
 * program's code runs, no object is made, no reference is taken or dropped, nothing is raised, the GIL is not released: so nothing
 * that is read can go away meanwhile.  GIL held.
 */
#ifndef KYMO_PYEXT_VALUES_WRITER_H
#define KYMO_PYEXT_VALUES_WRITER_H

#include "pyext/python.h"

#include "format/value.h"

struct kymo_value_limits {
	uint32_t depth;	     /* of values in values: only the head of deeper ones is written */
	uint32_t items;	     /* of one container or object */
	uint32_t text_bytes; /* of one str, bytes or int */
};

/* The number of objects that one value remembers, and bits of the number of places for them. */
#define KYMO_VALUES_SEEN 256
#define KYMO_VALUES_SEEN_BITS 9

struct kymo_value_writer {
	struct kymo_python *python; /* names types */
	void (*write)(struct kymo_value_writer *w, PyObject *object); /* kymo_value_write_any, for values in values */
	struct kymo_value_limits limits;
	uint8_t *at, *end; /* what is written next, and behind the room that there is */
	uint32_t depth;
	/* Objects in this value: by address, each in the first place from its own on that is left from another @value. */
	uint64_t value;
	uint32_t seen_count;
	struct kymo_value_seen {
		const PyObject *object;
		uint64_t value;
	} seen[1 << KYMO_VALUES_SEEN_BITS];
};

/* Begin a value, which has no objects yet. */
static inline void kymo_value_begin(struct kymo_value_writer *writer)
{
	writer->value++;
	writer->seen_count = 0;
}

/*
 * Write @object, NULL: UNBOUND, and move @writer->at.  There is always room for one byte at @writer->end, so that a value for which
 * there is no room is CUT.  Never fails.
 */
static inline void kymo_value_write(struct kymo_value_writer *writer, PyObject *object)
{
	writer->write(writer, object);
}

/* The function that does so: every kind of value may hold any other. */
void kymo_value_write_any(struct kymo_value_writer *writer, PyObject *object);

/*
 * A number that differs, as far as that is cheap to see, when another object is at the same address or what it holds has changed:
 * for numbers, str and bytes the length and the part that would be recorded; for containers and plain instances the length and the
 * addresses of the items that would be recorded; for arrays the shape and the bytes that would be recorded.  0 for NULL.
 */
uint64_t kymo_value_fingerprint(const struct kymo_value_limits *limits, PyObject *object);

/* @key is a str or bytes that names a secret, or a tuple with such a part.  GIL held. */
bool kymo_value_is_secret_key(const struct kymo_value_writer *w, PyObject *key);

#endif
