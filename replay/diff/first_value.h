// SPDX-License-Identifier: Apache-2.0
/*
 * Values that differ while both runs still do the same: the cause of a divergence is usually among them.
 *
 * Both threads are walked together where their tokens are aligned, and variables are compared whenever one side records their
 * values. Each variable is reported once.
 */
#ifndef KYMO_REPLAY_DIFF_FIRST_VALUE_H
#define KYMO_REPLAY_DIFF_FIRST_VALUE_H

#include "replay/diff/value_side.h"

#define KYMO_VALUES_TOLD 4U

/* A variable with different values on both sides. */
struct kymo_differing_value {
	size_t streams[2];
	struct kymo_variable_state states[2];
	uint32_t codes[2];
	uint64_t lines; /* that the second side's thread had run */
	bool is_library;
};

struct kymo_value_findings {
	struct kymo_differing_value values[KYMO_VALUES_TOLD]; /* in the order in which they came */
	size_t count;
	bool has_lines_before;
	uint64_t lines; /* that the second side's thread had run at the first divergence */
	uint64_t compared; /* values of one side */
	bool has_more; /* more values could have been compared */
};

/* Values of two states, read again and compared; the walkers are open. */
struct kymo_value_pair {
	struct kymo_told_value values[2];
	struct kymo_likeness_side sides[2]; /* of what differs */
	char path[KYMO_PATH_BYTES];
	enum kymo_likeness likeness;
};

/* @owners are of the two streams.  0 or a negative errno; release it in any case. */
KYMO_MUST_CHECK
int kymo_value_pair_read(struct kymo_value_pair *pair, const struct kymo_index *const indexes[2], struct kymo_owner *const owners[2],
			 const struct kymo_variable_state *const states[2], struct kymo_error *error);
void kymo_value_pair_release(struct kymo_value_pair *pair);

/* Its name is like one of the globs. */
bool kymo_value_is_ignored(const struct kymo_told_value *value, const char *const *ignored);

#endif
