// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include "pyext/values/arrays.h"
#include "pyext/values/arrow_memory.h"
#include "pyext/values/put.h"

#define MAX_CHUNKS 64
#define MAX_PARENTS 8
/* Longer texts are not counted in characters, and not recorded. */
#define MAX_TEXT (1 << 20)

/* std::shared_ptr and std::vector of GNU's C++ library. */
struct kymo_arrow_pointer {
	const void *object, *count;
};

struct vector {
	const struct kymo_arrow_pointer *begin, *end, *room;
};

/* pyarrow.lib.ChunkedArray */
struct chunked_object {
	PyObject_HEAD
	PyObject *weak_references;
	const void *methods;
	struct kymo_arrow_pointer held;
	const struct chunked *chunked; /* the same */
	bool is_on_cpu, is_known_to_be;
	PyObject *name;
};

/* arrow::ChunkedArray, Array, ArrayData, Buffer, and the Python objects that a buffer can be made of */
struct chunked {
	struct vector chunks;
	struct kymo_arrow_pointer type;
	int64_t length;
};

struct chunk {
	const void *methods;
	struct kymo_arrow_pointer data;
};

struct chunk_data {
	struct kymo_arrow_pointer type;
	int64_t length, nulls, offset;
	struct vector buffers; /* validity, offsets, characters */
};

struct buffer {
	const void *methods;
	bool is_mutable, is_on_cpu;
	const char *data;
	int64_t bytes, capacity;
	int device;
	struct kymo_arrow_pointer parent, manager;
};

struct python_buffer {
	struct buffer buffer;
	Py_buffer exported;
};

struct foreign_buffer {
	struct buffer buffer;
	PyObject *owner;
};

/* The versions that tests/python/test_values_arrow.py was run with, by arrow::BuildInfo::so_version, which stands for compatible ones. */
static const char *const known[] = {"1800", "1801", "1900", "2000", "2100", "2200", "2300", "2400", "2500", "2600"};

bool kymo_is_arrow(PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);

	return type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !strcmp(type->tp_name, "pyarrow.lib.ChunkedArray");
}

static PyObject *item_named(PyObject *dict, const char *name)
{
	struct kymo_pairs pairs = {0};
	PyObject *key, *value;

	if (dict && PyDict_Check(dict))
		pairs = kymo_pairs_of_dict(dict);
	while (kymo_pairs_next(&pairs, &key, &value))
		if (PyUnicode_CheckExact(key) && PyUnicode_CompareWithASCIIString(key, name) == 0)
			return value;
	return NULL;
}

/* The library's description of its build, a named tuple; NULL: not found. */
static PyObject *build_of_library(void)
{
	PyObject *module = item_named(PyImport_GetModuleDict(), "pyarrow.lib");
	PyObject *build = module && PyModule_Check(module) ? item_named(PyModule_GetDict(module), "cpp_build_info") : NULL;

	return build && PyTuple_Check(build) && PyTuple_GET_SIZE(build) > 4 ? build : NULL;
}

