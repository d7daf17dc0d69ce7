// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include <inttypes.h>

#include "pyext/secrets.h"
#include "pyext/values/labels.h"
#include "pyext/values/put.h"

static int take_reference(PyObject *object, void *argument)
{
	struct kymo_references *all = argument;

	all->objects[all->count++] = object;
	return all->count == KYMO_REFERENCES;
}

struct kymo_references kymo_references_of(PyObject *object)
{
	struct kymo_references all = {0};

	if (PyObject_IS_GC(object) && PyObject_GC_IsTracked(object))
		Py_TYPE(object)->tp_traverse(object, take_reference, &all);
	return all;
}

PyObject *kymo_attribute_of(PyObject *object, const char *name)
{
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	PyObject *key, *value;

	for (unsigned int i = 0; i < KYMO_REFERENCES && kymo_pairs_next(&pairs, &key, &value); i++)
		if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, name) == 0)
			return value;
	return NULL;
}

const struct kymo_array *kymo_plain_array_of(PyObject *values)
{
	const struct kymo_array *array = kymo_array_of(values);
	struct kymo_references all;

	if (array)
		return array;
	all = kymo_references_of(values);
	for (unsigned int i = 0; i < all.count && !array; i++)
		array = kymo_array_of(all.objects[i]);
	return array && kymo_array_is_of(array, "OMm") ? array : NULL;
}

const char *kymo_short_name(const PyTypeObject *type)
{
	const char *dot = strrchr(type->tp_name, '.');

	return dot ? dot + 1 : type->tp_name;
}

int64_t kymo_small_int(PyObject *object, int64_t otherwise)
{
	if (!PyLong_CheckExact(object) || kymo_long_digits(object) > 1 || kymo_long_is_negative(object))
		return otherwise;
	return kymo_long_digits(object) ? ((PyLongObject *)object)->long_value.ob_digit[0] : 0;
}

PyObject *kymo_arrow_in(PyObject *values)
{
	PyObject *arrow = kymo_attribute_of(values, "_pa_array");

	return arrow && kymo_is_arrow(arrow) ? arrow : NULL;
}

/* The names that pandas has for its two types of text, by the value for a missing one. */
void kymo_value_write_arrow(struct kymo_value_writer *w, PyObject *values, const struct kymo_arrow *arrow)
{
	PyObject *dtype = kymo_attribute_of(values, "_dtype"), *missing = dtype ? kymo_attribute_of(dtype, "_na_value") : NULL;

	kymo_value_write_texts(w, values, arrow, missing && PyFloat_Check(missing) ? "str" : "string");
}

/* The objects in which an Index has looked up a label; NULL: it has not looked up any. */
static const struct kymo_array *looked_up(PyObject *index)
{
	PyObject *cache = kymo_attribute_of(index, "_cache"), *key, *engine;
	struct kymo_pairs pairs = {0};

	if (cache && PyDict_CheckExact(cache))
		pairs = kymo_pairs_of_dict(cache);
	for (unsigned int n = 0; n < KYMO_REFERENCES && kymo_pairs_next(&pairs, &key, &engine); n++) {
		struct kymo_references all;

		if (!PyUnicode_Check(key) || PyUnicode_CompareWithASCIIString(key, "_engine") != 0)
			continue;
		all = kymo_references_of(engine);
		for (unsigned int i = 0; i < all.count; i++) {
			const struct kymo_array *array = kymo_array_of(all.objects[i]);

			if (array && array->dimensions == 1 && kymo_array_is_of(array, "O"))
				return array;
		}
	}
	return NULL;
}

struct kymo_labels kymo_labels_of(struct kymo_python *python, PyObject *index)
{
	PyObject *range = kymo_attribute_of(index, "_range"), *data = kymo_attribute_of(index, "_data");
	PyObject *arrow = data ? kymo_arrow_in(data) : NULL;
	struct kymo_labels labels = {.index = index};
	struct kymo_arrow_text first;

