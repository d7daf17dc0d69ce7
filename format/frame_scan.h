// SPDX-License-Identifier: Apache-2.0
/*
 * Walk the frames of a trace file that the reader wrote, complete or cut.
 */
#ifndef KYMO_READER_FRAME_SCAN_H
#define KYMO_READER_FRAME_SCAN_H

#include <stdint.h>

#include "format/error.h"
#include "format/trace_file.h"

struct kymo_frame_scan {
	int fd;
	uint64_t offset; /* of the frame found last */
	uint64_t next;   /* where the next one is looked for */
	uint64_t size;
	uint8_t *payload; /* as stored; of the frame found by kymo_frame_scan_intact() */
	uint64_t capacity;
	uint64_t skipped; /* damaged bytes passed over */
};

/* Start after the trace header of @fd, which is checked into @header.  0, or -EBADMSG. */
KYMO_MUST_CHECK int kymo_frame_scan_begin(struct kymo_frame_scan *scan, int fd,
					  struct kymo_trace_header *header,
					  struct kymo_error *error);

/* The next frame by its header alone.  1: found; 0: the end, or no frame lies there. */
int kymo_frame_scan_next(struct kymo_frame_scan *scan, struct kymo_frame_header *header);

/* The next frame whose checksum holds, passing over damage.  1: found; 0: the end. */
int kymo_frame_scan_intact(struct kymo_frame_scan *scan, struct kymo_frame_header *header);

void kymo_frame_scan_end(struct kymo_frame_scan *scan);

#endif
