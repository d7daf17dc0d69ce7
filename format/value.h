// SPDX-License-Identifier: Apache-2.0
/*
 * Values: what variables held, as stored in a VALUES record.
 *
 * A VALUES record goes before the event that it belongs to, in the same chunk; it is not an event itself.  For PY_START
 * it has the arguments, for PY_RETURN and PY_YIELD the value passed on, for RAISE the exception, for LINE the variables
 * that changed since the frame's last record.  Its block, numbers in LEB128 (format/varint.h):
 *
 *   flags       one byte: KYMO_VALUES_WHOLE
 *   bindings    up to the block's end: a name, then a value
 *
 *   name        0: the event's own value; 2 * i + 1: the local, cell or free variable i, in the order of Content.varnames;
 *               2 * i + 2: the global or builtin that Content.names[i] names
 *
 * A value is one byte enum kymo_value_kind, then what is described there:
 *
 *   id          identity: the object's address, 8 bytes, little-endian
 *   type        LEB128: name id of its type (definition Name); 0: not known
 *   count       two LEB128: how many there are, and how many of them follow (fewer if the value was cut)
 *   text        count of bytes, then bytes in UTF-8, surrogates encoded as any other code point
 *   signed      LEB128 of a zigzag number: 0, -1, 1, -2 … are 0, 1, 2, 3 …
 *
 * An object that the block has described already, or is just describing, is SEEN.  A value that the chunk has already is
 * SAME; it never refers to another chunk, so a chunk can be decoded alone.
 */
#ifndef KYMO_FORMAT_VALUE_H
#define KYMO_FORMAT_VALUE_H

#include "format/record.h"

/* The block lists every variable that has a value; variables of a frame that are not in it have none.  Without this flag, they are
   unchanged. */
#define KYMO_VALUES_WHOLE 1U

#define KYMO_VALUES_OWN 0U
#define KYMO_VALUES_LOCAL(i) (2 * (uint64_t)(i) + 1)
#define KYMO_VALUES_GLOBAL(i) (2 * (uint64_t)(i) + 2)


enum kymo_value_kind {
	KYMO_VALUE_INVALID = 0,
	/* nothing follows */
	KYMO_VALUE_UNBOUND = 1,  /* the variable has no value (any more) */
	KYMO_VALUE_REDACTED = 2, /* left out because of its name */
	KYMO_VALUE_CUT = 3,	 /* left out because of a limit of bytes */
	KYMO_VALUE_NONE = 4,
	KYMO_VALUE_FALSE = 5,
	KYMO_VALUE_TRUE = 6,
	KYMO_VALUE_ELLIPSIS = 7,
	KYMO_VALUE_NOT_IMPLEMENTED = 8,
	/* references */
	KYMO_VALUE_SAME = 9,  /* LEB128: the same as the value that begins that many bytes from the start of the chunk's payload, which
				 lies before this record and is not SAME itself */
	KYMO_VALUE_SEEN = 10, /* type, id: described in this block, or being described */
	/* numbers */
	KYMO_VALUE_INT = 11,	 /* signed, of 64 bits at most */
	KYMO_VALUE_LONG = 12,	 /* one byte: 1 if it is negative; then the count of the magnitude's bytes, and those that follow, the
				    most significant ones, little-endian */
	KYMO_VALUE_FLOAT = 13,	 /* 8 bytes, IEEE 754, little-endian */
	KYMO_VALUE_COMPLEX = 14, /* two of these */
	/* texts */
	KYMO_VALUE_STR = 15,	   /* LEB128: its length in code points; then text, whose count is that of the whole in UTF-8 or, if it
				      was cut, at least that of what follows */
	KYMO_VALUE_BYTES = 16,	   /* count, then bytes */
	KYMO_VALUE_BYTEARRAY = 17, /* id, then as BYTES */
	/* containers: their items are values */
	KYMO_VALUE_TUPLE = 18,	   /* count, items */
	KYMO_VALUE_LIST = 19,	   /* id, count, items */
	KYMO_VALUE_SET = 20,	   /* id, count, items */
	KYMO_VALUE_FROZENSET = 21, /* id, count, items */
	KYMO_VALUE_DICT = 22,	   /* id, count; each item is a key and its value */
	KYMO_VALUE_RANGE = 23,	   /* three values: start, stop, step */
	KYMO_VALUE_SLICE = 24,	   /* the same */
	/* others */
	KYMO_VALUE_OBJECT = 25,	   /* type, id, count; each item is an attribute: its name as a value STR, and its value */
	KYMO_VALUE_NAMED = 26,	   /* type, id, text: a function, class, module … by its qualified name */
	KYMO_VALUE_TEXT = 27,	   /* type, text: a date, time, Decimal, path …, as str() of the standard type returns it */
	KYMO_VALUE_ENUM = 28,	   /* type, id, text: the member's name; value */
	KYMO_VALUE_EXCEPTION = 29, /* type, id; three values: args, __cause__, __context__ (NONE: none, or suppressed); count, attributes
				      as in OBJECT */
	KYMO_VALUE_ARRAY = 30,	   /* type, id, text: the dtype; count of dimensions, all of which follow in LEB128; count, items in C order */
	KYMO_VALUE_SUBCLASS = 31,  /* type, then the value of one of a builtin's kinds, read by the builtin's own layout */
	KYMO_VALUE_NOT_READ = 32,  /* type, text: why its contents were not read, in words */
};
#define KYMO_VALUE_KINDS 33

/*
 * Where a block lies in its chunk.  Valid as long as the function that returned it says.  bytes is 0: there is none.
 */
struct kymo_values {
	const uint8_t *payload; /* the chunk's */
	uint32_t at;		/* offset of the block, behind the record's head */
	uint32_t bytes;
};

#endif
