// SPDX-License-Identifier: Apache-2.0
/*
 * The values of a variable over one activation of a frame: its history, and where it changed.
 *
 * An activation lasts from the event that enters the frame to the one that leaves it, inclusive; of a generator, from one suspension
 * to the next. docs/replay.md says what is read.
 */
#ifndef KYMO_REPLAY_MOVES_VARIABLE_WATCH_H
#define KYMO_REPLAY_MOVES_VARIABLE_WATCH_H

#include "replay/moves/variables.h"

/* An activation of a frame.  Valid as long as the replay's index. */
struct kymo_activation {
	size_t stream;
	uint64_t level; /* of the stack; 1: outermost */
	const struct kymo_code *code; /* NULL: not known */
	const struct kymo_traced_process *process;
	struct kymo_moment first; /* the event that enters it; without has_first, the first known one */
	struct kymo_moment last;  /* the event that leaves it; without has_last, the last before a gap; at.n is UINT64_MAX: no gap */
	bool has_first, has_last;
};

/* The activation of frame @frame, 0 the innermost, where @replay stands. 0, or a negative errno; -ENOENT: no such frame. */
KYMO_MUST_CHECK
int kymo_activation_find(struct kymo_replay *replay, size_t frame, struct kymo_activation *out, struct kymo_error *error);

/* A variable, or the value that a path from it leads to, in one activation. */
struct kymo_watchpoint {
	uint32_t id;	 /* given by the code that set it */
	struct kymo_activation activation;
	uint64_t number; /* of the variable */
	char *expression;
	size_t name_bytes; /* length of the variable's name in it */
};

/*
 * Watch @expression in frame @frame where @replay stands. The caller releases @watch. 0, or a negative errno: -EINVAL, -ENODATA as
 * for kymo_variables_path(), except that the path may lead nowhere yet.
 */
KYMO_MUST_CHECK
int kymo_watchpoint_set(struct kymo_watchpoint *watch, struct kymo_replay *replay, size_t frame, const char *expression,
		   struct kymo_error *error);
void kymo_watchpoint_release(struct kymo_watchpoint *watch);

/* A value that a variable or path has from an event on. */
struct kymo_past_value {
	const struct kymo_value_tree *tree;
	uint32_t node; /* 0: it has no value, or the path leads nowhere */
	int64_t line; /* or KYMO_LINE_NONE */
	struct kymo_moment moment;
};

/* False: no more.  @value is valid during the call. */
typedef bool (*kymo_past_value_taker)(void *context, const struct kymo_past_value *value);

/* Call @take for every value of the watched variable, in order, each at the event that recorded it. 0, or a negative errno. */
KYMO_MUST_CHECK
int kymo_watchpoint_history(struct kymo_replay *replay, const struct kymo_watchpoint *watch, kymo_past_value_taker take, void *context,
			    struct kymo_error *error);

enum kymo_watch_stop {
	KYMO_WATCH_NONE = 0,	/* the activation lies in the other direction, or lasts to the end of what was recorded */
	KYMO_WATCH_CHANGED = 1, /* at the event that recorded another value */
	KYMO_WATCH_OVER = 2,	/* no change: at the event that leaves or, backwards, enters the frame */
};

/*
 * Where @watch first changed after @now, or last before it: *@found is the event, in the watch's thread. Returns an enum
 * kymo_watch_stop or a negative errno. KYMO_GO_CONTINUE checks all of replay->watches.
 */
KYMO_MUST_CHECK
int kymo_watchpoint_after(struct kymo_replay *replay, const struct kymo_watchpoint *watch, const struct kymo_moment *now,
		     struct kymo_moment *found, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_watchpoint_before(struct kymo_replay *replay, const struct kymo_watchpoint *watch, const struct kymo_moment *now,
		      struct kymo_moment *found, struct kymo_error *error);

#endif
