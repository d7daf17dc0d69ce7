// SPDX-License-Identifier: Apache-2.0
/* Instances by their attributes, exceptions, members of enumerations, and objects that are written by name. */
#include "pyext/cpython/object_layout.h"

#include "pyext/secrets.h"
#include "pyext/strings.h"
#include "pyext/values/put.h"

static uint64_t count_slots(PyObject *object, const PyTypeObject *const *types, unsigned int count)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < count; i++)
		for (const PyMemberDef *member = types[i]->tp_members; member->name; member++)
			set += kymo_is_slot(member) && kymo_slot_value(object, member);
	return set;
}

/* A slot's name is a C string; a str of it is not easily found. */
static bool put_slot(struct kymo_value_writer *w, struct kymo_value_list *list, const char *name, PyObject *value, bool is_secret)
{
	if (!kymo_value_put_name(w, name, strlen(name)))
		return false;
	if (is_secret)
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
	else
		kymo_value_write(w, value);
	list->done++;
	return true;
}

/* Whether slot @number, whose name is @name, is one of @secret. */
static bool is_secret_slot(struct kymo_value_writer *w, uint64_t secret, unsigned int number, const char *name)
{
	return number < 64 ? secret >> number & 1 : kymo_secrets_has_text(w->python->secrets, name);
}

static void put_slots(struct kymo_value_writer *w, struct kymo_value_list *list, PyObject *object,
		      const PyTypeObject *const *types, unsigned int count, uint64_t secret)
{
	unsigned int number = 0;

	for (unsigned int i = 0; i < count; i++) {
		for (const PyMemberDef *member = types[i]->tp_members; member->name; member++) {
			PyObject *value;

			if (!kymo_is_slot(member))
				continue;
			value = kymo_slot_value(object, member);
			if (value && (!kymo_value_list_next(w, list) ||
				      !put_slot(w, list, member->name, value, is_secret_slot(w, secret, number, member->name))))
				return;
			number++;
		}
	}
}

/* count and attributes: those in slots, then those in __dict__. */
static void put_attributes(struct kymo_value_writer *w, PyObject *object)
{
	const struct kymo_value_type *type = kymo_value_type_of(w->python, Py_TYPE(object));
	uint64_t secret_slots = type->secret_slots;
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	const PyTypeObject *types[KYMO_VALUE_BASES];
	unsigned int count = type->has_slots ? kymo_value_layout_types(Py_TYPE(object), types) : 0;
	struct kymo_value_list list = kymo_value_list_begin(w, pairs.count + count_slots(object, types, count));
	PyObject *name, *value;

	put_slots(w, &list, object, types, count, secret_slots);
	while (kymo_value_list_next(w, &list) && kymo_pairs_next(&pairs, &name, &value))
		if (PyUnicode_Check(name) && !kymo_value_put_attribute(w, &list, name, value))
			break;
	kymo_value_list_end(w, &list);
}

void kymo_value_write_object(struct kymo_value_writer *w, PyObject *object)
{
	kymo_put_kind(w, KYMO_VALUE_OBJECT);
	kymo_put_type(w, object);
	kymo_put_id(w, object);
	put_attributes(w, object);
}

void kymo_value_write_exception(struct kymo_value_writer *w, PyObject *object)
{
	const PyBaseExceptionObject *self = (PyBaseExceptionObject *)object;

	kymo_put_kind(w, KYMO_VALUE_EXCEPTION);
	kymo_put_type(w, object);
	kymo_put_id(w, object);
	/* There is always room for what follows. */
	w->end -= 2 + 2 * KYMO_VARINT_MAX_BYTES;
	if (self->args && PyTuple_Check(self->args))
		kymo_value_write(w, self->args); /* as deep as the exception, so that its message is recorded with it */
	else
		kymo_put_kind(w, KYMO_VALUE_UNBOUND);
	w->end++;
	kymo_value_put_part(w, self->cause);
	w->end++;
	kymo_value_put_part(w, self->suppress_context ? NULL : self->context);
	w->end += 2 * KYMO_VARINT_MAX_BYTES;
	put_attributes(w, object);
}

