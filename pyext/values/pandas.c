// SPDX-License-Identifier: Apache-2.0
/*
 * pandas' Series and DataFrame by what they hold, with the names that pandas has for it.
 *
 * What they hold lies in compiled classes that do not say where: so they are asked what they refer to, as the garbage collector
 * does, in C and without any code of the program's.  Only the types of what they name are relied upon, and pandas is neither needed
 * nor loaded.
 *
 * Labels are names, as keys of a dict are, so what they name may be a secret: where they cannot be read, no items are told.
 */
#include "pyext/cpython/object_layout.h"

#include <inttypes.h>

#include "pyext/secrets.h"
#include "pyext/values/arrays.h"
#include "pyext/values/put.h"

#define MAX_REFERENCES 16
#define MAX_BLOCKS 64
#define MAX_POSITIONS 1024
#define PRIME 0x9e3779b97f4a7c15U

struct references {
	PyObject *objects[MAX_REFERENCES];
	unsigned int count;
};

/* Some columns of a DataFrame, or the values of a Series. */
struct block {
	PyObject *values;
	const struct kymo_array *array; /* NULL: they are in no array of numpy's */
	PyObject *places; /* which columns: a slice or an array; NULL: not known */
	Py_ssize_t columns;
};

static int take_reference(PyObject *object, void *argument)
{
	struct references *all = argument;

	all->objects[all->count++] = object;
	return all->count == MAX_REFERENCES;
}

/* Of one that the collector does not know yet or any more, none: it need not be whole. */
static struct references references_of(PyObject *object)
{
	struct references all = {0};

	if (PyObject_IS_GC(object) && PyObject_GC_IsTracked(object))
		Py_TYPE(object)->tp_traverse(object, take_reference, &all);
	return all;
}

static bool is_called(const PyTypeObject *type, const char *name)
{
	const char *dot = strrchr(type->tp_name, '.');

	return !strcmp(dot ? dot + 1 : type->tp_name, name);
}

static PyObject *find_attribute(PyObject *object, const char *name)
{
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	PyObject *key, *value;

	for (unsigned int i = 0; i < MAX_REFERENCES && kymo_pairs_next(&pairs, &key, &value); i++)
		if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, name) == 0)
			return value;
	return NULL;
}

static PyObject *find_manager(PyObject *object)
{
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	PyObject *key, *value;

	/* It is the first or the second. */
	for (unsigned int i = 0; i < 2 && kymo_pairs_next(&pairs, &key, &value); i++)
		if (PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) == 4 && PyUnicode_CompareWithASCIIString(key, "_mgr") == 0)
			return value;
	return NULL;
}

/* The blocks, a tuple, and the labels of rows and columns, a list. */
static void find_parts(PyObject *manager, PyObject **blocks, PyObject **axes)
{
	struct references all = references_of(manager);

	*blocks = *axes = NULL;
	for (unsigned int i = 0; i < all.count; i++) {
		if (!*blocks && PyTuple_CheckExact(all.objects[i]))
			*blocks = all.objects[i];
		else if (!*axes && PyList_CheckExact(all.objects[i]))
			*axes = all.objects[i];
	}
}

static PyObject *find_places(PyObject *placement)
{
	struct references all = references_of(placement);

	for (unsigned int i = 0; i < all.count; i++)
		if (PySlice_Check(all.objects[i]) || kymo_array_of(all.objects[i]))
			return all.objects[i];
	return NULL;
}

/* An array beside which there is nothing to know: what objects are, and times. */
static const struct kymo_array *plain_array_of(PyObject *values)
{
	const struct kymo_array *array = kymo_array_of(values);
	struct references all;

	if (array)
		return array;
	all = references_of(values);
	for (unsigned int i = 0; i < all.count && !array; i++)
		array = kymo_array_of(all.objects[i]);
	return array && kymo_array_is_of(array, "OMm") ? array : NULL;
}

static struct block block_of(PyObject *object)
{
	struct references all = references_of(object);
	struct block block = {.columns = 1};

	for (unsigned int i = 0; i < all.count; i++) {
		PyObject *each = all.objects[i];

		if (is_called(Py_TYPE(each), "BlockPlacement"))
			block.places = find_places(each);
		else if (!PyDict_Check(each) && !PyType_Check(each) && !is_called(Py_TYPE(each), "BlockValuesRefs"))
			block.values = each;
	}
	block.array = block.values ? plain_array_of(block.values) : NULL;
	if (block.array && block.array->dimensions == 2)
		block.columns = block.array->shape[0];
	return block;
}

static int64_t small_int(PyObject *object, int64_t otherwise)
{
	if (!PyLong_CheckExact(object) || kymo_long_digits(object) > 1 || kymo_long_is_negative(object))
		return otherwise;
	return kymo_long_digits(object) ? ((PyLongObject *)object)->long_value.ob_digit[0] : 0;
}

