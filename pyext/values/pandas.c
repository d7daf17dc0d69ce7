// SPDX-License-Identifier: Apache-2.0
/*
 * pandas' Series and DataFrame by their contents, with pandas' names for them.
 *
 * The contents lie in compiled classes whose layout is not public: so their references are listed, as the garbage collector does,
 * in C and without running the program's code.  Only the types of the objects found are relied upon, and pandas is neither needed
 * nor loaded.
 */
#include "pyext/cpython/object_layout.h"

#include "pyext/values/labels.h"
#include "pyext/values/put.h"

#define MAX_BLOCKS 64
#define MAX_POSITIONS 1024
#define PRIME 0x9e3779b97f4a7c15U

/* Some columns of a DataFrame, or the values of a Series. */
struct block {
	PyObject *values;
	const struct kymo_array *array; /* NULL: they are not in a numpy array */
	PyObject *arrow; /* NULL: nor in a pyarrow array */
	PyObject *places; /* which columns: a slice or an array; NULL: not known */
	Py_ssize_t columns;
};

static PyObject *find_manager(PyObject *object)
{
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	PyObject *key, *value;

	/* It is the first or the second attribute. */
	for (unsigned int i = 0; i < 2 && kymo_pairs_next(&pairs, &key, &value); i++)
		if (PyUnicode_Check(key) && PyUnicode_GET_LENGTH(key) == 4 && PyUnicode_CompareWithASCIIString(key, "_mgr") == 0)
			return value;
	return NULL;
}

/* The blocks, a tuple, and the labels of rows and columns, a list. */
static void find_parts(PyObject *manager, PyObject **blocks, PyObject **axes)
{
	struct kymo_references all = kymo_references_of(manager);

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
	struct kymo_references all = kymo_references_of(placement);

	for (unsigned int i = 0; i < all.count; i++)
		if (PySlice_Check(all.objects[i]) || kymo_array_of(all.objects[i]))
			return all.objects[i];
	return NULL;
}

static struct block block_of(PyObject *object)
{
	struct kymo_references all = kymo_references_of(object);
	struct block block = {.columns = 1};

	for (unsigned int i = 0; i < all.count; i++) {
		PyObject *each = all.objects[i];

		if (!strcmp(kymo_short_name(Py_TYPE(each)), "BlockPlacement"))
			block.places = find_places(each);
		else if (!PyDict_Check(each) && !PyType_Check(each) && strcmp(kymo_short_name(Py_TYPE(each)), "BlockValuesRefs") != 0)
			block.values = each;
	}
	block.array = block.values ? kymo_plain_array_of(block.values) : NULL;
	block.arrow = block.values && !block.array ? kymo_arrow_in(block.values) : NULL;
	if (block.array && block.array->dimensions == 2)
		block.columns = block.array->shape[0];
	return block;
}

/* The column of @block that is column @place of the DataFrame; -1: none. */
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
	start = kymo_small_int(((PySliceObject *)block->places)->start, -1);
	step = kymo_small_int(((PySliceObject *)block->places)->step, 1);
	if (start < 0 || step <= 0 || place < start || (place - start) % step || (place - start) / step >= block->columns)
		return -1;
	return (place - start) / step;
}

/* @name, or a part of it. */
static bool is_secret(const struct kymo_value_writer *w, PyObject *name)
{
	return name && kymo_value_is_secret_key(w, name);
}

static struct kymo_array column_of(const struct block *block, Py_ssize_t column)
{
	return block->array->dimensions == 2 ? kymo_array_part(block->array, column) : *block->array;
}

/* @is_told: its items are written, too. */
static void write_column(struct kymo_value_writer *w, const struct block *block, Py_ssize_t column, bool is_told)
{
	uint32_t depth = w->depth;
	char why[KYMO_ARROW_WHY];
	struct kymo_arrow arrow;
	struct kymo_array part;

	w->depth = is_told ? depth : w->limits.depth;
	if (block->array) {
		part = column_of(block, column);
		kymo_value_write_items(w, (PyObject *)(uintptr_t)block->array, &part);
	} else if (block->arrow && kymo_arrow_of(w->python, block->arrow, &arrow, why)) {
		kymo_value_write_arrow(w, block->values, &arrow);
	} else if (is_told) {
		kymo_value_write(w, block->values);
	} else {
		kymo_put_kind(w, KYMO_VALUE_CUT);
	}
	w->depth = depth;
}

static bool begin_attribute(struct kymo_value_writer *w, const struct kymo_value_list *list, const char *name)
{
	return kymo_value_list_next(w, list) && kymo_value_put_name(w, name, strlen(name));
}

static void write_series(struct kymo_value_writer *w, PyObject *object, PyObject *index, const struct block *block)
{
	struct kymo_value_list list = kymo_value_list_begin(w, 3);
	struct kymo_labels labels = kymo_labels_of(w->python, index);

	if (begin_attribute(w, &list, "name")) {
		kymo_value_write(w, kymo_attribute_of(object, "_name"));
		list.done++;
	}
	if (begin_attribute(w, &list, "index")) {
		kymo_labels_write(w, &labels);
		list.done++;
	}
	if (begin_attribute(w, &list, "values")) {
		if (is_secret(w, kymo_attribute_of(object, "_name")))
			kymo_put_kind(w, KYMO_VALUE_REDACTED);
		else
			write_column(w, block, 0, kymo_labels_are_harmless(w, &labels));
		list.done++;
	}
	kymo_value_list_end(w, &list);
}

/* What is known of a DataFrame while it is written. */
struct frame {
	struct kymo_labels columns, rows;
	struct block blocks[MAX_BLOCKS];
	Py_ssize_t count; /* of these */
	bool is_told; /* no row's label is secret, and the names of the columns are known */
};

/* Column @place as an attribute.  False: there is no room. */
static bool put_column(struct kymo_value_writer *w, const struct frame *frame, Py_ssize_t place)
{
	if (!kymo_label_put_name(w, &frame->columns, place))
		return false;
	if (kymo_label_is_secret(w, &frame->columns, place)) {
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
	struct frame frame = {.columns = kymo_labels_of(w->python, columns), .rows = kymo_labels_of(w->python, index)};
	/* Columns that were added one by one make more blocks. */
	Py_ssize_t all = PyTuple_GET_SIZE(blocks), place = 0;
	struct kymo_value_list list;

	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(blocks) && i < MAX_BLOCKS; i++) {
		frame.blocks[i] = block_of(PyTuple_GET_ITEM(blocks, i));
		all += frame.blocks[i].columns - 1;
		frame.count++;
	}
	frame.is_told = kymo_labels_are_harmless(w, &frame.rows) && frame.columns.in;
	list = kymo_value_list_begin(w, (uint64_t)all + 1 + !frame.columns.in);
	if (!frame.columns.in && begin_attribute(w, &list, "columns")) {
		kymo_labels_write(w, &frame.columns);
		list.done++;
	}
	if (begin_attribute(w, &list, "index")) {
		kymo_labels_write(w, &frame.rows);
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

		print = (print * PRIME + (uintptr_t)block.values) * PRIME + (uintptr_t)block.arrow;
		for (Py_ssize_t column = 0; block.array && column < block.columns && column < (Py_ssize_t)limits->items; column++) {
			struct kymo_array part = column_of(&block, column);

			print = print * PRIME + kymo_array_fingerprint(limits, &part);
		}
	}
	return print;
}
