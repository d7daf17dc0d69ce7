// SPDX-License-Identifier: Apache-2.0
/*
 * Whether two values of two runs are the same, as far as they were recorded.
 *
 * What differs from run to run by nature does not count: identities, the order of sets and of keys, and noise.
 */
#ifndef KYMO_REPLAY_DIFF_LIKENESS_H
#define KYMO_REPLAY_DIFF_LIKENESS_H

#include "replay/diff/noise.h"

/* Values with the same hash are the same; those with another one may still be. */
uint64_t kymo_likeness_hash(struct kymo_owner *owner, const struct kymo_value_tree *tree, uint32_t number);

/* It may have changed without a new record: something in it is mutable. */
bool kymo_value_may_be_stale(const struct kymo_value_tree *tree, uint32_t number);

enum kymo_likeness {
	KYMO_ALIKE,
	KYMO_NOT_KNOWN, /* what differs was cut, redacted or lost on one side, or may have been */
	KYMO_NOT_ALIKE,
};

struct kymo_likeness_side {
	struct kymo_owner *owner;
	const struct kymo_value_tree *tree;
	uint32_t number; /* of the value, then of what differs in it first */
};

/* They are floats that could be times that passed in the runs: who knows that a clock was read before may take them for that. */
bool kymo_values_may_be_durations(const struct kymo_likeness_side sides[2]);

#define KYMO_PATH_BYTES 256

/* Compare them; where they are not alike, @path leads from the variable to what differs: ".items['tea'][0]". */
enum kymo_likeness kymo_values_compare(struct kymo_likeness_side sides[2], char path[KYMO_PATH_BYTES]);

#endif
