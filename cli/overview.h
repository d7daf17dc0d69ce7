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

/* Open @path, and show the progress as that of @what.  Returns an exit status; if it is not KYMO_EXIT_OK, the error was reported. */
int kymo_overview_open(struct kymo_overview *overview, const char *what, const char *path);

#endif
