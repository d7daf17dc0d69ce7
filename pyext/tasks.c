// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frames.h"

#include "pyext/tasks.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/codes.h"
#include "pyext/cpython/running_task.h"
#include "pyext/strings.h"

#define FIRST_CAPACITY 64U

struct known_task {
	const PyObject *task; /* NULL: a free entry */
	const PyObject *coroutine;
	const PyObject *name; /* the task's name when it was last looked at */
	uint64_t name_hash;
	uint32_t recording; /* the recording that @id belongs to */
	uint32_t id;
};

struct kymo_tasks {
	struct kymo_task_finder finder;
	PyObject *get_name, *get_coro;
	bool has_starts;
	/* Offsets in a task of this type of what its methods return; found with the first task. */
	const PyTypeObject *type;
	unsigned version;
	size_t name_at, coroutine_at;
	/* by address; grows with the number of addresses that tasks have had */
	struct known_task *known;
	size_t capacity, count;
};

bool kymo_tasks_attach(struct kymo_python *python)
{
	struct kymo_tasks *tasks = calloc(1, sizeof(*tasks));

	if (!tasks)
		return PyErr_NoMemory(), false;
	python->tasks = tasks;
	tasks->get_name = PyUnicode_InternFromString("get_name");
	tasks->get_coro = PyUnicode_InternFromString("get_coro");
	return tasks->get_name && tasks->get_coro && kymo_task_finder_init(&tasks->finder);
}

void kymo_tasks_begin(struct kymo_python *python, bool has_starts)
{
	python->tasks->has_starts = has_starts;
}

static PyObject *member(const PyObject *task, size_t at)
{
	PyObject *value;

	memcpy(&value, (const char *)task + at, sizeof(value));
	return value;
}

/* The offset in @task of what its type's own C method @name returns; 0: not found. */
static size_t find_member(PyTypeObject *type, PyObject *task, PyObject *name)
{
	PyObject *method = _PyType_Lookup(type, name), *value;
	size_t found = 0, times = 0;

	if (!method || !Py_IS_TYPE(method, &PyMethodDescr_Type) || PyDescr_TYPE(method) != type)
		return 0;
	value = PyObject_Vectorcall(method, &task, 1, NULL);
	if (!value) {
		PyErr_Clear();
		return 0;
	}
	for (size_t at = sizeof(PyObject); at + sizeof(value) <= (size_t)type->tp_basicsize; at += sizeof(value)) {
		if (member(task, at) == value) {
			found = at;
			times++;
		}
	}
	if (value == Py_None)
		times = 0;
	Py_DECREF(value);
	return times == 1 ? found : 0;
}

/* Types that the program makes cannot be immutable. */
static bool is_asyncio_task(const PyTypeObject *type)
{
	return type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !strcmp(type->tp_name, "_asyncio.Task");
}

static bool is_known_type(const struct kymo_tasks *tasks, const PyTypeObject *type)
{
	return type == tasks->type && type->tp_version_tag == tasks->version;
}

/* True if @task is asyncio's task in C, or of a derived type, and the offsets of its members are known. */
static kymo_out_of_line bool learn(struct kymo_tasks *tasks, PyObject *task)
{
	PyTypeObject *type = Py_TYPE(task);

	while (type && !is_asyncio_task(type))
		type = type->tp_base;
	if (!type)
		return false;
	if (is_known_type(tasks, type))
		return true;
	tasks->type = NULL;
	tasks->name_at = find_member(type, task, tasks->get_name);
	tasks->coroutine_at = find_member(type, task, tasks->get_coro);
	/* A version is never given twice. */
	if (!tasks->name_at || !tasks->coroutine_at || !type->tp_version_tag)
		return false;
	tasks->type = type;
	tasks->version = type->tp_version_tag;
	return true;
}

static struct known_task *place_of(struct known_task *known, size_t capacity, const PyObject *task)
{
	size_t at = ((uintptr_t)task >> 4) * 0x9e3779b97f4a7c15U >> 32;

	while (known[at & (capacity - 1)].task && known[at & (capacity - 1)].task != task)
		at++;
	return &known[at & (capacity - 1)];
}

static bool grow(struct kymo_tasks *tasks)
{
	size_t capacity = tasks->capacity ? 2 * tasks->capacity : FIRST_CAPACITY;
	struct known_task *known = calloc(capacity, sizeof(*known));

	if (!known)
		return false;
	for (size_t i = 0; i < tasks->capacity; i++)
		if (tasks->known[i].task)
			*place_of(known, capacity, tasks->known[i].task) = tasks->known[i];
	free(tasks->known);
	tasks->known = known;
	tasks->capacity = capacity;
	return true;
}

