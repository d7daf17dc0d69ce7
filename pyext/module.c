// SPDX-License-Identifier: Apache-2.0
/* The module kymo._kymo: what the package kymo and the start-up files call. */
#include "pyext/cpython/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/project_paths.h"
#include "pyext/events/flow_frames.h"
#include "pyext/codes.h"
#include "pyext/names.h"
#include "pyext/recording.h"
#include "pyext/session_start.h"
#include "pyext/values/values_module.h"
#include "recorder/session.h"

/* The trace is sealed within moments unless the disk is slow. */
#define FINISH_TIMEOUT_NS UINT64_C(60000000000)

/* Process that began the present session; other processes only joined it.  Between enter and leave. */
static pid_t session_owner;

static const char join_doc[] =
	"join() -> bool or None\n\n"
	"Record this process, and this interpreter, into the session that $KYMO_SESSION names.\n"
	"True: also processes that it starts are to be recorded; False: they are not; None: there is\n"
	"nothing to join.  Raises OSError or RuntimeError if it cannot be done.";

/* While an interpreter starts, its own import of `site` calls us, not a program. */
static bool is_starting(void)
{
	const void *outermost = NULL;
	PyObject *file;

	for (const void *frame = kymo_frame_now(); frame; frame = kymo_frame_caller(frame))
		outermost = frame;
	file = outermost ? kymo_frame_code(outermost)->co_filename : NULL;
	return file && !PyUnicode_CompareWithASCIIString(file, "<frozen importlib._bootstrap>");
}

static PyObject *join(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
	struct kymo_session *session = NULL;
	int joined;

	if (!kymo_recording_enter())
		return NULL;
	/* Another interpreter of this process may have begun a session that is not announced. */
	joined = kymo_recording_join(kymo_recording_is_on() ? NULL : getenv("KYMO_SESSION"), is_starting());
	if (joined > 0)
		session = kymo_recording_hold();
	kymo_recording_leave();
	if (joined < 0)
		return NULL;
	if (!joined)
		Py_RETURN_NONE;
	joined = !kymo_session_config(session)->no_subprocesses;
	kymo_session_close(session);
	return PyBool_FromLong(joined);
}

/* The session cannot be joined: no one else will end it.  Keeps the exception. */
static void abandon(const char *dir)
{
	PyObject *raised = PyErr_GetRaisedException();
	struct kymo_session *session;

	if (kymo_session_open(dir, &session, NULL) >= 0) {
		/* A trace that it would have replaced stays. */
		kymo_session_finish(session, KYMO_STOP_DISCARD, FINISH_TIMEOUT_NS, NULL);
		kymo_session_close(session);
	}
	PyErr_SetRaisedException(raised);
}

/* Between enter and leave.  Returns 1, or -1 with an exception set. */
static int begin_session(const Kymo__Config *config, const char *program, char dir[KYMO_DIR_BYTES])
{
	int joined;

	if (kymo_recording_is_on()) {
		PyErr_SetString(PyExc_RuntimeError, "kymo: this process is already being recorded");
		return -1;
	}
	if (!kymo_session_start(config, program, dir))
		return -1;
	joined = kymo_recording_join(dir, false);
	if (!joined)
		PyErr_SetString(PyExc_RuntimeError, "kymo: the reader exited at once");
	if (joined <= 0) {
		abandon(dir);
		return -1;
	}
	session_owner = getpid();
	return 1;
}

static const char start_doc[] =
	"start(program, options) -> str\n\n"
	"Begin a session with options as in kymo.start(), read by the program at that path, and record\n"
	"this process into it.  Returns the session's folder.";

static PyObject *start(PyObject *Py_UNUSED(module), PyObject *args)
{
	Kymo__Config config = KYMO__CONFIG__INIT;
	struct kymo_arena arena = {0};
	char profile[] = "flow";
	char dir[KYMO_DIR_BYTES];
	const char *program;
	PyObject *options;
	bool is_started;
	int joined = -1;

	if (!PyArg_ParseTuple(args, "sO!", &program, &PyDict_Type, &options))
		return NULL;
	config.policy = KYMO_POLICY_BLOCK;
	config.clock_mode = KYMO_CLOCK_SAMPLED;
	if (kymo_config_set_events(&config, profile, NULL) < 0)
		return NULL;
	is_started = kymo_options_parse(options, &config, &arena) && kymo_recording_enter();
	if (is_started) {
		joined = begin_session(&config, program, dir);
		kymo_recording_leave();
	}
	kymo_arena_free(&arena);
	return joined > 0 ? PyUnicode_DecodeFSDefault(dir) : NULL;
}

