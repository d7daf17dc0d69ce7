// SPDX-License-Identifier: Apache-2.0
#include "pyext/frame_jumps.h"
#include "pyext/recording.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "pyext/callbacks.h"
#include "pyext/code_filter.h"
#include "pyext/codes.h"
#include "pyext/monitor.h"
#include "pyext/names.h"
#include "pyext/places.h"
#include "pyext/text.h"
#include "pyext/values/values.h"

/* Guarded by the GIL of the interpreter that starts and stops. */
static struct kymo_session *session;

struct kymo_session *kymo_recording_session(void)
{
	return session;
}

void *kymo_raise(int code, const struct kymo_error *error)
{
	PyObject *type = code == -EINVAL ? PyExc_ValueError : code == -EBUSY ? PyExc_RuntimeError : PyExc_OSError;
	PyObject *arguments = NULL;

	if (type != PyExc_OSError)
		PyErr_SetString(type, error->message);
	else if ((arguments = Py_BuildValue("is", -code, error->message)))
		PyErr_SetObject(type, arguments);
	Py_XDECREF(arguments);
	return NULL;
}

static char *sys_text(struct kymo_arena *arena, const char *name)
{
	return kymo_text(arena, PySys_GetObject(name));
}

/* argv as the interpreter got it, options of its own included. */
static void set_argv(struct kymo_arena *arena, Kymo__Process *facts)
{
	PyObject *argv = PySys_GetObject("orig_argv");
	PyObject *items = argv ? PySequence_Tuple(argv) : NULL;

	if (items)
		facts->argv = kymo_texts(arena, items, &facts->n_argv);
	else
		PyErr_Clear();
	/* The list itself keeps the strings alive. */
	Py_XDECREF(items);
}

static void set_tools(struct kymo_arena *arena, Kymo__Process *facts)
{
	facts->other_tools = kymo_arena_take(arena, KYMO_TOOL_IDS * sizeof(*facts->other_tools));
	for (int id = 0; facts->other_tools && id < KYMO_TOOL_IDS; id++) {
		PyObject *name = PyObject_CallMethod(PySys_GetObject("monitoring"), "get_tool", "i", id);
		Kymo__Tool *tool = kymo_arena_take(arena, sizeof(*tool));

		if (name && PyUnicode_Check(name) && tool && id != (int)facts->tool_id) {
			kymo__tool__init(tool);
			tool->id = (uint32_t)id;
			/* A tool keeps its name as long as it has its id. */
			tool->name = kymo_text(arena, name);
			facts->other_tools[facts->n_other_tools++] = tool;
		}
		PyErr_Clear();
		Py_XDECREF(name);
	}
}

static int start_process(const struct kymo_python *python)
{
	struct kymo_arena arena = {0};
	struct kymo_error error = {0};
	Kymo__Process facts = KYMO__PROCESS__INIT;
	PyObject *implementation = PySys_GetObject("implementation");
	PyObject *tag = implementation ? PyObject_GetAttrString(implementation, "cache_tag") : NULL;
	char here[PATH_MAX];
	int code;

	facts.executable = sys_text(&arena, "executable");
	facts.python_version = sys_text(&arena, "version");
	facts.python_hex = PY_VERSION_HEX;
	facts.implementation = kymo_text(&arena, tag);
	facts.tool_id = (uint32_t)python->tool;
	facts.working_directory = getcwd(here, sizeof(here)) ? here : "";
	set_argv(&arena, &facts);
	set_tools(&arena, &facts);
	PyErr_Clear();
	code = kymo_process_start(session, &facts, &error);
	kymo_arena_free(&arena);
	Py_XDECREF(tag);
	if (code < 0)
		kymo_raise(code, &error);
	return code;
}

/* The folder that this extension was loaded from. */
static void find_package(char folder[PATH_MAX])
{
	Dl_info info;
	char *slash;

	folder[0] = 0;
	if (dladdr((void *)(uintptr_t)find_package, &info) && info.dli_fname)
		snprintf(folder, PATH_MAX, "%s", info.dli_fname);
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
}

static void set_filter(void)
{
	struct kymo_arena arena = {0};
	PyObject *stdlib = PySys_GetObject("_stdlib_dir");
	char package[PATH_MAX];

	find_package(package);
	kymo_filter_set(kymo_session_config(session), package,
			stdlib && PyUnicode_Check(stdlib) ? kymo_text(&arena, stdlib) : "");
	kymo_arena_free(&arena);
}

/* Record this process into the open session. */
static bool begin(struct kymo_python *python)
{
	set_filter();
	if (start_process(python) < 0)
		return false;
	kymo_codes_begin(kymo_process_generation(), kymo_session_config(session)->flow);
	kymo_names_begin(kymo_process_generation());
	return true;
}

void kymo_recording_close(void)
{
	kymo_session_close(session);
	session = NULL;
}

/* Loaded before the recording began; kymo_code_get() sees it when it comes later. */
static bool has_greenlets(void)
{
	PyObject *modules = PySys_GetObject("modules");

	return modules && PyDict_Check(modules) && PyDict_GetItemString(modules, "greenlet");
}

/* Events of the calling interpreter; @is_first: of the first one, so the process begins with it. */
static bool listen(struct kymo_python *python, bool is_first, bool is_early)
{
	const Kymo__Config *config = kymo_session_config(session);

	python->switches_stacks = has_greenlets();
	if (config->flow)
		kymo_watch_frame_jumps();
	python->is_filtered = config->n_source || config->n_include || config->n_omit || config->no_stdlib;
	/* Another interpreter may have stopped an earlier recording, which went on here for nothing. */
	kymo_monitor_detach(python);
	if (kymo_values_begin(python, config) && kymo_monitor_attach(python, config) && (!is_first || begin(python)) &&
	    kymo_monitor_enable(python, config, is_early)) {
		python->recording = kymo_codes_generation;
		if (python->local_events)
			kymo_places_begin(python);
		return true;
	}
	kymo_monitor_detach(python);
	return false;
}

int kymo_recording_join(const char *dir, bool is_early)
{
	struct kymo_python *python = kymo_python_get();
	struct kymo_error error = {0};
	bool is_first = !session;
	int code;

	if (!python)
		return -1;
	if (is_first) {
		code = kymo_session_open(dir, &session, &error);
		if (code < 0) {
			session = NULL;
			/* An environment can outlive its session. */
			return code == -ENOENT ? 0 : (kymo_raise(code, &error), -1);
		}
		if (kymo_load_acquire_u32(&kymo_session_page(session)->reader_state) == KYMO_READER_CLOSED) {
			kymo_recording_close();
			return 0;
		}
	}
	if ((is_first || python->recording != kymo_codes_generation) && !listen(python, is_first, is_early)) {
		if (is_first)
			kymo_recording_close();
		return -1;
	}
	return 1;
}

void kymo_recording_stop(void)
{
	struct kymo_python *python = kymo_python_get();

	kymo_monitor_detach(python);
	kymo_process_stop(&python->gil);
	kymo_codes_begin(0, false);
	kymo_names_begin(0);
}
