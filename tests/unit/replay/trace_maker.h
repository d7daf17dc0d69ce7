// SPDX-License-Identifier: Apache-2.0
/*
 * Traces made by hand, field by field, so that tests of replay/ depend on nothing but format/.
 *
 * A maker is a growing buffer; what is appended is what a reader would write, or what no
 * reader would.
 */
#ifndef KYMO_TESTS_TRACE_MAKER_H
#define KYMO_TESTS_TRACE_MAKER_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/metadata.pb-c.h"
#include "format/record.h"
#include "format/trace_file.h"
#include "format/varint.h"

struct maker {
	uint8_t bytes[1 << 16];
	size_t length;
	struct kymo_index_entry index[64];
	size_t frames;
	char path[64];
};

/* Records of a chunk, built up one by one. */
struct payload {
	uint8_t bytes[1 << 14];
	size_t length;
};

static inline void make_header(struct maker *maker)
{
	struct kymo_trace_header header = {
		.version = KYMO_TRACE_VERSION,
		.header_bytes = sizeof header,
	};

	memcpy(header.magic, KYMO_TRACE_MAGIC, 8);
	header.crc32c = kymo_trace_header_crc(&header);
	maker->length = 0;
	maker->frames = 0;
	memcpy(maker->bytes, &header, sizeof header);
	maker->length = sizeof header;
}

/* Append a frame; the caller has set what distinguishes it.  Returns its offset. */
static inline size_t make_frame(struct maker *maker, struct kymo_frame_header header,
				const void *payload, size_t bytes)
{
	size_t offset = maker->length;

	header.magic = KYMO_FRAME_MAGIC;
	header.header_bytes = sizeof header;
	header.raw_bytes = (uint32_t)bytes;
	header.stored_bytes = (uint32_t)bytes;
	if (header.flags & KYMO_FRAME_LZ4)
		header.stored_bytes = (uint32_t)LZ4_compress_default(
			payload, (char *)maker->bytes + offset + sizeof header, (int)bytes,
			LZ4_compressBound((int)bytes));
	else if (bytes)
		memcpy(maker->bytes + offset + sizeof header, payload, bytes);
	header.crc32c = kymo_frame_crc(&header, maker->bytes + offset + sizeof header);
	memcpy(maker->bytes + offset, &header, sizeof header);
	maker->length += sizeof header + header.stored_bytes;
	if (header.kind <= KYMO_FRAME_META)
		maker->index[maker->frames++] = (struct kymo_index_entry){
			.file_offset = offset,
			.seq = header.seq,
			.first_ordinal = header.first_ordinal,
			.last_ordinal = header.last_ordinal,
			.open_clock = header.open_clock,
			.close_clock = header.close_clock,
			.process = header.process,
			.thread = header.thread,
			.ring = header.ring,
			.kind = header.kind,
			.flags = header.flags,
		};
	return offset;
}

static inline void make_end(struct maker *maker)
{
	struct kymo_trailer trailer = {.frames = maker->frames};

	trailer.index_offset =
		make_frame(maker, (struct kymo_frame_header){.kind = KYMO_FRAME_INDEX}, maker->index,
			   maker->frames * sizeof *maker->index);
	make_frame(maker, (struct kymo_frame_header){.kind = KYMO_FRAME_TRAILER}, &trailer,
		   sizeof trailer);
}

/* Write what was made to a file of its own; returns its path. */
static inline const char *make_file(struct maker *maker)
{
	int fd;

	strcpy(maker->path, "/tmp/kymo-test-XXXXXX");
	fd = mkstemp(maker->path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, maker->bytes, maker->length), (ssize_t)maker->length);
	close(fd);
	return maker->path;
}

/* Add a definition to a META payload. */
static inline void add_definition(struct payload *stream, const Kymo__Definition *definition)
{
	size_t length = kymo__definition__get_packed_size(definition);

	stream->length += kymo_varint_put(stream->bytes + stream->length, length);
	kymo__definition__pack(definition, stream->bytes + stream->length);
	stream->length += length;
}

