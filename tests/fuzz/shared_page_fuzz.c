// SPDX-License-Identifier: Apache-2.0
/*
 * Hostile shared memory: a producer that may have written anything anywhere.
 *
 * The input is patches upon the files of a sound session: { area, offset, length, bytes },
 * where areas[] says.  Then the reader attaches and takes: the ring alone or, if the first
 * byte is odd, the whole session as `kymo salvage` does.  Of the ring alone, what is behind
 * a patch of the last area is done to the file while the reader has it open.
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
#include "reader/trace_writer.h"
#include "replay/trace/trace.h"

enum {
	SLOT_BYTES = KYMO_MIN_SLOT_BYTES,
	SLOTS = 4,
	MAX_CHUNKS = KYMO_MAX_SLOTS + 256, /* more than a ring may have slots */
	/* What is behind is a hole. */
	FILE_BYTES = KYMO_RING_HEADERS_OFFSET + MAX_CHUNKS * sizeof(struct kymo_chunk_header),
	MAX_STREAM = 65536, /* definitions up to where another one may begin */
	MAX_HOLE = 2 * KYMO_META_FRAME_BYTES,
	PATCH_BYTES = 4, /* area, offset, length */
};

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#define FOLDER "1-1-00000001" /* a process that does not live: number 1 began at another time */

struct file {
	uint8_t bytes[FILE_BYTES];
	size_t used; /* what is behind is zero */
	size_t size;
};

struct input {
	const uint8_t *at;
	size_t left;
};

static struct {
	struct file ring, meta, session;
} files;

enum patch {
	BYTES,
	LENGTH,	  /* the offset says where the file ends, in units of 64 bytes */
	GEOMETRY, /* another sound ring: of as many slots as the offset says */
	MESSAGE,  /* one more definition: its length is the offset, shifted by the byte */
	THEN,	  /* what follows is done later */
};

static const struct {
	enum patch patch;
	struct file *file;
	size_t start, bytes;
} areas[] = {
	{BYTES, &files.ring, 0, sizeof(struct kymo_ring_page)},
	{BYTES, &files.ring, KYMO_RING_CONSUMER_OFFSET, sizeof(struct kymo_ring_consumer)},
	{BYTES, &files.ring, KYMO_RING_HEADERS_OFFSET, SLOTS * sizeof(struct kymo_chunk_header)},
	{BYTES, &files.ring, 3 * KYMO_PAGE_BYTES, SLOTS *SLOT_BYTES},
	{BYTES, &files.meta, 0, sizeof(struct kymo_meta_page)},
	{BYTES, &files.meta, KYMO_PAGE_BYTES, 1024},
	{BYTES, &files.session, 0, sizeof(struct kymo_session_page)},
	{LENGTH, &files.ring, 0, 65536},
	{LENGTH, &files.meta, 0, 65536},
	{LENGTH, &files.session, 0, 65536},
	{GEOMETRY, &files.ring, 0, 65536},
	{MESSAGE, &files.meta, 0, 65536},
	{THEN, NULL, 0, 1},
};
#define AREAS (sizeof areas / sizeof *areas)

static void *use(struct file *file, size_t at, size_t bytes)
{
	if (file->used < at + bytes)
		file->used = at + bytes;
	return file->bytes + at;
}

static void clear(struct file *file)
{
	memset(file->bytes, 0, file->used);
	file->used = 0;
}

static void put_chunk(const struct kymo_ring_page *page, uint32_t slot, uint64_t seq, bool is_open)
{
	static const uint8_t records[] = {0, 0, KYMO_TAG(KYMO_PY_START, 0), 1, KYMO_TAG_LINE | 65,
					  KYMO_TAG(KYMO_PY_RETURN, 0), 4};
	struct kymo_chunk_header *header =
		use(&files.ring, KYMO_RING_HEADERS_OFFSET + slot * sizeof *header, sizeof *header);
	size_t at = page->slots_offset + (size_t)slot * page->slot_bytes;

	header->state = is_open ? KYMO_STATE_OPEN(seq) : KYMO_STATE_SEALED(seq);
	header->commit = KYMO_COMMIT(sizeof records, is_open ? 5 : 1);
	header->first_ordinal = 3 * seq - 2;
	header->last_ordinal = is_open ? 0 : 3 * seq;
	header->thread = 1;
	header->thread_chunk = seq;
	header->sync_bytes = 2;
	if (at + sizeof records <= FILE_BYTES)
		memcpy(use(&files.ring, at, sizeof records), records, sizeof records);
}

