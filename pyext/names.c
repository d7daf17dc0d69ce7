// SPDX-License-Identifier: Apache-2.0
#include "pyext/names.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/codes.h"
#include "pyext/locks.h"
#include "pyext/strings.h"
#include "pyext/values/types.h"

/* Both tables are direct-mapped: an entry that was replaced gets a new id when it comes again. */
#define STRINGS 65536U
#define ENTRIES 4096U

/* Every string that has an id in this recording, by its hash. */
static struct string {
	uint64_t hash;
	uint32_t id;
} *strings;
static _Atomic uint32_t strings_generation; /* changes under another GIL, too */

/*
 * The name of the object at @address.  Types are freed and their addresses reused, so an
 * entry is valid only while the owner's version tag, which is never given twice, and the
 * pointer to the name are unchanged.
 */
struct kymo_name_entry {
	const void *address;
	const void *text;
	const void *owner;
	uint32_t version;
	uint32_t generation;
	uint32_t id;
};

void kymo_names_begin(uint32_t generation)
{
	kymo_lock(KYMO_LOCK_STRINGS);
	free(strings);
	strings = generation ? calloc(STRINGS, sizeof(*strings)) : NULL;
	strings_generation = generation;
	kymo_unlock(KYMO_LOCK_STRINGS);
}

bool kymo_names_attach(struct kymo_python *python)
{
	python->names = calloc(ENTRIES, sizeof(*python->names));
	if (!python->names)
		PyErr_NoMemory();
	return python->names;
}

/* What is recorded of a type beside its name: for exception types, their bases. */
struct ancestry {
	bool is_stop_iteration, is_record;
	char bases[1024]; /* names, one a line; the first that fit */
};

static const struct ancestry no_ancestry;

static uint32_t define_string(Kymo__Definition__KindCase kind, char *text, const struct ancestry *ancestry)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Name name = KYMO__NAME__INIT;
	Kymo__Text mark = KYMO__TEXT__INIT;
	uint32_t id;

	definition.kind_case = kind;
	if (kind == KYMO__DEFINITION__KIND_NAME) {
		name.id = id = kymo_next_name_id();
		name.name = text;
		name.is_stop_iteration = ancestry->is_stop_iteration;
		name.is_record = ancestry->is_record;
		name.bases = (char *)(uintptr_t)ancestry->bases;
		definition.name = &name;
	} else {
		mark.id = id = kymo_next_text_id();
		mark.text = text;
		definition.text = &mark;
	}
	return kymo_define(&definition) ? id : KYMO_ID_UNKNOWN;
}

static uint32_t intern(Kymo__Definition__KindCase kind, const char *text, const struct ancestry *ancestry)
{
	/* Names and texts count separately, and share the table. */
	uint64_t seed = XXH3_64bits_withSeed(ancestry->bases, strlen(ancestry->bases), 4U * kind + 2U * ancestry->is_record + ancestry->is_stop_iteration);
	uint64_t hash = XXH3_64bits_withSeed(text, strlen(text), seed);
	uint32_t id = KYMO_ID_UNKNOWN;

	kymo_lock(KYMO_LOCK_STRINGS);
	if (strings) {
		struct string *known = &strings[hash % STRINGS];

		if (!known->id || known->hash != hash) {
			known->hash = hash;
			known->id = define_string(kind, (char *)(uintptr_t)text, ancestry);
		}
		id = known->id;
	}
	kymo_unlock(KYMO_LOCK_STRINGS);
	return id;
}

uint32_t kymo_text_id(const char *text)
{
	return intern(KYMO__DEFINITION__KIND_TEXT, text, &no_ancestry);
}

/* Where the name of @type is: a str for types made by Python or from a spec, else a C string. */
static const void *type_name_place(const PyTypeObject *type)
{
	return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? (const void *)((const PyHeapTypeObject *)type)->ht_qualname
						    : type->tp_name;
}

static const char *type_name(struct kymo_arena *arena, PyTypeObject *type)
{
	const char *dot;

	if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
		return kymo_text(arena, ((PyHeapTypeObject *)type)->ht_qualname);
	dot = strrchr(type->tp_name, '.');
	return dot ? dot + 1 : type->tp_name;
}

