// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frame_jumps.h"
#include "pyext/recording.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/counter.h"
#include "pyext/events/callbacks.h"
#include "pyext/code_filter.h"
#include "pyext/codes.h"
#include "pyext/cpython/frame_layout.h"
#include "pyext/cpython/thread_places.h"
#include "pyext/kept_sources.h"
#include "pyext/locks.h"
#include "pyext/events/monitor.h"
#include "pyext/names.h"
#include "pyext/events/places.h"
#include "pyext/strings.h"
#include "pyext/values/capture.h"

/* Longer than a stop waits for the reader. */
#define TURN_TIMEOUT_NS UINT64_C(90000000000)

/* Under KYMO_LOCK_RECORDING. */
static struct kymo_session *current; /* a reference; NULL: there is no recording */
static pthread_t turn_of;
static pid_t turn_in; /* process of that thread, which a forked child does not have; 0: it is nobody's turn */

static bool take_turn(bool *is_mine)
{
	pid_t process = getpid();
	bool is_taken;

	kymo_lock(KYMO_LOCK_RECORDING);
	is_taken = turn_in == process;
	*is_mine = is_taken && pthread_equal(turn_of, pthread_self());
	if (!is_taken) {
		turn_of = pthread_self();
		turn_in = process;
	}
	kymo_unlock(KYMO_LOCK_RECORDING);
	return !is_taken;
}

bool kymo_recording_enter(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t end = kymo_monotonic_ns() + TURN_TIMEOUT_NS;
	bool is_mine;

	/* Taken with the GIL held: a thread that ends while it waits for the GIL, as daemon threads do, then holds no turn. */
	while (!take_turn(&is_mine)) {
		if (is_mine || kymo_monotonic_ns() > end) {
			PyErr_SetString(PyExc_RuntimeError, "kymo: another thread is starting or stopping a recording");
			return false;
		}
		Py_BEGIN_ALLOW_THREADS
		nanosleep(&pause, NULL);
		Py_END_ALLOW_THREADS
	}
	return true;
}

void kymo_recording_leave(void)
{
	kymo_lock(KYMO_LOCK_RECORDING);
	turn_in = 0;
	kymo_unlock(KYMO_LOCK_RECORDING);
}

struct kymo_session *kymo_recording_hold(void)
{
	struct kymo_session *held;

	kymo_lock(KYMO_LOCK_RECORDING);
	held = current ? kymo_session_hold(current) : NULL;
	kymo_unlock(KYMO_LOCK_RECORDING);
	return held;
}

bool kymo_recording_is_on(void)
{
	bool is_on;

	kymo_lock(KYMO_LOCK_RECORDING);
	is_on = current;
	kymo_unlock(KYMO_LOCK_RECORDING);
	return is_on;
}

/* Make @session, a reference or NULL, the current one; returns the one before, a reference or NULL. */
static struct kymo_session *exchange(struct kymo_session *session)
{
	struct kymo_session *before;

