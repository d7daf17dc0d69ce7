// SPDX-License-Identifier: Apache-2.0
/*
 * The debugger in the terminal: commands that pdb and gdb users know, over a recorded run.
 */
#ifndef KYMO_REPLAY_DEBUGGER_CONSOLE_H
#define KYMO_REPLAY_DEBUGGER_CONSOLE_H

#include <stdio.h>

#include "replay/moves/replay.h"

/*
 * Read commands from stdin up to its end or `quit`, and answer on stdout.  @path: of the trace; @follows: it is still written,
 * and looked at again before each command.  @place: that it was opened at; NULL: at the end.  0, or -1: a command failed, and stdin is no terminal.
 */
int kymo_console_run(struct kymo_replay *replay, const char *path, bool follows, const char *place);

/*
 * Run one command that neither sets breakpoints nor selects frames, and answer on @out. 1; 0: @line is not a command; -EINVAL: @out
 * says why it failed.
 */
KYMO_MUST_CHECK
int kymo_console_run_command(struct kymo_replay *replay, const char *line, FILE *out);

/* The commands, for `kymo replay --help` and `help`. */
void kymo_console_put_help(FILE *out);

#endif
