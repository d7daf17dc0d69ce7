// SPDX-License-Identifier: Apache-2.0
/*
 * The trace file: a header, then frames.  docs/format.md is the specification;
 * this header holds its structures.
 *
 * Every frame stands alone: its header says what it is, its CRC32C covers header
 * and stored payload, its payload is one independent LZ4 block, or not compressed.
 * The index and the trailer at the end repeat what a scan of the frames finds.
 */
#ifndef KYMO_FORMAT_TRACE_FILE_H
#define KYMO_FORMAT_TRACE_FILE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "format/chunk.h"

#define KYMO_TRACE_MAGIC "\x89KYMO\r\n\x1a"
#define KYMO_TRACE_VERSION 1U
#define KYMO_FRAME_MAGIC 0x4652594bU /* "KYRF" as bytes */

/* Upper limits that a decoder checks before it allocates. */
#define KYMO_MAX_RAW_BYTES (64U << 20)

struct kymo_trace_header {
	uint8_t magic[8];
	uint32_t version;           /* KYMO_TRACE_VERSION; will not change */
	uint32_t header_bytes;      /* sizeof this struct; frames follow */
	uint64_t required_features; /* refuse a file with an unknown bit */
	uint64_t optional_features; /* ignore unknown bits */
	uint64_t created_unix_ns;
	uint8_t session_id[16];
	uint32_t reserved;          /* must be zero */
	uint32_t crc32c;            /* of the bytes before it */
};
static_assert(sizeof(struct kymo_trace_header) == 64, "format");

/* Bits of required_features. */
#define KYMO_FEATURE_FLOW UINT64_C(1)  /* records are for kymo_flow_record_decode() */
#define KYMO_FEATURE_TASKS UINT64_C(2) /* there may be TASK records */
#define KYMO_FEATURE_VALUES UINT64_C(4) /* there may be VALUES records */
#define KYMO_FEATURES (KYMO_FEATURE_FLOW | KYMO_FEATURE_TASKS | KYMO_FEATURE_VALUES) /* known to this version */

enum kymo_frame_kind {
	KYMO_FRAME_CHUNK = 1,   /* payload of one chunk, sync block first */
	KYMO_FRAME_META = 2,    /* part of a definitions stream; seq is its position there */
	KYMO_FRAME_INDEX = 3,   /* struct kymo_index_entry[], derived from the frames before */
	KYMO_FRAME_TRAILER = 4, /* struct kymo_trailer, the last frame of a clean file */
};

enum kymo_frame_flags {
	KYMO_FRAME_LZ4 = 1 << 0,         /* payload is one LZ4 block; else stored raw */
	KYMO_FRAME_PROVISIONAL = 1 << 1, /* chunk was still open: a later frame of the same ring
					    and seq, if any, replaces this one */
	KYMO_FRAME_SNAPSHOT = 1 << 2,    /* taken at a snapshot; may repeat an earlier frame */
};

struct kymo_frame_header {
	uint32_t magic;
	uint16_t kind;
	uint16_t flags;
	uint32_t header_bytes; /* sizeof this struct */
	uint32_t stored_bytes; /* payload as stored in the file */
	uint32_t raw_bytes;    /* payload after decompression */
	uint32_t process;      /* number in this trace, from 1; 0: the run itself */
	/* chunks only, as in struct kymo_chunk_header; zero otherwise, but for seq of META */
	uint32_t ring;
	uint32_t thread;
	uint64_t seq;
	uint64_t thread_chunk;
	uint64_t first_ordinal;
	uint64_t last_ordinal; /* 0: not known, the chunk was open */
	uint64_t lost_before;
	uint32_t lost_reasons;
	uint32_t interpreter;
	uint64_t open_clock;
	uint64_t close_clock; /* for an open chunk: when it was taken */
	uint64_t meta_position;
	uint64_t switch_base;
	uint32_t sync_bytes;
	uint32_t branches; /* the open branch word: the last branches of the chunk; 1: none */
	uint32_t reserved; /* must be zero */
	uint32_t crc32c;   /* of this header with crc32c 0, then the stored payload */
};
static_assert(sizeof(struct kymo_frame_header) == 128, "format");

struct kymo_index_entry {
	uint64_t file_offset; /* offset of the frame's header */
	uint64_t seq;
	uint64_t first_ordinal;
	uint64_t last_ordinal;
	uint64_t open_clock;
	uint64_t close_clock;
	uint32_t process;
	uint32_t thread;
	uint32_t ring;
	uint16_t kind;
	uint16_t flags;
};
static_assert(sizeof(struct kymo_index_entry) == 64, "format");

struct kymo_trailer {
	uint64_t index_offset; /* file offset of the INDEX frame's header; 0: there is none */
	uint64_t frames;       /* frames before the index */
};
static_assert(sizeof(struct kymo_trailer) == 16, "format");

/* CRC32C (Castagnoli) of @bytes; @crc: that of the bytes before them, or 0. */
uint32_t kymo_crc32c(uint32_t crc, const void *bytes, size_t length);

/* CRC32C of @header, its crc32c field taken as 0, and of @payload. */
uint32_t kymo_frame_crc(const struct kymo_frame_header *header, const void *payload);

/* CRC32C of a trace header's bytes before the crc32c field. */
uint32_t kymo_trace_header_crc(const struct kymo_trace_header *header);

enum kymo_frame_check {
	KYMO_FRAME_OK = 0,
	KYMO_FRAME_BAD_MAGIC,
	KYMO_FRAME_BAD_HEADER, /* a length or a reserved field that no writer makes */
	KYMO_FRAME_BAD_CRC,
};

/* Check a header alone: magic, lengths, reserved bits.  The CRC needs the payload. */
enum kymo_frame_check kymo_frame_header_check(const struct kymo_frame_header *header);

/* Check @header and its payload of header->stored_bytes together. */
enum kymo_frame_check kymo_frame_check(const struct kymo_frame_header *header, const void *payload);

#endif
