// SPDX-License-Identifier: Apache-2.0
/*
 * Which differences are reported, and in what order.
 *
 * First comes the first divergence: the one that came first in the second run, outside libraries if there is any. Then exceptions
 * and ways of ending, branches, calls, loops, threads, each in the order in which they came; those of libraries come last. A few
 * that follow from another, in an activation called after it, are listed right below it.
 */
#ifndef KYMO_REPLAY_DIFF_REPORT_H
#define KYMO_REPLAY_DIFF_REPORT_H

#include "replay/diff/diff.h"
#include "replay/moves/moment.h"

struct kymo_report {
	size_t *order; /* numbers of differences */
	size_t count;
	size_t more; /* number of differences left out */
};

/* Choose at most @limit.  0 or a negative errno. */
KYMO_MUST_CHECK
int kymo_report_choose(const struct kymo_diff *diff, size_t limit, struct kymo_report *report, struct kymo_error *error);

/* The number of the first divergence; SIZE_MAX: there is none.  0 or a negative errno. */
KYMO_MUST_CHECK
int kymo_report_find_first(const struct kymo_diff *diff, size_t *first, struct kymo_error *error);

#define KYMO_FRAMES_TOLD 64U

/* The stack at one moment of a trace. */
struct kymo_look {
	bool is_found;
	struct kymo_moment moment;
	uint64_t t_err_ns;
	const char *name; /* of an exception */
	struct kymo_stack_frame frames[KYMO_FRAMES_TOLD]; /* innermost first */
	uint32_t frame_count;
	uint64_t depth;
};

/* Look at the event at @at of @stream, or the last one before. */
KYMO_MUST_CHECK
int kymo_look(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_look *look,
	      struct kymo_error *error);

#endif
