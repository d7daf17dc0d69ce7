// SPDX-License-Identifier: Apache-2.0
#include "pyext/values/values_module.h"

#include <stdlib.h>

#include "pyext/secrets.h"
#include "pyext/strings.h"
#include "pyext/values/writer.h"

const char kymo_encode_value_doc[] =
	"encode_value(object, *, depth=2, items=20, text_bytes=200, redact=(), room=65536) -> bytes\n\n"
	"What a recording with these limits would say of an object; for tests.  `redact` is a tuple of patterns, and\n"
	"`room` how many bytes there are.  Types are named only while the process is recorded.";

/* Write @object with a list of secrets of its own. */
static bool write_with(struct kymo_value_writer *w, PyObject *redact, PyObject *object)
{
	struct kymo_secrets *recordings = w->python->secrets;
	struct kymo_arena arena = {0};
	size_t count;
	char **patterns = kymo_texts(&arena, redact, &count);
	bool is_set;

	w->python->secrets = kymo_secrets_new();
	is_set = patterns && w->python->secrets && kymo_secrets_set(w->python->secrets, patterns, count);
	kymo_arena_free(&arena);
	if (is_set)
		kymo_value_write(w, object);
	else
		PyErr_NoMemory();
	kymo_secrets_free(w->python->secrets);
	w->python->secrets = recordings;
	return is_set;
}

PyObject *kymo_encode_value(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
	static char *names[] = {"object", "depth", "items", "text_bytes", "redact", "room", NULL};
	struct kymo_value_writer writer = {.write = kymo_value_write_any, .limits = {.depth = 2, .items = 20, .text_bytes = 200}};
	PyObject *object, *redact = NULL, *written = NULL;
	unsigned int room = 65536;
	uint8_t *bytes;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$IIIO!I:encode_value", names, &object, &writer.limits.depth,
					 &writer.limits.items, &writer.limits.text_bytes, &PyTuple_Type, &redact, &room))
		return NULL;
	writer.python = kymo_python_get();
	if (!writer.python)
		return NULL;
	bytes = malloc(room + 1UL);
	if (!bytes)
		return PyErr_NoMemory();
	writer.at = bytes;
	writer.end = bytes + room;
	kymo_value_begin(&writer);
	redact = redact ? Py_NewRef(redact) : PyTuple_New(0);
	if (redact && write_with(&writer, redact, object))
		written = PyBytes_FromStringAndSize((char *)bytes, writer.at - bytes);
	Py_XDECREF(redact);
	free(bytes);
	return written;
}

const char kymo_fingerprint_value_doc[] =
	"fingerprint_value(object, *, items=20, text_bytes=200) -> int\n\n"
	"What a recording with these limits would know a change inside of an object by; for tests.";

PyObject *kymo_fingerprint_value(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
	static char *names[] = {"object", "items", "text_bytes", NULL};
	struct kymo_value_limits limits = {.items = 20, .text_bytes = 200};
	PyObject *object;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$II:fingerprint_value", names, &object, &limits.items,
					 &limits.text_bytes))
		return NULL;
	return PyLong_FromUnsignedLongLong(kymo_value_fingerprint(&limits, object));
}
