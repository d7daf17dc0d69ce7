// SPDX-License-Identifier: Apache-2.0
/* What coverage keeps of a code object, for arms.c, places.c and the callbacks.  GIL held. */
#ifndef KYMO_PYEXT_EVENTS_COVERED_H
#define KYMO_PYEXT_EVENTS_COVERED_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_covered {
	uint8_t *arms; /* the ways that each branch went, two bits a code unit; see arms.h */
	struct kymo_told_arms *told_arms; /* those that LINE reports; NULL: not looked for yet, or there are none */
	bool has_started; /* PY_START was recorded */
	uint8_t repeats; /* how often the code or a branch came again; see kymo_places_repeat() */
	uint8_t *lines; /* those that were seen, one bit each, from the first on */
	uint32_t line_count; /* bits in @lines */
	uint32_t lines_left; /* lines that were not seen; 0: or that is not watched */
};

/* Another recording begins, or the code object ends. */
void kymo_covered_forget(struct kymo_covered *covered);

#endif
