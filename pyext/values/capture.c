// SPDX-License-Identifier: Apache-2.0
#include "pyext/values/capture.h"

#include <opcode.h>
#include <stdlib.h>

#include "pyext/code_filter.h"
#include "pyext/secrets.h"
#include "pyext/strings.h"
#include "pyext/values/types.h"

/* Bytes of a name in a block, and of the CUT for its value. */
#define NAME_BYTES 6U

bool kymo_values_are_at(const struct kymo_python *python, enum kymo_kind kind)
{
	if (!python->values || !python->values->scope)
		return false;
	return python->values->scope >= KYMO__VALUES__SCOPE__LOCALS || (kind != KYMO_LINE && kind != KYMO_PY_UNWIND);
}

/* The str for the number @name in VALUES records of @code; NULL: there is none. */
static PyObject *name_of(const PyCodeObject *code, uint64_t name)
{
	PyObject *tuple = name % 2 ? code->co_localsplusnames : code->co_names;
	uint64_t i = (name - 1) / 2;

	/* A function's return value is secret if the function's name is. */
	if (name == KYMO_VALUES_OWN)
		return code->co_name;
	return i < (uint64_t)PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, (Py_ssize_t)i) : NULL;
}

/* Find the names whose values are secret; false: no memory. */
static bool find_secrets(struct kymo_value_writer *writer, struct kymo_code *known)
{
	const PyCodeObject *code = known->code;
	size_t count = 2 * (size_t)(PyTuple_GET_SIZE(code->co_localsplusnames) + PyTuple_GET_SIZE(code->co_names) + 1);

	for (uint64_t name = 0; name < count; name++) {
		PyObject *text = name_of(code, name);

		if (!text || !kymo_secrets_has(writer->python->secrets, text))
			continue;
		if (!known->values.secrets && !(known->values.secrets = calloc(count / 8 + 1, 1)))
			return false;
		known->values.secrets[name / 8] |= (uint8_t)(1U << name % 8);
	}
	return true;
}

/* The name that an instruction looks up in a namespace, if its value is wanted; -1: none. */
static int64_t looked_up(const struct kymo_value_recorder *values, unsigned opcode, uint32_t arg)
{
	bool wants_globals = values->scope >= KYMO__VALUES__SCOPE__GLOBALS;

	switch (opcode) {
	case LOAD_NAME:
	case STORE_NAME:
	case DELETE_NAME:
		return arg;
	case LOAD_GLOBAL:
		return wants_globals ? (int64_t)(arg >> 1) : -1;
	case STORE_GLOBAL:
	case DELETE_GLOBAL:
	case LOAD_FROM_DICT_OR_GLOBALS:
		return wants_globals ? (int64_t)arg : -1;
	default:
		return -1;
	}
}

/* Find the names of namespaces whose values are wanted; false: no memory. */
static bool find_names(const struct kymo_value_recorder *values, struct kymo_code *known)
{
	size_t count = (size_t)PyTuple_GET_SIZE(known->code->co_names);
	PyObject *bytecode = count ? kymo_code_bytes(known->code) : NULL;
	const uint8_t *code = bytecode ? (const uint8_t *)PyBytes_AS_STRING(bytecode) : NULL;
	size_t bytes = bytecode ? (size_t)PyBytes_GET_SIZE(bytecode) : 0;
	uint8_t *is_wanted = calloc(count + 1, 1);
	uint32_t arg = 0;

	known->values.names = calloc(count + 1, sizeof(*known->values.names));
	/* In co_code all caches are zero, so that no cache looks like an instruction. */
	for (size_t at = 0; is_wanted && at + 1 < bytes; at += KYMO_CODE_UNIT) {
		int64_t name;

		arg = arg << 8 | code[at + 1];
		if (code[at] == EXTENDED_ARG)
			continue;
		name = looked_up(values, code[at], arg);
		if (name >= 0 && (size_t)name < count)
			is_wanted[name] = 1;
		arg = 0;
	}
	for (size_t i = 0; is_wanted && known->values.names && i < count; i++) {
		if (is_wanted[i])
			known->values.names[known->values.name_count++] = (uint32_t)i;
	}
	free(is_wanted);
	Py_XDECREF(bytecode);
	return is_wanted && known->values.names && (bytecode || !count);
}

void kymo_code_values_forget(struct kymo_code_values *values)
{
	free(values->secrets);
	free(values->names);
	*values = (struct kymo_code_values){0};
}

void kymo_values_decide(struct kymo_python *python, struct kymo_code *known, const char *file)
{
	struct kymo_value_recorder *values = python->values;
	struct kymo_arena arena = {0};

	kymo_code_values_forget(&known->values);
	known->has_values = values && values->scope && known->is_wanted &&
			    kymo_filter_wants_values(file, kymo_text(&arena, known->code->co_qualname)) &&
			    find_secrets(&values->writer, known) &&
			    (values->scope < KYMO__VALUES__SCOPE__LOCALS || find_names(values, known));
	known->values.room = NAME_BYTES * ((uint32_t)known->code->co_nlocalsplus + known->values.name_count + 2);
	kymo_arena_free(&arena);
}

bool kymo_values_need_lines(const struct kymo_python *python, const struct kymo_code *known)
{
	return known->has_values && python->values->scope >= KYMO__VALUES__SCOPE__LOCALS;
}
