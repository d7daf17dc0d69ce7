// SPDX-License-Identifier: Apache-2.0
/*
 * What runs once per event in a recording from which lines are rebuilt.
 */
#include "pyext/events/flow_frames.h"

#include "pyext/events/event_records.h"

kymo_inline bool is_ready(PyObject *self, const struct kymo_producer *p)
{
	return is_last_recorder(self, p) && kymo_is_ready(p);
}

/* False for events of code that has no frame, such as compiled modules may send. */
kymo_inline bool is_of(const void *frame, PyObject *code)
{
	return (PyObject *)kymo_frame_code(frame) == code;
}

/* The address of no frame, below the outermost one. */
static const char elsewhere;

/*
 * The top frame after the outermost frame is left.  Greenlets and subinterpreters are entered from frames that are not
 * below them and go on without an event: then it is not NULL.
 */
static const void *below_all(PyObject *self)
{
	const struct kymo_python *python = python_of(self);

	return python->switches_stacks || python->host.interpreter ? &elsewhere : NULL;
}

/* Where the frame below is, before an entry. */
static void append_caller(struct kymo_producer *p)
{
	if (p->frame)
		kymo_append_lasti(p, kymo_frame_lasti(p->frame));
}

kymo_inline struct kymo_caller registers(const struct kymo_producer *p)
{
	return (struct kymo_caller){p->frame, p->code, p->sites};
}

/* Set the registers for @frame, which is entered from the top frame. */
kymo_inline void push(PyObject *self, struct kymo_producer *p, struct kymo_caller caller, const void *frame,
		      PyObject *code, const struct kymo_code *known)
{
	*p->top++ = caller;
	p->frame = frame;
	kymo_flow_set_code(p, code, known);
	kymo_flow_doubt_frames(python_of(self), p);
}

/* @caller: the registers before the records of the entry, which set them. */
static kymo_out_of_line void push_slowly(PyObject *self, struct kymo_producer *p, struct kymo_caller caller,
					 PyObject *code, const struct kymo_code *known)
{
	if (p->top == p->callers + KYMO_CALLERS) {
		p->top -= KYMO_CALLERS / 2;
		memmove(p->callers, p->top, KYMO_CALLERS / 2 * sizeof(*p->callers));
	}
	if (!caller.frame)
		caller.frame = below_all(self);
	push(self, p, caller, kymo_frame_now(), code, known);
}

/* True if @frame, of @code, may be pushed, and an event of it recorded. */
kymo_inline bool can_push(PyObject *self, const struct kymo_producer *p, const void *frame, PyObject *code)
{
	return p->frame && p->top != p->callers + KYMO_CALLERS && is_of(frame, code) && is_ready(self, p);
}

static kymo_out_of_line PyObject *start_elsewhere(PyObject *self, PyObject *const *args, bool is_timed)
{
	bool is_coroutine = PyCode_Check(args[0]) && kymo_is_coroutine(args[0]);
	/* A task's start is not to be missed, even where it cannot be recorded. */
	uint32_t task = is_coroutine ? kymo_task_now(python_of(self), args, true) : KYMO_ID_UNKNOWN;
	struct kymo_producer *p = kymo_flow_ready(self, args[0], KYMO_ENTERS);
	const struct kymo_code *known = kymo_code_of(python_of(self), args[0]);
	struct kymo_caller caller;

	if (!p)
		return kymo_skip_event(self, args[0]);
	caller = registers(p);
	if (is_timed)
		kymo_append_time(p);
	if (is_coroutine)
		kymo_append_task(p, task);
	append_caller(p);
	if (kymo_long_value(args[1]) == known->entry) {
		kymo_append_start(p, args[0], known->start, known->first_line);
	} else {
		kymo_append_code(p, args[0], known->start, known->first_line);
		kymo_append1(p, KYMO_PY_START_AT, units(args[1]));
	}
	push_slowly(self, p, caller, args[0], known);
	Py_RETURN_NONE;
}

/* The usual case for coroutines, which have no entry_int. */
static kymo_out_of_line PyObject *start_coroutine(PyObject *self, PyObject *const *args)
{
	const void *frame = kymo_frame_running(), *caller = kymo_frame_below(frame, kymo_producer->frame);
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);
	struct kymo_producer *p = kymo_producer;

	if (!known || !kymo_is_coroutine(args[0]) || p->frame != caller || !can_push(self, p, frame, args[0]) ||
	    kymo_long_value(args[1]) != known->entry)
		return start_elsewhere(self, args, false);
	task(self, p, args, true);
	kymo_append_entry(p, known->start, kymo_frame_lasti(caller));
	push(self, p, registers(p), frame, args[0], known);
	Py_RETURN_NONE;
}