void kymo_value_write_enum(struct kymo_value_writer *w, PyObject *object)
{
	struct kymo_pairs pairs = kymo_pairs_of_instance(object);
	PyObject *key, *value, *name = NULL, *number = NULL;

	/* A member has few attributes, and the names of these two come first. */
	for (unsigned int i = 0; i < 8 && kymo_pairs_next(&pairs, &key, &value); i++) {
		if (!PyUnicode_Check(key))
			continue;
		if (PyUnicode_CompareWithASCIIString(key, "_name_") == 0)
			name = value;
		else if (PyUnicode_CompareWithASCIIString(key, "_value_") == 0)
			number = value;
	}
	if (!name || !PyUnicode_Check(name) || !number) {
		kymo_value_write_object(w, object);
		return;
	}
	kymo_put_kind(w, KYMO_VALUE_ENUM);
	kymo_put_type(w, object);
	kymo_put_id(w, object);
	w->end--;
	kymo_value_put_text(w, name);
	w->end++;
	if (kymo_secrets_has(w->python->secrets, name))
		kymo_put_kind(w, KYMO_VALUE_REDACTED);
	else
		kymo_value_put_part(w, number);
}

static void put_type_name(struct kymo_value_writer *w, const PyTypeObject *type)
{
	const char *dot;

	if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
		kymo_value_put_text(w, ((const PyHeapTypeObject *)type)->ht_qualname);
		return;
	}
	dot = strrchr(type->tp_name, '.');
	kymo_value_put_utf8(w, dot ? dot + 1 : type->tp_name, strlen(dot ? dot + 1 : type->tp_name));
}

/* "owner.name" of what is defined in C. */
static void put_member_name(struct kymo_value_writer *w, const PyTypeObject *owner, const char *name)
{
	struct kymo_arena arena = {0};
	const char *dot = strrchr(owner->tp_name, '.'), *of = dot ? dot + 1 : owner->tp_name;
	char text[512];
	int bytes;

	if (owner->tp_flags & Py_TPFLAGS_HEAPTYPE)
		of = kymo_text(&arena, ((const PyHeapTypeObject *)owner)->ht_qualname);
	bytes = snprintf(text, sizeof(text), "%s.%s", of, name);
	kymo_value_put_utf8(w, text, bytes < (int)sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
	kymo_arena_free(&arena);
}

static void put_builtin_name(struct kymo_value_writer *w, const PyCFunctionObject *function)
{
	const char *name = function->m_ml->ml_name;
	PyObject *self = function->m_self;

	if (!self || PyModule_Check(self))
		kymo_value_put_utf8(w, name, strlen(name));
	else
		put_member_name(w, PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self), name);
}

static void put_descriptor_name(struct kymo_value_writer *w, PyObject *descriptor)
{
	struct kymo_arena arena = {0};

	put_member_name(w, PyDescr_TYPE(descriptor), kymo_text(&arena, PyDescr_NAME(descriptor)));
	kymo_arena_free(&arena);
}

static bool is_descriptor(const PyObject *object)
{
	const PyTypeObject *type = Py_TYPE(object);

	return type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type || type == &PyWrapperDescr_Type ||
	       type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type;
}

void kymo_value_write_named(struct kymo_value_writer *w, PyObject *object)
{
	kymo_put_kind(w, KYMO_VALUE_NAMED);
	kymo_put_type(w, object);
	kymo_put_id(w, object);
	if (PyMethod_Check(object))
		object = PyMethod_GET_FUNCTION(object);
	if (PyFunction_Check(object))
		kymo_value_put_text(w, ((PyFunctionObject *)object)->func_qualname);
	else if (PyCFunction_Check(object))
		put_builtin_name(w, (PyCFunctionObject *)object);
	else if (PyType_Check(object))
		put_type_name(w, (PyTypeObject *)object);
	else if (PyModule_Check(object))
		kymo_value_put_text(w, kymo_module_name(object));
	else if (PyCode_Check(object))
		kymo_value_put_text(w, ((PyCodeObject *)object)->co_qualname);
	else if (PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object))
		kymo_value_put_text(w, kymo_generator_name(object));
	else if (is_descriptor(object))
		put_descriptor_name(w, object);
	else
		kymo_value_put_text(w, NULL); /* a method may be made of anything that can be called */
}
