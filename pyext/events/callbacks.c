// SPDX-License-Identifier: Apache-2.0
/*
 * What runs once per event.
 *
 * No Python object is made, none of the program's code runs, nothing is raised, no
 * reference outlives the call, and the GIL is not released.  Arguments are as documented
 * for sys.monitoring; offsets are in bytes there and in code units in records.
 */
#include "pyext/events/arms.h"
#include "pyext/events/event_records.h"
#include "pyext/events/places.h"

/* Make @code the code of the next event; false if it was not seen lately. */
kymo_inline bool is_of(PyObject *self, struct kymo_producer *p, PyObject *code)
{
	const struct kymo_code *known;

	if (kymo_likely(p->code == code))
		return true;
	known = kymo_code_find(python_of(self), code);
	if (kymo_unlikely(!known))
		return false;
	kymo_flush_branches(p);
	kymo_append_code(p, code, known->start, known->first_line);
	return true;
}

/*
 * A callback: @record appends the event and returns the answer, with @p ready for it.
 *
 * Nearly always there is room, no other thread recorded in between, and the code object is that
 * of the thread's last event or, after a call or a return, one that was seen lately.  That path
 * calls no function, so it needs no stack frame; all else is in functions called …_elsewhere,
 * and rare cases in …_slowly.
 */
#define CALLBACK_IF(is_ready, name, record)                                                      \
	static kymo_cold PyObject *name##_slowly(PyObject *self, PyObject *const *args)          \
	{                                                                                        \
		struct kymo_producer *p = begin(self, args[0]);                                  \
                                                                                                 \
		return kymo_likely(p) ? record : kymo_skip_event(self, args[0]);                            \
	}                                                                                        \
	static kymo_out_of_line PyObject *name##_elsewhere(PyObject *self, PyObject *const *args) \
	{                                                                                        \
		struct kymo_producer *p = kymo_producer;                                         \
                                                                                                 \
		if (kymo_unlikely(!is_last_recorder(self, p)))                                   \
			return name##_slowly(self, args);                                        \
		kymo_flush_branches(p);                                                          \
		if (kymo_unlikely(!kymo_is_ready(p) || !is_of(self, p, args[0])))                \
			return name##_slowly(self, args);                                        \
		return record;                                                                   \
	}                                                                                        \
	static PyObject *name(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),    \
			      PyObject *Py_UNUSED(names))                                        \
	{                                                                                        \
		struct kymo_producer *p = kymo_producer;                                         \
                                                                                                 \
		if (kymo_unlikely(!is_last_recorder(self, p) || !is_ready(p) ||                  \
				  !is_of(self, p, args[0])))                                     \
			return name##_elsewhere(self, args);                                     \
		return record;                                                                   \
	}
#define CALLBACK(name, record) CALLBACK_IF(kymo_is_ready, name, record)

/*
 * Make ready for an event of @code, wherever the last one was; NULL if it is not
 * recorded.  The filter is asked first, so that code that is left out costs the program
 * nothing.
 */
static kymo_out_of_line struct kymo_producer *begin(PyObject *self, PyObject *code)
{
	struct kymo_python *python = python_of(self);
	const struct kymo_code *known = kymo_code_find(python, code);
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(!known)) {
		known = kymo_code_get(python, code);
		if (!known || !known->is_wanted)
			return NULL;
	}
	kymo_claim(p, &python->host);
	kymo_flush_branches(p);
	if (!kymo_is_ready(p) && !(p = kymo_refill_for(self)))
		return NULL;
	kymo_check_switch(p, &python->host);
	if (p->code != code)
		kymo_append_code(p, code, known->start, known->first_line);
	return p;
}

static PyObject *ignore(PyObject *Py_UNUSED(self), PyObject *const *Py_UNUSED(args), size_t Py_UNUSED(nargs),
			PyObject *Py_UNUSED(names))
{
	Py_RETURN_NONE;
}