static PyObject *start(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	/* The only call comes first, so that few registers are saved across it. */
	const void *frame = kymo_frame_running(), *caller = kymo_frame_below(frame, kymo_producer->frame);
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(!known || p->frame != caller || !can_push(self, p, frame, args[0]) ||
			  args[1] != known->entry_int))
		return start_coroutine(self, args);
	kymo_append_entry(p, known->start, kymo_frame_lasti(caller));
	push(self, p, registers(p), frame, args[0], known);
	Py_RETURN_NONE;
}

static PyObject *start_timed(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	return start_elsewhere(self, args, true);
}

/* PY_RESUME and PY_THROW: an entry into a frame that was entered before. */
static kymo_out_of_line PyObject *reenter_elsewhere(PyObject *self, PyObject *const *args, enum kymo_kind kind,
						    bool is_timed)
{
	struct kymo_producer *p;
	const struct kymo_code *known;
	struct kymo_caller caller;

	p = kymo_flow_ready(self, args[0], kind == KYMO_PY_THROW ? KYMO_THROWS : KYMO_ENTERS);
	known = kymo_code_of(python_of(self), args[0]);
	if (!p)
		return kymo_skip_event(self, args[0]);
	caller = registers(p);
	if (is_timed)
		kymo_append_time(p);
	if (kymo_is_coroutine(args[0]))
		task(self, p, args, kind == KYMO_PY_THROW);
	append_caller(p);
	kymo_append_code(p, args[0], known->start, known->first_line);
	if (kind == KYMO_PY_THROW)
		exception(self, p, args, kind, false);
	else
		place(p, args, kind, false);
	push_slowly(self, p, caller, args[0], known);
	Py_RETURN_NONE;
}

/* The top frame is known, and is the caller. */
kymo_inline PyObject *resume_at(PyObject *self, struct kymo_producer *p, PyObject *const *args, const void *frame,
				const struct kymo_code *known)
{
	kymo_append_lasti(p, kymo_frame_lasti(p->frame));
	kymo_append_reentry(p, known->start, units(args[1]));
	push(self, p, registers(p), frame, args[0], known);
	Py_RETURN_NONE;
}

static kymo_out_of_line PyObject *resume_coroutine(PyObject *self, struct kymo_producer *p, PyObject *const *args,
						   const void *frame, const struct kymo_code *known)
{
	task(self, p, args, false);
	return resume_at(self, p, args, frame, known);
}

static PyObject *resume(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	const void *frame = kymo_frame_running(), *caller = kymo_frame_below(frame, kymo_producer->frame);
	const struct kymo_code *known = kymo_code_find(python_of(self), args[0]);
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(!known || p->frame != caller || !can_push(self, p, frame, args[0])))
		return reenter_elsewhere(self, args, KYMO_PY_RESUME, false);
	if (kymo_unlikely(kymo_is_coroutine(args[0])))
		return resume_coroutine(self, p, args, frame, known);
	return resume_at(self, p, args, frame, known);
}

static PyObject *resume_timed(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),
			      PyObject *Py_UNUSED(names))
{
	return reenter_elsewhere(self, args, KYMO_PY_RESUME, true);
}

static PyObject *throw(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	return reenter_elsewhere(self, args, KYMO_PY_THROW, false);
}

static PyObject *throw_timed(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	return reenter_elsewhere(self, args, KYMO_PY_THROW, true);
}

/* Leave the top frame for the nearest caller that is kept. */
kymo_inline void pop(PyObject *self, struct kymo_producer *p)
{
	const struct kymo_caller *caller = --p->top;

	p->frame = caller->frame;
	p->code = caller->code;
	p->sites = caller->sites;
	kymo_flow_doubt_frames(python_of(self), p);
}

static kymo_out_of_line PyObject *exit_elsewhere(PyObject *self, PyObject *const *args, enum kymo_kind kind,
						 bool is_timed)
{
	struct kymo_producer *p = kymo_flow_ready(self, args[0], KYMO_STAYS);
	const void *caller;

	if (!p)
		return kymo_skip_event(self, args[0]);
	if (kind == KYMO_PY_UNWIND)
		exception(self, p, args, kind, is_timed);
	else
		place(p, args, kind, is_timed);
	caller = kymo_recorded_frame(python_of(self), kymo_frame_caller(kymo_frame_now()));
	if (!caller)
		caller = below_all(self);
	if (p->top != p->callers && p->top[-1].frame == caller) {
		pop(self, p);
	} else {
		kymo_forget_frames(p);
		p->frame = caller;
		kymo_flow_doubt_frames(python_of(self), p);
	}
	Py_RETURN_NONE;
}

