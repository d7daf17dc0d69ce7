// SPDX-License-Identifier: Apache-2.0
/* Places of a run that have names: times, ordinals, marks, and where it ended. */
#ifndef KYMO_REPLAY_MOVES_NAMED_PLACES_H
#define KYMO_REPLAY_MOVES_NAMED_PLACES_H

#include "replay/moves/replay.h"

/* Nanoseconds of "1.5", "1.5s", "12ms", "30us" or "5ns"; false: it is no time. */
bool kymo_parse_time(const char *text, int64_t *ns);

/*
 * Go to @place: "start", the first event of the run's first thread; "end", as below; "#N", the current thread's event with this ordinal, or
 * the last one before; "N%" of its events, from 0 to 100; a time since the run began, as above; "test NAME", as tests_of.h has it; the text of a mark, in any thread: the next one, or else the first.
 * 0, or a negative errno: -EINVAL if it is none of these.
 */
KYMO_MUST_CHECK
int kymo_replay_goto(struct kymo_replay *replay, const char *place, struct kymo_error *error);

/*
 * Go to where the run ended: where the exception was raised that ended the first process; or if a signal did, to the last
 * event of any of its threads; or else to where the first thread left its last module, what comes behind that being the
 * interpreter's own end; or else to that thread's last event.
 */
KYMO_MUST_CHECK
int kymo_replay_goto_end(struct kymo_replay *replay, struct kymo_error *error);

/*
 * From the last event of a thread, to which a move from @from has led: to where the run's first thread left its last module, if that
 * lies behind @from, or else back to @from.  What comes then is the interpreter's own end.
 */
KYMO_MUST_CHECK
int kymo_replay_leave_shutdown(struct kymo_replay *replay, const struct kymo_moment *from, struct kymo_error *error);

/* A line that says where going to @place, a time, has led to, where that is not it; NULL: it is, or @place is none.  To be freed. */
char *kymo_replay_describe_reached(const struct kymo_replay *replay, const char *place);

#endif