/* Wrap message @field of type @type into a definition and add it. */
#define ADD(stream, KIND, field, ...)                                                              \
	do {                                                                                       \
		Kymo__Definition definition_ = KYMO__DEFINITION__INIT;                             \
		definition_.kind_case = KYMO__DEFINITION__KIND_##KIND;                             \
		definition_.field = (__VA_ARGS__);                                                 \
		add_definition(stream, &definition_);                                              \
	} while (0)

static inline size_t make_meta(struct maker *maker, uint32_t process, const struct payload *stream)
{
	return make_frame(maker,
			  (struct kymo_frame_header){.kind = KYMO_FRAME_META, .process = process},
			  stream->bytes, stream->length);
}

static inline void add_bytes(struct payload *payload, const void *bytes, size_t length)
{
	memcpy(payload->bytes + payload->length, bytes, length);
	payload->length += length;
}

/* A record of one field in one byte, or of two. */
static inline void add1(struct payload *payload, enum kymo_kind kind, uint8_t a)
{
	add_bytes(payload, (uint8_t[]){KYMO_TAG(kind, 0), a}, 2);
}

static inline void add2(struct payload *payload, enum kymo_kind kind, uint8_t a, uint8_t b)
{
	add_bytes(payload, (uint8_t[]){KYMO_TAG(kind, 0), a, b}, 3);
}

static inline void add_line_step(struct payload *payload, int step)
{
	add_bytes(payload, (uint8_t[]){(uint8_t)(KYMO_TAG_LINE | (step + KYMO_LINE_BIAS))}, 1);
}

static inline void add_bits(struct payload *payload, uint32_t word)
{
	uint8_t bytes[5] = {KYMO_TAG_BITS};

	memcpy(bytes + 1, &word, 4);
	add_bytes(payload, bytes, 5);
}

/* A chunk of process 1, thread 1, ring 1 with an empty sync block before @payload. */
static inline size_t make_chunk(struct maker *maker, struct kymo_frame_header header,
				const struct payload *payload)
{
	struct payload whole = {.bytes = {0, 0}, .length = 2};

	add_bytes(&whole, payload->bytes, payload->length);
	header.kind = KYMO_FRAME_CHUNK;
	header.sync_bytes = 2;
	header.process = header.process ? header.process : 1;
	header.thread = header.thread ? header.thread : 1;
	header.ring = header.ring ? header.ring : header.thread;
	header.branches = header.branches ? header.branches : KYMO_BRANCHES_NONE;
	return make_frame(maker, header, whole.bytes, whole.length);
}

/* One process with pid 100 and one function f in f.py, lines 10, 11, 12 of one unit each. */
static inline void make_definitions(struct maker *maker)
{
	static uint8_t table[] = {
		0x80 | 13 << 3, 0,     /* unit 0: line 10 */
		0x80 | 11 << 3, 0, 0,  /* unit 1: line 11 */
		0x80 | 11 << 3, 0, 0,  /* unit 2: line 12 */
	};
	struct payload stream = {.length = 0};
	Kymo__Process process = KYMO__PROCESS__INIT;
	Kymo__Thread thread = KYMO__THREAD__INIT;
	Kymo__Content content = KYMO__CONTENT__INIT;
	Kymo__Code code = KYMO__CODE__INIT;
	Kymo__Name name = KYMO__NAME__INIT;

	process.pid = 100;
	process.folder = "100-1-a";
	thread.thread = 1;
	thread.native_id = 101;
	thread.name = "MainThread";
	content.id = 1;
	content.file = "f.py";
	content.name = "f";
	content.qualname = "C.f";
	content.first_line = 10;
	content.line_table = (ProtobufCBinaryData){sizeof table, table};
	code.id = 7;
	code.content = 1;
	code.entry_offset = 1;
	name.id = 3;
	name.name = "ValueError";
	ADD(&stream, PROCESS, process, &process);
	ADD(&stream, THREAD, thread, &thread);
	ADD(&stream, CONTENT, content, &content);
	ADD(&stream, CODE, code, &code);
	ADD(&stream, NAME, name, &name);
	make_meta(maker, 1, &stream);
}

/* A trace with these definitions, ready for chunks. */
static inline void make_start(struct maker *maker)
{
	make_header(maker);
	make_definitions(maker);
}

#endif