/* Append PY_START of @known; false if nothing can be recorded now. */
static bool start_at(PyObject *self, const struct kymo_code *known, PyObject *const *args, bool is_timed)
{
	bool is_coroutine = kymo_is_coroutine(args[0]);
	/* A task's start must be noticed, even if it cannot be recorded. */
	uint32_t task = is_coroutine ? kymo_task_now(python_of(self), args, true) : KYMO_ID_UNKNOWN;
	struct kymo_producer *p = kymo_producer;
	uint32_t offset = kymo_long_value(args[1]);

	kymo_claim(p, &python_of(self)->host);
	kymo_flush_branches(p);
	if (!kymo_is_ready(p) && !(p = kymo_refill_for(self)))
		return false;
	kymo_check_switch(p, &python_of(self)->host);
	if (is_timed)
		kymo_append_time(p);
	if (is_coroutine)
		kymo_append_task(p, task);
	if (offset == known->entry) {
		kymo_append_start(p, known->code, known->start, known->first_line);
	} else {
		if (p->code != known->code)
			kymo_append_code(p, known->code, known->start, known->first_line);
		kymo_append1(p, KYMO_PY_START_AT, offset / KYMO_CODE_UNIT);
	}
	return true;
}

/* A first event of the code or of the chunk, another thread's turn, an unexpected place. */
static kymo_out_of_line PyObject *start_elsewhere(PyObject *self, PyObject *const *args, bool is_timed)
{
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);

	if (!known)
		known = kymo_code_get(python_of(self), args[0]);
	if (!known || !known->is_wanted)
		return kymo_skip_event(self, args[0]);
	start_at(self, known, args, is_timed);
	Py_RETURN_NONE;
}

static PyObject *py_start_once(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),
			       PyObject *Py_UNUSED(names))
{
	struct kymo_code *known = kymo_code_get(python_of(self), args[0]);

	if (!known || !known->is_wanted)
		return kymo_skip_event(self, args[0]);
	if (python_of(self)->local_events)
		kymo_places_open(python_of(self), known);
	if (!known->covered.has_started)
		known->covered.has_started = start_at(self, known, args, false);
	else if (kymo_places_repeat(python_of(self), known))
		return kymo_disable_place(self, args[0]);
	/* As long as there are lines left to see, it counts repetitions. */
	if (known->covered.has_started && !known->covered.lines_left)
		return kymo_disable_place(self, args[0]);
	Py_RETURN_NONE;
}

static PyObject *py_start(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(!known || args[1] != known->entry_int || !is_last_recorder(self, p) ||
			  !kymo_is_ready(p)))
		return start_elsewhere(self, args, false);
	kymo_append_start(p, args[0], known->start, known->first_line);
	Py_RETURN_NONE;
}

static PyObject *py_start_timed(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),
				PyObject *Py_UNUSED(names))
{
	return start_elsewhere(self, args, true);
}

static kymo_out_of_line PyObject *resume_coroutine(PyObject *self, struct kymo_producer *p, PyObject *const *args,
						   bool is_timed)
{
	task(self, p, args, false);
	return place(p, args, KYMO_PY_RESUME, is_timed);
}

kymo_inline PyObject *resume(PyObject *self, struct kymo_producer *p, PyObject *const *args, bool is_timed)
{
	if (kymo_unlikely(kymo_is_coroutine(args[0])))
		return resume_coroutine(self, p, args, is_timed);
	return place(p, args, KYMO_PY_RESUME, is_timed);
}

/* For a task that was cancelled at once, this is its coroutine's start. */
kymo_inline PyObject *throw(PyObject *self, struct kymo_producer *p, PyObject *const *args, bool is_timed)
{
	if (kymo_is_coroutine(args[0]))
		task(self, p, args, true);
	return exception(self, p, args, KYMO_PY_THROW, is_timed);
}

CALLBACK(py_resume, resume(self, p, args, false))
CALLBACK(py_resume_timed, resume(self, p, args, true))
CALLBACK(py_return, place(p, args, KYMO_PY_RETURN, false))
CALLBACK(py_return_timed, place(p, args, KYMO_PY_RETURN, true))
CALLBACK(py_yield, place(p, args, KYMO_PY_YIELD, false))
CALLBACK(py_yield_timed, place(p, args, KYMO_PY_YIELD, true))

CALLBACK(py_throw, throw(self, p, args, false))
CALLBACK(py_throw_timed, throw(self, p, args, true))
CALLBACK(py_unwind, exception(self, p, args, KYMO_PY_UNWIND, false))
CALLBACK(py_unwind_timed, exception(self, p, args, KYMO_PY_UNWIND, true))
CALLBACK(raise, exception(self, p, args, KYMO_RAISE, false))
CALLBACK(reraise, exception(self, p, args, KYMO_RERAISE, false))
CALLBACK(exception_handled, exception(self, p, args, KYMO_EXCEPTION_HANDLED, false))
CALLBACK(stop_iteration, exception(self, p, args, KYMO_STOP_ITERATION, false))

