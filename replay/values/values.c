// SPDX-License-Identifier: Apache-2.0
#include "replay/values/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/varint.h"

/* Bytes of text in one tree: with SAME, a small block could repeat the same ones many times. */
#define TEXT_BYTES (256U << 10)

/* Shared by all readers of one tree. */
struct block {
	struct kymo_value_tree *tree;
	const uint8_t *payload;
	size_t text_left;
	bool is_out_of_memory;
};

/* Reads values one after the other. The target of SAME has a reader of its own. */
struct reader {
	struct block *block;
	const uint8_t *at, *end;
	const uint8_t *known_end; /* of this block: SAME refers to what lies before that */
	uint32_t level;
	bool has_failed; /* what follows cannot be read */
};

static void read_value(struct reader *reader, uint32_t number);

static struct kymo_value *node(const struct reader *reader, uint32_t number)
{
	return &reader->block->tree->nodes[number];
}

/* Make room for @count more nodes. */
static bool has_room(struct reader *reader, uint32_t count)
{
	struct kymo_value_tree *tree = reader->block->tree;
	size_t capacity = tree->capacity ? 2 * tree->capacity : 32;
	struct kymo_value *nodes;

	if (tree->count + count > KYMO_VALUE_NODES) {
		reader->has_failed = true;
	} else if (tree->count + count > tree->capacity) {
		nodes = reallocarray(tree->nodes, capacity, sizeof(*nodes));
		if (nodes) {
			tree->nodes = nodes;
			tree->capacity = capacity;
		} else {
			reader->block->is_out_of_memory = reader->has_failed = true;
		}
	}
	return !reader->has_failed;
}

/* A new value, CUT until more is known, behind @last or as the first of @parent. */
static uint32_t add_node(struct reader *reader, uint32_t parent, uint32_t last)
{
	uint32_t number = reader->block->tree->count++;

	*node(reader, number) = (struct kymo_value){.kind = KYMO_VALUE_CUT};
	if (last)
		node(reader, last)->next = number;
	else if (parent)
		node(reader, parent)->first = number;
	return number;
}

static uint64_t read_number(struct reader *reader)
{
	uint64_t number = 0;
	size_t bytes = reader->has_failed ? 0 : kymo_varint_get(reader->at, (size_t)(reader->end - reader->at), &number);

	reader->has_failed |= !bytes;
	reader->at += bytes;
	return number;
}

/* The next @bytes of the block; NULL if there are fewer. */
static const uint8_t *read_bytes(struct reader *reader, uint64_t bytes)
{
	const uint8_t *at = reader->at;

	reader->has_failed |= bytes > (uint64_t)(reader->end - at);
	if (reader->has_failed)
		return NULL;
	reader->at += bytes;
	return at;
}

static uint64_t read_u64(struct reader *reader)
{
	const uint8_t *bytes = read_bytes(reader, 8);
	uint64_t number = 0;

	for (unsigned i = 0; bytes && i < 8; i++)
		number |= (uint64_t)bytes[i] << 8 * i;
	return number;
}

static double read_float(struct reader *reader)
{
	uint64_t bits = read_u64(reader);
	double number;

	memcpy(&number, &bits, sizeof number);
	return number;
}

