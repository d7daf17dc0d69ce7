// SPDX-License-Identifier: Apache-2.0
#define Py_BUILD_CORE 1
#include "pyext/cpython/code_writes.h"

#include <opcode.h>
#include <stdatomic.h>

#include "internal/pycore_code.h"
#include "internal/pycore_instruments.h"
#include "pyext/tool.h"

/* Layout of an element of the table behind INSTRUMENTED_LINE. */
enum layout { UNKNOWN_LAYOUT, PAIRS, PACKED };

/*
 * The versions in which the tests were run: 3.13 changed the layout from one micro version to another, so no other version is
 * trusted.  To add one, run tests/python/test_code_writes.py, test_counts.py and test_coverage_profile.py in it.
 */
static const struct {
	unsigned long version;
	enum layout layout;
} verified[] = {
	{0x030c01f0, PAIRS}, {0x030c03f0, PAIRS}, {0x030d00f0, PAIRS}, {0x030d05f0, PACKED},
	{0x030e08f0, PACKED}, {0x030f00f0, PACKED},
};

static enum layout layout_of(unsigned long version)
{
	for (size_t i = 0; i < sizeof(verified) / sizeof(*verified); i++)
		if (verified[i].version == version)
			return verified[i].layout;
	return UNKNOWN_LAYOUT;
}

/* One for the process, since its CPython is what is tested. */
static _Atomic(enum { UNTESTED, GOOD, BAD }) tested;

bool kymo_line_is_on(const struct kymo_python *python, const PyCodeObject *code, uint32_t unit)
{
	const _PyCoMonitoringData *data = code->_co_monitoring;

	if (!python->writes_code || !data || !data->lines ||
	    _PyCode_CODE((PyCodeObject *)(uintptr_t)code)[unit].op.code != INSTRUMENTED_LINE)
		return false;
	return (data->line_tools ? data->line_tools[unit] : data->active_monitors.tools[PY_MONITORING_EVENT_LINE]) >>
		       python->tool & 1;
}

/* The opcode that INSTRUMENTED_LINE at @unit replaces. */
static uint8_t line_opcode(const _PyCoMonitoringData *data, uint32_t unit)
{
	const uint8_t *bytes = (const uint8_t *)data->lines;

	return layout_of(Py_Version) == PAIRS ? bytes[2 * (size_t)unit] : bytes[1 + (size_t)unit * bytes[0]];
}

/* The instrumented form of a branch's @opcode while BRANCH is on; otherwise @opcode. */
static uint8_t with_branch_event(uint8_t opcode)
{
	switch (opcode) {
	case FOR_ITER:
		return INSTRUMENTED_FOR_ITER;
	case POP_JUMP_IF_FALSE:
		return INSTRUMENTED_POP_JUMP_IF_FALSE;
	case POP_JUMP_IF_NONE:
		return INSTRUMENTED_POP_JUMP_IF_NONE;
	case POP_JUMP_IF_NOT_NONE:
		return INSTRUMENTED_POP_JUMP_IF_NOT_NONE;
	case POP_JUMP_IF_TRUE:
		return INSTRUMENTED_POP_JUMP_IF_TRUE;
#if KYMO_HAS_BRANCH_SIDES
	case NOT_TAKEN:
		return INSTRUMENTED_NOT_TAKEN;
#endif
	default:
		return opcode;
	}
}

void kymo_line_switch_off(const struct kymo_python *python, PyCodeObject *code, uint32_t unit, const uint8_t *bytes)
{
	_PyCoMonitoringData *data = code->_co_monitoring;
	_Py_CODEUNIT *at = &_PyCode_CODE(code)[unit];
	uint8_t opcode = bytes[2 * (size_t)unit], bit = (uint8_t)(1U << python->tool), under = line_opcode(data, unit);

	/* Events of other tools, and units that are not an instruction, are left as they are. */
	if (opcode == CACHE || (under != opcode && under != with_branch_event(opcode)))
		return;
	if (data->line_tools)
		data->line_tools[unit] &= (uint8_t)~bit;
	if (data->line_tools ? data->line_tools[unit] : data->active_monitors.tools[PY_MONITORING_EVENT_LINE] != bit)
		return;
	at->op.code = under;
	/* Let it be specialized again from now on, as CPython does.  The last instruction never has a cache. */
	if (unit + 1 < (uint32_t)Py_SIZE(code) && bytes[2 * (size_t)unit + 2] == CACHE)
#if PY_VERSION_HEX >= 0x030d0000
		at[1].counter = adaptive_counter_warmup();
#else
		at[1].cache = adaptive_counter_warmup();
#endif
}

/* FOR_ITER, with a cache, is where CPython leaves LINE on, and BRANCH is on under it. */
static const char program[] = "for x in 0, 1:\n    x\nx\n";
#define OFF_LINE 1

