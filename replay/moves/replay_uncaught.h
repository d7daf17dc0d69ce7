// SPDX-License-Identifier: Apache-2.0
/* Uncaught exceptions. */
#ifndef KYMO_REPLAY_MOVES_REPLAY_UNCAUGHT_H
#define KYMO_REPLAY_MOVES_REPLAY_UNCAUGHT_H

#include "replay/moves/replay.h"

/*
 * A break where uncaught exceptions are raised: those that leave the outermost frame of a recorded thread, or the frame that
 * threading.py runs for a thread and whose traceback it prints. Imports that the interpreter itself makes do not count. @type as in
 * kymo_break_at_exception(); "": any but SystemExit. Where no RAISE was recorded, the break is at the end of that frame. Reads all
 * chunks that have KYMO_SUMMARY_UNWOUND. Valid until the next break is set or removed; NULL: @error says why.
 */
struct kymo_break *kymo_replay_break_at_uncaught(struct kymo_replay *replay, const char *type, struct kymo_error *error);

#endif
