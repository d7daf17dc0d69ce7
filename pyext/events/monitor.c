// SPDX-License-Identifier: Apache-2.0
#include "pyext/events/monitor.h"

#include <stddef.h>

#include "pyext/events/callbacks.h"
#include "pyext/cpython/code_writes.h"
#include "pyext/codes.h"
#include "pyext/events/places.h"
#include "pyext/tool.h"
#include "pyext/tasks.h"
#include "pyext/values/capture.h"

#define EVENT(kind) (UINT64_C(1) << KYMO_##kind)
#define ENTRIES (EVENT(PY_START) | EVENT(PY_RESUME))
#define C_EVENTS (EVENT(C_RETURN) | EVENT(C_RAISE))
#define CALLS (EVENT(CALL) | C_EVENTS)

static void callback_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	type->tp_free(self);
	Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
	{"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct kymo_callback, call), Py_READONLY, NULL},
	{0},
};

static PyType_Slot callback_slots[] = {
	{Py_tp_dealloc, callback_free},
	{Py_tp_call, PyVectorcall_Call},
	{Py_tp_members, callback_members},
	{0, NULL},
};

static PyType_Spec callback_spec = {
	.name = "kymo._kymo.Callback",
	.basicsize = sizeof(struct kymo_callback),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION |
		 Py_TPFLAGS_IMMUTABLETYPE,
	.slots = callback_slots,
};

PyObject *kymo_callback_type(void)
{
	return PyType_FromSpec(&callback_spec);
}

/* True if @event is needed only once at each place; a call whose end is recorded, too, is needed each time. */
static bool is_once(const struct kymo_event *event, const Kymo__Config *config)
{
	return config->once && event->call[KYMO_ONCE] &&
	       (event->kind != KYMO_PY_START || !(config->events & EVENT(PY_RETURN)));
}

static PyObject *callback_new(struct kymo_python *python, const struct kymo_event *event,
			      const Kymo__Config *config)
{
	PyTypeObject *type = (PyTypeObject *)python->callback_type;
	struct kymo_callback *callback = (struct kymo_callback *)type->tp_alloc(type, 0);
	enum kymo_variant variant = KYMO_PLAIN;

	if (!callback)
		return NULL;
	if (is_once(event, config))
		variant = KYMO_ONCE;
	else if (config->clock_mode == KYMO_CLOCK_EXACT && event->call[KYMO_TIMED])
		variant = KYMO_TIMED;
	else if (config->events & EVENT(CALL) && event->call[KYMO_CALLS])
		variant = KYMO_CALLS;
	else if (config->branch_bits && event->call[KYMO_BITS])
		variant = KYMO_BITS;
	callback->record = event->call[variant];
	callback->call = event->call[KYMO_VALUES] && variant != KYMO_ONCE && kymo_values_are_at(python, event->kind)
				 ? event->call[KYMO_VALUES]
				 : callback->record;
	callback->python = python;
	callback->event = event;
	return (PyObject *)callback;
}

/* The events of @config, as this CPython has them. */
static uint64_t wanted_events(const Kymo__Config *config)
{
	uint64_t events = config->events;

	/* They are rebuilt. */
	if (config->flow)
		events &= ~(EVENT(LINE) | EVENT(INSTRUCTION));
	if (config->flow && KYMO_HAS_SILENT_GENERATORS)
		events |= EVENT(CALL);
	if (KYMO_HAS_BRANCH_SIDES && events & EVENT(BRANCH))
		events |= EVENT(BRANCH_LEFT) | EVENT(BRANCH_RIGHT);
	if (!KYMO_HAS_BRANCH_SIDES && !(events & EVENT(BRANCH)) &&
	    events & (EVENT(BRANCH_LEFT) | EVENT(BRANCH_RIGHT))) {
		PyErr_SetString(PyExc_ValueError,
				"BRANCH_LEFT and BRANCH_RIGHT exist from Python 3.14 on: use BRANCH");
		return 0;
	}
	return events;
}

/* @event if @events includes it, or the variant that is needed for another event. */
static const struct kymo_event *as_wanted(const struct kymo_event *event, uint64_t events)
{
	if (events & UINT64_C(1) << event->kind)
		return event;
	if (event->kind == KYMO_PY_START && events & EVENT(LINE) && KYMO_LINE_NEEDS_START)
		return &kymo_event_ignored_start;
	return event->kind == KYMO_CALL && events & C_EVENTS ? &kymo_event_ignored_call : NULL;
}

static const struct kymo_event *events_of(const Kymo__Config *config)
{
	return config->flow ? kymo_flow_events : kymo_events;
}

/*
 * Places that an earlier holder of the id switched off stay off for us, in code that has not run in between.
 * Switching them on again affects every tool, so it is done only if there is no other.
 */
static bool restart_places(const struct kymo_python *python)
{
	PyObject *done = kymo_tool_is_alone(python) ? PyObject_CallMethod(kymo_tool_monitoring(), "restart_events", NULL) : NULL;

	Py_XDECREF(done);
	return !PyErr_Occurred();
}

