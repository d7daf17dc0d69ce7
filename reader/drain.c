// SPDX-License-Identifier: Apache-2.0
/*
 * Empty an image: write its definitions and its rings to the trace.
 *
 * In this order every frame can be decoded with the frames before it: a chunk is copied,
 * then the definitions committed by then are written, then the chunk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/varint.h"
#include "reader/image.h"
#include "reader/store.h"

/* Definitions that no chunk needs yet are gathered, since they compress better together:
 * up to this size, for this long. */
#define GATHERED_BYTES (256U << 10)
#define GATHERED_NS 1000000000U
/* Limit of the work on one ring, or on one stream, before the others have their turn. */
#define CHUNKS_AT_ONCE 64
#define META_FRAMES_AT_ONCE 16
/* Holes are punched in steps, to save system calls. */
#define MIN_HOLE_BYTES (64U << 10)

/* Length of the whole messages at the start of @bytes; 0: the first one is longer, and
 * needs @needed bytes; UINT32_MAX: its length is not valid. */
static uint32_t whole_messages(const uint8_t *bytes, size_t length, uint64_t *needed)
{
	size_t at = 0;

	*needed = 0;
	while (at < length) {
		uint64_t message;
		size_t n = kymo_varint_get(bytes + at, length - at, &message);

		if (!n) {
			if (length - at >= KYMO_VARINT_MAX_BYTES)
				return at ? (uint32_t)at : UINT32_MAX;
			break;
		}
		if (message > KYMO_MAX_RAW_BYTES - KYMO_VARINT_MAX_BYTES)
			return at ? (uint32_t)at : UINT32_MAX;
		if (message > length - at - n) {
			if (!at)
				*needed = n + message;
			break;
		}
		at += n + message;
	}
	return (uint32_t)at;
}

