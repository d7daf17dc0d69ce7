// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile shared memory: a producer that may have written anything anywhere.
 *
 * The input is patches upon the files of a sound session: { area, offset, length, bytes },
 * where areas[] says.  Then the reader attaches and takes: the ring alone or, if the first
 * byte is odd, the whole session as `kymo salvage` does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/metadata.pb-c.h"
#include "format/record.h"
#include "format/varint.h"
#include "reader/reader.h"
#include "reader/take.h"

enum {
	SLOT_BYTES = KYMO_MIN_SLOT_BYTES,
	SLOTS = 4,
	FILE_BYTES = 40960,
	PATCH_BYTES = 4, /* area, offset, length */
};

#define FOLDER "1-1-00000001" /* a process that does not live: number 1 began at another time */

struct file {
	uint8_t bytes[FILE_BYTES];
	size_t size;
};

static struct {
	struct file ring, meta, session;
} files;

/* Where patches go; of the last ones the offset says where the file ends, in units of 64 bytes. */
static const struct {
	struct file *file;
	size_t start, bytes;
	bool cuts;
} areas[] = {
	{&files.ring, 0, sizeof(struct kymo_ring_page), false},
	{&files.ring, KYMO_RING_CONSUMER_OFFSET, sizeof(struct kymo_ring_consumer), false},
	{&files.ring, KYMO_RING_HEADERS_OFFSET, SLOTS * sizeof(struct kymo_chunk_header), false},
	{&files.ring, 3 * KYMO_PAGE_BYTES, SLOTS *SLOT_BYTES, false},
	{&files.meta, 0, sizeof(struct kymo_meta_page), false},
	{&files.meta, KYMO_PAGE_BYTES, 1024, false},
	{&files.session, 0, sizeof(struct kymo_session_page), false},
	{&files.ring, 0, 65536, true},
	{&files.meta, 0, 65536, true},
};
#define AREAS (sizeof areas / sizeof *areas)

static void put_chunk(uint32_t slot, uint64_t seq, bool is_open)
{
	static const uint8_t records[] = {0, 0, KYMO_TAG(KYMO_PY_START, 0), 1, KYMO_TAG_LINE | 65,
					  KYMO_TAG(KYMO_PY_RETURN, 0), 4};
	struct kymo_chunk_header *header =
		(struct kymo_chunk_header *)(files.ring.bytes + KYMO_RING_HEADERS_OFFSET) + slot;

	header->state = is_open ? KYMO_STATE_OPEN(seq) : KYMO_STATE_SEALED(seq);
	header->commit = KYMO_COMMIT(sizeof records, is_open ? 5 : 1);
	header->first_ordinal = 3 * seq - 2;
	header->last_ordinal = is_open ? 0 : 3 * seq;
	header->thread = 1;
	header->thread_chunk = seq;
	header->sync_bytes = 2;
	memcpy(files.ring.bytes + 3 * KYMO_PAGE_BYTES + slot * SLOT_BYTES, records, sizeof records);
}

static void make_ring(void)
{
	struct kymo_ring_page *page = (struct kymo_ring_page *)files.ring.bytes;

	memcpy(page->magic, KYMO_RING_MAGIC, sizeof page->magic);
	page->abi_version = KYMO_ABI_VERSION;
	page->ring = 1;
	page->slot_bytes = SLOT_BYTES;
	page->max_slots = SLOTS;
	page->slots_offset = kymo_ring_slots_offset(SLOTS);
	page->slots = SLOTS;
	page->thread = 1;
	page->opened_seq = 4;
	page->sealed_seq = 3;
	for (uint32_t seq = 1; seq <= SLOTS; seq++)
		put_chunk(seq - 1, seq, seq == SLOTS);
	files.ring.size = 3 * KYMO_PAGE_BYTES + SLOTS * SLOT_BYTES;
}

static size_t put_message(uint8_t *at, const Kymo__Definition *definition)
{
	size_t n = kymo_varint_put(at, kymo__definition__get_packed_size(definition));

	return n + kymo__definition__pack(definition, at + n);
}

static void make_meta(void)
{
	struct kymo_meta_page *page = (struct kymo_meta_page *)files.meta.bytes;
	uint8_t *stream = files.meta.bytes + KYMO_PAGE_BYTES;
	Kymo__Definition process = KYMO__DEFINITION__INIT, code = KYMO__DEFINITION__INIT;
	Kymo__Process facts = KYMO__PROCESS__INIT;
	Kymo__Code one = KYMO__CODE__INIT;

	facts.pid = 1;
	facts.folder = (char *)FOLDER;
	process.kind_case = KYMO__DEFINITION__KIND_PROCESS;
	process.process = &facts;
	one.id = one.content = 1;
	code.kind_case = KYMO__DEFINITION__KIND_CODE;
	code.code = &one;
	memcpy(page->magic, KYMO_META_MAGIC, sizeof page->magic);
	page->abi_version = KYMO_ABI_VERSION;
	page->pid = 1;
	page->rings = 1;
	page->threads = 1;
	page->state = KYMO_PROCESS_RECORDING;
	page->committed = put_message(stream, &process);
	page->committed += put_message(stream + page->committed, &code);
	files.meta.size = KYMO_PAGE_BYTES + 8192;
}

