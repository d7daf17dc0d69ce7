// SPDX-License-Identifier: Apache-2.0
/* Whether calls keep what replay/profile/calls.h promises. */
#ifndef KYMO_TESTS_NESTING_H
#define KYMO_TESTS_NESTING_H

#include "replay/profile/slice.h"

struct kymo_nesting {
	uint64_t begins, ends, marks, gaps, lost;
	uint64_t called; /* of the BEGINs, calls of functions in Python */
	const char *broken; /* the first promise that was; NULL: none */
};

/* Go through the calls of all threads of @timeline that @slice wants, up to @limit steps of each. */
void kymo_check_nesting(struct kymo_nesting *nesting, struct kymo_timeline *timeline, const struct kymo_slice *slice,
			uint64_t limit);

#endif