/* Callback of the test: collects the lines in the order of their events, and -1 for each branch. */
static PyObject *tell_line(PyObject *told, PyObject *const *args, Py_ssize_t Py_UNUSED(nargs))
{
	if (PyList_Append(told, args[1]) < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *tell_branch(PyObject *told, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(nargs))
{
	PyObject *number = PyLong_FromLong(-1);
	int result = number ? PyList_Append(told, number) : -1;

	Py_XDECREF(number);
	if (result < 0)
		return NULL;
	Py_RETURN_NONE;
}

#if KYMO_HAS_BRANCH_SIDES
static const enum kymo_kind kinds[] = {KYMO_LINE, KYMO_BRANCH_LEFT, KYMO_BRANCH_RIGHT};
#else
static const enum kymo_kind kinds[] = {KYMO_LINE, KYMO_BRANCH};
#endif
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static PyMethodDef tellers[] = {
	{"line", (PyCFunction)(void (*)(void))tell_line, METH_FASTCALL, NULL},
	{"branch", (PyCFunction)(void (*)(void))tell_branch, METH_FASTCALL, NULL},
};

struct test {
	struct kymo_python *python;
	PyCodeObject *code;
	PyObject *bytes; /* co_code, read before anything was instrumented; never the copy that the code object keeps, which would
	                    not change */
	PyObject *told;
};

static bool run(const struct test *test)
{
	PyObject *globals = PyDict_New();
	PyObject *result = globals && !PyList_SetSlice(test->told, 0, PY_SSIZE_T_MAX, NULL)
				   ? PyEval_EvalCode((PyObject *)test->code, globals, globals)
				   : NULL;

	Py_XDECREF(result);
	Py_XDECREF(globals);
	return result;
}

static bool is_unchanged(const struct test *test)
{
	PyObject *now = kymo_code_bytes(test->code);
	bool is_same = now && PyObject_RichCompareBool(now, test->bytes, Py_EQ) > 0;

	Py_XDECREF(now);
	return is_same;
}

/* The number of events of @line; -1: of branches. */
static Py_ssize_t count(const struct test *test, long line)
{
	Py_ssize_t found = 0;

	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(test->told); i++)
		found += PyLong_AsLong(PyList_GET_ITEM(test->told, i)) == line;
	return found;
}

/* Switch LINE off at all places of OFF_LINE, and at no other; true if there were both. */
static bool switch_off(const struct test *test)
{
	const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(test->bytes);
	uint32_t units = (uint32_t)Py_SIZE(test->code), off = 0, on = 0;

	for (uint32_t unit = 0; unit < units; unit++) {
		if (!kymo_line_is_on(test->python, test->code, unit))
			continue;
		if (PyCode_Addr2Line(test->code, (int)(2 * unit)) == OFF_LINE) {
			kymo_line_switch_off(test->python, test->code, unit, bytes);
			off += !kymo_line_is_on(test->python, test->code, unit);
		} else {
			on++;
		}
	}
	for (uint32_t unit = 0; unit < units; unit++)
		on -= kymo_line_is_on(test->python, test->code, unit);
	return off && !on;
}

/* All that happens to code under coverage; false, possibly with an exception set: it did not go as it should. */
static bool is_right(const struct test *test)
{
	unsigned long events = 0;
	Py_ssize_t lines;

	for (size_t i = 0; i < KINDS; i++)
		events |= kymo_tool_mask(kinds[i]);
	if (!kymo_tool_set_local(test->python, test->code, events) || !run(test))
		return false;
	lines = count(test, OFF_LINE);
	if (lines < 2 || count(test, 2) != 2 || count(test, 3) != 1 || count(test, -1) != 3 || !is_unchanged(test))
		return false;
	if (!switch_off(test) || !is_unchanged(test) || !run(test) || PyList_GET_SIZE(test->told) != 6 ||
	    count(test, 2) != 2 || count(test, 3) != 1 || count(test, -1) != 3)
		return false;
	/* CPython finds what it needs to undo the rest. */
	return kymo_tool_set_local(test->python, test->code, 0) && run(test) && !PyList_GET_SIZE(test->told) &&
	       is_unchanged(test);
}

/* Register the test's callbacks; with @told NULL, remove them. */
static bool listen(const struct kymo_python *python, PyObject *told)
{
	bool is_done = true;

	for (size_t i = 0; i < KINDS; i++) {
		PyObject *callback = told ? PyCFunction_New(&tellers[i > 0], told) : Py_NewRef(Py_None);

		is_done &= callback && kymo_tool_register(python, kymo_tool_mask(kinds[i]), callback);
		Py_XDECREF(callback);
	}
	return is_done;
}

static bool test_writes(struct kymo_python *python)
{
	struct test test = {.python = python, .told = PyList_New(0)};
	PyObject *raised;
	bool is_good;

	test.code = (PyCodeObject *)Py_CompileString(program, "<kymo>", Py_file_input);
	test.bytes = test.code ? kymo_code_bytes(test.code) : NULL;
	is_good = test.bytes && test.told && listen(python, test.told) && is_right(&test);
	raised = PyErr_GetRaisedException();
	is_good &= listen(python, NULL);
	if (raised)
		PyErr_SetRaisedException(raised);
	Py_XDECREF(test.bytes);
	Py_XDECREF(test.code);
	Py_XDECREF(test.told);
	return is_good;
}

static bool is_traced(void)
{
	const PyThreadState *thread = PyThreadState_Get();

	return thread->c_tracefunc || thread->c_profilefunc;
}

bool kymo_code_writes_begin(struct kymo_python *python, const Kymo__Config *config, bool is_alone)
{
	python->writes_code = false;
	/* The version that this was compiled with, and the one that runs it. */
	if (!config->once || config->no_code_writes || !layout_of(PY_VERSION_HEX) || !layout_of(Py_Version))
		return true;
	if (tested == UNTESTED && is_alone && !is_traced()) {
		python->writes_code = true;
		tested = test_writes(python) ? GOOD : BAD;
		if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
			tested = UNTESTED;
			python->writes_code = false;
			return false;
		}
		PyErr_Clear();
	}
	python->writes_code = tested == GOOD;
	return true;
}