static bool is_text(PyObject *object, const char *text)
{
	return PyUnicode_CheckExact(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/* version, version_info, so_version, full_so_version, compiler_id, … */
static bool is_known_build(PyObject *build)
{
	if (sizeof(void *) != 8 || !PY_LITTLE_ENDIAN || !is_text(PyTuple_GET_ITEM(build, 4), "GNU"))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_text(PyTuple_GET_ITEM(build, 2), known[i]))
			return true;
	return false;
}

static bool is_known_layout(struct kymo_python *python, PyObject *object, char why[KYMO_ARROW_WHY])
{
	PyObject *build = python->knows_arrow > 0 ? NULL : build_of_library(), *version;

	if (!python->knows_arrow)
		python->knows_arrow = build && is_known_build(build) && Py_TYPE(object)->tp_basicsize == sizeof(struct chunked_object) ? 1 : -1;
	if (python->knows_arrow > 0)
		return true;
	version = build ? PyTuple_GET_ITEM(build, 0) : NULL;
	snprintf(why, KYMO_ARROW_WHY, "kept by pyarrow %.32s, whose layout in memory Kymo does not know",
		 version && PyUnicode_CheckExact(version) && PyUnicode_IS_COMPACT_ASCII(version) ? (const char *)PyUnicode_1BYTE_DATA(version) : "");
	return false;
}

static Py_ssize_t size_of(const struct vector *vector)
{
	return vector->begin <= vector->end && vector->end <= vector->room ? vector->end - vector->begin : -1;
}

/* True if the class of @object, which has virtual methods, has this @name in the C++ ABI: its type information lies before the
   methods. */
static bool is_a(const void *object, const char *name)
{
	const char *const *information = object ? (*(const char *const *const *const *)object)[-1] : NULL;
	const char *found = information ? information[1] : NULL;

	return found && !strcmp(*found == '*' ? found + 1 : found, name);
}

bool kymo_arrow_of(struct kymo_python *python, PyObject *object, struct kymo_arrow *arrow, char why[KYMO_ARROW_WHY])
{
	const struct chunked_object *self = (const void *)object;
	const struct chunked *chunked;

	if (!is_known_layout(python, object, why))
		return false;
	chunked = self->chunked;
	if (!chunked || self->held.object != chunked || size_of(&chunked->chunks) < 0 || chunked->length < 0) {
		snprintf(why, KYMO_ARROW_WHY, "kept by pyarrow, in a form that Kymo does not know");
		return false;
	}
	if (!is_a(chunked->type.object, "N5arrow10StringTypeE") && !is_a(chunked->type.object, "N5arrow15LargeStringTypeE")) {
		snprintf(why, KYMO_ARROW_WHY, "kept by pyarrow, and no text");
		return false;
	}
	arrow->chunks = chunked->chunks.begin;
	arrow->count = size_of(&chunked->chunks);
	arrow->length = chunked->length;
	return true;
}

/* True if the memory belongs to a Python object that keeps it, as for numpy's arrays. */
static bool is_held(PyObject *owner, const void *data)
{
	const struct kymo_array *array;

	if (!owner)
		return false;
	if (PyBytes_CheckExact(owner) || PyByteArray_CheckExact(owner))
		return true;
	if (PyCapsule_CheckExact(owner)) /* so has pandas what it read of a CSV file */
		return PyCapsule_IsValid(owner, NULL) && PyCapsule_GetPointer(owner, NULL) == data;
	array = kymo_array_of(owner);
	return array && kymo_array_is_held(array);
}

/* @bytes from the start of a buffer; NULL: it is shorter, or its owner does not keep them: in a mapped file they may be gone. */
static const char *data_of(const struct kymo_arrow_pointer *pointer, int64_t bytes)
{
	const struct buffer *buffer = pointer->object, *owner = buffer;
	bool is_readable;

	if (!buffer || bytes < 0 || bytes > buffer->bytes || !buffer->is_on_cpu)
		return NULL;
	for (unsigned int i = 0; owner->parent.object && i < MAX_PARENTS; i++)
		owner = owner->parent.object;
	if (is_a(owner, "N5arrow2py8PyBufferE"))
		is_readable = is_held(((const struct python_buffer *)owner)->exported.obj, owner->data);
	else if (is_a(owner, "N5arrow2py15PyForeignBufferE"))
		is_readable = is_held(((const struct foreign_buffer *)owner)->owner, owner->data);
	else
		is_readable = is_a(owner, "N5arrow10PoolBufferE");
	return is_readable ? buffer->data : NULL;
}

/* Where text @i begins, and where the next one does. */
static bool find_ends(const char *starts, bool is_large, int64_t i, int64_t ends[2])
{
	int32_t small[2];

	if (is_large) {
		memcpy(ends, starts + (size_t)i * sizeof(int64_t), 2 * sizeof(int64_t));
	} else {
		memcpy(small, starts + (size_t)i * sizeof(int32_t), sizeof(small));
		ends[0] = small[0];
		ends[1] = small[1];
	}
	return ends[0] >= 0 && ends[0] <= ends[1];
}

static bool read_text(const struct chunk_data *data, bool is_large, int64_t i, struct kymo_arrow_text *text)
{
	const struct kymo_arrow_pointer *buffers = data->buffers.begin;
	const char *starts, *nulls;
	int64_t ends[2];

	if (size_of(&data->buffers) != 3 || data->offset < 0)
		return false;
	i += data->offset;
	nulls = data_of(&buffers[0], i / 8 + 1);
	if (buffers[0].object && !nulls)
		return false;
	*text = (struct kymo_arrow_text){.bytes = -1};
	if (nulls && !(nulls[i / 8] >> i % 8 & 1))
		return true;
	starts = data_of(&buffers[1], (i + 2) * (is_large ? 8 : 4));
	if (!starts || !find_ends(starts, is_large, i, ends))
		return false;
	text->bytes = ends[1] - ends[0];
	text->utf8 = text->bytes ? data_of(&buffers[2], ends[1]) : "";
	if (!text->utf8)
		return false;
	text->utf8 += text->bytes ? ends[0] : 0;
	return true;
}

bool kymo_arrow_text(const struct kymo_arrow *arrow, Py_ssize_t i, struct kymo_arrow_text *text)
{
	if (i < 0 || i >= arrow->length)
		return false;
	for (Py_ssize_t n = 0; n < arrow->count && n < MAX_CHUNKS; n++) {
		const struct chunk *chunk = arrow->chunks[n].object;
		const struct chunk_data *data = chunk ? chunk->data.object : NULL;

		bool is_large = is_a(chunk, "N5arrow16LargeStringArrayE");

		if (!data || data->length < 0 || (!is_large && !is_a(chunk, "N5arrow11StringArrayE")))
			return false;
		if (i < data->length)
			return read_text(data, is_large, i, text);
		i -= data->length;
	}
	return false;
}

void kymo_value_write_texts(struct kymo_value_writer *w, PyObject *object, const struct kymo_arrow *arrow, const char *dtype)
{
	struct kymo_value_list list;
	struct kymo_arrow_text text;

	if (!kymo_value_begin_array(w, object, dtype, 1))
		return;
	kymo_put_number(w, (uint64_t)arrow->length);
	list = kymo_value_list_begin(w, (uint64_t)arrow->length);
	for (; kymo_value_list_next(w, &list) && kymo_value_room(w) > KYMO_VALUE_HEAD; list.done++) {
		if (!kymo_arrow_text(arrow, (Py_ssize_t)list.done, &text) || text.bytes > MAX_TEXT)
			kymo_put_kind(w, KYMO_VALUE_CUT);
		else if (text.bytes < 0)
			kymo_put_kind(w, KYMO_VALUE_NONE);
		else
			kymo_value_put_str(w, text.utf8, (size_t)text.bytes);
	}
	kymo_value_list_end(w, &list);
}
