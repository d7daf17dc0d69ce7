// SPDX-License-Identifier: Apache-2.0
/*
 * Write a trace file: header, frames, at the end index and trailer.
 *
 * The file is NAME.incomplete until it is closed.  Every frame is written whole or not at
 * all.  When the disk is full or the size limit is reached, the writer is full: from then
 * on it refuses all frames but the last definitions, for which there is a reserve.
 */
#ifndef KYMO_READER_TRACE_WRITER_H
#define KYMO_READER_TRACE_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/error.h"
#include "format/trace_file.h"
#include "reader/take.h"

#define KYMO_META_FRAME_BYTES (1U << 20)
#define KYMO_RUN_BUFFER_BYTES (64U << 10)

/* Chunks may come faster than they can be packed well. */
enum kymo_hurry {
	KYMO_HURRY_NONE, /* pack them well, as far as that leaves the program enough processor time */
	KYMO_HURRY_SOME, /* pack them as fast as LZ4 does */
	KYMO_HURRY_MOST, /* store them as they are */
};

struct kymo_trace_writer {
	int fd;
	char output[PATH_MAX];
	char incomplete[PATH_MAX];
	bool may_replace; /* an existing output */
	uint64_t max_bytes;
	uint64_t size;      /* end of the last whole frame */
	uint64_t allocated; /* the file system has promised space up to here */
	uint64_t frames;
	uint64_t required_features;
	bool is_full;
	enum kymo_hurry hurry;
	/* processor time that may be spent on packing well, ns: below 0 for a while after a long piece */
	int64_t credit_ns;
	uint64_t credited_ns; /* monotonic: when it was last added to */
	char full_reason[128];
	uint8_t *packed; /* room for one compressed frame */
	void *packer;	 /* LZ4 HC's tables */
	/* definitions of the run itself, not yet written: see run_definitions.h */
	uint64_t run_position;
	uint32_t run_used;
	uint8_t run_buffer[KYMO_RUN_BUFFER_BYTES];
};

struct kymo_trace_options {
	bool may_replace;
	uint64_t max_bytes; /* 0: no limit */
	uint64_t created_unix_ns;
	uint8_t session_id[16];
	uint64_t required_features; /* KYMO_FEATURE_… */
};

/* Begin OUTPUT.incomplete.  -EEXIST: it exists, or @output does and may not be replaced. */
KYMO_MUST_CHECK int kymo_trace_writer_create(struct kymo_trace_writer *writer, const char *output,
					     const struct kymo_trace_options *options,
					     struct kymo_error *error);

/* Continue OUTPUT.incomplete after its first @size bytes, which hold @frames frames. */
KYMO_MUST_CHECK int kymo_trace_writer_resume(struct kymo_trace_writer *writer, const char *output,
					     const struct kymo_trace_options *options,
					     uint64_t size, uint64_t frames,
					     struct kymo_error *error);

/*
 * Make a chunk's frame without writing it: fills @header except its checksum, and returns the payload
 * as it is to be stored, valid until the next frame.  Less work is spent if it @is_held: it may never
 * be written.
 */
const uint8_t *kymo_trace_writer_pack_chunk(struct kymo_trace_writer *writer, uint32_t process, uint32_t ring,
					    const struct kymo_chunk *chunk, uint64_t close_clock, uint16_t flags,
					    bool is_held, struct kymo_frame_header *header);

/* All return 0 or, when the writer is or becomes full, -ENOSPC. */
int kymo_trace_writer_put_chunk(struct kymo_trace_writer *writer, uint32_t process, uint32_t ring,
				const struct kymo_chunk *chunk, uint64_t close_clock,
				uint16_t flags);
int kymo_trace_writer_put_meta(struct kymo_trace_writer *writer, uint32_t process,
			       uint64_t position, const uint8_t *bytes, uint32_t length,
			       bool is_last_word);
/* Write a frame that was packed, or comes from another trace, with its stored payload as it is. */
int kymo_trace_writer_copy(struct kymo_trace_writer *writer, const struct kymo_frame_header *header,
			   const uint8_t *stored);

/* Index, trailer, rename.  On failure OUTPUT.incomplete stays, valid up to its last frame. */
KYMO_MUST_CHECK int kymo_trace_writer_close(struct kymo_trace_writer *writer,
					    struct kymo_error *error);

/* Give up without renaming; @remove: also delete the file. */
void kymo_trace_writer_abandon(struct kymo_trace_writer *writer, bool remove);

#endif
