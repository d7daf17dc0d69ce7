// SPDX-License-Identifier: Apache-2.0
/*
 * What a variable of one activation of a frame held over time: its history, and where it changed.
 *
 * An activation goes from the event that enters the frame up to and with the one that leaves it: of a generator, from one suspension
 * to the next.  docs/replay.md has what is read.
 */
#ifndef KYMO_REPLAY_VARIABLE_WATCH_H
#define KYMO_REPLAY_VARIABLE_WATCH_H

#include "replay/variables.h"

/* An activation of a frame.  Valid as long as the replay's index. */
struct kymo_activation {
	size_t stream;
	uint64_t level; /* of the stack; 1: outermost */
	const struct kymo_code *code; /* NULL: not known */
	const struct kymo_traced_process *process;
	struct kymo_position first; /* event that enters it; has_first: that was recorded */
	struct kymo_position last;  /* event that leaves it; has_last: that was recorded */
	bool has_first, has_last;
};

/* The one of frame @frame, 0 the innermost, where @replay stands.  0, or a negative errno; -ENOENT: there is no such frame. */
KYMO_MUST_CHECK
int kymo_activation_find(struct kymo_replay *replay, size_t frame, struct kymo_activation *out, struct kymo_error *error);

/* A value that a variable had from an event on. */
struct kymo_past_value {
	const struct kymo_value_tree *tree;
	uint32_t node; /* 0: it has none (any more) */
	struct kymo_position at;
	int64_t line; /* or KYMO_LINE_NONE */
	int64_t t_ns;
	bool is_lost; /* nothing is known from here on: events are missing */
};

/* False: no more.  @value is valid during the call. */
typedef bool (*kymo_past_value_taker)(void *context, const struct kymo_past_value *value);

/*
 * Tell @take of every value that variable @number (as kymo_value.name) had in @activation, in order, each when it became known.
 * 0, or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_variable_history(struct kymo_replay *replay, const struct kymo_activation *activation, uint64_t number,
			  kymo_past_value_taker take, void *context, struct kymo_error *error);

/* A variable, or what a path leads to from it, in one activation. */
struct kymo_watch {
	uint32_t id;	 /* of whoever set it */
	struct kymo_activation activation;
	uint64_t number; /* of the variable */
	char *expression;
	size_t name_bytes; /* what of that is the variable's name */
};

/*
 * Watch @expression in frame @frame where @replay stands.  @watch is to be released.  0, or a negative errno: -EINVAL, -ENODATA as
 * kymo_variables_path() has it, but that what it leads to need not be there yet.
 */
KYMO_MUST_CHECK
int kymo_watch_set(struct kymo_watch *watch, struct kymo_replay *replay, size_t frame, const char *expression,
		   struct kymo_error *error);
void kymo_watch_release(struct kymo_watch *watch);

enum kymo_watch_stop {
	KYMO_WATCH_NONE = 0,	/* the activation lies in the other direction */
	KYMO_WATCH_CHANGED = 1, /* at the event by which it has another value than before */
	KYMO_WATCH_OVER = 2,	/* it did not change up to there: at the event that leaves, or backwards enters, the frame */
};

/*
 * Where @watch first changed after @now, or last before it: *@found is the event, in the watch's thread.  Returns an enum
 * kymo_watch_stop or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_watch_after(struct kymo_replay *replay, const struct kymo_watch *watch, const struct kymo_moment *now,
		     struct kymo_moment *found, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_watch_before(struct kymo_replay *replay, const struct kymo_watch *watch, const struct kymo_moment *now,
		      struct kymo_moment *found, struct kymo_error *error);

#endif