/* True if the type is never freed, or has a version tag, which is never given twice. */
static bool is_cacheable(const PyTypeObject *type)
{
	return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_version_tag;
}

static struct kymo_name_entry *entry_of(struct kymo_python *python, const void *address)
{
	return &python->names[((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15U >> 52];
}

/* Only names that are is_cacheable() are kept, so an entry that is found needs no such check. */
kymo_inline const struct kymo_name_entry *find(struct kymo_python *python, const void *address, const void *text,
						 const void *owner, uint32_t version)
{
	const struct kymo_name_entry *known = entry_of(python, address);

	if (kymo_likely(known->address == address && known->text == text && known->owner == owner &&
			known->version == version && known->generation == kymo_load_relaxed_u32(&strings_generation)))
		return known;
	return NULL;
}

static uint32_t keep(struct kymo_python *python, struct kymo_name_entry *entry, const char *name,
		     const struct ancestry *ancestry)
{
	entry->generation = strings_generation;
	entry->id = intern(KYMO__DEFINITION__KIND_NAME, name, ancestry);
	if (entry->id != KYMO_ID_UNKNOWN)
		*entry_of(python, entry->address) = *entry;
	return entry->id;
}

static void read_ancestry(struct ancestry *ancestry, PyTypeObject *type)
{
	PyObject *mro = type->tp_mro;
	struct kymo_arena arena = {0};
	size_t length = 0;

	ancestry->is_stop_iteration = PyType_IsSubtype(type, (PyTypeObject *)PyExc_StopIteration);
	ancestry->is_record = kymo_type_is_record(type);
	ancestry->bases[0] = '\0';
	if (!mro || !PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException))
		return;
	for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(mro); i++) {
		PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
		const char *name = type_name(&arena, base);

		if (base == &PyBaseObject_Type || length + strlen(name) + 2 > sizeof(ancestry->bases))
			continue;
		length += (size_t)snprintf(ancestry->bases + length, sizeof(ancestry->bases) - length, "%s%s", length ? "\n" : "", name);
	}
	kymo_arena_free(&arena);
}

static kymo_out_of_line uint32_t define_type(struct kymo_python *python, PyTypeObject *type)
{
	struct kymo_name_entry entry = {
		.address = type,
		.text = type_name_place(type),
		.version = type->tp_version_tag,
	};
	struct kymo_arena arena = {0};
	const char *name = type_name(&arena, type);
	struct ancestry ancestry;
	uint32_t id;

	read_ancestry(&ancestry, type);
	id = is_cacheable(type) ? keep(python, &entry, name, &ancestry) : intern(KYMO__DEFINITION__KIND_NAME, name, &ancestry);
	kymo_arena_free(&arena);
	return id;
}

uint32_t kymo_name_of_type(struct kymo_python *python, PyTypeObject *type)
{
	const struct kymo_name_entry *known =
		find(python, type, type_name_place(type), NULL, type->tp_version_tag);

	return known ? known->id : define_type(python, type);
}

static kymo_out_of_line uint32_t define_member(struct kymo_python *python, const void *address, const char *name,
					  PyTypeObject *owner)
{
	struct kymo_name_entry entry = {
		.address = address,
		.text = name,
		.owner = owner,
		.version = owner->tp_version_tag,
	};
	struct kymo_arena arena = {0};
	char text[512];
	uint32_t id;

	snprintf(text, sizeof(text), "%s.%s", type_name(&arena, owner), name);
	id = is_cacheable(owner) ? keep(python, &entry, text, &no_ancestry) : intern(KYMO__DEFINITION__KIND_NAME, text, &no_ancestry);
	kymo_arena_free(&arena);
	return id;
}

/* "owner.name" for what is defined in C at @address. */
kymo_inline uint32_t name_of_member(struct kymo_python *python, const void *address, const char *name,
				      PyTypeObject *owner)
{
	const struct kymo_name_entry *known = find(python, address, name, owner, owner->tp_version_tag);

	return known ? known->id : define_member(python, address, name, owner);
}

