// SPDX-License-Identifier: Apache-2.0
/*
 * A server of the Debug Adapter Protocol over a trace, so that editors go through a recorded run as through a program:
 * forwards, and with their buttons for stepping back and continuing in reverse.
 *
 * docs/guide/editors.md has what users see of it; the protocol is https://microsoft.github.io/debug-adapter-protocol.
 */
#ifndef KYMO_REPLAY_DEBUGGER_DAP_H
#define KYMO_REPLAY_DEBUGGER_DAP_H

#include <stdbool.h>

#include "format/error.h"

struct kymo_dap_options {
	const char *trace;       /* of clients that name none; NULL: they have to */
	const char *source_root; /* of clients that name none; NULL: no file is opened that only the trace names */
	const char *host, *port; /* to listen at; NULL: the one client is at stdin and stdout */
	bool serves_one;         /* and then ends */
};

/* Returns when the one client has left, or a negative errno when there is no serving on. */
KYMO_MUST_CHECK
int kymo_dap_serve(const struct kymo_dap_options *options, struct kymo_error *error);

#endif