static void make_session(void)
{
	struct kymo_session_page *page = (struct kymo_session_page *)files.session.bytes;

	memcpy(page->magic, KYMO_SESSION_MAGIC, sizeof page->magic);
	page->abi_version = KYMO_ABI_VERSION;
	page->slot_bytes = SLOT_BYTES;
	page->max_slots = SLOTS;
	page->policy = KYMO_POLICY_DROP;
	page->clock_mode = KYMO_CLOCK_SAMPLED;
	page->counter = KYMO_COUNTER_MONOTONIC;
	page->budget_bytes = 1 << 20;
	files.session.size = KYMO_PAGE_BYTES;
}

static void apply(const uint8_t *patch, size_t length)
{
	size_t area = patch[0] % AREAS;
	struct file *file = areas[area].file;
	size_t offset = (patch[1] | (size_t)patch[2] << 8) % areas[area].bytes;

	if (areas[area].cuts) {
		file->size = 64 * offset;
		return;
	}
	if (length > areas[area].bytes - offset)
		length = areas[area].bytes - offset;
	memcpy(file->bytes + areas[area].start + offset, patch + PATCH_BYTES, length);
}

static void make_files(const uint8_t *data, size_t size)
{
	memset(&files, 0, sizeof files);
	make_ring();
	make_meta();
	make_session();
	while (size >= PATCH_BYTES) {
		size_t length = data[3] < size - PATCH_BYTES ? data[3] : size - PATCH_BYTES;

		apply(data, length);
		data += PATCH_BYTES + length;
		size -= PATCH_BYTES + length;
	}
}

static void check_chunk(const struct kymo_chunk *chunk)
{
	struct kymo_record record;
	struct kymo_sync sync;
	size_t at = chunk->sync_bytes;

	if (chunk->bytes > KYMO_MAX_SLOT_BYTES || chunk->sync_bytes > chunk->bytes ||
	    !chunk->branches)
		abort();
	(void)!kymo_sync_decode(chunk->payload, chunk->sync_bytes, &sync);
	while (kymo_record_decode(chunk->payload + at, chunk->bytes - at, &record) ==
	       KYMO_DECODE_OK)
		at += record.bytes;
}

static bool fill(int fd, const struct file *file)
{
	size_t bytes = file->size < FILE_BYTES ? file->size : FILE_BYTES;

	return pwrite(fd, file->bytes, bytes, 0) == (ssize_t)bytes &&
	       !ftruncate(fd, (off_t)file->size);
}

static void take_ring(void)
{
	static uint8_t payload[KYMO_MAX_SLOT_BYTES];
	static uint64_t seqs[KYMO_MAX_SLOTS];
	struct kymo_chunk chunk = {.payload = payload};
	int file = memfd_create("ring", MFD_CLOEXEC);
	struct kymo_ring_view ring;
	struct kymo_error error;
	uint64_t seq = 0;
	uint32_t count;

	if (file < 0 || !fill(file, &files.ring))
		abort();
	if (kymo_ring_view_open_fd(&ring, file, 1, KYMO_ACCESS_DRAIN, &error))
		return;
	if (ring.slot_bytes > KYMO_MAX_SLOT_BYTES || ring.max_slots > KYMO_MAX_SLOTS)
		abort();
	count = kymo_ring_view_list(&ring, 0, seqs);
	if (count > ring.max_slots)
		abort();
	for (uint32_t i = 0; i < count; i++)
		if (!kymo_chunk_take_tail(&ring, seqs[i], &chunk))
			check_chunk(&chunk);
	while ((seq = kymo_ring_view_next_sealed(&ring, seq, UINT64_MAX))) {
		if (!kymo_chunk_take(&ring, seq, &chunk))
			check_chunk(&chunk);
		kymo_ring_view_release(&ring, seq);
	}
	kymo_ring_view_close(&ring);
}

/* The session's folder, what is in it, and the trace that becomes of it. */
static char room[64], session[96], folder[128], output[96];

static const char *in(const char *of, const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", of, name);
	return path;
}

static void write_file(const char *path, const struct file *file)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || !fill(fd, file))
		abort();
	close(fd);
}

static void salvage(void)
{
	struct kymo_watch watch;
	static const struct file empty;
	struct kymo_error error;

	mkdir(session, 0700);
	mkdir(folder, 0700);
	write_file(in(session, "session"), &files.session);
	write_file(in(session, "run"), &empty);
	write_file(in(folder, "meta"), &files.meta);
	write_file(in(folder, "ring-1"), &files.ring);
	(void)!kymo_salvage(session, output, &watch, &error);
	unlink(output);
}

static void leave(void)
{
	unlink(in(folder, "meta"));
	unlink(in(folder, "ring-1"));
	rmdir(folder);
	unlink(in(session, "session"));
	unlink(in(session, "run"));
	rmdir(session);
	rmdir(room);
}

static void enter(void)
{
	struct kymo_error error;

	strcpy(room, "/dev/shm/kymo-fuzz-XXXXXX");
	if (!mkdtemp(room)) {
		strcpy(room, "/tmp/kymo-fuzz-XXXXXX");
		if (!mkdtemp(room))
			abort();
	}
	snprintf(session, sizeof session, "%s/session", room);
	snprintf(folder, sizeof folder, "%s/" FOLDER, session);
	snprintf(output, sizeof output, "%s/out.kymo", room);
	if (kymo_view_guard(&error) || atexit(leave))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!*room)
		enter();
	if (!size)
		return 0;
	make_files(data + 1, size - 1);
	if (data[0] & 1)
		salvage();
	else
		take_ring();
	return 0;
}