kymo_inline PyObject *exit_frame(PyObject *self, PyObject *const *args, enum kymo_kind kind)
{
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(p->code != args[0] || p->top == p->callers || !is_ready(self, p)))
		return exit_elsewhere(self, args, kind, false);
	kymo_append1(p, kind, units(args[1]));
	pop(self, p);
	Py_RETURN_NONE;
}

#define EXIT(name, kind)                                                                                   \
	static PyObject *name(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),              \
			      PyObject *Py_UNUSED(names))                                                  \
	{                                                                                                  \
		return exit_frame(self, args, kind);                                                       \
	}                                                                                                  \
	static PyObject *name##_timed(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),      \
				      PyObject *Py_UNUSED(names))                                          \
	{                                                                                                  \
		return exit_elsewhere(self, args, kind, true);                                             \
	}

EXIT(py_return, KYMO_PY_RETURN)
EXIT(py_yield, KYMO_PY_YIELD)

static PyObject *unwind(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	return exit_elsewhere(self, args, KYMO_PY_UNWIND, false);
}

static PyObject *unwind_timed(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),
			      PyObject *Py_UNUSED(names))
{
	return exit_elsewhere(self, args, KYMO_PY_UNWIND, true);
}

/* Events in the frame on top.  Rare ones look at it each time. */
#define RARE(name, record)                                                                                 \
	static PyObject *name(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),              \
			      PyObject *Py_UNUSED(names))                                                  \
	{                                                                                                  \
		struct kymo_producer *p = kymo_flow_ready(self, args[0], KYMO_STAYS);                                    \
		PyObject *answer = p ? record : kymo_skip_event(self, args[0]);                            \
                                                                                                           \
		kymo_flow_doubt_frames(python_of(self), kymo_producer);                                              \
		return answer;                                                                             \
	}

/* RERAISE may have put the frame back to where the exception came from. */
static PyObject *reraise_at(PyObject *self, struct kymo_producer *p, PyObject *const *args)
{
	kymo_append_lasti(p, kymo_frame_lasti(kymo_frame_now()));
	return exception(self, p, args, KYMO_RERAISE, false);
}

/* Not rare if variables are recorded. */
static PyObject *line(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs), PyObject *Py_UNUSED(names))
{
	const void *frame = kymo_frame_running();
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(!frame || p->frame != frame || p->code != args[0] || !is_ready(self, p)))
		p = kymo_flow_ready(self, args[0], KYMO_STAYS);
	if (!p)
		return kymo_skip_event(self, args[0]);
	kymo_append1(p, KYMO_LINE, kymo_long_value(args[1]));
	kymo_flow_doubt_frames(python_of(self), p);
	Py_RETURN_NONE;
}

RARE(py_raise, exception(self, p, args, KYMO_RAISE, false))
RARE(reraise, reraise_at(self, p, args))
RARE(exception_handled, exception(self, p, args, KYMO_EXCEPTION_HANDLED, false))
RARE(stop_iteration, exception(self, p, args, KYMO_STOP_ITERATION, false))
RARE(c_return, call(self, p, args, KYMO_C_RETURN, false))
RARE(c_raise, call(self, p, args, KYMO_C_RAISE, false))

/* A place that is not a site is switched off; so is the end of a loop, which repeats the branch that led there. */
kymo_inline bool is_site(const struct kymo_producer *p, PyObject *const *args, uint32_t site, bool has_one_side)
{
	if (!has_one_side)
		return site;
	if (kymo_likely((int16_t)site > 0))
		return true;
	return site > KYMO_SITE_ENDS_LOOP && p->sites[units(args[2])] == KYMO_SITE_ENDS_LOOP;
}

/* Which site it is: see kymo_flow_sites(). */
kymo_inline PyObject *append_site(PyObject *self, struct kymo_producer *p, PyObject *const *args, uint32_t unit,
				    bool has_one_side, bool is_taken)
{
	uint32_t site = p->sites[unit];

	if (kymo_unlikely(!is_site(p, args, site, has_one_side)))
		return kymo_disable_place(self, args[0]);
	if (!has_one_side)
		is_taken = units(args[2]) != unit + 1 + (site >> 15);
	kymo_append_site(p, site, is_taken);
	kymo_flow_doubt_frames(python_of(self), p);
	Py_RETURN_NONE;
}

/* Make ready for an event of @code after a return to it; by kymo_flow_ready() if there is more to do. */
kymo_inline struct kymo_producer *go_on(PyObject *self, PyObject *code)
{
	const void *frame = kymo_frame_running();
	const struct kymo_code *known = kymo_code_find(python_of(self), code);
	struct kymo_producer *p = kymo_producer;

	if (kymo_unlikely(!frame || p->frame != frame || !is_of(frame, code) || !known || !is_ready(self, p) ||
			  known->has_lines))
		return kymo_flow_ready(self, code, KYMO_STAYS);
	kymo_flow_set_code(p, code, known);
	return p;
}

