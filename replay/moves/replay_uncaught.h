// SPDX-License-Identifier: Apache-2.0
/* Exceptions that nobody catches. */
#ifndef KYMO_REPLAY_MOVES_REPLAY_UNCAUGHT_H
#define KYMO_REPLAY_MOVES_REPLAY_UNCAUGHT_H

#include "replay/moves/replay.h"

/*
 * A break where exceptions are raised that nothing catches: they leave the outermost frame of a thread that was recorded, or
 * that which threading.py runs for a thread, whose traceback it prints.  Imports that the interpreter itself asks for do not
 * count.  @type as kymo_break_at_exception() has it; "": any but
 * SystemExit.  Where no RAISE was recorded, it is at the end of that frame.
 * All chunks are read that have KYMO_SUMMARY_UNWOUND.  Valid until the next one is set or removed;
 * NULL: @error says why.
 */
struct kymo_break *kymo_replay_break_at_uncaught(struct kymo_replay *replay, const char *type, struct kymo_error *error);

#endif