static const char stop_doc[] =
	"stop()\n\n"
	"Stop recording this process.  If it began the session, the trace is complete when this\n"
	"returns; a RuntimeWarning says where that failed.  Starts, joins and stops of other threads and\n"
	"interpreters wait for each other.";

static PyObject *stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
	struct kymo_session *session;
	struct kymo_error error;
	int code = 0;

	/* Another thread that stops at the same time waits: then the trace is complete for both. */
	if (!kymo_recording_enter())
		return NULL;
	session = kymo_recording_stop();
	if (session && session_owner == getpid())
		code = kymo_session_finish(session, KYMO_STOP_SEAL, FINISH_TIMEOUT_NS, &error);
	session_owner = 0;
	kymo_session_close(session);
	kymo_recording_leave();
	if (code < 0 && PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "kymo: %s", error.message) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static const char is_recording_doc[] =
	"is_recording() -> bool\n\n"
	"True while this process is recorded, whoever began that.";

static PyObject *is_recording(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
	return PyBool_FromLong(kymo_recording_is_on());
}

static const char mark_doc[] =
	"mark(text)\n\n"
	"Put an event with a text of the program's own into the trace, at this place of the calling\n"
	"thread.  Does nothing while the process is not recorded.";

/* The mark belongs to the caller, unless that is not recorded. */
static void place_mark(struct kymo_producer *p, const struct kymo_code *known)
{
	if (known && known->is_wanted && p->code != known->code)
		kymo_append_code(p, known->code, known->start, known->first_line);
}

static void append_mark(struct kymo_python *python, const struct kymo_session *session, PyObject *text)
{
	struct kymo_producer *p;
	struct kymo_arena arena = {0};
	const void *frame, *before;
	uint32_t id;

	kymo_process_adopt();
	id = kymo_text_id(kymo_text(&arena, text));
	kymo_arena_free(&arena);
	p = kymo_producer;
	kymo_claim(p, &python->host);
	before = p->frame;
	if (!kymo_is_ready(p) && !(p = kymo_refill(&python->host)))
		return;
	kymo_check_switch(p, &python->host);
	frame = kymo_frame_now();
	if (kymo_codes_flow)
		p = kymo_flow_place(python, before);
	else if (frame)
		place_mark(p, kymo_code_get(python, (PyObject *)kymo_frame_code(frame)));
	if (!p)
		return;
	/* Marks are few, and other processes are compared with them by time. */
	if (session->page->clock_mode != KYMO_CLOCK_NONE)
		kymo_append_time(p);
	kymo_append_mark(p, id);
}

static PyObject *mark(PyObject *Py_UNUSED(module), PyObject *text)
{
	struct kymo_session *session;
	struct kymo_python *python;

	if (!PyUnicode_Check(text))
		return PyErr_Format(PyExc_TypeError, "mark() argument must be str, not %.100s", Py_TYPE(text)->tp_name);
	session = kymo_recording_hold();
	if (!session)
		Py_RETURN_NONE;
	python = kymo_python_get();
	if (python)
		append_mark(python, session, text);
	kymo_session_close(session);
	return python ? Py_NewRef(Py_None) : NULL;
}

static const char begin_segment_doc[] =
	"begin_segment()\n\n"
	"Begin a segment of the recording: what all threads of this process record until end_segment() is\n"
	"kept or dropped as a whole.  Any thread may begin or end it; a process has one at a time.  Does\n"
	"nothing while the process is not recorded; raises RuntimeError within a segment.";

static PyObject *begin_segment(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
	struct kymo_python *python;

	if (!kymo_recording_is_on())
		Py_RETURN_NONE;
	python = kymo_python_get();
	if (!python)
		return NULL;
	if (kymo_segment_begin(&python->host) < 0)
		return PyErr_Format(PyExc_RuntimeError, "kymo: begin_segment() in a segment; call end_segment() first");
	Py_RETURN_NONE;
}

static const char end_segment_doc[] =
	"end_segment(*, keep)\n\n"
	"End the segment.  With keep=False its events are dropped: a gap in the trace counts them.  One that\n"
	"is never ended, because the process dies or the recording stops, is kept.  Does nothing while the\n"
	"process is not recorded; raises RuntimeError where no segment is open.";

