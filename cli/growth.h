// SPDX-License-Identifier: Apache-2.0
/* Values can make a trace large: warns once, while it is written. */
#ifndef KYMO_CLI_GROWTH_H
#define KYMO_CLI_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_growth {
	const char *output;	/* the trace, which has another name while it is written */
	const char *directory;	/* the working directory */
	uint64_t began_ns;	/* when the recording began, on the monotonic clock */
	bool has_told;
};

/* To be called about once a second; @context is a struct kymo_growth. */
void kymo_growth_look(void *context);

#endif
