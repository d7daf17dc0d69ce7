// SPDX-License-Identifier: Apache-2.0
/*
 * Frames that may still be dropped, in the order in which they came: in memory as long as there is
 * room, then in an unlinked file, which disappears with the reader.
 */
#ifndef KYMO_READER_HELD_H
#define KYMO_READER_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "format/error.h"
#include "format/trace_file.h"

struct kymo_held_frame {
	struct kymo_held_frame *next;
	struct kymo_frame_header header;
	uint8_t stored[]; /* header.stored_bytes */
};

/* The memory that all held frames may take. */
struct kymo_held_room {
	uint64_t limit;
	uint64_t used;
};

/* Zero when nothing is held. */
struct kymo_held {
	struct kymo_held_frame *first, *last; /* in memory */
	bool has_file;
	int fd;
	uint64_t file_bytes;
	uint64_t file_read;
	struct kymo_held_frame *current;  /* of the file */
	struct kymo_held_frame *returned; /* the last one returned from memory */
};

static inline bool kymo_held_is_empty(const struct kymo_held *held)
{
	return !held->first && held->file_read == held->file_bytes;
}

/*
 * Add a frame; its payload is copied.  @beside: a file in whose folder the unlinked one is made.  Returns 0,
 * -ENOMEM, or the errno of making or writing that file; on failure the frame is not held.
 */
KYMO_MUST_CHECK int kymo_held_put(struct kymo_held *held, struct kymo_held_room *room, const char *beside,
				  const struct kymo_frame_header *header, const uint8_t *stored);

/*
 * Take the oldest frame out; without its payload unless @wants_payload.  It is valid until the next
 * call.  NULL: there is none or, if held->file_read is below file_bytes, the file cannot be read.
 */
struct kymo_held_frame *kymo_held_next(struct kymo_held *held, struct kymo_held_room *room, bool wants_payload);

/* Forget everything. */
void kymo_held_clear(struct kymo_held *held, struct kymo_held_room *room);

#endif
