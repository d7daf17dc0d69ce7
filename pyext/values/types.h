// SPDX-License-Identifier: Apache-2.0
/* Which layout the objects of a type have, by its flags, its bases and its place; no attribute of it is asked for. */
#ifndef KYMO_PYEXT_VALUES_TYPES_H
#define KYMO_PYEXT_VALUES_TYPES_H

#include "pyext/python.h"

enum kymo_layout {
	KYMO_LAYOUT_OBJECT = 1, /* none of these: its attributes */
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

/* Types of the standard library that are told as text. */
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
	const void *name; /* what it has for one */
	uint32_t version;
	enum kymo_layout layout;
	uint8_t detail; /* of LIBRARY: enum kymo_library_type; of SCALAR: numpy's number for its kind */
	bool is_derived; /* not the type itself that the layout is of, but one derived from it */
	bool has_slots;	 /* it, or one that it derives from, was made by Python and has __slots__ ... */
	uint64_t secret_slots; /* ... of the first 64 of these, from the first base on, those whose values are left out */
	PyObject *fields; /* of a namedtuple: their names, a tuple; NULL: it is none */
};

/* Give @python a cache; false with an exception set. */
bool kymo_value_types_attach(struct kymo_python *python);

#define KYMO_VALUE_TYPE_BITS 10
#define KYMO_VALUE_BASES 64U

/*
 * Types that lay out an object of @type, from the first.  Bases beside this line have no slots: else they would lay it out differently.
 * Only those of classes made by Python are looked at.  Returns how many.
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

/* As kymo_value_type_of(), of what the cache has not. */
const struct kymo_value_type *kymo_value_type_find(struct kymo_python *python, PyTypeObject *type);

/* What is known of @type; valid until the next call. */
kymo_inline const struct kymo_value_type *kymo_value_type_of(struct kymo_python *python, PyTypeObject *type)
{
	const struct kymo_value_type *known = kymo_value_type_entry(python->value_types, type);

	if (kymo_likely(known->type == type && known->version == type->tp_version_tag && known->name == type->tp_name))
		return known;
	return kymo_value_type_find(python, type);
}

/* Forget all: what names are secret has changed. */
void kymo_value_types_forget(struct kymo_python *python);

/* True if objects of @type are what their fields are: of a dataclass, of attrs' or pydantic's classes. */
bool kymo_type_is_record(const PyTypeObject *type);

/* What the class body of @type gave @name, by identity or content of keys that are str; NULL: not found. Borrowed. */
PyObject *kymo_type_entry(const PyTypeObject *type, const char *name);

#endif
