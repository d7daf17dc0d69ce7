// SPDX-License-Identifier: Apache-2.0
/* Converting the session's counter to nanoseconds since the run began. */
#ifndef KYMO_REPLAY_TRACE_CLOCK_H
#define KYMO_REPLAY_TRACE_CLOCK_H

#include <stdbool.h>

#include "replay/trace/definitions.h"

/* The reader advances its tick at about this interval. */
#define KYMO_USUAL_TICK_NS 1000000

struct kymo_clock_line {
	bool is_calibrated; /* false: one tick is taken for one nanosecond */
	int64_t start_ns;   /* monotonic time at which the run began */
	const struct kymo_clock_sample *samples; /* by counter */
	size_t count;
	size_t last; /* segment of the last lookup: the next is probably the same */
	const struct kymo_clock_stall *stalls; /* by end */
	size_t stall_count;
	bool has_tick; /* producers looked at the reader's tick before each record */
};

/* @definitions must outlive @clock. */
void kymo_clock_init(struct kymo_clock_line *clock, struct kymo_definitions *definitions);

/* Nanoseconds since the run began, interpolated linearly between the two nearest samples. */
int64_t kymo_clock_ns(struct kymo_clock_line *clock, uint64_t counter);

/*
 * The latest time of an event that comes after a sample @counter and before the next one.
 *
 * Its thread read the session's tick and found it unchanged since the sample, or it would have taken another. The tick stands still
 * for at most KYMO_TICK_STALL_NS, except in stalls that the reader recorded. INT64_MAX: not known.
 */
int64_t kymo_clock_latest_ns(struct kymo_clock_line *clock, uint64_t counter);

#endif