	if (range && PyRange_Check(range)) {
		labels.in = KYMO_LABELS_IN_RANGE;
		labels.range = (const void *)range;
	} else if (arrow && kymo_arrow_of(python, arrow, &labels.arrow, labels.why)) {
		labels.in = KYMO_LABELS_IN_ARROW;
		if (labels.arrow.length && !kymo_arrow_text(&labels.arrow, 0, &first)) {
			labels.in = KYMO_LABELS_UNKNOWN;
			snprintf(labels.why, sizeof(labels.why), "kept by pyarrow in memory that may go away, as that of a mapped file");
		}
	} else if (data) { /* a MultiIndex, which has none, looked up numbers */
		const struct kymo_array *array = kymo_plain_array_of(data);

		array = array ? array : looked_up(index);
		if (array && array->dimensions == 1) {
			labels.in = KYMO_LABELS_IN_ARRAY;
			labels.array = array;
		}
	}
	if (!labels.in && !arrow)
		snprintf(labels.why, sizeof(labels.why), "kept as a %.48s, which Kymo does not read", kymo_short_name(Py_TYPE(data ? data : index)));
	return labels;
}

static Py_ssize_t count_of(const struct kymo_labels *labels)
{
	return labels->in == KYMO_LABELS_IN_ARROW ? labels->arrow.length : labels->in == KYMO_LABELS_IN_ARRAY ? labels->array->shape[0] : 0;
}

static PyObject *object_at(const struct kymo_labels *labels, Py_ssize_t place)
{
	return labels->in == KYMO_LABELS_IN_ARRAY ? kymo_array_object(labels->array, place) : NULL;
}

bool kymo_label_is_secret(const struct kymo_value_writer *w, const struct kymo_labels *labels, Py_ssize_t place)
{
	PyObject *object = object_at(labels, place);
	struct kymo_arrow_text text;

	if (labels->in != KYMO_LABELS_IN_ARROW)
		return object && kymo_value_is_secret_key(w, object);
	return !kymo_arrow_text(&labels->arrow, place, &text) ||
	       (text.bytes >= 0 && kymo_secrets_has_bytes(w->python->secrets, text.utf8, (size_t)text.bytes));
}

bool kymo_labels_are_harmless(const struct kymo_value_writer *w, const struct kymo_labels *labels)
{
	Py_ssize_t count = count_of(labels);

	for (Py_ssize_t i = 0; i < count && i < (Py_ssize_t)w->limits.items; i++)
		if (kymo_label_is_secret(w, labels, i))
			return false;
	return labels->in != KYMO_LABELS_UNKNOWN;
}

void kymo_labels_write(struct kymo_value_writer *w, const struct kymo_labels *labels)
{
	PyObject *name = kymo_attribute_of(labels->index, "_name");

	if (name && kymo_value_is_secret_key(w, name)) {
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
		return;
	}
	switch (labels->in) {
	case KYMO_LABELS_IN_RANGE:
		kymo_value_write(w, (PyObject *)(uintptr_t)labels->range);
		break;
	case KYMO_LABELS_IN_ARRAY:
		kymo_value_write_items(w, (PyObject *)(uintptr_t)labels->array, labels->array);
		break;
	case KYMO_LABELS_IN_ARROW:
		kymo_value_write_arrow(w, kymo_attribute_of(labels->index, "_data"), &labels->arrow);
		break;
	default:
		kymo_value_write_reason(w, labels->index, labels->why);
	}
}

/* Label @place as a number; negative: not a number, or not a small one. */
static int64_t number_at(const struct kymo_labels *labels, Py_ssize_t place)
{
	const struct kymo_range *range = labels->range;
	PyObject *object = object_at(labels, place);

	if (range && kymo_small_int(range->start, -1) >= 0 && kymo_small_int(range->step, -1) > 0)
		return kymo_small_int(range->start, 0) + place * kymo_small_int(range->step, 0);
	return object ? kymo_small_int(object, -1) : labels->array ? kymo_array_int64(labels->array, place) : -1;
}

bool kymo_label_put_name(struct kymo_value_writer *w, const struct kymo_labels *labels, Py_ssize_t place)
{
	PyObject *object = object_at(labels, place);
	int64_t number = number_at(labels, place);
	struct kymo_arrow_text text;
	char name[32];

	if (kymo_value_room(w) < KYMO_VALUE_HEAD + 1)
		return false;
	if (labels->in == KYMO_LABELS_IN_ARROW && kymo_arrow_text(&labels->arrow, place, &text) && text.bytes >= 0)
		return kymo_value_put_name(w, text.utf8, (size_t)text.bytes);
	if (object && PyUnicode_CheckExact(object)) {
		w->end--;
		kymo_value_write(w, object);
		w->end++;
		return true;
	}
	snprintf(name, sizeof(name), "%" PRId64, number >= 0 ? number : (int64_t)place);
	return kymo_value_put_name(w, name, strlen(name));
}
