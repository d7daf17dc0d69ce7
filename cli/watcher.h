// SPDX-License-Identifier: Apache-2.0
/*
 * The watcher: sees threads of the recorded program end, and where they ended.
 *
 * It seizes them with ptrace, which stops each at its end, while its memory still exists;
 * docs/decisions/0012-where-threads-end.md has the costs and other effects.
 */
#ifndef KYMO_CLI_WATCHER_H
#define KYMO_CLI_WATCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "format/error.h"

struct kymo_watcher {
	const char *session_dir; /* NULL: nobody is watched */
};

/* Watch @pid, our child, and whatever it starts from here on.  @session_dir must outlive @watcher. */
KYMO_MUST_CHECK
int kymo_watcher_begin(struct kymo_watcher *watcher, pid_t pid, const char *session_dir, struct kymo_error *error);

/*
 * Serve all threads that have stopped; to be called after each SIGCHLD.  True: @pid has ended, and was reaped, with @status as
 * from waitpid().
 */
bool kymo_watcher_serve(const struct kymo_watcher *watcher, pid_t pid, int *status);

#endif
