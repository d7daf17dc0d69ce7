// SPDX-License-Identifier: Apache-2.0
/* The recording of this process, as Python starts, joins and stops it. */
#ifndef KYMO_PYEXT_RECORDING_H
#define KYMO_PYEXT_RECORDING_H

#include "pyext/python.h"

/* Set the exception that stands for @code, a negative errno.  Returns NULL. */
void *kymo_raise(int code, const struct kymo_error *error);

/*
 * Record into session folder @dir from now on: this process, if it does not do so yet, and
 * the calling interpreter.  Returns 1; 0 if the session is over; -1 with an exception set.
 * @is_early: the interpreter has not begun its program.
 */
int kymo_recording_join(const char *dir, bool is_early);

/* Stop the process's recording; this interpreter's events end, those of others go nowhere. */
void kymo_recording_stop(void);

/* Let go of the session, after the stop. */
void kymo_recording_close(void);

/* The session that is recorded into, or was until the stop; NULL: there is none. */
struct kymo_session *kymo_recording_session(void);

#endif
