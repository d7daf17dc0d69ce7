// SPDX-License-Identifier: Apache-2.0
/* The recording of this process, as Python starts, joins and stops it. */
#ifndef KYMO_PYEXT_RECORDING_H
#define KYMO_PYEXT_RECORDING_H

#include "pyext/python.h"

/* Set the exception that stands for @code, a negative errno.  Returns NULL. */
void *kymo_raise(int code, const struct kymo_error *error);

/*
 * Starts, joins and stops of all interpreters come one after the other: between these two calls, which may release the GIL,
 * only the calling thread begins or ends the recording.  Waits without the GIL for the thread whose turn it is; false with an
 * exception set if that takes longer than writing a trace, or if it is this thread itself.
 */
bool kymo_recording_enter(void);
void kymo_recording_leave(void);

/*
 * A reference to the current session, for kymo_session_close(); NULL: there is none.  Only the reference keeps the session
 * mapped: without it, another thread or interpreter may stop the recording wherever the GIL is released, and an interpreter with
 * a GIL of its own at any time.
 */
struct kymo_session *kymo_recording_hold(void);

/* True while there is a current session. */
bool kymo_recording_is_on(void);

/*
 * Record into session folder @dir from now on: this process, unless it does so already, and the calling interpreter.
 * Returns 1; 0 if the session is over, or @dir is NULL and there is none; -1 with an exception set.  @is_early: the
 * interpreter has not begun its program.  Between enter and leave.
 */
int kymo_recording_join(const char *dir, bool is_early);

/*
 * Stop the process's recording; this interpreter's events end, those of others are not recorded.  Returns the session,
 * which the caller must close; NULL: nothing was recorded.  Between enter and leave.
 */
struct kymo_session *kymo_recording_stop(void);

struct kymo_project;
/* Add the calling interpreter's prefix to @project. */
void kymo_recording_learn_project(struct kymo_project *project);

#endif
