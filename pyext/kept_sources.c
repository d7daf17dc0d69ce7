// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/object_layout.h"

#include "pyext/kept_sources.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/locks.h"
#include "pyext/strings.h"

#define MAX_BYTES (1U << 20)
#define MAX_TOTAL_BYTES (16U << 20)
/* Shares of --max-size and of the room for definitions; the rest is for others. */
#define MAX_SHARE 4
/* A cache miss only writes the text again. */
#define KNOWN 4096U
/* How many of the newest typed inputs are searched. */
#define MAX_TYPED 16384

/* One for the process and all its interpreters: under KYMO_LOCK_CONTENTS. */
static struct {
	_Atomic bool is_wanted, has_command; /* read without the lock */
	uint64_t max_bytes; /* of one text */
	uint64_t left;      /* bytes left for all further texts */
	struct {
		XXH128_hash_t hash;
		uint64_t id;
	} known[KNOWN];
} kept;

void kymo_kept_sources_begin(const Kymo__Config *config, uint64_t meta_bytes, bool has_command)
{
	kymo_lock(KYMO_LOCK_CONTENTS);
	memset(&kept, 0, sizeof(kept));
	kept.is_wanted = !config->no_sources;
	kept.has_command = has_command;
	kept.max_bytes = meta_bytes / MAX_SHARE < MAX_BYTES ? meta_bytes / MAX_SHARE : MAX_BYTES;
	kept.left = config->max_bytes && config->max_bytes / MAX_SHARE < MAX_TOTAL_BYTES ? config->max_bytes / MAX_SHARE
										       : MAX_TOTAL_BYTES;
	kymo_unlock(KYMO_LOCK_CONTENTS);
}

static bool is_text(PyObject *object, PyObject *text)
{
	return object == text || (PyUnicode_CheckExact(object) && PyUnicode_Compare(object, text) == 0);
}

/* Borrowed; NULL: @dict is not an exact dict, or has no @key, a str.  Keys that are not str are skipped, since comparing them may
   run code. */
static PyObject *look_up(PyObject *dict, PyObject *key)
{
	PyObject *found, *value;
	Py_ssize_t at = 0;

	if (!dict || !PyDict_CheckExact(dict))
		return NULL;
	if (DK_IS_UNICODE(((PyDictObject *)dict)->ma_keys))
		return PyDict_GetItemWithError(dict, key);
	while (PyDict_Next(dict, &at, &found, &value))
		if (is_text(found, key))
			return value;
	return NULL;
}

/* The namespace of linecache; NULL: nobody has imported it. */
static PyObject *find_linecache(const struct kymo_python *python)
{
	PyObject *module = look_up(PySys_GetObject("modules"), python->linecache);

	return module && PyModule_CheckExact(module) ? PyModule_GetDict(module) : NULL;
}

/* "<string>", "<doctest a[0]>": not a file's path. */
static bool is_bracketed(const char *file)
{
	size_t length = strlen(file);

	return length > 1 && file[0] == '<' && file[length - 1] == '>';
}

/* The lines in @entry of linecache; NULL: it has none, or they come from the file @file. */
static PyObject *lines_of(PyObject *entry, const char *file)
{
	struct stat status;
	PyObject *lines;

	/* An entry of one item is a function that would have to be called. */
	if (!entry || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 4)
		return NULL;
	lines = PyTuple_GET_ITEM(entry, 2);
	/* For files, linecache keeps the time. */
	if (!PyList_CheckExact(lines) || (!Py_IsNone(PyTuple_GET_ITEM(entry, 1)) && !is_bracketed(file) && !stat(file, &status)))
		return NULL;
	return lines;
}

/* True if @key, (co_filename, co_qualname, co_firstlineno), is that of @code. */
static bool is_key_of(PyObject *key, const PyCodeObject *code)
{
	return PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 3 && PyLong_CheckExact(PyTuple_GET_ITEM(key, 2)) &&
	       PyUnstable_Long_IsCompact((PyLongObject *)PyTuple_GET_ITEM(key, 2)) &&
	       PyUnstable_Long_CompactValue((PyLongObject *)PyTuple_GET_ITEM(key, 2)) == code->co_firstlineno &&
	       is_text(PyTuple_GET_ITEM(key, 0), code->co_filename) && is_text(PyTuple_GET_ITEM(key, 1), code->co_qualname);
}