static kymo_out_of_line uint32_t define_function(struct kymo_python *python, const PyMethodDef *def, PyObject *module)
{
	struct kymo_name_entry entry = {.address = def, .text = def->ml_name, .owner = module};
	struct kymo_arena arena = {0};
	const char *where = module && PyUnicode_Check(module) ? kymo_text(&arena, module) : "builtins";
	char text[512];
	uint32_t id;

	if (!strcmp(where, "builtins")) {
		id = keep(python, &entry, def->ml_name, &no_ancestry);
	} else {
		snprintf(text, sizeof(text), "%s.%s", where, def->ml_name);
		id = keep(python, &entry, text, &no_ancestry);
	}
	kymo_arena_free(&arena);
	return id;
}

/* "module.name", or just the name of a built-in. */
kymo_inline uint32_t name_of_function(struct kymo_python *python, const PyMethodDef *def, PyObject *module)
{
	const struct kymo_name_entry *known = find(python, def, def->ml_name, module, 0);

	return known ? known->id : define_function(python, def, module);
}

static uint32_t name_of_builtin(struct kymo_python *python, PyCFunctionObject *function)
{
	PyObject *self = function->m_self;

	if (!self || PyModule_Check(self))
		return name_of_function(python, function->m_ml, function->m_module);
	return name_of_member(python, function->m_ml, function->m_ml->ml_name,
			      PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self));
}

static kymo_out_of_line uint32_t define_code(struct kymo_python *python, PyObject *code)
{
	struct kymo_code *known = kymo_code_of(python, code);
	struct kymo_arena arena = {0};

	if (!known)
		return KYMO_ID_UNKNOWN;
	if (known->named != strings_generation || known->name == KYMO_ID_UNKNOWN) {
		known->named = strings_generation;
		known->name = intern(KYMO__DEFINITION__KIND_NAME, kymo_text(&arena, known->code->co_qualname), &no_ancestry);
		kymo_arena_free(&arena);
	}
	return known->name;
}

kymo_inline uint32_t name_of_code(struct kymo_python *python, PyObject *code)
{
	const struct kymo_code *known = kymo_code_find(python, code);

	if (kymo_likely(known && known->named == kymo_load_relaxed_u32(&strings_generation) && known->name != KYMO_ID_UNKNOWN))
		return known->name;
	return define_code(python, code);
}

static kymo_out_of_line uint32_t name_of_other(struct kymo_python *python, PyObject *callable)
{
	if (PyMethod_Check(callable))
		callable = PyMethod_GET_FUNCTION(callable);
	else if (Py_IS_TYPE(callable, python->method_wrapper))
		callable = ((struct kymo_method_wrapper *)callable)->descriptor;
	if (PyFunction_Check(callable))
		return name_of_code(python, PyFunction_GET_CODE(callable));
	if (PyCFunction_Check(callable))
		return name_of_builtin(python, (PyCFunctionObject *)callable);
	if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type)) {
		PyMethodDescrObject *descr = (PyMethodDescrObject *)callable;

		return name_of_member(python, descr->d_method, descr->d_method->ml_name, PyDescr_TYPE(descr));
	}
	if (Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
		PyWrapperDescrObject *descr = (PyWrapperDescrObject *)callable;

		return name_of_member(python, descr->d_base, descr->d_base->name, PyDescr_TYPE(descr));
	}
	return kymo_name_of_type(python, PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable));
}

/* The most frequent kinds of callables first, by exact type; name_of_other() knows them all. */
uint32_t kymo_name_of_callable(struct kymo_python *python, PyObject *callable)
{
	const PyTypeObject *type = Py_TYPE(callable);

	if (type == &PyFunction_Type)
		return name_of_code(python, PyFunction_GET_CODE(callable));
	if (type == &PyMethodDescr_Type) {
		PyMethodDescrObject *descr = (PyMethodDescrObject *)callable;

		return name_of_member(python, descr->d_method, descr->d_method->ml_name, PyDescr_TYPE(descr));
	}
	if (type == &PyCFunction_Type) {
		PyCFunctionObject *function = (PyCFunctionObject *)callable;
		PyObject *self = function->m_self;

		if (self && Py_IS_TYPE(self, &PyModule_Type))
			return name_of_function(python, function->m_ml, function->m_module);
	}
	return name_of_other(python, callable);
}
