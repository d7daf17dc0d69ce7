// SPDX-License-Identifier: Apache-2.0
#include "pyext/codes.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/code_filter.h"
#include "pyext/tool.h"
#include "pyext/kept_sources.h"
#include "pyext/locks.h"
#include "pyext/strings.h"
#include "pyext/values/capture.h"

/* A miss only writes the content again, so slots are simply overwritten. */
#define CONTENTS 65536U
/* A lost definition is tried again after this many events of its code. */
#define RETRY_EVERY 4096U

_Atomic uint32_t kymo_codes_generation;
_Atomic bool kymo_codes_flow;

/* For places of the cache that have no code yet. */
static struct kymo_code nobody;

static struct content {
	XXH128_hash_t hash;
	uint64_t id;
} *contents;

void kymo_codes_begin(uint32_t generation, bool is_flow)
{
	kymo_lock(KYMO_LOCK_CONTENTS);
	kymo_codes_flow = is_flow;
	free(contents);
	contents = generation ? calloc(CONTENTS, sizeof(*contents)) : NULL;
	kymo_codes_generation = generation;
	kymo_unlock(KYMO_LOCK_CONTENTS);
}

static bool define_content(Kymo__Content *content)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	content->id = kymo_next_content_id();
	definition.kind_case = KYMO__DEFINITION__KIND_CONTENT;
	definition.content = content;
	return kymo_define(&definition);
}

/* The id of @content, which is written unless an equal one was; 0 if it could not be written.  Locked. */
static uint64_t intern_content(struct kymo_arena *arena, Kymo__Content *content)
{
	size_t bytes = kymo__content__get_packed_size(content);
	uint8_t *packed = kymo_arena_take(arena, bytes);
	struct content *known;
	XXH128_hash_t hash;

	if (!packed || !contents)
		return define_content(content) ? content->id : 0;
	kymo__content__pack(content, packed);
	hash = XXH3_128bits(packed, bytes);
	known = &contents[hash.low64 % CONTENTS];
	if (!known->id || !XXH128_isEqual(known->hash, hash)) {
		if (!define_content(content))
			return 0;
		*known = (struct content){.hash = hash, .id = content->id};
	}
	return known->id;
}

static ProtobufCBinaryData binary(PyObject *bytes)
{
	return (ProtobufCBinaryData){
		.data = (uint8_t *)PyBytes_AS_STRING(bytes),
		.len = (size_t)PyBytes_GET_SIZE(bytes),
	};
}

/*
 * Find the places where the flow of @known's code is to be recorded; false: its lines are recorded instead, whether @needs_lines or not.
 * Their memory never moves: registers of threads may point to it as long as the code lives.
 */
static bool find_sites(struct kymo_code *known, const Kymo__Content *content, bool needs_lines)
{
	size_t bytes = ((size_t)Py_SIZE(known->code) + 1) * sizeof(*known->sites);
	struct kymo_flow flow;
	bool is_exact;

	known->has_calls = false;
	if (!known->sites)
		known->sites = malloc(bytes);
	if (known->sites)
		memset(known->sites, 0, bytes);
	if (!known->sites || needs_lines || kymo_flow_make(&flow, KYMO_FLOW_VERSION(PY_VERSION_HEX), content->bytecode.data,
					    content->bytecode.len, content->exception_table.data,
					    content->exception_table.len))
		return false;
	is_exact = flow.is_exact;
	if (is_exact)
		kymo_flow_sites(&flow, known->sites);
	for (uint32_t unit = 0; is_exact && unit < flow.units; unit = flow.at[unit].next)
		known->has_calls |= flow.at[unit].site && flow.at[unit].op == KYMO_OP_CALL;
	kymo_flow_release(&flow);
	return is_exact;
}

