// SPDX-License-Identifier: Apache-2.0
/* collections.deque, whose layout no header has: its items are the objects that it refers to, from left to right. */
#include "pyext/cpython/object_layout.h"

#include "pyext/values/put.h"

struct items {
	const PyObject *type; /* type of the deque, the first object that it refers to; NULL: it has come */
	struct kymo_value_writer *writer;
	struct kymo_value_list list;
	uint64_t print;
	uint32_t left;
};

/* The type whose layout @type has; NULL: not a deque's. */
static const PyTypeObject *deque_of(const PyTypeObject *type)
{
	while (type && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !strcmp(type->tp_name, "collections.deque")))
		type = type->tp_base;
	return type;
}

static bool is_item(struct items *items, const PyObject *object)
{
	if (object != items->type)
		return true;
	items->type = NULL;
	return false;
}

static int write_item(PyObject *object, void *argument)
{
	struct items *items = argument;

	if (!is_item(items, object))
		return 0;
	if (!kymo_value_list_next(items->writer, &items->list))
		return 1;
	kymo_value_write(items->writer, object);
	items->list.done++;
	return 0;
}

static int mix_item(PyObject *object, void *argument)
{
	struct items *items = argument;

	if (!is_item(items, object))
		return 0;
	if (!items->left--)
		return 1;
	items->print = items->print * 0x9e3779b97f4a7c15U + (uintptr_t)object;
	return 0;
}

void kymo_value_write_deque(struct kymo_value_writer *w, PyObject *object)
{
	struct items items = {.type = (PyObject *)Py_TYPE(object), .writer = w};

	kymo_put_kind(w, KYMO_VALUE_SUBCLASS);
	kymo_put_type(w, object);
	kymo_put_kind(w, KYMO_VALUE_LIST);
	kymo_put_id(w, object);
	items.list = kymo_value_list_begin(w, (uint64_t)Py_SIZE(object));
	deque_of(Py_TYPE(object))->tp_traverse(object, write_item, &items);
	kymo_value_list_end(w, &items.list);
}

uint64_t kymo_deque_fingerprint(const struct kymo_value_limits *limits, PyObject *object)
{
	struct items items = {.type = (PyObject *)Py_TYPE(object), .left = limits->items};
	const PyTypeObject *type = deque_of(Py_TYPE(object));

	if (!type)
		return 0;
	items.print = (uint64_t)Py_SIZE(object);
	type->tp_traverse(object, mix_item, &items);
	return items.print;
}