/* Which column of @block is number @place of the DataFrame; -1: none. */
static Py_ssize_t column_at(const struct block *block, Py_ssize_t place)
{
	const struct kymo_array *array = block->places ? kymo_array_of(block->places) : NULL;
	int64_t start, step;

	if (array) {
		for (Py_ssize_t i = 0; i < block->columns && i < MAX_POSITIONS; i++)
			if (kymo_array_int64(array, i) == place)
				return i;
		return -1;
	}
	if (!block->places)
		return -1;
	start = small_int(((PySliceObject *)block->places)->start, -1);
	step = small_int(((PySliceObject *)block->places)->step, 1);
	if (start < 0 || step <= 0 || place < start || (place - start) % step || (place - start) / step >= block->columns)
		return -1;
	return (place - start) / step;
}

/* The labels of an Index as objects or numbers: those that it keeps, or those that it has looked one up in; NULL: neither. */
static const struct kymo_array *labels_of(PyObject *index)
{
	PyObject *data = find_attribute(index, "_data"), *cache = find_attribute(index, "_cache"), *key, *engine;
	const struct kymo_array *array = data ? plain_array_of(data) : NULL;
	struct kymo_pairs pairs = {0};
	struct references all;

	if (array)
		return array->dimensions == 1 ? array : NULL;
	/* Of a MultiIndex it has looked up numbers. */
	if (data && cache && PyDict_CheckExact(cache))
		pairs = kymo_pairs_of_dict(cache);
	for (unsigned int n = 0; n < MAX_REFERENCES && kymo_pairs_next(&pairs, &key, &engine); n++) {
		if (!PyUnicode_Check(key) || PyUnicode_CompareWithASCIIString(key, "_engine") != 0)
			continue;
		all = references_of(engine);
		for (unsigned int i = 0; i < all.count; i++) {
			array = kymo_array_of(all.objects[i]);
			if (array && array->dimensions == 1 && kymo_array_is_of(array, "O"))
				return array;
		}
	}
	return NULL;
}

static const struct kymo_range *range_of(PyObject *index)
{
	PyObject *range = find_attribute(index, "_range");

	return range && PyRange_Check(range) ? (const void *)range : NULL;
}

/* @name, or a part of it. */
static bool is_secret(const struct kymo_value_writer *w, PyObject *name)
{
	return name && kymo_value_is_secret_key(w, name);
}

/* None of those labels of @index whose items would be told is that of a secret. */
static bool is_harmless(const struct kymo_value_writer *w, PyObject *index)
{
	const struct kymo_array *labels;

	if (range_of(index))
		return true;
	labels = labels_of(index);
	if (!labels)
		return false;
	if (!kymo_array_is_of(labels, "O"))
		return true;
	for (Py_ssize_t i = 0; i < labels->shape[0] && i < (Py_ssize_t)w->limits.items; i++)
		if (is_secret(w, kymo_array_object(labels, i)))
			return false;
	return true;
}

static void write_labels(struct kymo_value_writer *w, PyObject *index)
{
	const struct kymo_array *labels = labels_of(index);

	if (is_secret(w, find_attribute(index, "_name")))
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
	else if (range_of(index))
		kymo_value_write(w, find_attribute(index, "_range"));
	else if (labels)
		kymo_value_write_items(w, (PyObject *)(uintptr_t)labels, labels);
	else
		kymo_value_write(w, index);
}

static struct kymo_array column_of(const struct block *block, Py_ssize_t column)
{
	return block->array->dimensions == 2 ? kymo_array_part(block->array, column) : *block->array;
}

/* @is_told: its items are as well. */
static void write_column(struct kymo_value_writer *w, const struct block *block, Py_ssize_t column, bool is_told)
{
	uint32_t depth = w->depth;
	struct kymo_array part;

	if (block->array) {
		part = column_of(block, column);
		w->depth = is_told ? depth : w->limits.depth;
		kymo_value_write_items(w, (PyObject *)(uintptr_t)block->array, &part);
		w->depth = depth;
	} else if (is_told) {
		kymo_value_write(w, block->values);
	} else {
		kymo_put_kind(w, KYMO_VALUE_CUT);
	}
}

/* What comes before an attribute's value; false: there is no room. */
static bool begin_attribute(struct kymo_value_writer *w, const char *name)
{
	if (kymo_value_room(w) < KYMO_VALUE_HEAD + 1)
		return false;
	kymo_put_kind(w, KYMO_VALUE_STR);
	kymo_put_number(w, strlen(name));
	kymo_value_put_utf8(w, name, strlen(name));
	return true;
}

static void write_series(struct kymo_value_writer *w, PyObject *object, PyObject *index, const struct block *block)
{
	struct kymo_value_list list = kymo_value_list_begin(w, 3);

	if (kymo_value_list_next(w, &list) && begin_attribute(w, "name")) {
		kymo_value_write(w, find_attribute(object, "_name"));
		list.done++;
	}
	if (kymo_value_list_next(w, &list) && begin_attribute(w, "index")) {
		write_labels(w, index);
		list.done++;
	}
	if (kymo_value_list_next(w, &list) && begin_attribute(w, "values")) {
		if (is_secret(w, find_attribute(object, "_name")))
			kymo_put_kind(w, KYMO_VALUE_REDACTED);
		else
			write_column(w, block, 0, is_harmless(w, index));
		list.done++;
	}
	kymo_value_list_end(w, &list);
}

