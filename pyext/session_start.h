// SPDX-License-Identifier: Apache-2.0
/* A session that a Python process begins by itself, with a reader of its own. */
#ifndef KYMO_PYEXT_SESSION_START_H
#define KYMO_PYEXT_SESSION_START_H

#include "format/chunk.h"
#include "pyext/options.h"

/*
 * Make the session and start its reader, @program.  Returns when the trace file is open, with
 * the session's folder in @dir; false with an exception set.
 */
bool kymo_session_start(const Kymo__Config *config, const char *program, char dir[KYMO_DIR_BYTES]);

/*
 * Have the trace sealed, and wait until it is: at most @timeout_ns, without the GIL.  Returns 0,
 * -ETIMEDOUT, or -EOWNERDEAD if the reader was killed.
 */
int kymo_session_finish(struct kymo_session_page *page, uint64_t timeout_ns);

#endif
