// SPDX-License-Identifier: Apache-2.0
/*
 * Walk the frames of a trace file, complete, cut or damaged.
 *
 * After damage the walk goes on at the next frame whose checksum holds.  No file can make it run
 * for long: each byte is searched once, and the work on checksums of places that only look like
 * frames is bounded by the size of the file.
 */
#ifndef KYMO_FORMAT_FRAME_SCAN_H
#define KYMO_FORMAT_FRAME_SCAN_H

#include <stdint.h>

#include "format/atomics.h"
#include "format/error.h"
#include "format/trace_file.h"

#define KYMO_SCAN_WINDOW_BYTES (64U << 10)

struct kymo_frame_scan {
	int fd;
	uint64_t offset; /* offset of the frame found last */
	uint64_t next;   /* where the search for the next one begins */
	uint64_t size;
	uint8_t *payload; /* as stored; of the frame found by kymo_frame_scan_intact() */
	uint64_t capacity;
	uint64_t skipped; /* damaged bytes passed over, in all ... */
	uint64_t gap;     /* ... and just before the frame found last, or the end */
	const char *why;  /* why the first of those bytes do not begin a frame; a literal */
	uint64_t wasted;  /* bytes of payload whose checksum did not match */
	/* part of the file, where the next frame is searched */
	uint64_t window_offset;
	uint64_t window_bytes;
	uint8_t window[KYMO_SCAN_WINDOW_BYTES];
};

/* Progress of work on a file, to be read by another thread. */
struct kymo_watch {
	_Atomic uint64_t done;  /* bytes */
	_Atomic uint64_t total; /* 0: not known yet */
};

static inline void kymo_watch_add(struct kymo_watch *watch, uint64_t bytes)
{
	/* Relaxed: one thread writes it, and nothing depends on it. */
	kymo_store_relaxed_u64(&watch->done, kymo_load_relaxed_u64(&watch->done) + bytes);
}

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
