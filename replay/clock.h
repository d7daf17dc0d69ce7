// SPDX-License-Identifier: Apache-2.0
/* From the session's counter to nanoseconds since the run began. */
#ifndef KYMO_REPLAY_CLOCK_H
#define KYMO_REPLAY_CLOCK_H

#include <stdbool.h>

#include "replay/definitions.h"

struct kymo_clock_line {
	bool is_calibrated; /* false: one tick is taken for one nanosecond */
	int64_t start_ns;   /* monotonic time at which the run began */
	Kymo__Clock *const *samples; /* by counter */
	size_t count;
	size_t last; /* segment of the last question: the next is likely the same */
};

/* @definitions must outlive @clock. */
void kymo_clock_init(struct kymo_clock_line *clock, const struct kymo_definitions *definitions);

/* Nanoseconds since the run began, by the straight line between the two nearest samples. */
int64_t kymo_clock_ns(struct kymo_clock_line *clock, uint64_t counter);

#endif
