// SPDX-License-Identifier: Apache-2.0
/* Opening a trace, with progress on a terminal. */
#ifndef KYMO_CLI_OPEN_H
#define KYMO_CLI_OPEN_H

#include "replay/index/indexed.h"

/*
 * Open @path and show the progress; @verb is argv[0], @keeps as in kymo_indexed_open().  While the index is made Ctrl-C ends
 * the program, and nothing is left behind.  Damage of the trace is reported.  Returns an exit status; if it is not
 * KYMO_EXIT_OK, the error was reported.
 */
int kymo_open_trace(struct kymo_indexed *indexed, const char *verb, const char *path, bool keeps);

#endif