static void make_ring(uint32_t slot_bytes, uint32_t max_slots, uint32_t chunks)
{
	struct kymo_ring_page *page;

	clear(&files.ring);
	page = use(&files.ring, 0, sizeof *page);
	memcpy(page->magic, KYMO_RING_MAGIC, sizeof page->magic);
	page->abi_version = KYMO_ABI_VERSION;
	page->ring = 1;
	page->slot_bytes = slot_bytes;
	page->max_slots = max_slots;
	page->slots_offset = kymo_ring_slots_offset(max_slots);
	page->slots = max_slots;
	page->thread = 1;
	page->opened_seq = chunks;
	page->sealed_seq = chunks - 1;
	for (uint32_t seq = 1; seq <= chunks; seq++)
		put_chunk(page, seq - 1, seq, seq == chunks);
	files.ring.size = page->slots_offset + (size_t)max_slots * slot_bytes;
}

static size_t put_message(uint8_t *at, const Kymo__Definition *definition)
{
	size_t n = kymo_varint_put(at, kymo__definition__get_packed_size(definition));

	return n + kymo__definition__pack(definition, at + n);
}

static void make_meta(void)
{
	struct kymo_meta_page *page = use(&files.meta, 0, sizeof *page);
	uint8_t *stream = use(&files.meta, KYMO_PAGE_BYTES, 1024);
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
	struct kymo_session_page *page = use(&files.session, 0, sizeof *page);

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

/* @bytes: the length of a slot as a power of two, and how many slots hold a chunk. */
static void change_geometry(uint32_t max_slots, const uint8_t *bytes)
{
	uint32_t chunks = 1 + 17U * bytes[1];

	static_assert(1 + 17 * UINT8_MAX <= MAX_CHUNKS, "room in the file");
	make_ring(1U << bytes[0] % 25, max_slots, chunks < max_slots ? chunks : max_slots);
}

/* The message is a hole, and of a long one the file has the start only. */
static void add_message(uint64_t length)
{
	struct kymo_meta_page *page = use(&files.meta, 0, sizeof *page);
	size_t at = KYMO_PAGE_BYTES + page->committed;

	if (page->committed > MAX_STREAM)
		return;
	at += kymo_varint_put(use(&files.meta, at, KYMO_VARINT_MAX_BYTES), length);
	page->committed = at - KYMO_PAGE_BYTES + length;
	files.meta.size = at + (length < MAX_HOLE ? length : MAX_HOLE);
}

static void apply(const uint8_t *patch, size_t length)
{
	size_t area = patch[0] % AREAS;
	struct file *file = areas[area].file;
	size_t offset = (patch[1] | (size_t)patch[2] << 8) % areas[area].bytes;
	size_t at = areas[area].start + offset;

	switch (areas[area].patch) {
	case BYTES:
		if (length > areas[area].bytes - offset)
			length = areas[area].bytes - offset;
		memcpy(use(file, at, length), patch + PATCH_BYTES, length);
		break;
	case LENGTH:
		file->size = 64 * offset;
		break;
	case GEOMETRY:
		if (length >= 2)
			change_geometry((uint32_t)offset, patch + PATCH_BYTES);
		break;
	case MESSAGE:
		if (length >= 1)
			add_message((uint64_t)offset << patch[PATCH_BYTES] % 48);
		break;
	case THEN:
		break;
	}
}

/* Apply what comes before the next THEN.  False: that was all. */
static bool apply_some(struct input *input)
{
	while (input->left >= PATCH_BYTES) {
		const uint8_t *patch = input->at;
		size_t left = input->left - PATCH_BYTES;
		size_t length = patch[3] < left ? patch[3] : left;

		apply(patch, length);
		input->at += PATCH_BYTES + length;
		input->left = left - length;
		if (areas[patch[0] % AREAS].patch == THEN)
			return true;
	}
	return false;
}

static void make_files(void)
{
	clear(&files.meta);
	clear(&files.session);
	make_ring(SLOT_BYTES, SLOTS, SLOTS);
	make_meta();
	make_session();
}

static void check_chunk(const struct kymo_ring_view *ring, const struct kymo_chunk *chunk)
{
	struct kymo_record record;
	struct kymo_sync sync;
	size_t at = chunk->sync_bytes;

	CHECK(chunk->bytes <= ring->slot_bytes && chunk->sync_bytes <= chunk->bytes);
	CHECK(chunk->branches);
	(void)!kymo_sync_decode(chunk->payload, chunk->sync_bytes, &sync);
	while (kymo_record_decode(chunk->payload + at, chunk->bytes - at, &record) ==
	       KYMO_DECODE_OK)
		at += record.bytes;
}

static bool fill(int fd, const struct file *file)
{
	size_t bytes = file->size < file->used ? file->size : file->used;

	return pwrite(fd, file->bytes, bytes, 0) == (ssize_t)bytes &&
	       !ftruncate(fd, (off_t)file->size);
}

/* A view that lacks a page must know, and nothing may come out of it any more. */
static void check_guard(struct kymo_ring_view *ring, const uint64_t *seqs, uint32_t count,
			struct kymo_chunk *chunk)
{
	size_t last = ring->map.bytes - 1;

	(void)*(const volatile uint8_t *)(ring->map.start + last);
	CHECK(ring->map.is_broken || last / KYMO_PAGE_BYTES * KYMO_PAGE_BYTES < files.ring.size);
	for (uint32_t i = 0; ring->map.is_broken && i < count; i++)
		CHECK(kymo_chunk_take_tail(ring, seqs[i], chunk));
}

static void take_chunks(struct kymo_ring_view *ring, struct kymo_chunk *chunk)
{
	static uint64_t seqs[KYMO_MAX_SLOTS];
	uint32_t count = kymo_ring_view_list(ring, 0, seqs);
	uint64_t seq = 0;

	CHECK(count <= ring->max_slots);
	for (uint32_t i = 0; i < count; i++)
		if (!kymo_chunk_take_tail(ring, seqs[i], chunk))
			check_chunk(ring, chunk);
	while ((seq = kymo_ring_view_next_sealed(ring, seq, UINT64_MAX))) {
		if (!kymo_chunk_take(ring, seq, chunk))
			check_chunk(ring, chunk);
		kymo_ring_view_release(ring, seq);
	}
	check_guard(ring, seqs, count, chunk);
}

static void take_ring(struct input *input, bool goes_on)
{
	int file = memfd_create("ring", MFD_CLOEXEC);
	struct kymo_chunk chunk = {0};
	struct kymo_ring_view ring;
	struct kymo_error error;

	CHECK(file >= 0 && fill(file, &files.ring));
	if (kymo_ring_view_open_fd(&ring, file, 1, KYMO_ACCESS_DRAIN, &error))
		return;
	CHECK(ring.slot_bytes <= KYMO_MAX_SLOT_BYTES && ring.max_slots <= KYMO_MAX_SLOTS);
	/* No larger than a slot, so that AddressSanitizer sees what is copied from behind it. */
	chunk.payload = malloc(ring.slot_bytes);
	CHECK(chunk.payload);
	take_chunks(&ring, &chunk);
	while (goes_on) {
		goes_on = apply_some(input);
		CHECK(fill(file, &files.ring));
		take_chunks(&ring, &chunk);
	}
	free(chunk.payload);
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

/* Whatever the producer did, what becomes of it is a sound trace. */
static void check_trace(void)
{
	const struct kymo_ring_page *page = (const struct kymo_ring_page *)files.ring.bytes;
	struct kymo_frame frame = {0};
	struct kymo_trace trace;
	struct kymo_error error;

	CHECK(!kymo_trace_open(&trace, output, 0, &error) && trace.is_complete);
	for (size_t i = 0; i < trace.frame_count; i++) {
		CHECK(!kymo_trace_read(&trace, &trace.frames[i], &frame, &error));
		CHECK(frame.header.kind != KYMO_FRAME_CHUNK ||
		      frame.header.raw_bytes <= page->slot_bytes);
	}
	CHECK(!trace.damage_count);
	kymo_frame_release(&frame);
	kymo_trace_close(&trace);
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
	if (!kymo_salvage(session, NULL, output, &watch, &error))
		check_trace();
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
	struct input input;
	bool goes_on;

	if (!*room)
		enter();
	if (!size)
		return 0;
	input = (struct input){data + 1, size - 1};
	make_files();
	goes_on = apply_some(&input);
	if (data[0] & 1)
		salvage();
	else
		take_ring(&input, goes_on);
	return 0;
}