/* Write the definitions of @known's code; its id, or KYMO_ID_UNKNOWN. */
static uint32_t define_code(struct kymo_python *python, struct kymo_code *known, bool needs_lines)
{
	PyCodeObject *code = known->code;
	PyObject *bytecode = kymo_code_bytes(code);
	struct kymo_arena arena = {0};
	Kymo__Content content = KYMO__CONTENT__INIT;
	Kymo__Code message = KYMO__CODE__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	bool is_defined = false;

	if (!bytecode)
		return KYMO_ID_UNKNOWN;
	content.file = kymo_text(&arena, code->co_filename);
	content.name = kymo_text(&arena, code->co_name);
	content.qualname = kymo_text(&arena, code->co_qualname);
	content.first_line = (uint32_t)code->co_firstlineno;
	content.flags = (uint32_t)code->co_flags;
	content.bytecode = binary(bytecode);
	content.line_table = binary(code->co_linetable);
	content.exception_table = binary(code->co_exceptiontable);
	content.varnames = kymo_texts(&arena, code->co_localsplusnames, &content.n_varnames);
	content.names = kymo_texts(&arena, code->co_names, &content.n_names);
	content.argcount = (uint32_t)code->co_argcount;
	content.posonlyargcount = (uint32_t)code->co_posonlyargcount;
	content.kwonlyargcount = (uint32_t)code->co_kwonlyargcount;
	content.source = kymo_kept_source(python, code, content.file);
	known->entry = kymo_entry_offset(content.bytecode.data, content.bytecode.len);
	known->has_lines = kymo_codes_flow && !find_sites(known, &content, needs_lines);

	kymo_lock(KYMO_LOCK_CONTENTS);
	if (known->sites || !kymo_codes_flow)
		message.content = intern_content(&arena, &content);
	kymo_unlock(KYMO_LOCK_CONTENTS);
	if (message.content) {
		message.id = kymo_next_code_id();
		message.entry_offset = known->entry / KYMO_CODE_UNIT;
		message.has_lines = known->has_lines;
		definition.kind_case = KYMO__DEFINITION__KIND_CODE;
		definition.code = &message;
		/* Records have room for 32 bits. */
		is_defined = message.id <= UINT32_MAX && kymo_define(&definition);
	}
	kymo_arena_free(&arena);
	Py_DECREF(bytecode);
	return is_defined ? (uint32_t)message.id : KYMO_ID_UNKNOWN;
}

static void define_freed(uint64_t id)
{
	Kymo__CodeFreed freed = KYMO__CODE_FREED__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	freed.id = id;
	definition.kind_case = KYMO__DEFINITION__KIND_CODE_FREED;
	definition.code_freed = &freed;
	kymo_define(&definition);
}

/* The pointer to the entry of @code, or the place for a new one. */
static struct kymo_code **find_link(struct kymo_python *python, const void *code)
{
	struct kymo_code **link = &python->codes[kymo_code_hash(code) >> (32 - KYMO_CODES_BITS)];

	while (*link && (void *)(*link)->code != code)
		link = &(*link)->next;
	return link;
}

static int watch(PyCodeEvent event, PyCodeObject *code)
{
	struct kymo_python *python = event == PY_CODE_EVENT_DESTROY ? kymo_python_find() : NULL;
	struct kymo_code **link = python ? find_link(python, code) : NULL;
	struct kymo_code *known = link ? *link : NULL, **recent;

	if (!known)
		return 0;
	/* Also for a recording that was stopped under another GIL: its registers are used until a thread notices.  Also
	 * for code whose definition was lost: a register may point to its sites. */
	if (known->defined || known->sites)
		kymo_forget_code(code);
	/* The stream of a forked child that has not joined yet is not open: ids are not reused, so the message is not
	 * needed. */
	if (known->defined && known->defined == kymo_codes_generation && kymo_process_is_recording())
		define_freed(known->id);
	recent = kymo_code_recent(python, code);
	for (int i = 0; i < 2; i++) {
		if (recent[i] == known)
			recent[i] = &nobody;
	}
	*link = known->next;
	kymo_covered_forget(&known->covered);
	kymo_code_values_forget(&known->values);
	free(known->sites);
	free(known);
	return 0;
}

