// SPDX-License-Identifier: Apache-2.0
/*
 * Run the recorded command as its caller would have: same files, terminal and signals;
 * then end as it ended.
 */
#ifndef KYMO_CLI_LAUNCH_H
#define KYMO_CLI_LAUNCH_H

#include <sys/types.h>

#include "cli/watcher.h"
#include "format/chunk.h"
#include "format/error.h"

/* Start @argv, whose program is at @path.  0 with its process id in @pid. */
KYMO_MUST_CHECK
int kymo_launch(const char *path, char *const argv[], pid_t *pid, struct kymo_error *error);

/* The same for a part of this program: 1 in the new process, 0 with its process id in @pid here. */
KYMO_MUST_CHECK
int kymo_launch_fork(pid_t *pid, struct kymo_error *error);

/*
 * Wait until @pid ends; pass on the signals that reach us and not it.  Returns its status as
 * from waitpid(), or -1 if it lives on after a second signal asked us to end.  @look: NULL, or
 * called with @context about once a second meanwhile.  @watcher: NULL, or serves the watched
 * threads.
 */
int kymo_launch_wait(pid_t pid, void (*look)(void *context), void *context, const struct kymo_watcher *watcher);

/*
 * Wait until the trace is sealed and the session removed; a signal that asks us to end makes
 * the reader seal it now.  0, or -1: the reader is gone and has not sealed it.
 */
int kymo_launch_wait_for_reader(struct kymo_session_page *page, const char *session_dir, const struct kymo_watcher *watcher);

/* Return the exit status for @status or, if it was a signal, end by the same signal. */
int kymo_launch_end(int status);

#endif
