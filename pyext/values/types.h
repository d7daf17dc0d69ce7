// SPDX-License-Identifier: Apache-2.0
/* Which layout the objects of a type have, by its flags, its bases and its place; no attribute of it is asked for. */
#ifndef KYMO_PYEXT_VALUES_TYPES_H
#define KYMO_PYEXT_VALUES_TYPES_H

#include "pyext/python.h"

enum kymo_layout {
	KYMO_LAYOUT_OBJECT = 1, /* none of the others: its attributes */
	KYMO_LAYOUT_INT,
	KYMO_LAYOUT_FLOAT,
	KYMO_LAYOUT_COMPLEX,
	KYMO_LAYOUT_STR,
	KYMO_LAYOUT_BYTES,
	KYMO_LAYOUT_BYTEARRAY,
	KYMO_LAYOUT_TUPLE,
	KYMO_LAYOUT_LIST,
	KYMO_LAYOUT_SET,
	KYMO_LAYOUT_FROZENSET,
	KYMO_LAYOUT_DICT,
	KYMO_LAYOUT_RANGE,
	KYMO_LAYOUT_SLICE,
	KYMO_LAYOUT_EXCEPTION,
	KYMO_LAYOUT_ENUM,
	KYMO_LAYOUT_NAMED, /* a function, a class, a module …: kymo_value_write_named() */
	KYMO_LAYOUT_LIBRARY, /* of the standard library: kymo_value_write_library() */
	KYMO_LAYOUT_ARRAY, /* numpy's */
	KYMO_LAYOUT_SCALAR,
	KYMO_LAYOUT_DEQUE,
	KYMO_LAYOUT_PANDAS, /* Series and DataFrame */
};

/* Types of the standard library that are recorded as text. */
enum kymo_library_type {
	KYMO_LIBRARY_DATE = 1,
	KYMO_LIBRARY_TIME,
	KYMO_LIBRARY_DATETIME,
	KYMO_LIBRARY_TIMEDELTA,
	KYMO_LIBRARY_TIMEZONE,
	KYMO_LIBRARY_DECIMAL,
	KYMO_LIBRARY_FRACTION,
	KYMO_LIBRARY_UUID,
	KYMO_LIBRARY_PATH,
};

struct kymo_value_type {
	const PyTypeObject *type;
	const void *name; /* what its name was */
	uint32_t version;
	enum kymo_layout layout;
	uint8_t detail; /* of LIBRARY: enum kymo_library_type; of SCALAR: numpy's number for its kind */
	bool is_derived; /* a type derived from the one that the layout belongs to */
	bool has_slots;	 /* it, or one of its bases, was made by Python and has __slots__ ... */
	uint64_t secret_slots; /* ... those of the first 64 slots, from the first base on, whose values are left out */
	PyObject *fields; /* a namedtuple's field names, a tuple; NULL: not a namedtuple */
};

/* Give @python a cache; false with an exception set. */
bool kymo_value_types_attach(struct kymo_python *python);

#define KYMO_VALUE_TYPE_BITS 10
#define KYMO_VALUE_BASES 64U

/*
 * The types that determine the layout of an object of @type, from the first.  Other bases have no slots: else they would change the
 * layout.  Only classes made by Python are looked at.  Returns how many.
 */
unsigned int kymo_value_layout_types(const PyTypeObject *type, const PyTypeObject *types[KYMO_VALUE_BASES]);

struct kymo_value_types {
	struct kymo_value_type entries[1 << KYMO_VALUE_TYPE_BITS];
	struct kymo_value_type uncached;
};

kymo_inline struct kymo_value_type *kymo_value_type_entry(struct kymo_value_types *types, const PyTypeObject *type)
{
	return &types->entries[((uintptr_t)type >> 4) * 0x9e3779b97f4a7c15U >> (64 - KYMO_VALUE_TYPE_BITS)];
}

/* As kymo_value_type_of(), for a type that is not in the cache. */
const struct kymo_value_type *kymo_value_type_find(struct kymo_python *python, PyTypeObject *type);

/* What is known of @type; valid until the next call. */
kymo_inline const struct kymo_value_type *kymo_value_type_of(struct kymo_python *python, PyTypeObject *type)
{
	const struct kymo_value_type *known = kymo_value_type_entry(python->value_types, type);

	if (kymo_likely(known->type == type && known->version == type->tp_version_tag && known->name == type->tp_name))
		return known;
	return kymo_value_type_find(python, type);
}

/* Forget all: the secret names have changed. */
void kymo_value_types_forget(struct kymo_python *python);

/* True if objects of @type consist of their fields: a dataclass, a class of attrs or pydantic. */
bool kymo_type_is_record(const PyTypeObject *type);

/* The value that the class body of @type gave @name, by identity or content of keys that are str; NULL: not found. Borrowed. */
PyObject *kymo_type_entry(const PyTypeObject *type, const char *name);

#endif