/* The entry for @task, which may have existed before; NULL: no memory. */
static struct known_task *entry_of(struct kymo_tasks *tasks, const PyObject *task)
{
	struct known_task *entry;

	if (2 * tasks->count >= tasks->capacity && !grow(tasks))
		return NULL;
	entry = place_of(tasks->known, tasks->capacity, task);
	if (!entry->task) {
		entry->task = task;
		tasks->count++;
	}
	return entry;
}

/* The event with @args enters @coroutine for the first time. */
static bool begins(struct kymo_python *python, const PyObject *coroutine, PyObject *const *args)
{
	uintptr_t inside = (uintptr_t)kymo_frame_running() - (uintptr_t)coroutine;
	const struct kymo_code *known;

	/* A coroutine's frame is a part of it. */
	if (!coroutine || inside >= (uintptr_t)Py_TYPE(coroutine)->tp_basicsize)
		return false;
	known = kymo_code_get(python, args[0]);
	return known && kymo_long_value(args[1]) <= known->entry;
}

/* True if the start of @coroutine is recorded, and so was not missed. */
static bool is_recorded(struct kymo_python *python, PyObject *coroutine)
{
	const struct kymo_code *known;
	PyCodeObject *code;

	if (!coroutine || !(PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)))
		return false;
	code = PyGen_GetCode((PyGenObject *)coroutine);
	known = kymo_code_get(python, (PyObject *)code);
	Py_DECREF(code);
	return known && known->is_wanted;
}

/* asyncio numbers the tasks without a name, and makes a str of the number when the name is read. */
static const char *name_text(struct kymo_arena *arena, PyObject *name, char number[32])
{
	if (!name)
		return "";
	if (!PyLong_CheckExact(name))
		return kymo_text(arena, name);
	snprintf(number, 32, "Task-%llu", PyLong_AsUnsignedLongLong(name));
	PyErr_Clear();
	return number;
}

static bool define(uint32_t id, const char *name)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Task task = KYMO__TASK__INIT;

	if (kymo_process_is_orphan())
		kymo_process_adopt();
	task.id = id;
	task.name = (char *)(uintptr_t)name;
	definition.kind_case = KYMO__DEFINITION__KIND_TASK;
	definition.task = &task;
	return kymo_define(&definition);
}

/* Either another task than the one that was at its address before, or one whose name has changed. */
static kymo_out_of_line uint32_t look_again(struct kymo_python *python, struct known_task *known, PyObject *coroutine,
					    PyObject *name, bool is_new)
{
	struct kymo_arena arena = {0};
	char number[32];
	const char *text = name_text(&arena, name, number);
	uint64_t hash = XXH3_64bits(text, strlen(text));
	uint32_t recording = kymo_codes_generation;
	bool is_same_name = hash == known->name_hash;

	/* A task never gets a number later. */
	if (!is_new && !is_same_name)
		is_new = !name || PyLong_CheckExact(name) || !is_recorded(python, coroutine);
	if (is_new)
		known->id = kymo_next_task_id();
	known->recording = 0;
	if ((!is_new && is_same_name) || define(known->id, text)) {
		known->coroutine = coroutine;
		known->name = name;
		known->name_hash = hash;
		known->recording = recording;
	}
	kymo_arena_free(&arena);
	return known->recording ? known->id : KYMO_ID_UNKNOWN;
}

uint32_t kymo_task_now(struct kymo_python *python, PyObject *const *args, bool may_begin)
{
	struct kymo_tasks *tasks = python->tasks;
	PyObject *task = kymo_running_task(&tasks->finder);
	PyObject *coroutine, *name;
	struct known_task *known;
	bool is_new;

	if (!task || !tasks->has_starts || (!is_known_type(tasks, Py_TYPE(task)) && !learn(tasks, task)))
		return KYMO_ID_UNKNOWN;
	known = entry_of(tasks, task);
	if (!known)
		return KYMO_ID_UNKNOWN;
	coroutine = member(task, tasks->coroutine_at);
	name = member(task, tasks->name_at);
	is_new = known->recording != kymo_codes_generation || known->coroutine != coroutine ||
		 (may_begin && begins(python, coroutine, args));
	if (kymo_unlikely(is_new || known->name != name))
		return look_again(python, known, coroutine, name, is_new);
	return known->id;
}