CALLBACK(py_call, call(self, p, args, KYMO_CALL, false))
CALLBACK(py_call_timed, call(self, p, args, KYMO_CALL, true))
CALLBACK(c_return, call(self, p, args, KYMO_C_RETURN, false))
CALLBACK(c_return_timed, call(self, p, args, KYMO_C_RETURN, true))
CALLBACK(c_raise, call(self, p, args, KYMO_C_RAISE, false))
CALLBACK(c_raise_timed, call(self, p, args, KYMO_C_RAISE, true))

static PyObject *line_once(PyObject *self, struct kymo_producer *p, PyObject *const *args)
{
	struct kymo_python *python = python_of(self);
	struct kymo_code *known = kymo_code_of(python, args[0]);
	struct kymo_arm arm;

	if (known && kymo_arms_are_pending(known) && kymo_arms_take(known, &arm))
		kymo_append2(p, KYMO_BRANCH, arm.source, arm.dest);
	kymo_append_line(p, kymo_long_value(args[1]));
	if (python->local_events && known && kymo_places_add_line(python, known, kymo_long_value(args[1])))
		Py_RETURN_NONE;
	return kymo_disable_place(self, args[0]);
}

kymo_inline PyObject *line(struct kymo_producer *p, PyObject *const *args)
{
	kymo_append_line(p, kymo_long_value(args[1]));
	Py_RETURN_NONE;
}

CALLBACK(py_line, line(p, args))
CALLBACK(py_line_once, line_once(self, p, args))

CALLBACK(py_instruction, instruction(p, args))

kymo_inline PyObject *jump(PyObject *self, struct kymo_producer *p, PyObject *const *args, enum kymo_kind kind,
			     bool is_once)
{
	kymo_append2(p, kind, units(args[1]), units(args[2]));
	if (is_once)
		return kymo_disable_place(self, args[0]);
	Py_RETURN_NONE;
}

CALLBACK(py_jump, jump(self, p, args, KYMO_JUMP, false))

kymo_inline PyObject *bit(struct kymo_producer *p, bool is_taken)
{
	kymo_append_branch(p, is_taken);
	Py_RETURN_NONE;
}

#if KYMO_HAS_BRANCH_SIDES
/* In a loop it comes each time round: as long as there are lines left to see, it counts the rounds. */
static PyObject *left(PyObject *self, struct kymo_producer *p, PyObject *const *args)
{
	struct kymo_code *known = kymo_code_of(python_of(self), args[0]);
	bool is_last;

	if (!known || !known->covered.lines_left)
		return jump(self, p, args, KYMO_BRANCH_LEFT, true);
	if (!kymo_arms_add(known, units(args[1]), false, &is_last))
		return jump(self, p, args, KYMO_BRANCH_LEFT, false);
	if (kymo_places_repeat(python_of(self), known))
		return kymo_disable_place(self, args[0]);
	Py_RETURN_NONE;
}

CALLBACK(branch_left, jump(self, p, args, KYMO_BRANCH_LEFT, false))
CALLBACK(branch_left_once, left(self, p, args))
CALLBACK(branch_right, jump(self, p, args, KYMO_BRANCH_RIGHT, false))
CALLBACK(branch_right_once, jump(self, p, args, KYMO_BRANCH_RIGHT, true))
CALLBACK_IF(kymo_is_ready_for_branch, branch_left_bit, bit(p, false))
CALLBACK_IF(kymo_is_ready_for_branch, branch_right_bit, bit(p, true))
#else
/* DISABLE switches off both ways: only when both were seen, or the other one will be noticed by its line. */
static PyObject *arm(PyObject *self, struct kymo_producer *p, PyObject *const *args)
{
	uint32_t source = units(args[1]);
	bool is_taken = kymo_branch_is_taken(args[0], kymo_long_value(args[1]), kymo_long_value(args[2]));
	struct kymo_code *known = kymo_code_of(python_of(self), args[0]);
	bool is_last, is_often = false;

	if (!kymo_arms_add(known, source, is_taken, &is_last))
		kymo_append2(p, KYMO_BRANCH, source, units(args[2]));
	else
		is_often = kymo_places_repeat(python_of(self), known);
	/* As long as there are lines left to see, it counts repetitions. */
	if (is_last ? is_often || !known->covered.lines_left : is_often && kymo_arms_wait(python_of(self), known, source, is_taken))
		return kymo_disable_place(self, args[0]);
	Py_RETURN_NONE;
}

