// SPDX-License-Identifier: Apache-2.0
/* Opening a trace for whoever waits at a terminal. */
#ifndef KYMO_CLI_OPEN_H
#define KYMO_CLI_OPEN_H

#include "replay/index/indexed.h"

/*
 * Open @path and show how far that is; @verb is argv[0], @keeps as kymo_indexed_open() has it.  While the index is made Ctrl-C
 * ends the program, and nothing is left behind.  Damage of the trace is reported.  Returns an exit status, not KYMO_EXIT_OK:
 * reported.
 */
int kymo_open_trace(struct kymo_indexed *indexed, const char *verb, const char *path, bool keeps);

#endif
