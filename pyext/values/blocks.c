// SPDX-License-Identifier: Apache-2.0
/* Blocks of values: which values are written, which as SAME, and which need not be written again. */
#include "pyext/cpython/frames.h"
#include "pyext/cpython/object_layout.h"

#include <stdlib.h>

#include "pyext/values/capture.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/varint.h"
#include "pyext/secrets.h"
#include "pyext/values/types.h"

/* Values from this size on are written as SAME if the chunk has them already. */
#define SAME_BYTES 16

void kymo_values_open(struct kymo_value_recorder *values, struct kymo_producer *p)
{
	values->producer = p;
	values->block = p->payload + (uint32_t)p->word + KYMO_EXTENDED_BYTES;
	values->block[0] = 0;
	values->writer.at = values->block + 1;
	values->writer.end = values->block + values->max_bytes;
	values->writer.depth = 0;
}

/* If the chunk has the @bytes at @at already, write SAME instead. */
static void tell_same(struct kymo_value_recorder *values, uint8_t *at, uint32_t bytes)
{
	const struct kymo_producer *p = values->producer;
	uint64_t hash = XXH3_64bits(at, bytes);
	struct kymo_same *known = &values->same[hash >> (64 - KYMO_SAME_BITS)];

	if (known->epoch != p->epoch || known->hash != hash || known->bytes != bytes) {
		*known = (struct kymo_same){p->epoch, hash, (uint32_t)(at - p->payload), bytes};
		return;
	}
	/* Not one of this block.  Compared, since one that was taken back may have been overwritten. */
	if (known->at < (uint32_t)p->word && !memcmp(p->payload + known->at, at, bytes)) {
		*at = KYMO_VALUE_SAME;
		values->writer.at = at + 1 + kymo_varint_put(at + 1, known->at);
	}
}

void kymo_values_add(struct kymo_value_recorder *values, const struct kymo_code *known, uint64_t name, PyObject *object)
{
	struct kymo_value_writer *writer = &values->writer;
	size_t name_bytes = kymo_varint_put(writer->at, name);
	uint8_t *at = writer->at += name_bytes;

	/* The names take nothing of the room for values, and each value has a byte of its own. */
	writer->end += name_bytes + 1;
	if (object && known->values.secrets && known->values.secrets[name / 8] >> name % 8 & 1) {
		*writer->at++ = KYMO_VALUE_REDACTED;
		return;
	}
	/* Each is written as a value of its own, so that a later one can be SAME. */
	kymo_value_begin(writer);
	kymo_value_write(writer, object);
	if (writer->at - at >= SAME_BYTES)
		tell_same(values, at, (uint32_t)(writer->at - at));
}

void kymo_values_close(struct kymo_value_recorder *values)
{
	uint32_t bytes = (uint32_t)(values->writer.at - values->block);

	if (bytes > 1 || values->block[0])
		kymo_append_values(values->producer, bytes);
}

void kymo_values_add_arguments(struct kymo_value_recorder *values, const struct kymo_code *known, const void *frame)
{
	const PyCodeObject *code = known->code;
	uint32_t count = (uint32_t)(code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
				    !!(code->co_flags & CO_VARKEYWORDS));

	for (uint32_t i = 0; i < count; i++)
		kymo_values_add(values, known, KYMO_VALUES_LOCAL(i), kymo_frame_variable(frame, code, i));
}

/* Number of the first variable of @frame, whose @count variables are kept; @is_whole: none of their values is known. */
static uint64_t find_told(struct kymo_value_recorder *values, const struct kymo_code *known, const void *frame, uint32_t count,
			  bool *is_whole)
{
	uint64_t epoch = values->producer->epoch, kept = values->told_count - (1U << KYMO_TOLD_BITS);
	struct kymo_told_frame *two = values->frames[kymo_code_hash(frame) >> (32 - KYMO_FRAME_BITS)];
	struct kymo_told_frame *found = two[1].frame == frame || two[1].first < two[0].first ? &two[1] : two;

	if (two[0].frame == frame)
		found = two;
	if (!*is_whole && found->frame == frame && found->code == known->code && found->epoch == epoch &&
	    (int64_t)(found->first - kept) >= 0)
		return found->first;
	*is_whole = true;
	*found = (struct kymo_told_frame){frame, known->code, epoch, values->told_count};
	values->told_count += count;
	return found->first;
}

