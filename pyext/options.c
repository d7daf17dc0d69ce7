// SPDX-License-Identifier: Apache-2.0
#include "pyext/options.h"

#include <string.h>

#include "pyext/recording.h"

/* A copy, so that it may be changed and outlives its object; NULL with an exception set. */
static char *copy_text(struct kymo_arena *arena, PyObject *value)
{
	PyObject *path = PyOS_FSPath(value);
	const char *text = NULL;
	Py_ssize_t length;
	char *copy = NULL;

	if (path && PyUnicode_Check(path))
		text = PyUnicode_AsUTF8AndSize(path, &length);
	else if (path)
		PyErr_SetString(PyExc_TypeError, "kymo: expected str, not bytes");
	if (text && !(copy = kymo_arena_take(arena, (size_t)length + 1)))
		PyErr_NoMemory();
	if (copy)
		memcpy(copy, text, (size_t)length + 1);
	Py_XDECREF(path);
	return copy;
}

static bool set_text(struct kymo_arena *arena, PyObject *value, char **field)
{
	return (*field = copy_text(arena, value));
}

/* A str, or a sequence of them. */
static bool set_texts(struct kymo_arena *arena, PyObject *value, size_t *count, char ***field)
{
	PyObject *items = PyUnicode_Check(value) ? PyTuple_Pack(1, value) : PySequence_Tuple(value);
	Py_ssize_t size = items ? PyTuple_GET_SIZE(items) : 0;
	bool is_done = items && (*field = kymo_arena_take(arena, (size_t)size * sizeof(**field) + 1));

	for (Py_ssize_t i = 0; is_done && i < size; i++)
		is_done = set_text(arena, PyTuple_GET_ITEM(items, i), &(*field)[i]);
	*count = is_done ? (size_t)size : 0;
	Py_XDECREF(items);
	return is_done;
}

static bool set_flag(PyObject *value, protobuf_c_boolean *field)
{
	int is_true = PyObject_IsTrue(value);

	*field = is_true > 0;
	return is_true >= 0;
}

static bool set_word(struct kymo_arena *arena, PyObject *value,
		     int (*parse)(const char *text, uint32_t *word, struct kymo_error *error), uint32_t *field)
{
	struct kymo_error error = {0};
	char *text = copy_text(arena, value);
	int code = text ? parse(text, field, &error) : 0;

	return text && (code >= 0 || kymo_raise(code, &error));
}

/* A number of bytes, or a str such as "64M". */
static bool set_size(struct kymo_arena *arena, PyObject *value, uint64_t *field)
{
	struct kymo_error error = {0};
	char *text;
	int code;

	if (PyLong_Check(value)) {
		*field = PyLong_AsUnsignedLongLong(value);
		return !PyErr_Occurred();
	}
	text = copy_text(arena, value);
	code = text ? kymo_parse_size(text, field, &error) : 0;
	return text && (code >= 0 || kymo_raise(code, &error));
}

static bool set_events(struct kymo_arena *arena, PyObject *value, Kymo__Config *config)
{
	struct kymo_error error = {0};
	char *text = copy_text(arena, value);
	int code = text ? kymo_config_set_events(config, text, &error) : 0;

	return text && (code >= 0 || kymo_raise(code, &error));
}

/* After the events and the other options of values. */
static bool set_values(struct kymo_arena *arena, PyObject *value, Kymo__Values *values, Kymo__Config *config)
{
	struct kymo_error error = {0};
	char *scope = value == Py_None ? "none" : copy_text(arena, value);
	int code = scope ? kymo_config_set_values(config, values, scope, &error) : 0;

	return scope && (code >= 0 || kymo_raise(code, &error));
}

static bool set_value_limits(struct kymo_arena *arena, PyObject *value, Kymo__Values *values)
{
	struct kymo_error error = {0};
	char *text = copy_text(arena, value);
	int code = text ? kymo_parse_value_limits(text, values, &error) : 0;

	return text && (code >= 0 || kymo_raise(code, &error));
}

static bool set_option(struct kymo_arena *arena, const char *name, PyObject *value, Kymo__Values *values,
		       Kymo__Config *config)
{
	if (!strcmp(name, "events"))
		return set_events(arena, value, config);
	if (!strcmp(name, "policy"))
		return set_word(arena, value, kymo_parse_policy, &config->policy);
	if (!strcmp(name, "clock"))
		return set_word(arena, value, kymo_parse_clock, &config->clock_mode);
	if (!strcmp(name, "ring_size"))
		return set_size(arena, value, &config->ring_bytes);
	if (!strcmp(name, "max_size"))
		return set_size(arena, value, &config->max_bytes);
	if (!strcmp(name, "segment_memory"))
		return set_size(arena, value, &config->segment_memory);
	if (!strcmp(name, "values_for"))
		return set_texts(arena, value, &values->n_only, &values->only);
	if (!strcmp(name, "redact"))
		return set_texts(arena, value, &values->n_redact, &values->redact);
	if (!strcmp(name, "values_limits"))
		return set_value_limits(arena, value, values);
	if (!strcmp(name, "source"))
		return set_texts(arena, value, &config->n_source, &config->source);
	if (!strcmp(name, "include"))
		return set_texts(arena, value, &config->n_include, &config->include);
	if (!strcmp(name, "omit"))
		return set_texts(arena, value, &config->n_omit, &config->omit);
	if (!strcmp(name, "no_stdlib"))
		return set_flag(value, &config->no_stdlib);
	if (!strcmp(name, "no_sources"))
		return set_flag(value, &config->no_sources);
	if (!strcmp(name, "no_code_writes"))
		return set_flag(value, &config->no_code_writes);
	if (!strcmp(name, "no_subprocesses"))
		return set_flag(value, &config->no_subprocesses);
	if (!strcmp(name, "session_dir"))
		return set_text(arena, value, &config->session_dir);
	if (!strcmp(name, "output"))
		return set_text(arena, value, &config->output);
	if (!strcmp(name, "force"))
		return set_flag(value, &config->force);
	if (!strcmp(name, "quiet"))
		return set_flag(value, &config->quiet);
	PyErr_Format(PyExc_TypeError, "kymo: unknown option '%s'", name);
	return false;
}

bool kymo_options_parse(PyObject *options, Kymo__Config *config, struct kymo_arena *arena)
{
	PyObject *c_calls = PyDict_GetItemString(options, "c_calls");
	PyObject *scope = PyDict_GetItemString(options, "values");
	Kymo__Values *values = kymo_arena_take(arena, sizeof(*values));
	PyObject *key, *value;
	Py_ssize_t at = 0;

	if (!values)
		return PyErr_NoMemory(), false;
	kymo__values__init(values);
	while (PyDict_Next(options, &at, &key, &value)) {
		const char *name = PyUnicode_AsUTF8(key);

		if (!name || (strcmp(name, "c_calls") != 0 && strcmp(name, "values") != 0 &&
			      !set_option(arena, name, value, values, config)))
			return false;
	}
	/* After the events, which it adds to. */
	if (c_calls && PyObject_IsTrue(c_calls) > 0)
		kymo_config_add_c_calls(config);
	if (scope && !set_values(arena, scope, values, config))
		return false;
	return !PyErr_Occurred();
}
