// SPDX-License-Identifier: Apache-2.0
/* Recordings that run now, or whose reader was killed: their session folders. */
#ifndef KYMO_CLI_SESSIONS_H
#define KYMO_CLI_SESSIONS_H

#include <limits.h>
#include <sys/types.h>

#include "format/chunk.h"
#include "format/error.h"
#include "format/metadata.pb-c.h"

/*
 * Call @visit for each session folder of this user: in the places where they are made, in KYMO_SESSION_DIR, and
 * wherever a reader runs.
 */
void kymo_sessions_visit(void (*visit)(const char *dir, void *context), void *context);

/*
 * Read the session in @dir: a copy of its page, and its configuration, to be freed with
 * kymo__config__free_unpacked().  0, or -EBADMSG.
 */
KYMO_MUST_CHECK
int kymo_session_read(const char *dir, struct kymo_session_page *page, Kymo__Config **config);

/* Find the session that process @pid records into, or belongs to. */
KYMO_MUST_CHECK
int kymo_session_of_process(pid_t pid, char dir[PATH_MAX], struct kymo_error *error);

/* Find the session that the trace @path was recorded in, if it is still there.  0 or -ENOENT. */
KYMO_MUST_CHECK
int kymo_session_of_trace(const char *path, char dir[PATH_MAX]);

#endif