/* From CPython 3.13 on: the text that was typed, by the code object, which was compiled lately. */
static PyObject *find_typed(PyObject *cache, const PyCodeObject *code)
{
	struct kymo_pairs pairs;
	Py_ssize_t first;

	if (!cache || !PyDict_CheckExact(cache) || ((PyDictObject *)cache)->ma_values)
		return NULL;
	pairs = kymo_pairs_of_dict(cache);
	first = pairs.end > MAX_TYPED ? pairs.end - MAX_TYPED : 0;
	for (Py_ssize_t at = pairs.end; at-- > first && !DK_IS_UNICODE(pairs.keys);) {
		const PyDictKeyEntry *entry = &DK_ENTRIES(pairs.keys)[at];

		if (entry->me_key && entry->me_value && is_key_of(entry->me_key, code))
			return entry->me_value;
	}
	return NULL;
}

/* Borrowed; an attribute in the __dict__ of @object. */
static PyObject *attribute(PyObject *object, const char *wanted)
{
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	PyObject *name, *value;

	while (kymo_pairs_next(&pairs, &name, &value))
		if (PyUnicode_CheckExact(name) && PyUnicode_CompareWithASCIIString(name, wanted) == 0)
			return value;
	return NULL;
}

/* While doctest runs, its runner is behind linecache.getlines(), and has the examples.  Returns the text of the example @file. */
static PyObject *find_example(PyObject *getlines, const char *file)
{
	static const char begin[] = "<doctest ";
	struct kymo_arena arena = {0};
	PyObject *function, *test, *name, *examples, *text = NULL;
	size_t length;
	char *end;

	if (strncmp(file, begin, sizeof(begin) - 1) || !getlines || !PyMethod_Check(getlines))
		return NULL;
	function = PyMethod_GET_FUNCTION(getlines);
	if (!PyFunction_Check(function) ||
	    PyUnicode_CompareWithASCIIString(((PyFunctionObject *)function)->func_qualname, "DocTestRunner.__patched_linecache_getlines"))
		return NULL;
	test = attribute(PyMethod_GET_SELF(getlines), "test");
	name = test ? attribute(test, "name") : NULL;
	examples = test ? attribute(test, "examples") : NULL;
	if (!name || !PyUnicode_CheckExact(name) || !examples || !PyList_CheckExact(examples))
		return NULL;
	file += sizeof(begin) - 1;
	length = strlen(kymo_text(&arena, name));
	if (!strncmp(file, kymo_text(&arena, name), length) && file[length] == '[') {
		unsigned long number = strtoul(file + length + 1, &end, 10);

		if (!strcmp(end, "]>") && number < (unsigned long)PyList_GET_SIZE(examples))
			text = attribute(PyList_GET_ITEM(examples, (Py_ssize_t)number), "source");
	}
	kymo_arena_free(&arena);
	return text && PyUnicode_CheckExact(text) ? text : NULL;
}

/* What the program has for @code: a str, or a list of lines; NULL: nothing. */
static PyObject *find(const struct kymo_python *python, const PyCodeObject *code, const char *file)
{
	/* Some versions of 3.13 have the text of -c in linecache by this name. */
	bool is_string = !strcmp(file, "<string>");
	bool is_command = is_string && kept.has_command && PY_VERSION_HEX >> 16 == 0x030d;
	PyObject *linecache, *found = NULL;

	if (!*file || !PyUnicode_CheckExact(code->co_filename) || !strncmp(file, "<frozen ", 8))
		return NULL;
	linecache = find_linecache(python);
	if (!is_command)
		found = lines_of(look_up(look_up(linecache, python->cache), code->co_filename), file);
	if (!found && *file == '<' && !is_string) /* "<stdin>-0", "<python-input-0>" */
		found = lines_of(find_typed(look_up(linecache, python->interactive_cache), code), file);
	return found ? found : find_example(look_up(linecache, python->getlines), file);
}