/* Add variable @name, which holds @object, unless that was recorded last. */
kymo_inline void add_changed(struct kymo_value_recorder *values, const struct kymo_code *known, uint64_t name, PyObject *object,
			     uint64_t number, bool is_whole)
{
	struct kymo_told *told = &values->told[number % (1U << KYMO_TOLD_BITS)];
	uint64_t fingerprint = kymo_value_fingerprint(&values->writer.limits, object);

	if (!is_whole && told->object == object && told->fingerprint == fingerprint)
		return;
	*told = (struct kymo_told){object, fingerprint};
	if (object || !is_whole)
		kymo_values_add(values, known, name, object);
}

/* Borrowed; NULL: it is not there, or cannot be looked up without running the program's code. */
static PyObject *look_up(PyObject *namespace, PyObject *name)
{
	if (!namespace || !PyDict_CheckExact(namespace) || !DK_IS_UNICODE(((PyDictObject *)namespace)->ma_keys))
		return NULL;
	return PyDict_GetItemWithError(namespace, name);
}

static PyObject *find_name(const struct kymo_value_recorder *values, const void *frame, PyObject *name)
{
	PyObject *found = look_up(kymo_frame_locals(frame), name);

	if (!found && values->scope >= KYMO__VALUES__SCOPE__GLOBALS)
		found = look_up(kymo_frame_globals(frame), name);
	return found;
}

void kymo_values_add_variables(struct kymo_value_recorder *values, const struct kymo_code *known, const void *frame, bool is_new)
{
	PyCodeObject *code = known->code;
	const char *kinds = PyBytes_AS_STRING(code->co_localspluskinds);
	uint32_t variables = (uint32_t)code->co_nlocalsplus, count = variables + known->values.name_count;
	/* If there are so many that they replace each other, all are recorded each time. */
	bool is_whole = is_new || count > 1U << KYMO_TOLD_BITS;
	uint64_t first = find_told(values, known, frame, count, &is_whole);

	if (is_whole)
		values->block[0] |= KYMO_VALUES_WHOLE;
	for (uint32_t i = 0; i < variables; i++) {
		if (kymo_likely(!(kinds[i] & (CO_FAST_CELL | CO_FAST_FREE))))
			add_changed(values, known, KYMO_VALUES_LOCAL(i), kymo_frame_slot(frame, i), first + i, is_whole);
		else if (!kymo_is_of_compiler(code, i))
			add_changed(values, known, KYMO_VALUES_LOCAL(i), kymo_frame_variable(frame, code, i), first + i, is_whole);
	}
	for (uint32_t i = 0; i < known->values.name_count; i++) {
		uint32_t name = known->values.names[i];
		PyObject *object = find_name(values, frame, PyTuple_GET_ITEM(code->co_names, name));

		add_changed(values, known, KYMO_VALUES_GLOBAL(name), object, first + variables + i, is_whole);
	}
}

void kymo_values_forget_frame(struct kymo_value_recorder *values, const void *frame)
{
	struct kymo_told_frame *two = values->frames[kymo_code_hash(frame) >> (32 - KYMO_FRAME_BITS)];

	for (int i = 0; i < 2; i++) {
		if (two[i].frame == frame)
			two[i].epoch = 0;
	}
}

void kymo_values_forget(struct kymo_value_recorder *values)
{
	values->told_count += 1U << KYMO_TOLD_BITS;
}

bool kymo_values_begin(struct kymo_python *python, const Kymo__Config *config)
{
	const Kymo__Values *wanted = config->values;
	struct kymo_value_recorder *values = python->values;

	if (!wanted || !wanted->scope || config->once) {
		/* A thread may be in a callback of the last recording. */
		if (values)
			values->scope = KYMO__VALUES__SCOPE__NONE;
		return true;
	}
	if (!values && !(values = calloc(1, sizeof(*values))))
		return PyErr_NoMemory(), false;
	values->scope = wanted->scope;
	values->is_flow = config->flow;
	values->max_bytes = wanted->max_bytes;
	values->writer.python = python;
	values->writer.write = kymo_value_write_any;
	values->writer.limits = (struct kymo_value_limits){
		.depth = wanted->max_depth,
		.items = wanted->max_items,
		.text_bytes = wanted->max_text_bytes,
	};
	if (!kymo_secrets_set(python->secrets, wanted->redact, wanted->n_redact))
		return PyErr_NoMemory(), false;
	kymo_value_types_forget(python);
	python->values = values;
	return true;
}
