// SPDX-License-Identifier: Apache-2.0
/*
 * The values that an event carries, as a tree.
 *
 * Decoding accepts any bytes: values before damage are read, the rest is CUT.
 */
#ifndef KYMO_REPLAY_VALUES_VALUES_H
#define KYMO_REPLAY_VALUES_VALUES_H

#include "format/value.h"
#include "replay/trace/timeline.h"

/* Limits of nodes in one tree, and of nesting: what a block has beyond that, as with SAME in SAME, is CUT. */
#define KYMO_VALUE_NODES 65536U
#define KYMO_VALUE_DEPTH 64U

/*
 * One value. Its items are a list of nodes. DICT: a key and its value in turn; OBJECT: an attribute's name, a STR, and its value in
 * turn; EXCEPTION: args, cause and context, then attributes as for OBJECT; RANGE and SLICE: start, stop and step; ENUM: its value.
 */
struct kymo_value {
	enum kymo_value_kind kind; /* never SAME or SUBCLASS */
	uint32_t first;	 /* number of its first item in the tree; 0: none */
	uint32_t next;	 /* of the next value in the same list; 0: none */
	uint64_t name;	 /* of a binding: as in format/value.h */
	uint64_t id;	 /* address; 0: not recorded */
	uint64_t type;	 /* name id; of a builtin kind: of the subclass; 0: not recorded */
	uint64_t count;	 /* original number of items, of bytes (LONG: of the magnitude) or, for STR, of code points */
	uint64_t kept;	 /* recorded items, a pair counting as one */
	bool is_cut;	 /* a part of this value itself is missing: kept < count, or text is cut */
	bool is_negative; /* LONG */
	int64_t number;	 /* INT */
	const uint8_t *dtype; /* of an INT in an array: the array's dtype, text of @dtype_bytes; NULL: not in an array */
	uint32_t dtype_bytes;
	double real, imaginary;
	const uint8_t *text; /* of STR, BYTES, LONG (the magnitude), and names; in the chunk's payload, not terminated; NULL: none */
	uint32_t text_bytes;
	uint32_t dimensions; /* ARRAY: numbers in LEB128 at @shape, in the chunk's payload */
	const uint8_t *shape;
	uint32_t shape_bytes;
};

/* Nodes by number, from 1; those of bindings are a list that begins with 1. */
struct kymo_value_tree {
	struct kymo_value *nodes;
	uint32_t count; /* nodes, including the unused number 0; at most 1: no values */
	size_t capacity;
	uint8_t flags; /* of the block: KYMO_VALUES_WHOLE */
	bool is_damaged; /* a part of the block could not be read */
};

/*
 * Decode @values, which stay the caller's and must outlive the use of @tree. @tree is zeroed, or was filled before and is reused. 0
 * or -ENOMEM.
 */
KYMO_MUST_CHECK
int kymo_value_tree_read(struct kymo_value_tree *tree, struct kymo_values values);
void kymo_value_tree_release(struct kymo_value_tree *tree);

/* NULL where @number is 0. */
static inline const struct kymo_value *kymo_value_at(const struct kymo_value_tree *tree, uint32_t number)
{
	return number && number < tree->count ? &tree->nodes[number] : NULL;
}

/* The variable's name for a binding of an event of @code; NULL: not known, or the event's own value. */
const char *kymo_value_name(const struct kymo_code *code, uint64_t name);

/* The name of its builtin type, or of the one from which its type is derived; NULL: none. */
const char *kymo_value_base(const struct kymo_value *value);
/* The name of its type, "int", "User"; NULL: none, or not known. */
const char *kymo_value_type(const struct kymo_value *value, const struct kymo_traced_process *process);

/* An item of an array of times as text, of KYMO_TICKS_TEXT_BYTES. */
bool kymo_value_is_time(const struct kymo_value *value, char *text);

/* Cost limit for the text of one value, in about its bytes: a block of a hundred bytes can describe a million, with SAME in SAME. */
#define KYMO_VALUE_TEXT_COST (512U << 10)

/*
 * Write @value, of @tree, as Python would show it (repr() of builtins; "<app.User at 0x7f…: name='x'>"; "…+12" for what was cut;
 * "<redacted>", "<not recorded>") to @text of @bytes, always terminated, truncated if it does not fit. Returns the length of the
 * whole text, like snprintf(); the text ends with "…" where the cost limit is reached. @process names its types.
 */
size_t kymo_value_text(const struct kymo_value_tree *tree, const struct kymo_value *value,
		       const struct kymo_traced_process *process, char *text, size_t bytes);
/* The same without quotes, for names of attributes and enum members, and for an array's dtype. */
size_t kymo_value_label(const struct kymo_value_tree *tree, const struct kymo_value *value,
			const struct kymo_traced_process *process, char *text, size_t bytes);

/* The same two with a cost limit of *@left, from which the cost is subtracted. */
size_t kymo_value_text_within(const struct kymo_value_tree *tree, const struct kymo_value *value,
			      const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left);
size_t kymo_value_label_within(const struct kymo_value_tree *tree, const struct kymo_value *value,
			       const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left);

#endif
