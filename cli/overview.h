// SPDX-License-Identifier: Apache-2.0
/* A trace and the summaries of its threads: what `kymo info` and `kymo stats` print. */
#ifndef KYMO_CLI_OVERVIEW_H
#define KYMO_CLI_OVERVIEW_H

#include "replay/decode/summary.h"

struct kymo_overview {
	struct kymo_timeline timeline;
	struct kymo_summary total;
	struct kymo_summary *streams; /* as timeline.streams */
};

void kymo_overview_close(struct kymo_overview *overview);

/*
 * Parse --json (@as_json NULL: there is none) and --help, and open the operand.
 * Returns an exit status, or -1 to go on.
 */
int kymo_overview_begin(struct kymo_overview *overview, int argc, char **argv, const char *help,
			bool *as_json);

#endif