static PyObject *end_segment(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
	static char *names[] = {"keep", NULL};
	struct kymo_python *python;
	int keep;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "$p:end_segment", names, &keep))
		return NULL;
	if (!kymo_recording_is_on())
		Py_RETURN_NONE;
	python = kymo_python_get();
	if (!python)
		return NULL;
	if (kymo_segment_end(&python->host, keep) < 0)
		return PyErr_Format(PyExc_RuntimeError, "kymo: end_segment() without begin_segment()");
	Py_RETURN_NONE;
}

static const char snapshot_doc[] =
	"snapshot(why)\n\n"
	"With policy overwrite: have the events that the rings hold now written to the trace, and wait\n"
	"until they are.  Does nothing while the process is not recorded; raises OSError without a\n"
	"reader, TimeoutError if it does not answer for ten seconds.  Where another thread stops the\n"
	"recording meanwhile, all that the rings held is in the trace.";

static PyObject *snapshot(PyObject *Py_UNUSED(module), PyObject *text)
{
	struct kymo_session *session;
	struct kymo_arena arena = {0};
	struct kymo_error error;
	const char *why;
	int code;

	if (!PyUnicode_Check(text))
		return PyErr_Format(PyExc_TypeError, "snapshot() argument must be str, not %.100s", Py_TYPE(text)->tp_name);
	session = kymo_recording_hold();
	if (!session)
		Py_RETURN_NONE;
	why = kymo_text(&arena, text);
	Py_BEGIN_ALLOW_THREADS
	code = kymo_snapshot(session, why, UINT64_C(10000000000));
	kymo_session_close(session);
	Py_END_ALLOW_THREADS
	kymo_arena_free(&arena);
	if (code < 0) {
		kymo_fail(&error, code, "kymo: cannot take a snapshot: %s",
			  code == -ETIMEDOUT ? "the reader does not respond" : "the reader is not running");
		return kymo_raise(code, &error);
	}
	Py_RETURN_NONE;
}

static const char is_project_file_doc[] =
	"is_project_file(file) -> bool\n\n"
	"True if code of that file, a str as co_filename is, is the project's own: no library's, not installed.";

static PyObject *is_project_file(PyObject *Py_UNUSED(module), PyObject *file)
{
	struct kymo_project project = {0};
	struct kymo_arena arena = {0};
	bool is_of_project;

	if (!PyUnicode_Check(file))
		return PyErr_Format(PyExc_TypeError, "is_project_file() argument must be str, not %.100s", Py_TYPE(file)->tp_name);
	kymo_recording_learn_project(&project);
	is_of_project = kymo_project_has(&project, kymo_text(&arena, file));
	kymo_arena_free(&arena);
	return PyBool_FromLong(is_of_project);
}

static PyMethodDef methods[] = {
	{"join", join, METH_NOARGS, join_doc},
	{"start", start, METH_VARARGS, start_doc},
	{"stop", stop, METH_NOARGS, stop_doc},
	{"is_recording", is_recording, METH_NOARGS, is_recording_doc},
	{"mark", mark, METH_O, mark_doc},
	{"snapshot", snapshot, METH_O, snapshot_doc},
	{"is_project_file", is_project_file, METH_O, is_project_file_doc},
	{"begin_segment", begin_segment, METH_NOARGS, begin_segment_doc},
	{"end_segment", (PyCFunction)(void (*)(void))end_segment, METH_VARARGS | METH_KEYWORDS, end_segment_doc},
	{"encode_value", (PyCFunction)(void (*)(void))kymo_encode_value, METH_VARARGS | METH_KEYWORDS, kymo_encode_value_doc},
	{"fingerprint_value", (PyCFunction)(void (*)(void))kymo_fingerprint_value, METH_VARARGS | METH_KEYWORDS,
	 kymo_fingerprint_value_doc},
	{0},
};

static int module_exec(PyObject *module)
{
	if (KYMO_FREE_THREADED) {
		PyErr_SetString(PyExc_ImportError, "kymo does not support free-threaded builds of Python yet");
		return -1;
	}
	return PyModule_AddStringConstant(module, "__version__", KYMO_VERSION);
}

static PyModuleDef_Slot slots[] = {
	{Py_mod_exec, module_exec},
	{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
	{0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "kymo._kymo",
	.m_doc = "The recorder of Kymo; see the package kymo.",
	.m_methods = methods,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__kymo(void); /* NOLINT(misc-use-internal-linkage) */

PyMODINIT_FUNC PyInit__kymo(void)
{
	return PyModuleDef_Init(&definition);
}