bool kymo_monitor_attach(struct kymo_python *python, const Kymo__Config *config)
{
	uint64_t events = wanted_events(config);

	if (PyErr_Occurred() || !kymo_tool_monitoring() || !kymo_tool_take(python) || !restart_places(python) ||
	    !kymo_code_writes_begin(python, config, kymo_tool_is_alone(python)) || PyErr_Occurred())
		return false;
	/* For code whose lines cannot be rebuilt. */
	if (config->flow)
		events |= EVENT(LINE);
	for (const struct kymo_event *each = events_of(config); each->name; each++) {
		const struct kymo_event *event = as_wanted(each, events);
		unsigned long mask = event ? kymo_tool_mask(event->kind) : 0;
		PyObject *callback = mask ? callback_new(python, event, config) : NULL;
		bool is_done = !event || (callback && kymo_tool_register(python, mask, callback));

		Py_XDECREF(callback);
		if (!is_done)
			return false;
	}
	return true;
}

/* Exception events that only entered code can have.  PY_THROW may be the entry. */
static unsigned long exceptions_within(void)
{
	return kymo_tool_mask(KYMO_RAISE) | kymo_tool_mask(KYMO_RERAISE) | kymo_tool_mask(KYMO_EXCEPTION_HANDLED) |
	       kymo_tool_mask(KYMO_PY_UNWIND);
}

bool kymo_monitor_enable(struct kymo_python *python, const Kymo__Config *config, bool is_early)
{
	uint64_t events = wanted_events(config);
	unsigned long mask = 0;

	for (const struct kymo_event *event = events_of(config); event->name; event++) {
		/* C_RETURN and C_RAISE come with CALL, and are no events to enable. */
		if (as_wanted(event, events) && !(UINT64_C(1) << event->kind & C_EVENTS))
			mask |= kymo_tool_mask(event->kind);
	}
	kymo_tasks_begin(python, config->events & EVENT(PY_START) && !config->once);
	python->local_events = python->local_exceptions = python->local_calls = 0;
	/* If calls are instrumented, the return of sys.setprofile() is reported to a profiler that did not see its call: the module
	   `profile` fails. */
	if (config->flow && KYMO_HAS_SILENT_GENERATORS && !(config->events & CALLS)) {
		python->local_calls = kymo_tool_mask(KYMO_CALL);
		mask &= ~python->local_calls;
	}
	if (is_early && KYMO_HAS_LOCAL_EXCEPTIONS && python->is_filtered && (events & ENTRIES) == ENTRIES) {
		python->local_exceptions = mask & exceptions_within();
		mask &= ~python->local_exceptions;
	}
	if (is_early && kymo_places_are_local(config)) {
		unsigned long start = kymo_tool_mask(KYMO_PY_START);

		python->line_event = kymo_tool_mask(KYMO_LINE);
		python->local_events = mask & ~start;
		mask = start;
	}
	return !PyErr_Occurred() && kymo_tool_set_events(python, mask);
}

static bool reset_code(const struct kymo_python *python, struct kymo_code *code, unsigned long mask)
{
	code->is_disabled = code->lines_are_on = code->events_are_on = false;
	for (int turn = 0; turn < 2; turn++) {
		PyObject *done = PyObject_CallMethod(kymo_tool_monitoring(), "set_local_events", "iOk", python->tool, code->code,
						     turn ? 0 : mask);

		if (!done)
			return false;
		Py_DECREF(done);
	}
	return true;
}

/*
 * A place that was switched off stays so, for whoever gets the tool id next, until its code is
 * instrumented again: that happens when it next runs, but only if its events have changed in
 * between.  So change them, and back.
 */
static bool reset_places(struct kymo_python *python)
{
	unsigned long mask = kymo_tool_mask(KYMO_PY_START);

	for (size_t i = 0; i < sizeof(python->codes) / sizeof(*python->codes); i++) {
		for (struct kymo_code *code = python->codes[i]; code; code = code->next) {
			if ((code->is_disabled || code->lines_are_on || code->events_are_on) &&
			    !reset_code(python, code, mask))
				return false;
		}
	}
	return true;
}

static bool release_tool(struct kymo_python *python)
{
	PyObject *done;

	if (!kymo_tool_monitoring() || !kymo_tool_set_events(python, 0) || !reset_places(python))
		return false;
	for (const struct kymo_event *event = kymo_events; event->name; event++) {
		if (!kymo_tool_register(python, kymo_tool_mask(event->kind), Py_None))
			return false;
	}
	done = PyObject_CallMethod(kymo_tool_monitoring(), "free_tool_id", "i", python->tool);
	Py_XDECREF(done);
	return done;
}

void kymo_monitor_detach(struct kymo_python *python)
{
	PyObject *raised = PyErr_GetRaisedException();

	/* It can only fail if the program itself gave our tool id away. */
	if (python->tool >= 0 && !release_tool(python))
		PyErr_Clear();
	python->tool = -1;
	PyErr_SetRaisedException(raised);
}