CALLBACK(branch, jump(self, p, args, KYMO_BRANCH, false))
CALLBACK(branch_first, arm(self, p, args))

/* Most events come from branches that always go one way and cannot be switched off: they are not recorded. */
static PyObject *branch_once(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);

	if (known && kymo_places_are_often(known) &&
	    kymo_arms_are_settled(known, units(args[1]),
				  kymo_branch_is_taken(args[0], kymo_long_value(args[1]), kymo_long_value(args[2]))))
		Py_RETURN_NONE;
	return branch_first(self, args, nargs, names);
}

CALLBACK_IF(kymo_is_ready_for_branch, branch_bit,
	    bit(p, kymo_branch_is_taken(args[0], kymo_long_value(args[1]), kymo_long_value(args[2]))))
#endif

static PyObject *ignore_start(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	return kymo_code_find(python_of(self), args[0]) ? Py_NewRef(Py_None) : kymo_skip_event(self, args[0]);
}

const struct kymo_event kymo_event_ignored_start = {"PY_START", KYMO_PY_START, true, true, {ignore_start}};
const struct kymo_event kymo_event_ignored_call = {"CALL", KYMO_CALL, true, false, {ignore}};

#define TIMED(name) {name, [KYMO_TIMED] = name##_timed}
#define VALUES(name, values) {name, [KYMO_TIMED] = name##_timed, [KYMO_VALUES] = kymo_##values##_with_values}

const struct kymo_event kymo_events[] = {
	/* name, kind, can_disable, enters, callbacks */
	{"PY_START", KYMO_PY_START, true, true,
	 {py_start, [KYMO_TIMED] = py_start_timed, [KYMO_ONCE] = py_start_once, [KYMO_VALUES] = kymo_start_with_values}},
	{"PY_RESUME", KYMO_PY_RESUME, true, true, TIMED(py_resume)},
	{"PY_RETURN", KYMO_PY_RETURN, true, false, VALUES(py_return, return)},
	{"PY_YIELD", KYMO_PY_YIELD, true, false, VALUES(py_yield, yield)},
	{"PY_THROW", KYMO_PY_THROW, false, true, TIMED(py_throw)},
	{"PY_UNWIND", KYMO_PY_UNWIND, false, false, VALUES(py_unwind, variables)},
	{"RAISE", KYMO_RAISE, false, false, {raise, [KYMO_VALUES] = kymo_raise_with_values}},
	{"RERAISE", KYMO_RERAISE, false, false, {reraise}},
	{"EXCEPTION_HANDLED", KYMO_EXCEPTION_HANDLED, false, false, {exception_handled}},
	{"STOP_ITERATION", KYMO_STOP_ITERATION, true, false, {stop_iteration}},
	{"CALL", KYMO_CALL, true, false, TIMED(py_call)},
	{"C_RETURN", KYMO_C_RETURN, false, false, TIMED(c_return)},
	{"C_RAISE", KYMO_C_RAISE, false, false, TIMED(c_raise)},
	{"LINE", KYMO_LINE, true, false, {py_line, [KYMO_ONCE] = py_line_once, [KYMO_VALUES] = kymo_variables_with_values}},
	{"INSTRUCTION", KYMO_INSTRUCTION, true, false, {py_instruction}},
	{"JUMP", KYMO_JUMP, true, false, {py_jump}},
#if KYMO_HAS_BRANCH_SIDES
	{"BRANCH_LEFT", KYMO_BRANCH_LEFT, true, false,
	 {branch_left, [KYMO_BITS] = branch_left_bit, [KYMO_ONCE] = branch_left_once}},
	{"BRANCH_RIGHT", KYMO_BRANCH_RIGHT, true, false,
	 {branch_right, [KYMO_BITS] = branch_right_bit, [KYMO_ONCE] = branch_right_once}},
#else
	{"BRANCH", KYMO_BRANCH, true, false, {branch, [KYMO_BITS] = branch_bit, [KYMO_ONCE] = branch_once}},
#endif
	{0},
};
