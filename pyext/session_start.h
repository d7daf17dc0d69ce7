// SPDX-License-Identifier: Apache-2.0
/* A session that a Python process begins by itself, with a reader of its own. */
#ifndef KYMO_PYEXT_SESSION_START_H
#define KYMO_PYEXT_SESSION_START_H

#include "format/chunk.h"
#include "pyext/options.h"
#include "recorder/recorder.h"

/*
 * Make the session and start its reader, @program.  Returns when the trace file is open, with
 * the session's folder in @dir; false with an exception set.
 */
bool kymo_session_start(const Kymo__Config *config, const char *program, char dir[KYMO_DIR_BYTES]);

/*
 * End the session, which this process began, and wait until its trace is complete or, with
 * KYMO_STOP_DISCARD, gone: at most @timeout_ns, without the GIL.  0, -ETIMEDOUT, -EOWNERDEAD if the
 * reader was killed, or -EIO if it could not complete the trace; @error says which.
 */
int kymo_session_finish(struct kymo_session *session, enum kymo_stop_wanted how, uint64_t timeout_ns,
			struct kymo_error *error);

#endif
