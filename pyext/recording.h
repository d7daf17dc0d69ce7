// SPDX-License-Identifier: Apache-2.0
/* The recording of this process, as Python starts, joins and stops it. */
#ifndef KYMO_PYEXT_RECORDING_H
#define KYMO_PYEXT_RECORDING_H

#include "pyext/python.h"

/* Set the exception that stands for @code, a negative errno.  Returns NULL. */
void *kymo_raise(int code, const struct kymo_error *error);

/*
 * Starts, joins and stops, of all interpreters, one after the other: between these two calls, which may let go of the GIL, the
 * recording does not begin or end but by the calling thread.  Waits without the GIL for the thread whose turn it is; false
 * with an exception set if that takes longer than a trace to be written, or is this thread itself.
 */
bool kymo_recording_enter(void);
void kymo_recording_leave(void);

/*
 * A reference to the session that is recorded into, for kymo_session_close(); NULL: there is none.  With it the session
 * stays mapped, and with it alone: without, another thread or interpreter may stop the recording wherever the GIL is let go, and
 * another interpreter with a GIL of its own at any time.
 */
struct kymo_session *kymo_recording_hold(void);

/* True while there is one. */
bool kymo_recording_is_on(void);

/*
 * Record into session folder @dir from now on: this process, if it does not do so yet, and
 * the calling interpreter.  Returns 1; 0 if the session is over, or @dir is NULL and there is none; -1 with an exception
 * set.  @is_early: the interpreter has not begun its program.  Between enter and leave.
 */
int kymo_recording_join(const char *dir, bool is_early);

/*
 * Stop the process's recording; this interpreter's events end, those of others go nowhere.  Returns the session, now the
 * caller's to close; NULL: nothing was recorded.  Between enter and leave.
 */
struct kymo_session *kymo_recording_stop(void);

struct kymo_project;
/* Tell @project where the calling interpreter is. */
void kymo_recording_learn_project(struct kymo_project *project);

#endif