static int64_t read_signed(struct reader *reader)
{
	uint64_t number = read_number(reader);

	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

/* How many items there were, and how many of them follow. */
static void read_count(struct reader *reader, struct kymo_value *value)
{
	value->count = read_number(reader);
	value->kept = read_number(reader);
	reader->has_failed |= value->kept > value->count;
	if (reader->has_failed)
		value->kept = 0;
	value->is_cut = reader->has_failed || value->kept < value->count;
}

static bool takes_text(struct reader *reader, uint64_t bytes)
{
	if (bytes > reader->block->text_left) {
		reader->block->tree->is_damaged = true;
		return false;
	}
	reader->block->text_left -= (size_t)bytes;
	return true;
}

static void read_text(struct reader *reader, struct kymo_value *value)
{
	const uint8_t *text;

	read_count(reader, value);
	text = read_bytes(reader, value->kept);
	if (text && takes_text(reader, value->kept)) {
		value->text = text;
		value->text_bytes = (uint32_t)value->kept;
	} else {
		value->kept = 0;
		value->is_cut = true;
	}
}

/* A name, or text that represents the value: its length does not matter. */
static void read_label(struct reader *reader, struct kymo_value *value)
{
	read_text(reader, value);
	value->count = value->kept = 0;
}

static void read_str(struct reader *reader, struct kymo_value *value)
{
	uint64_t length = read_number(reader), kept = 0;

	read_text(reader, value);
	for (uint32_t i = 0; i < value->text_bytes; i++)
		kept += (value->text[i] & 0xc0) != 0x80;
	reader->has_failed |= kept > length;
	value->count = length;
	value->kept = kept < length ? kept : length;
	value->is_cut |= kept != length;
}

static void read_long(struct reader *reader, struct kymo_value *value)
{
	const uint8_t *sign = read_bytes(reader, 1);

	value->is_negative = sign && *sign;
	read_text(reader, value);
}

static void read_shape(struct reader *reader, struct kymo_value *value)
{
	uint64_t dimensions = read_number(reader);
	const uint8_t *shape = reader->at;

	for (uint64_t i = 0; i < dimensions && !reader->has_failed; i++)
		read_number(reader);
	if (reader->has_failed || !takes_text(reader, (uint64_t)(reader->at - shape)))
		return;
	value->dimensions = (uint32_t)dimensions;
	value->shape = shape;
	value->shape_bytes = (uint32_t)(reader->at - shape);
}

/* Append @count values behind @last. Returns the new last one, or 0 if not all fit. */
static uint32_t read_group(struct reader *reader, uint32_t parent, uint32_t last, uint32_t count)
{
	uint32_t first = reader->block->tree->count;

	if (reader->has_failed || !has_room(reader, count))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		last = add_node(reader, parent, last);
	for (uint32_t i = 0; i < count; i++)
		read_value(reader, first + i);
	return last;
}

/* Append as many items as were kept behind @last, of @group values each. */
static void read_items(struct reader *reader, uint32_t number, uint32_t last, uint32_t group)
{
	uint64_t kept = node(reader, number)->kept, read = 0;

	while (read < kept && (last = read_group(reader, number, last, group)))
		read++;
	node(reader, number)->kept = read;
	node(reader, number)->is_cut |= read < kept || reader->has_failed;
}

static void read_exception(struct reader *reader, uint32_t number)
{
	struct kymo_value attributes = {.kind = KYMO_VALUE_CUT};
	uint32_t last = read_group(reader, number, 0, 3);

	read_count(reader, &attributes);
	node(reader, number)->count = attributes.count;
	node(reader, number)->kept = attributes.kept;
	node(reader, number)->is_cut = attributes.is_cut;
	if (last)
		read_items(reader, number, last, 2);
}

/* @head is where SAME stands. */
static void read_same(struct reader *reader, uint32_t number, const uint8_t *head)
{
	uint64_t place = read_number(reader);
	struct reader same = *reader;

	same.at = reader->block->payload + place;
	/* Its target lies before the record and, within another target, before that. */
	if (reader->has_failed)
		return;
	same.end = reader->known_end;
	if (head < same.end)
		same.end = head;
	if (place >= (uint64_t)(same.end - reader->block->payload) || *same.at == KYMO_VALUE_SAME) {
		reader->block->tree->is_damaged = true;
		return;
	}
	same.level++;
	read_value(&same, number);
	reader->block->tree->is_damaged |= same.has_failed;
}

static void read_subclass(struct reader *reader, uint32_t number)
{
	uint64_t type = read_number(reader);

	reader->level++;
	read_value(reader, number);
	reader->level--;
	node(reader, number)->type = type;
}

/* All but the items of a value whose kind was read. */
static void read_head(struct reader *reader, struct kymo_value *value)
{
	enum kymo_value_kind kind = value->kind;
	bool has_type = kind == KYMO_VALUE_SEEN || (kind >= KYMO_VALUE_OBJECT && kind <= KYMO_VALUE_ARRAY) || kind == KYMO_VALUE_NOT_READ;
	bool has_id = kind == KYMO_VALUE_SEEN || kind == KYMO_VALUE_BYTEARRAY || (kind >= KYMO_VALUE_LIST && kind <= KYMO_VALUE_DICT) ||
		      (has_type && kind != KYMO_VALUE_TEXT && kind != KYMO_VALUE_NOT_READ);

	if (has_type)
		value->type = read_number(reader);
	if (has_id)
		value->id = read_u64(reader);
	switch (kind) {
	case KYMO_VALUE_INT:
		value->number = read_signed(reader);
		break;
	case KYMO_VALUE_LONG:
		read_long(reader, value);
		break;
	case KYMO_VALUE_COMPLEX:
	case KYMO_VALUE_FLOAT:
		value->real = read_float(reader);
		if (kind == KYMO_VALUE_COMPLEX)
			value->imaginary = read_float(reader);
		break;
	case KYMO_VALUE_STR:
		read_str(reader, value);
		break;
	case KYMO_VALUE_BYTES:
	case KYMO_VALUE_BYTEARRAY:
		read_text(reader, value);
		break;
	case KYMO_VALUE_TUPLE:
	case KYMO_VALUE_LIST:
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
	case KYMO_VALUE_DICT:
	case KYMO_VALUE_OBJECT:
		read_count(reader, value);
		break;
	case KYMO_VALUE_NAMED:
	case KYMO_VALUE_TEXT:
	case KYMO_VALUE_ENUM:
	case KYMO_VALUE_NOT_READ:
		read_label(reader, value);
		break;
	case KYMO_VALUE_ARRAY:
		read_label(reader, value);
		read_shape(reader, value);
		read_count(reader, value);
		break;
	default:
		break;
	}
}

/* So that times are recognized. */
static void tell_items(struct reader *reader, uint32_t number)
{
	const struct kymo_value *array = node(reader, number);
	const uint8_t *dtype = array->text;
	uint32_t bytes = array->text_bytes;

	for (uint32_t item = array->first; item; item = node(reader, item)->next) {
		node(reader, item)->dtype = dtype;
		node(reader, item)->dtype_bytes = bytes;
	}
}

static void read_body(struct reader *reader, uint32_t number)
{
	enum kymo_value_kind kind = node(reader, number)->kind;

	switch (kind) {
	case KYMO_VALUE_TUPLE:
	case KYMO_VALUE_LIST:
	case KYMO_VALUE_SET:
	case KYMO_VALUE_FROZENSET:
		read_items(reader, number, 0, 1);
		break;
	case KYMO_VALUE_ARRAY:
		read_items(reader, number, 0, 1);
		tell_items(reader, number);
		break;
	case KYMO_VALUE_DICT:
	case KYMO_VALUE_OBJECT:
		read_items(reader, number, 0, 2);
		break;
	case KYMO_VALUE_RANGE:
	case KYMO_VALUE_SLICE:
		node(reader, number)->is_cut = !read_group(reader, number, 0, 3) || reader->has_failed;
		break;
	case KYMO_VALUE_ENUM:
		node(reader, number)->is_cut |= !read_group(reader, number, 0, 1) || reader->has_failed;
		break;
	case KYMO_VALUE_EXCEPTION:
		read_exception(reader, number);
		break;
	default:
		break;
	}
}

/* Read into node @number, which is CUT if nothing could be read. */
static void read_value(struct reader *reader, uint32_t number)
{
	const uint8_t *head = reader->at, *kind = read_bytes(reader, 1);
	struct kymo_value read;

	if (!kind)
		return;
	if (*kind == KYMO_VALUE_INVALID || *kind >= KYMO_VALUE_KINDS || reader->level >= KYMO_VALUE_DEPTH) {
		reader->has_failed = true;
	} else if (*kind == KYMO_VALUE_SAME) {
		read_same(reader, number, head);
	} else if (*kind == KYMO_VALUE_SUBCLASS) {
		read_subclass(reader, number);
	} else {
		read = *node(reader, number);
		read.kind = (enum kymo_value_kind)*kind;
		read_head(reader, &read);
		/* A truncated number or name is not known; of other truncated values, only that they exist. */
		if (reader->has_failed && !read.text && !read.id)
			return;
		*node(reader, number) = read;
		reader->level++;
		read_body(reader, number);
		reader->level--;
	}
}

int kymo_value_tree_read(struct kymo_value_tree *tree, struct kymo_values values)
{
	struct block block = {.tree = tree, .payload = values.payload, .text_left = TEXT_BYTES};
	struct reader reader = {.block = &block};
	const uint8_t *flags;
	uint32_t last = 0;
	uint64_t name;

	tree->count = 1;
	tree->flags = 0;
	tree->is_damaged = false;
	if (!values.bytes)
		return 0;
	reader.known_end = reader.at = values.payload + values.at;
	reader.end = reader.at + values.bytes;
	flags = read_bytes(&reader, 1);
	tree->flags = flags ? *flags : 0;
	while (reader.at < reader.end && !reader.has_failed) {
		name = read_number(&reader);
		if (reader.has_failed || !has_room(&reader, 1))
			break;
		last = add_node(&reader, 0, last);
		node(&reader, last)->name = name;
		read_value(&reader, last);
	}
	tree->is_damaged |= reader.has_failed;
	return block.is_out_of_memory ? -ENOMEM : 0;
}

void kymo_value_tree_release(struct kymo_value_tree *tree)
{
	free(tree->nodes);
	*tree = (struct kymo_value_tree){0};
}

const char *kymo_value_name(const struct kymo_code *code, uint64_t name)
{
	const char *at;
	uint64_t left, count;

	if (!code || !code->content || !name)
		return NULL;
	at = name & 1 ? code->content->locals : code->content->names;
	count = name & 1 ? code->content->local_count : code->content->name_count;
	left = (name - 1) / 2;
	if (left >= count)
		return NULL;
	for (; left; left--)
		at += strlen(at) + 1;
	return at;
}

const char *kymo_value_base(const struct kymo_value *value)
{
	static const char *const builtins[KYMO_VALUE_KINDS] = {
		[KYMO_VALUE_NONE] = "NoneType",
		[KYMO_VALUE_FALSE] = "bool",
		[KYMO_VALUE_TRUE] = "bool",
		[KYMO_VALUE_ELLIPSIS] = "ellipsis",
		[KYMO_VALUE_NOT_IMPLEMENTED] = "NotImplementedType",
		[KYMO_VALUE_INT] = "int",
		[KYMO_VALUE_LONG] = "int",
		[KYMO_VALUE_FLOAT] = "float",
		[KYMO_VALUE_COMPLEX] = "complex",
		[KYMO_VALUE_STR] = "str",
		[KYMO_VALUE_BYTES] = "bytes",
		[KYMO_VALUE_BYTEARRAY] = "bytearray",
		[KYMO_VALUE_TUPLE] = "tuple",
		[KYMO_VALUE_LIST] = "list",
		[KYMO_VALUE_SET] = "set",
		[KYMO_VALUE_FROZENSET] = "frozenset",
		[KYMO_VALUE_DICT] = "dict",
		[KYMO_VALUE_RANGE] = "range",
		[KYMO_VALUE_SLICE] = "slice",
	};

	return value->kind < KYMO_VALUE_KINDS ? builtins[value->kind] : NULL;
}

const char *kymo_value_type(const struct kymo_value *value, const struct kymo_traced_process *process)
{
	if (!value->type)
		return kymo_value_base(value);
	return process ? kymo_traced_name(process, value->type) : NULL;
}