	kymo_lock(KYMO_LOCK_RECORDING);
	before = current;
	current = session;
	kymo_unlock(KYMO_LOCK_RECORDING);
	return before;
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

static int start_process(const struct kymo_python *python, struct kymo_session *session)
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
	kymo_process_tell_frames(&kymo_frame_layout);
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

void kymo_recording_learn_project(struct kymo_project *project)
{
	static const char *const names[] = {"prefix", "base_prefix", "exec_prefix"};
	struct kymo_arena arena = {0};
	Kymo__Process facts = KYMO__PROCESS__INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		kymo_project_add_prefix(project, sys_text(&arena, names[i]));
	set_argv(&arena, &facts);
	project->has_command = kymo_given_code(facts.argv, facts.n_argv) != NULL;
	kymo_arena_free(&arena);
}

static void set_filter(struct kymo_session *session)
{
	struct kymo_arena arena = {0};
	struct kymo_project project = {0};
	PyObject *stdlib = PySys_GetObject("_stdlib_dir");
	char package[PATH_MAX];

	find_package(package);
	kymo_recording_learn_project(&project);
	kymo_filter_set(kymo_session_config(session), package,
			stdlib && PyUnicode_Check(stdlib) ? kymo_text(&arena, stdlib) : "", &project);
	kymo_kept_sources_begin(kymo_session_config(session), kymo_session_page(session)->meta_bytes, project.has_command);
	kymo_arena_free(&arena);
}

/* Record this process into @session. */
static bool begin(struct kymo_python *python, struct kymo_session *session)
{
	set_filter(session);
	if (start_process(python, session) < 0)
		return false;
	kymo_codes_begin(kymo_process_generation(), kymo_session_config(session)->flow);
	kymo_names_begin(kymo_process_generation());
	return true;
}

/* Loaded before the recording began; kymo_code_get() sees it when it comes later. */
static bool has_greenlets(void)
{
	PyObject *modules = PySys_GetObject("modules");

	return modules && PyDict_Check(modules) && PyDict_GetItemString(modules, "greenlet");
}

/* Begin the events of the calling interpreter; @is_first: it is the first, and begins the process's recording. */
static bool listen(struct kymo_python *python, struct kymo_session *session, bool is_first, bool is_early)
{
	const Kymo__Config *config = kymo_session_config(session);

	python->switches_stacks = has_greenlets();
	if (config->flow)
		kymo_frame_jumps_watch();
	if (config->flow && config->exact_end)
		kymo_thread_places_watch_exec();
	python->is_filtered = config->n_source || config->n_include || config->n_omit || config->no_stdlib;
	/* Another interpreter may have stopped an earlier recording, whose callbacks are still installed here. */
	kymo_monitor_detach(python);
	if (!kymo_values_begin(python, config) || !kymo_monitor_attach(python, config) || (is_first && !begin(python, session)))
		return false;
	kymo_process_renew(&python->gil);
	python->recording = kymo_codes_generation;
	if (!kymo_monitor_enable(python, config, is_early))
		return false;
	if (python->local_events || python->local_exceptions)
		kymo_places_begin(python);
	return true;
}

/* End what listen() began; @is_last: also the process's recording, if that has begun.  Keeps the exception. */
static void end(struct kymo_python *python, bool is_last)
{
	if (python) {
		kymo_monitor_detach(python);
		python->recording = 0;
	}
	if (!is_last)
		return;
	if (python)
		kymo_thread_places_tell(python);
	kymo_process_stop(python ? &python->gil : NULL);
	kymo_filter_clear();
	kymo_codes_begin(0, false);
	kymo_names_begin(0);
	kymo_frame_jumps_leave();
}

/* The calling interpreter joins the recording of this process into @session. */
static int join_with(struct kymo_session *session, bool is_early)
{
	struct kymo_python *python = kymo_python_get();

	if (!python)
		return -1;
	if (python->recording == kymo_codes_generation || listen(python, session, false, is_early))
		return 1;
	end(python, false);
	return -1;
}

/* The process begins to record into the session in @dir. */
static int join_first(const char *dir, bool is_early)
{
	struct kymo_python *python = kymo_python_get();
	struct kymo_error error = {0};
	struct kymo_session *session;
	int code;

	if (!python)
		return -1;
	code = kymo_session_open(dir, &session, &error);
	if (code < 0)
		/* An environment can outlive its session. */
		return code == -ENOENT ? 0 : (kymo_raise(code, &error), -1);
	if (kymo_load_acquire_u32(&kymo_session_page(session)->reader_state) == KYMO_READER_CLOSED)
		code = 0;
	else
		code = listen(python, session, true, is_early) ? 1 : -1;
	if (code > 0) {
		exchange(session);
		return code;
	}
	if (code < 0)
		end(python, true);
	kymo_session_close(session);
	return code;
}

int kymo_recording_join(const char *dir, bool is_early)
{
	struct kymo_session *session = kymo_recording_hold();
	int result = 0;

	if (session)
		result = join_with(session, is_early);
	else if (dir && *dir)
		result = join_first(dir, is_early);
	kymo_session_close(session);
	return result;
}

struct kymo_session *kymo_recording_stop(void)
{
	struct kymo_session *session = exchange(NULL);

	/* This interpreter's struct may never have been made, if another interpreter records. */
	if (session)
		end(kymo_python_find(), true);
	return session;
}
