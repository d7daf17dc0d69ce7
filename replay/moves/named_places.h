// SPDX-License-Identifier: Apache-2.0
/* Named places of a run: times, ordinals, marks, and where it ended. */
#ifndef KYMO_REPLAY_MOVES_NAMED_PLACES_H
#define KYMO_REPLAY_MOVES_NAMED_PLACES_H

#include "replay/moves/replay.h"

/* Nanoseconds of "1.5", "1.5s", "12ms", "30us" or "5ns"; false: not a time. */
bool kymo_parse_time(const char *text, int64_t *ns);

/*
 * Go to @place: "start", the first event of the run's first thread; "end", as below; "#N", the current thread's event with this
 * ordinal, or the last one before it; "N%" of its events, from 0 to 100; a time since the run began, as above; "test NAME", see
 * tests_of.h; or the text of a mark in any thread: the next one, or else the first. 0, or a negative errno: -EINVAL if @place has
 * none of these forms.
 */
KYMO_MUST_CHECK
int kymo_replay_goto(struct kymo_replay *replay, const char *place, struct kymo_error *error);

/*
 * Go to where the run ended. If an exception ended the first process: where it was raised. If a signal did: the last event of any of
 * its threads. Else where the first thread left its last module, because what follows is the interpreter's own shutdown; or else
 * that thread's last event.
 */
KYMO_MUST_CHECK
int kymo_replay_goto_end(struct kymo_replay *replay, struct kymo_error *error);

/*
 * A move from @from has led to the last event of a thread. Go to where the run's first thread left its last module, if that lies
 * behind @from, or else back to @from. What follows is the interpreter's own shutdown.
 */
KYMO_MUST_CHECK
int kymo_replay_leave_shutdown(struct kymo_replay *replay, const struct kymo_moment *from, struct kymo_error *error);

/*
 * A line that says where going to the time @place has led, if not to exactly that time; NULL: it did, or @place is not a time. The
 * caller frees it.
 */
char *kymo_replay_describe_reached(const struct kymo_replay *replay, const char *place);

#endif
