// SPDX-License-Identifier: Apache-2.0
/*
 * A trace file as a list of intact frames.
 *
 * The list comes from the index at the end of the file. If there is none, because the writer was killed or the file was cut, every
 * frame is read instead; after damage the scan continues at the next intact frame. Payloads are read one at a time.
 */
#ifndef KYMO_REPLAY_TRACE_TRACE_H
#define KYMO_REPLAY_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/frame_scan.h"

#define KYMO_DAMAGE_KEPT 256

struct kymo_damage {
	uint64_t offset;
	uint64_t bytes;
	const char *what; /* a literal */
};

struct kymo_trace {
	int fd;
	uint64_t size;
	struct kymo_trace_header header;
	struct kymo_index_entry *frames; /* CHUNK and META, in file order */
	size_t frame_count;
	size_t frame_capacity;
	struct kymo_damage *damage; /* the first KYMO_DAMAGE_KEPT places */
	size_t damage_count;
	uint64_t damage_more; /* number of further places */
	bool is_complete; /* it has a trailer: the writer closed it */
	struct kymo_watch watch;
};

/* One frame in memory; zero it before the first read. Its buffers are reused. */
struct kymo_frame {
	struct kymo_frame_header header;
	uint8_t *payload; /* header.raw_bytes */
	size_t payload_capacity;
	uint8_t *stored;
	size_t stored_capacity;
};

enum kymo_trace_open_flags {
	KYMO_TRACE_SCAN = 1 << 0, /* check every frame, whether there is an index or not */
};

/*
 * Open the trace @path.  Returns 0, or
 *   -EBADMSG      not a trace, or a damaged file header
 *   -EPROTONOSUPPORT  a version or a required feature that this program does not know
 *   another negative errno of open, read or malloc
 */
KYMO_MUST_CHECK
int kymo_trace_open(struct kymo_trace *trace, const char *path, unsigned flags,
		    struct kymo_error *error);
void kymo_trace_close(struct kymo_trace *trace);

/*
 * Read, check and decompress the frame of @entry, one of trace->frames. -EBADMSG: it is damaged or not the one in the index; the
 * trace notes that as damage.
 */
KYMO_MUST_CHECK
int kymo_trace_read(struct kymo_trace *trace, const struct kymo_index_entry *entry,
		    struct kymo_frame *frame, struct kymo_error *error);
void kymo_frame_release(struct kymo_frame *frame);

/* Note that [@offset, @offset + @bytes) is damaged; @what is a literal. */
void kymo_trace_note_damage(struct kymo_trace *trace, uint64_t offset, uint64_t bytes,
			    const char *what);

/* Grow *@items of @size bytes each to hold @wanted of them.  Returns 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_grow(void *items, size_t *capacity, size_t wanted, size_t size);

#endif
