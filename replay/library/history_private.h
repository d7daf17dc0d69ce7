// SPDX-License-Identifier: Apache-2.0
/* The implementation behind history.h. Only for this folder. */
#ifndef KYMO_REPLAY_LIBRARY_HISTORY_PRIVATE_H
#define KYMO_REPLAY_LIBRARY_HISTORY_PRIVATE_H

#include "replay/library/history.h"
#include "replay/index/indexed.h"

struct kymo_history {
	struct kymo_indexed trace;
	struct kymo_error error;
};

/* Without its values. */
void kymo_history_put_event(const struct kymo_timeline *timeline, const struct kymo_event *event,
			    struct kymo_history_event *out);

/* Its values as JSON to *@values, to be freed; NULL: it has none.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_history_values(const struct kymo_event *event, enum kymo_history_values how, char **values);

/* The mask of the kinds in @names, as in kymo_history_slice.kinds; 0: one of them is not a kind. */
uint64_t kymo_history_kinds(const char *names);

struct kymo_replay;
struct kymo_history *kymo_history_of_cursor(struct kymo_history_cursor *cursor);
struct kymo_replay *kymo_history_replay(struct kymo_history_cursor *cursor);

#endif
