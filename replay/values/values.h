// SPDX-License-Identifier: Apache-2.0
/*
 * The values that an event carries, as a tree.
 *
 * Decoding is total: of a damaged block, what comes before the damage is told, and what is not is CUT.
 */
#ifndef KYMO_REPLAY_VALUES_VALUES_H
#define KYMO_REPLAY_VALUES_VALUES_H

#include "format/value.h"
#include "replay/trace/timeline.h"

/* Nodes of one tree, and levels of values in values: what a block has beyond that, as with SAME in SAME, is CUT. */
#define KYMO_VALUE_NODES 65536U
#define KYMO_VALUE_DEPTH 64U

/*
 * One value.  Its items are a list of nodes: of DICT a key and its value in turn; of OBJECT an attribute's name, a STR, and its value in turn;
 * of EXCEPTION args, cause and context, then attributes as of OBJECT; of RANGE and SLICE start, stop and step; of ENUM its value.
 */
struct kymo_value {
	enum kymo_value_kind kind; /* never SAME or SUBCLASS */
	uint32_t first;	 /* number of its first item in the tree; 0: none */
	uint32_t next;	 /* of what comes after it in the same list; 0: nothing */
	uint64_t name;	 /* of a binding: as format/value.h has it */
	uint64_t id;	 /* address; 0: none is told */
	uint64_t type;	 /* name id; of a builtin kind: of the subclass; 0: none is told */
	uint64_t count;	 /* items, bytes (of LONG: of the magnitude) or, of STR, code points that there were */
	uint64_t kept;	 /* items that are told, a pair counting as one */
	bool is_cut;	 /* of this very value something is missing: kept < count, or text is */
	bool is_negative; /* LONG */
	int64_t number;	 /* INT */
	const uint8_t *dtype; /* INT in an array: what that holds, of @dtype_bytes, as its text; NULL: it is in none */
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
	uint32_t count; /* nodes, the unused number 0 included; at most 1: nothing is told */
	size_t capacity;
	uint8_t flags; /* of the block: KYMO_VALUES_WHOLE */
	bool is_damaged; /* something of the block could not be read */
};

/*
 * Decode @values, which stay the caller's and must outlive the use of @tree.  @tree is zeroed, or was filled before and is
 * used again.  0 or -ENOMEM.
 */
KYMO_MUST_CHECK
int kymo_value_tree_read(struct kymo_value_tree *tree, struct kymo_values values);
void kymo_value_tree_release(struct kymo_value_tree *tree);

/* NULL where @number is 0. */
static inline const struct kymo_value *kymo_value_at(const struct kymo_value_tree *tree, uint32_t number)
{
	return number && number < tree->count ? &tree->nodes[number] : NULL;
}

/* The name of the variable that a binding of an event of @code gives; NULL: not known, or the event's own value. */
const char *kymo_value_name(const struct kymo_code *code, uint64_t name);

/* The builtin that it is, or its type is derived from; NULL: none. */
const char *kymo_value_base(const struct kymo_value *value);
/* The name of its type, "int", "User"; NULL: none, or not known. */
const char *kymo_value_type(const struct kymo_value *value, const struct kymo_traced_process *process);

/* Of an item that is ticks, in an array of times: what it is as text, of KYMO_TICKS_TEXT_BYTES. */
bool kymo_value_is_time(const struct kymo_value *value, char *text);

/* What the text of one value may cost, about its bytes: a block of a hundred bytes can tell of a million, by SAME in SAME. */
#define KYMO_VALUE_TEXT_COST (512U << 10)

/*
 * Write @value, of @tree, as Python would show it (repr() of builtins; "<app.User at 0x7f…: name='x'>"; "…+12" for what was cut;
 * "<redacted>", "<not recorded>") to @text of @bytes, always terminated, cut where there is no room.  Returns the length that
 * the whole has, as snprintf() does; the whole ends with "…" where more would cost too much.  @process names its types.
 */
size_t kymo_value_text(const struct kymo_value_tree *tree, const struct kymo_value *value,
		       const struct kymo_traced_process *process, char *text, size_t bytes);
/* The same of an attribute's name, an enum member's or an array's dtype: without quotes. */
size_t kymo_value_label(const struct kymo_value_tree *tree, const struct kymo_value *value,
			const struct kymo_traced_process *process, char *text, size_t bytes);

/* The same two at a cost of no more than *@left, from which it is taken. */
size_t kymo_value_text_within(const struct kymo_value_tree *tree, const struct kymo_value *value,
			      const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left);
size_t kymo_value_label_within(const struct kymo_value_tree *tree, const struct kymo_value *value,
			       const struct kymo_traced_process *process, char *text, size_t bytes, size_t *left);

#endif