static void release_meta(struct kymo_reader *reader, struct kymo_image *image)
{
	struct kymo_meta_page *page = image->meta.page;
	uint64_t end = image->meta_taken / KYMO_PAGE_BYTES * KYMO_PAGE_BYTES;

	if (reader->access != KYMO_ACCESS_DRAIN)
		return;
	/* (C7) release: the messages were stored.  Pairs with (P7) in kymo_meta_append(). */
	kymo_store_release_u64(&page->consumed, image->meta_taken);
	/* Relaxed: a futex word only has to change; only the reader writes it. */
	kymo_store_relaxed_u32(&page->wake, kymo_load_relaxed_u32(&page->wake) + 1);
	syscall(SYS_futex, &page->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (end < image->meta_freed + MIN_HOLE_BYTES)
		return;
	fallocate(image->meta.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		  (off_t)(KYMO_PAGE_BYTES + image->meta_freed), (off_t)(end - image->meta_freed));
	image->meta_freed = end;
}

static bool grow_meta_buffer(struct kymo_reader *reader, size_t bytes)
{
	uint8_t *grown = bytes > reader->meta_capacity ? realloc(reader->meta_buffer, bytes) : NULL;

	if (!grown)
		return false;
	reader->meta_buffer = grown;
	reader->meta_capacity = bytes;
	return true;
}

/* A long message is rare: go back to the usual size, unless there is no memory for that. */
static void shrink_meta_buffer(struct kymo_reader *reader)
{
	uint8_t *shrunk = reader->meta_capacity > KYMO_META_FRAME_BYTES ? realloc(reader->meta_buffer, KYMO_META_FRAME_BYTES) : NULL;

	if (!shrunk)
		return;
	reader->meta_buffer = shrunk;
	reader->meta_capacity = KYMO_META_FRAME_BYTES;
}

/* Write one frame of definitions.  False: nothing is left, or the rest is not valid. */
static bool drain_meta_frame(struct kymo_reader *reader, struct kymo_image *image,
			     uint64_t committed)
{
	uint64_t left = committed - image->meta_taken, needed;
	size_t want = left < reader->meta_capacity ? (size_t)left : reader->meta_capacity;
	off_t at = (off_t)(KYMO_PAGE_BYTES + image->meta_taken);
	uint32_t whole;

	if (!want || pread(image->meta.fd, reader->meta_buffer, want, at) != (ssize_t)want)
		return false;
	whole = whole_messages(reader->meta_buffer, want, &needed);
	if (whole == UINT32_MAX || (!whole && needed > left)) {
		image->meta_is_bad = true;
		return false;
	}
	if (!whole)
		return grow_meta_buffer(reader, needed);
	kymo_trace_writer_put_meta(&reader->writer, image->number, image->meta_taken,
				   reader->meta_buffer, whole, false);
	kymo_sources_scan(reader->sources, image->number, image->meta_taken, reader->meta_buffer, whole, false);
	kymo_store_read_segments(reader, image, image->meta_taken, reader->meta_buffer, whole);
	image->meta_taken += whole;
	release_meta(reader, image);
	shrink_meta_buffer(reader);
	return true;
}

/* Write the definitions that are committed now.  True if some may be left. */
static bool drain_meta(struct kymo_reader *reader, struct kymo_image *image, unsigned frames)
{
	/* (C5) acquire: the messages below the length.  Pairs with (P5) in kymo_meta_append(). */
	uint64_t committed = kymo_load_acquire_u64(&image->meta.page->committed);

	image->meta_ns = reader->tick_ns;
	while (committed > image->meta_taken && committed < INT64_MAX - KYMO_PAGE_BYTES &&
	       !image->meta_is_bad) {
		if (!frames--)
			return true;
		if (!drain_meta_frame(reader, image, committed))
			break;
		kymo_reader_tick(reader);
	}
	return false;
}

/* Source files should be read soon after the program has read them: scan the definitions that are not taken yet. */
static void scan_meta(struct kymo_reader *reader, struct kymo_image *image)
{
	uint64_t scanned = kymo_sources_scanned(reader->sources, image->number);
	/* (C5) acquire: as in drain_meta(). */
	uint64_t committed = kymo_load_acquire_u64(&image->meta.page->committed), needed;
	uint32_t whole;
	size_t want;

	if (committed <= scanned || committed >= INT64_MAX - KYMO_PAGE_BYTES || image->meta_is_bad)
		return;
	want = committed - scanned < reader->meta_capacity ? (size_t)(committed - scanned) : reader->meta_capacity;
	if (pread(image->meta.fd, reader->meta_buffer, want, (off_t)(KYMO_PAGE_BYTES + scanned)) != (ssize_t)want)
		return;
	whole = whole_messages(reader->meta_buffer, want, &needed);
	if (whole != UINT32_MAX)
		kymo_sources_scan(reader->sources, image->number, scanned, reader->meta_buffer, whole, false);
}

/* Find out how segments ended before other definitions are written; those are written only for chunks that are kept. */
static void scan_segments(struct kymo_reader *reader, struct kymo_image *image, uint64_t committed)
{
	uint64_t read = image->segments.read > image->meta_taken ? image->segments.read : image->meta_taken, needed;
	uint32_t whole;
	size_t want;

	if (committed <= read || committed >= INT64_MAX - KYMO_PAGE_BYTES || image->meta_is_bad)
		return;
	want = committed - read < reader->meta_capacity ? (size_t)(committed - read) : reader->meta_capacity;
	if (pread(image->meta.fd, reader->meta_buffer, want, (off_t)(KYMO_PAGE_BYTES + read)) != (ssize_t)want)
		return;
	whole = whole_messages(reader->meta_buffer, want, &needed);
	if (whole != UINT32_MAX)
		kymo_store_read_segments(reader, image, read, reader->meta_buffer, whole);
}

static void store_chunk(struct kymo_reader *reader, struct kymo_image *image, uint32_t number,
			const struct kymo_chunk *chunk, bool is_snapshot)
{
	/* (C5) acquire: as in drain_meta().  It is read after the copy: the definitions that the chunk uses lie below it. */
	uint64_t committed = kymo_load_acquire_u64(&image->meta.page->committed);
	const struct kymo_segments *segments = &image->segments;

	if (chunk->segment || segments->ended)
		scan_segments(reader, image, committed);
	if (kymo_segments_fate(segments, chunk->segment) != KYMO_FATE_DROPPED &&
	    (segments->others > image->meta_taken || segments->read < committed))
		drain_meta(reader, image, UINT_MAX);
	kymo_store_chunk(reader, image, number, chunk, is_snapshot);
}

/* How little to compress, so that producers do not wait while @waiting chunks of @slots are stored. */
static enum kymo_hurry hurry(uint64_t waiting, uint32_t slots)
{
	return waiting < slots / 4 ? KYMO_HURRY_NONE : waiting < slots / 2 ? KYMO_HURRY_SOME : KYMO_HURRY_MOST;
}

/* Take sealed chunks in order, and free their slots.  True if some may be left. */
static bool drain_ring(struct kymo_reader *reader, struct kymo_image *image, uint32_t number)
{
	struct kymo_image_ring *ring = image->rings[number - 1];
	struct kymo_chunk chunk = {.payload = reader->payload};
	/* Acquire: chunks up to this one are sealed and found in their slots.  Pairs with the
	 * release store in kymo_ring_seal(). */
	uint64_t sealed = kymo_load_acquire_u64(&ring->view.page->sealed_seq);

	for (unsigned i = 0; ring->taken < sealed; i++) {
		uint64_t seq;

		if (i == CHUNKS_AT_ONCE)
			return true;
		seq = kymo_ring_view_next_sealed(&ring->view, ring->taken, sealed);
		if (!seq)
			break;
		reader->writer.hurry = hurry(sealed - seq, ring->view.max_slots);
		/* A chunk that is not valid is skipped: its ordinals become a gap. */
		if (!kymo_chunk_take(&ring->view, seq, &chunk))
			store_chunk(reader, image, number, &chunk, false);
		ring->taken = seq;
		kymo_ring_view_release(&ring->view, seq);
		kymo_reader_tick(reader);
	}
	return false;
}

static bool is_meta_due(const struct kymo_reader *reader, const struct kymo_image *image)
{
	uint64_t limit = reader->session.meta_bytes / 4;
	/* Relaxed: drain_meta() looks again. */
	uint64_t pending = kymo_load_relaxed_u64(&image->meta.page->committed) - image->meta_taken;

	return pending >= (limit < GATHERED_BYTES ? limit : GATHERED_BYTES) ||
	       reader->tick_ns - image->meta_ns > GATHERED_NS;
}

bool kymo_image_drain(struct kymo_reader *reader, struct kymo_image *image)
{
	bool has_more = false;

	kymo_image_open_rings(reader, image);
	if (is_meta_due(reader, image))
		has_more = drain_meta(reader, image, META_FRAMES_AT_ONCE);
	if (reader->session.policy != KYMO_POLICY_OVERWRITE)
		for (uint32_t i = 0; i < image->ring_count; i++)
			if (image->rings[i]->is_open)
				has_more |= drain_ring(reader, image, i + 1);
	if (!has_more)
		scan_meta(reader, image);
	return has_more;
}

static void take_ring(struct kymo_reader *reader, struct kymo_image *image, uint32_t number,
		      bool is_snapshot)
{
	struct kymo_image_ring *ring = image->rings[number - 1];
	struct kymo_chunk chunk = {.payload = reader->payload};
	uint32_t count = kymo_ring_view_list(&ring->view, ring->taken, reader->seqs);

	reader->writer.hurry = KYMO_HURRY_NONE;
	for (uint32_t i = 0; i < count; i++) {
		/* If the producer has reused its slot meanwhile, its ordinals become a gap. */
		if (kymo_chunk_take_tail(&ring->view, reader->seqs[i], &chunk))
			continue;
		store_chunk(reader, image, number, &chunk, is_snapshot);
		if (!chunk.is_open)
			ring->taken = chunk.seq;
		kymo_reader_tick(reader);
	}
}

void kymo_image_take_all(struct kymo_reader *reader, struct kymo_image *image, bool is_snapshot)
{
	uint32_t before;

	/* Rings are opened a few at a time. */
	do {
		before = image->ring_count;
		kymo_image_open_rings(reader, image);
	} while (image->ring_count > before);
	for (uint32_t i = 0; i < image->ring_count; i++)
		if (image->rings[i]->is_open)
			take_ring(reader, image, i + 1, is_snapshot);
	drain_meta(reader, image, UINT_MAX);
}

void kymo_image_end(struct kymo_reader *reader, struct kymo_image *image,
		    Kymo__ProcessEnd__How how, int status)
{
	const struct kymo_meta_page *page = image->meta.page;
	Kymo__ProcessEnd end = KYMO__PROCESS_END__INIT;

	kymo_image_take_all(reader, image, false);
	end.process = image->number;
	end.how = how;
	end.status = status;
	/* Relaxed: counters that nothing depends on. */
	end.undefined = kymo_load_relaxed_u64(&page->undefined);
	end.threads_unrecorded = kymo_load_relaxed_u64(&page->threads_unrecorded);
	end.events_unrecorded = kymo_load_relaxed_u64(&page->events_unrecorded);
	kymo_store_define_end(reader, image, &end);
	kymo_image_close(reader, image, reader->access == KYMO_ACCESS_DRAIN);
}

static bool has_successor(const struct kymo_reader *reader, const struct kymo_image *image)
{
	for (const struct kymo_image *other = reader->images; other; other = other->next)
		if (other->is_ready && other->is_known && image->is_ready && image->is_known &&
		    other->life.pid == image->life.pid &&
		    other->life.start_ticks == image->life.start_ticks &&
		    other->started_clock > image->started_clock)
			return true;
	return false;
}

void kymo_images_end_execed(struct kymo_reader *reader)
{
	if (!reader->has_new)
		return;
	reader->has_new = false;
	for (struct kymo_image *image = reader->images, *next; image; image = next) {
		next = image->next;
		if (has_successor(reader, image))
			kymo_image_end(reader, image, KYMO__PROCESS_END__HOW__EXECED, 0);
	}
}