bool kymo_codes_attach(struct kymo_python *python)
{
	if (PyCode_AddWatcher(watch) < 0) {
		PyErr_SetString(PyExc_RuntimeError,
				"kymo: other tools have taken all watchers of code objects; record without one of them");
		return false;
	}
	for (size_t i = 0; i < sizeof(python->recent) / sizeof(*python->recent); i++)
		python->recent[i][0] = python->recent[i][1] = &nobody;
	return true;
}

struct kymo_code *kymo_code_of(struct kymo_python *python, PyObject *code)
{
	struct kymo_code *known, **link;

	if (!PyCode_Check(code))
		return NULL;
	link = find_link(python, code);
	if (*link)
		return *link;
	known = aligned_alloc(_Alignof(struct kymo_code), sizeof(*known));
	if (!known)
		return NULL;
	memset(known, 0, sizeof(*known));
	known->code = (PyCodeObject *)code;
	known->first_line = (uint32_t)known->code->co_firstlineno;
	*link = known;
	return known;
}

/* True if something can be defined now. */
static bool is_recording(void)
{
	if (kymo_process_is_orphan())
		kymo_process_adopt();
	return kymo_process_is_recording();
}

/* The immortal object for @number; NULL: there is none.  CPython makes those up to 256 once. */
static PyObject *small_int(uint32_t number)
{
	PyObject *object = number <= 256 ? PyLong_FromLong((long)number) : NULL;

	Py_XDECREF(object);
	return object;
}

/* So that kymo_code_find() finds @known. */
static void remember(struct kymo_python *python, struct kymo_code *known)
{
	struct kymo_code **recent = kymo_code_recent(python, known->code);

	if (recent[0] == known || recent[1] == known)
		return;
	recent[1] = recent[0];
	recent[0] = known;
}

/* Switch on @events for @known's code alone, for which no local events were on. */
static void ask_for(const struct kymo_python *python, struct kymo_code *known, unsigned long events)
{
	if (known->is_wanted && events)
		known->events_are_on = kymo_tool_set_local(python, known->code, events);
}

struct kymo_code *kymo_code_get(struct kymo_python *python, PyObject *code)
{
	struct kymo_code *known = kymo_code_of(python, code);
	uint32_t generation = kymo_codes_generation;

	/* Callbacks of an earlier recording that was stopped under another GIL must not record into a later one. */
	if (!known || !generation || (python->recording && python->recording != generation))
		return NULL;
	if (known->defined == generation) {
		remember(python, known);
		return known;
	}
	if (known->decided == generation && !known->is_wanted)
		return known;
	if (!is_recording())
		return NULL;
	if (known->decided != generation) {
		struct kymo_arena arena = {0};
		const char *file;

		known->decided = generation;
		known->sights = 0;
		known->id = KYMO_ID_UNKNOWN;
		kymo_covered_forget(&known->covered);
		file = kymo_text(&arena, known->code->co_filename);
		known->is_wanted = kymo_filter_wants(file);
		ask_for(python, known, python->local_exceptions);
		kymo_values_decide(python, known, file);
		/* Nobody can use greenlets before this code has run. */
		if (strstr(file, "/greenlet/__init__.py"))
			python->switches_stacks = true;
		kymo_arena_free(&arena);
	}
	if (known->is_wanted && known->sights++ % RETRY_EVERY == 0) {
		known->id = define_code(python, known, kymo_values_need_lines(python, known));
		if (known->has_calls)
			ask_for(python, known, python->local_calls | python->local_exceptions);
		known->start = kymo_start_make(known->id);
		/* Before a coroutine's start there is more to do. */
		known->entry_int = kymo_is_coroutine(code) ? NULL : small_int(known->entry);
		known->defined = known->id != KYMO_ID_UNKNOWN ? generation : 0;
	}
	return known;
}
