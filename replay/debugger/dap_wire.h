// SPDX-License-Identifier: Apache-2.0
/*
 * Messages of the Debug Adapter Protocol as they come and go: JSON behind a header that has its length.
 */
#ifndef KYMO_REPLAY_DEBUGGER_DAP_WIRE_H
#define KYMO_REPLAY_DEBUGGER_DAP_WIRE_H

#include <jansson.h>

#include "format/error.h"

/* Longer ones than any client sends; memory for one is taken as its bytes come. */
#define KYMO_DAP_MAX_MESSAGE (16U << 20)

struct kymo_dap_wire {
	int in, out;
	char *bytes; /* read, from @at on not taken yet */
	size_t at, count, capacity;
};

void kymo_dap_wire_release(struct kymo_dap_wire *wire);

/*
 * Wait for the next message; it is an object.  1; 0: the other side has closed, between messages, or
 *   -EBADMSG  this one is not JSON; the next one can be read
 *   -EPROTO   where the next one begins is not known
 *   another negative errno of read or malloc
 */
KYMO_MUST_CHECK
int kymo_dap_read(struct kymo_dap_wire *wire, json_t **message, struct kymo_error *error);

/* 0 or a negative errno: -EPIPE when nobody reads. */
KYMO_MUST_CHECK
int kymo_dap_write(struct kymo_dap_wire *wire, const json_t *message, struct kymo_error *error);

#endif
