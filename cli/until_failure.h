// SPDX-License-Identifier: Apache-2.0
/* `kymo record --until-failure`: attempts, until one of them fails. */
#ifndef KYMO_CLI_UNTIL_FAILURE_H
#define KYMO_CLI_UNTIL_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

struct kymo_attempts {
	const char *output;    /* absolute: the trace of each */
	const char *directory; /* the working directory */
	uint64_t limit;
	bool may_replace; /* an existing file at the place of the passed attempt's trace */
	/* Record once, in a process of its own; returns its exit status, or ends by a signal. */
	int (*record)(void *context);
};

/*
 * Make attempts until one fails.  The trace of the last one that passed gets "-passed" before its suffix; if there are
 * both, print where they diverge.  Returns an exit status, or ends as the failing one did.
 */
int kymo_record_until_failure(const struct kymo_attempts *attempts, void *context);

#endif