/* The label of column @place as a number; negative: it is none, or one that is not small. */
static int64_t number_at(PyObject *columns, const struct kymo_array *labels, Py_ssize_t place)
{
	const struct kymo_range *range = range_of(columns);
	PyObject *label = labels ? kymo_array_object(labels, place) : NULL;

	if (range && small_int(range->start, -1) >= 0 && small_int(range->step, -1) > 0)
		return small_int(range->start, 0) + place * small_int(range->step, 0);
	return label ? small_int(label, -1) : labels ? kymo_array_int64(labels, place) : -1;
}

/* What is known of a DataFrame while it is written. */
struct frame {
	PyObject *columns, *index;
	struct block blocks[MAX_BLOCKS];
	Py_ssize_t count; /* of these */
	bool is_told; /* no row is a secret, and the names of the columns are known */
};

/* Column @place as an attribute: called by its label if that is a str or a number, else by its place.  False: there is no room. */
static bool put_column(struct kymo_value_writer *w, const struct frame *frame, Py_ssize_t place)
{
	const struct kymo_array *labels = labels_of(frame->columns);
	PyObject *label = labels ? kymo_array_object(labels, place) : NULL;
	int64_t number = number_at(frame->columns, labels, place);
	char name[32];

	snprintf(name, sizeof(name), "%" PRId64, number >= 0 ? number : (int64_t)place);
	if (label && PyUnicode_CheckExact(label) && kymo_value_room(w) >= KYMO_VALUE_HEAD + 1) {
		w->end--;
		kymo_value_write(w, label);
		w->end++;
	} else if (!begin_attribute(w, name)) {
		return false;
	}
	if (is_secret(w, label)) {
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
		return true;
	}
	for (Py_ssize_t i = 0; i < frame->count; i++) {
		Py_ssize_t column = column_at(&frame->blocks[i], place);

		if (column >= 0) {
			write_column(w, &frame->blocks[i], column, frame->is_told);
			return true;
		}
	}
	kymo_put_kind(w, KYMO_VALUE_CUT);
	return true;
}

static void write_frame(struct kymo_value_writer *w, PyObject *columns, PyObject *index, PyObject *blocks)
{
	struct frame frame = {.columns = columns, .index = index};
	/* More blocks come of columns that were added one by one. */
	Py_ssize_t all = PyTuple_GET_SIZE(blocks), place = 0;
	struct kymo_value_list list;

	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(blocks) && i < MAX_BLOCKS; i++) {
		frame.blocks[i] = block_of(PyTuple_GET_ITEM(blocks, i));
		all += frame.blocks[i].columns - 1;
		frame.count++;
	}
	frame.is_told = is_harmless(w, index) && (range_of(columns) || labels_of(columns));
	list = kymo_value_list_begin(w, (uint64_t)all + 1);
	if (kymo_value_list_next(w, &list) && begin_attribute(w, "index")) {
		write_labels(w, index);
		list.done++;
	}
	for (; place < all && kymo_value_list_next(w, &list) && put_column(w, &frame, place); list.done++)
		place++;
	kymo_value_list_end(w, &list);
}

bool kymo_value_write_pandas(struct kymo_value_writer *w, PyObject *object)
{
	PyObject *manager = find_manager(object), *blocks = NULL, *axes = NULL;
	struct block first;
	Py_ssize_t dimensions;

	if (manager)
		find_parts(manager, &blocks, &axes);
	dimensions = axes ? PyList_GET_SIZE(axes) : 0;
	if (!blocks || dimensions < 1 || dimensions > 2 || (dimensions == 1 && PyTuple_GET_SIZE(blocks) != 1))
		return false;
	if (dimensions == 1) {
		first = block_of(PyTuple_GET_ITEM(blocks, 0));
		if (!first.values)
			return false;
	}
	kymo_put_kind(w, KYMO_VALUE_OBJECT);
	kymo_put_type(w, object);
	kymo_put_id(w, object);
	if (dimensions == 1)
		write_series(w, object, PyList_GET_ITEM(axes, 0), &first);
	else
		write_frame(w, PyList_GET_ITEM(axes, 0), PyList_GET_ITEM(axes, 1), blocks);
	return true;
}

uint64_t kymo_pandas_fingerprint(const struct kymo_value_limits *limits, PyObject *object)
{
	PyObject *manager = find_manager(object), *blocks = NULL, *axes;
	uint64_t print = 0;

	if (manager)
		find_parts(manager, &blocks, &axes);
	for (Py_ssize_t i = 0; blocks && i < PyTuple_GET_SIZE(blocks) && i < MAX_BLOCKS; i++) {
		struct block block = block_of(PyTuple_GET_ITEM(blocks, i));

		print = print * PRIME + (uintptr_t)block.values;
		for (Py_ssize_t column = 0; block.array && column < block.columns && column < (Py_ssize_t)limits->items; column++) {
			struct kymo_array part = column_of(&block, column);

			print = print * PRIME + kymo_array_fingerprint(limits, &part);
		}
	}
	return print;
}
