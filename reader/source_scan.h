// SPDX-License-Identifier: Apache-2.0
/*
 * Pick out of a definitions stream what sources need, without unpacking the rest.
 *
 * Every definition passes here while programs run, so nothing is copied.  Malformed
 * messages are skipped, as by a decoder.
 */
#ifndef KYMO_READER_SOURCE_SCAN_H
#define KYMO_READER_SOURCE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kymo_bytes {
	const uint8_t *at;
	size_t bytes;
};

struct kymo_scan {
	struct kymo_bytes stream; /* whole messages */
	size_t at;		  /* of the next one */
	/* what was found; the others are empty */
	struct kymo_bytes process; /* a Process message */
	struct kymo_bytes file, bytecode, line_table; /* of a Content message */
};

/* Go to the next message.  False: there is none. */
bool kymo_scan_next(struct kymo_scan *scan);

#endif