#define SITE(name, unit, has_one_side, is_taken)                                                           \
	static kymo_out_of_line PyObject *name##_elsewhere(PyObject *self, PyObject *const *args)          \
	{                                                                                                  \
		struct kymo_producer *p = go_on(self, args[0]);                                            \
                                                                                                           \
		return p ? append_site(self, p, args, unit, has_one_side, is_taken)                        \
			 : kymo_skip_event(self, args[0]);                                                 \
	}                                                                                                  \
	static PyObject *name(PyObject *self, PyObject *const *args, size_t Py_UNUSED(nargs),              \
			      PyObject *Py_UNUSED(names))                                                  \
	{                                                                                                  \
		struct kymo_producer *p = kymo_producer;                                                   \
                                                                                                           \
		if (kymo_unlikely(!is_ready(self, p) || p->code != args[0]))                               \
			return name##_elsewhere(self, args);                                               \
		return append_site(self, p, args, unit, has_one_side, is_taken);                           \
	}

#if KYMO_HAS_SILENT_GENERATORS
/* Calls that make a generator, where they are sites; see format/flow.h. */
static PyObject *append_generator(PyObject *self, struct kymo_producer *p, PyObject *const *args)
{
	uint32_t site = p->sites[units(args[1])];

	if (site && kymo_makes_generator(args[2]))
		kymo_append_site(p, site, true);
	return site ? Py_NewRef(Py_None) : kymo_disable_place(self, args[0]);
}

static PyObject *append_call(PyObject *self, struct kymo_producer *p, PyObject *const *args)
{
	call(self, p, args, KYMO_CALL, false);
	if (p->sites[units(args[1])])
		append_generator(self, p, args);
	Py_RETURN_NONE;
}

RARE(generator_call, append_generator(self, p, args))
RARE(py_call, append_call(self, p, args))
#else
RARE(py_call, call(self, p, args, KYMO_CALL, false))
#endif

SITE(jump, units(args[1]), true, true)
#if KYMO_HAS_BRANCH_SIDES
/* Not by its source, which depends on other tools: the unit before the destination. */
SITE(branch_left, units(args[2]) - 1, true, false)
SITE(branch_right, units(args[1]), true, true)
#else
SITE(branch, units(args[1]), false, false)
#endif

#define TIMED(name) {name, [KYMO_TIMED] = name##_timed}
#define VALUES(name, values) {name, [KYMO_TIMED] = name##_timed, [KYMO_VALUES] = kymo_##values##_with_values}

const struct kymo_event kymo_flow_events[] = {
	/* name, kind, can_disable, enters, callbacks */
	{"PY_START", KYMO_PY_START, true, true, VALUES(start, start)},
	{"PY_RESUME", KYMO_PY_RESUME, true, true, TIMED(resume)},
	{"PY_RETURN", KYMO_PY_RETURN, true, false, VALUES(py_return, return)},
	{"PY_YIELD", KYMO_PY_YIELD, true, false, VALUES(py_yield, yield)},
	{"PY_THROW", KYMO_PY_THROW, false, true, TIMED(throw)},
	{"PY_UNWIND", KYMO_PY_UNWIND, false, false, VALUES(unwind, variables)},
	{"RAISE", KYMO_RAISE, false, false, {py_raise, [KYMO_VALUES] = kymo_raise_with_values}},
	{"RERAISE", KYMO_RERAISE, false, false, {reraise}},
	{"EXCEPTION_HANDLED", KYMO_EXCEPTION_HANDLED, false, false, {exception_handled}},
	{"STOP_ITERATION", KYMO_STOP_ITERATION, true, false, {stop_iteration}},
#if KYMO_HAS_SILENT_GENERATORS
	{"CALL", KYMO_CALL, true, false, {generator_call, [KYMO_CALLS] = py_call}},
#else
	{"CALL", KYMO_CALL, true, false, {py_call}},
#endif
	{"C_RETURN", KYMO_C_RETURN, false, false, {c_return}},
	{"C_RAISE", KYMO_C_RAISE, false, false, {c_raise}},
	{"LINE", KYMO_LINE, true, false, {line, [KYMO_VALUES] = kymo_variables_with_values}},
	{"JUMP", KYMO_JUMP, true, false, {jump}},
#if KYMO_HAS_BRANCH_SIDES
	{"BRANCH_LEFT", KYMO_BRANCH_LEFT, true, false, {branch_left}},
	{"BRANCH_RIGHT", KYMO_BRANCH_RIGHT, true, false, {branch_right}},
#else
	{"BRANCH", KYMO_BRANCH, true, false, {branch}},
#endif
	{0},
};
