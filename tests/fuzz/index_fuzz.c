// SPDX-License-Identifier: Apache-2.0
/*
 * A hostile index: four bytes with the length of a trace, the trace, and what lies beside it as its index.
 *
 * The index is tried as it is, and again with its checksums and what names its trace made right, without which nothing in it
 * would ever be believed.  Whatever it says, moves end, and read nothing that is not theirs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/moves/named_places.h"
#include "replay/moves/replay_uncaught.h"

#define MOVES 12

/* Offsets in the header of the file, as docs/replay.md has them. */
enum { OF_TRACE = 56, TABLES_CRC = 104, CRC = 108, HEADER_BYTES = 112 };

struct tables {
	uint64_t totals_offset, totals_bytes, tables_offset, contents, chunks, marks;
};

static int put_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("index", MFD_CLOEXEC);

	if (fd < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

static void move(struct kymo_replay *replay)
{
	struct kymo_error error;
	struct kymo_stack stack;

	for (int i = 0; i < MOVES; i++) {
		enum kymo_go go = (enum kymo_go)(i % (KYMO_GO_SWITCH + 1));
		int result = i < MOVES / 2 ? kymo_replay_backward(replay, go, &error)
					   : kymo_replay_forward(replay, go, &error);

		if (result > KYMO_STOP_END)
			abort();
		if (!kymo_replay_stack(replay, &stack, &error))
			kymo_stack_release(&stack);
	}
}

static void go_through(struct kymo_index *index)
{
	static const char *const places[] = {"start", "50%", "#7", "1us", "end", "mark"};
	struct kymo_replay replay;
	struct kymo_moment found;
	struct kymo_error error;

	if (kymo_replay_open(&replay, index, &error))
		return;
	if (!kymo_break_at_function(&replay.breaks, "f") || !kymo_break_at_line(&replay.breaks, "p.py", 2) ||
	    !kymo_break_at_exception(&replay.breaks, ""))
		abort();
	if (!kymo_replay_break_at_uncaught(&replay, "", &error) && replay.breaks.count != 3)
		abort();
	move(&replay);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (!kymo_replay_goto(&replay, places[i], &error))
			move(&replay);
	for (size_t stream = 0; stream < index->timeline->stream_count; stream++)
		if (kymo_replay_find_hit(&replay, &replay.breaks, stream, 2, &found, &error) > 0 &&
		    found.stream != stream)
			abort();
	kymo_replay_close(&replay);
}

static void try_index(struct kymo_timeline *timeline, const uint8_t *data, size_t size)
{
	struct kymo_index index;

	if (!kymo_index_load(&index, timeline, put_file(data, size)))
		return;
	go_through(&index);
	kymo_index_close(&index);
}

/* The accounts of the chunks, those of @chunks that lie in the file. */
static void repair_accounts(uint8_t *data, size_t size, const struct tables *tables)
{
	uint64_t at = tables->tables_offset + tables->contents * 16;

	for (uint64_t i = 0; i < tables->chunks; i++, at += sizeof(struct kymo_chunk_summary)) {
		struct kymo_chunk_summary chunk;

		memcpy(&chunk, data + at, sizeof chunk);
		if (chunk.hits_offset > size || chunk.hits_bytes > size - chunk.hits_offset)
			continue;
		chunk.hits_crc = kymo_crc32c(0, data + chunk.hits_offset, chunk.hits_bytes);
		memcpy(data + at, &chunk, sizeof chunk);
	}
}

/* False: its parts do not lie in it. */
static bool repair(uint8_t *data, size_t size, const uint8_t sound[HEADER_BYTES])
{
	struct tables tables;
	uint32_t crc;

	if (size < HEADER_BYTES)
		return false;
	memcpy(data, sound, OF_TRACE);
	memcpy(&tables, data + OF_TRACE, sizeof tables);
	if (tables.totals_offset > size || tables.totals_bytes > size || tables.tables_offset > size ||
	    tables.contents > size || tables.chunks > size ||
	    tables.tables_offset + tables.contents * 16 + tables.chunks * sizeof(struct kymo_chunk_summary) > size)
		return false;
	repair_accounts(data, size, &tables);
	crc = kymo_crc32c(0, data + tables.totals_offset, size - tables.totals_offset);
	memcpy(data + TABLES_CRC, &crc, sizeof crc);
	crc = kymo_crc32c(0, data, CRC);
	memcpy(data + CRC, &crc, sizeof crc);
	return true;
}

static void try_both(struct kymo_timeline *timeline, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1), sound[HEADER_BYTES];
	struct kymo_index made;
	struct kymo_error error;

	if (!copy)
		abort();
	memcpy(copy, data, size);
	try_index(timeline, data, size);
	if (!kymo_index_open(&made, timeline, NULL, NULL, &error)) {
		if (pread(made.fd, sound, sizeof sound, 0) != sizeof sound)
			abort();
		kymo_index_close(&made);
		if (repair(copy, size, sound))
			try_index(timeline, copy, size);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kymo_timeline timeline;
	struct kymo_error error;
	uint32_t length;
	char path[64];
	int trace;

	if (size < sizeof length)
		return 0;
	memcpy(&length, data, sizeof length);
	data += sizeof length;
	size -= sizeof length;
	if (length > size)
		return 0;
	trace = put_file(data, length);
	snprintf(path, sizeof path, "/proc/self/fd/%d", trace);
	if (!kymo_timeline_open(&timeline, path, 0, &error)) {
		try_both(&timeline, data + length, size - length);
		kymo_timeline_close(&timeline);
	}
	close(trace);
	return 0;
}