struct text {
	char *bytes;
	size_t length, lines;
	bool is_too_large;
};

static void put(struct text *text, PyObject *string)
{
	const char *from = text->bytes + text->length, *end = kymo_text_put(text->bytes + text->length, string);

	for (text->lines += from < end; (from = memchr(from, '\n', (size_t)(end - from))) && ++from < end;)
		text->lines++;
	text->length = (size_t)(end - text->bytes);
}

/* Put together what find() found.  False: it is not as linecache keeps it, or there is no memory. */
static bool join(struct kymo_arena *arena, PyObject *found, struct text *text)
{
	Py_ssize_t count = PyList_CheckExact(found) ? PyList_GET_SIZE(found) : 1;
	PyObject **items = PyList_CheckExact(found) ? ((PyListObject *)found)->ob_item : &found;
	size_t characters = 0, room = 0;

	*text = (struct text){0};
	for (Py_ssize_t i = 0; i < count && characters <= MAX_BYTES; i++) {
		if (!PyUnicode_CheckExact(items[i]))
			return false;
		characters += (size_t)PyUnicode_GET_LENGTH(items[i]);
		room += kymo_text_room(items[i]) + 1;
	}
	text->is_too_large = characters > MAX_BYTES;
	if (text->is_too_large)
		return true;
	text->bytes = kymo_arena_take(arena, room + 1);
	for (Py_ssize_t i = 0; text->bytes && i < count; i++) {
		put(text, items[i]);
		/* Also if the program split it without the ends of lines. */
		if (i + 1 < count && (!text->length || !strchr("\r\n", text->bytes[text->length - 1])))
			text->bytes[text->length++] = '\n';
	}
	return text->bytes;
}

/* The id of @text, which is written unless an equal one was; 0: it could not be written.  Locked. */
static uint64_t intern(const char *file, const struct text *text)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Source source = KYMO__SOURCE__INIT;
	const char *missing = text->is_too_large || text->length > MAX_BYTES ? "larger than 1 MB"
			      : text->length > kept.max_bytes		     ? "larger than a quarter of the session's room for definitions"
			      : text->length > kept.left		     ? "too much source text"
									     : NULL;
	XXH64_hash_t seed = XXH3_64bits(file, strlen(file));
	XXH128_hash_t hash = missing ? XXH3_128bits_withSeed(missing, strlen(missing), seed + 1)
				     : XXH3_128bits_withSeed(text->bytes, text->length, seed);
	size_t place = hash.low64 % KNOWN;

	if (kept.known[place].id && XXH128_isEqual(kept.known[place].hash, hash))
		return kept.known[place].id;
	source.id = kymo_next_source_id();
	source.file = (char *)(uintptr_t)file;
	if (missing)
		source.missing = (char *)(uintptr_t)missing;
	else
		source.text = (ProtobufCBinaryData){text->length, (uint8_t *)text->bytes};
	definition.kind_case = KYMO__DEFINITION__KIND_SOURCE;
	definition.source = &source;
	if (!kymo_define(&definition))
		return 0;
	kept.left -= source.text.len;
	kept.known[place].hash = hash;
	kept.known[place].id = source.id;
	return source.id;
}

uint64_t kymo_kept_source(struct kymo_python *python, const PyCodeObject *code, const char *file)
{
	struct kymo_arena arena = {0};
	int saved_errno = errno;
	struct text text;
	PyObject *found;
	uint64_t id = 0;

	if (!kept.is_wanted)
		return 0;
	found = find(python, code, file);
	/* A text with fewer lines than the code's first line number is another text by this name. */
	if (found && join(&arena, found, &text) && (text.is_too_large || (size_t)code->co_firstlineno <= text.lines)) {
		kymo_lock(KYMO_LOCK_CONTENTS);
		id = intern(file, &text);
		kymo_unlock(KYMO_LOCK_CONTENTS);
	}
	kymo_arena_free(&arena);
	errno = saved_errno;
	return id;
}
