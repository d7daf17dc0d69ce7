// SPDX-License-Identifier: Apache-2.0
/*
 * Writing what a Python object is, as format/value.h has it.
 *
 * An object is read where it lies, by the layout that its exact type, or the builtin that its type derives from, has in C.
 * Nothing of the program's runs, no object is made, no reference is taken or dropped, nothing is raised, the GIL is not let go: so
 * nothing that is read can go away meanwhile.  GIL held.
 */
#ifndef KYMO_PYEXT_VALUES_WRITER_H
#define KYMO_PYEXT_VALUES_WRITER_H

#include "pyext/python.h"

#include "format/value.h"

struct kymo_value_limits {
	uint32_t depth;	     /* of values in values: of what is deeper, the head alone is written */
	uint32_t items;	     /* of one container or object */
	uint32_t text_bytes; /* of one str, bytes or int */
};

/* Objects that one value has told, and bits of the number of places for them. */
#define KYMO_VALUES_SEEN 256
#define KYMO_VALUES_SEEN_BITS 9

struct kymo_value_writer {
	struct kymo_python *python; /* names types */
	void (*write)(struct kymo_value_writer *w, PyObject *object); /* kymo_value_write_any, for values in values */
	struct kymo_value_limits limits;
	uint8_t *at, *end; /* what is written next, and behind the room that there is */
	uint32_t depth;
	/* Those that the value has told: by address, each in the first place from its own on that another @value left. */
	uint64_t value;
	uint32_t seen_count;
	struct kymo_value_seen {
		const PyObject *object;
		uint64_t value;
	} seen[1 << KYMO_VALUES_SEEN_BITS];
};

/* Begin a value, which has told no object yet. */
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

/* What does that: every kind of value may hold any other. */
void kymo_value_write_any(struct kymo_value_writer *writer, PyObject *object);

/*
 * A number that differs, as far as that is cheap to see, when another object is at the same address or what it holds has changed: of
 * numbers, str and bytes the length and what would be told, of containers and plain instances the length and the addresses of the
 * items that would be told, of arrays the shape and the bytes that would be told.  0 for NULL.
 */
uint64_t kymo_value_fingerprint(const struct kymo_value_limits *limits, PyObject *object);

/* @key is a str or bytes that names a secret, or a tuple with such a part.  GIL held. */
bool kymo_value_is_secret_key(const struct kymo_value_writer *w, PyObject *key);

#endif
