// SPDX-License-Identifier: Apache-2.0
#include "reader/store.h"

#include <stdlib.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "format/record.h"

/* Ends of threads in one definition. */
#define ENDED_AT_ONCE 256U

/* Count the events in a chunk that was still open: its header does not have the last ordinal yet. */
static uint64_t count_events(const struct kymo_chunk *chunk, bool is_flow)
{
	const uint8_t *at = chunk->payload + chunk->sync_bytes;
	const uint8_t *end = chunk->payload + chunk->bytes;
	uint64_t events = 31U - (unsigned)__builtin_clz(chunk->branches);
	struct kymo_record record;

	while (at < end && (is_flow ? kymo_flow_record_decode : kymo_record_decode)(
				   at, (size_t)(end - at), &record) == KYMO_DECODE_OK) {
		if (record.kind != KYMO_KIND_SPECIAL)
			events += kymo_kind_is_event(record.kind);
		else if (record.special == KYMO_TAG_BITS)
			events += 31U - (unsigned)__builtin_clz((uint32_t)record.a | 1U);
		else
			events += record.extended == KYMO_EXTENDED_MARK;
		at += record.bytes;
	}
	return events;
}

static void define_ended(struct kymo_reader *reader, struct kymo_image *image)
{
	if (image->ended_count)
		kymo_run_define_discarded(&reader->writer, image->number, image->ended, image->ended_count);
	image->ended_count = 0;
}

/* The thread has ended, and its last events are not in the trace, on purpose or because there was no room. */
static void end_thread(struct kymo_reader *reader, struct kymo_image *image, const struct kymo_image_ring *ring)
{
	if (!(ring->missing & (KYMO_LOSS_DISCARDED | KYMO_LOSS_STORAGE)) || ring->counted == ring->stored)
		return;
	if (!image->ended)
		image->ended = calloc(ENDED_AT_ONCE, sizeof *image->ended);
	if (!image->ended)
		return;
	image->ended[image->ended_count] = (Kymo__ThreadEnd)KYMO__THREAD_END__INIT;
	image->ended[image->ended_count].thread = ring->thread;
	image->ended[image->ended_count].last_ordinal = ring->counted;
	image->ended[image->ended_count].lost = ring->counted - ring->stored;
	image->ended[image->ended_count].lost_reasons = ring->missing;
	if (++image->ended_count == ENDED_AT_ONCE)
		define_ended(reader, image);
}

/* Write a frame, whose chunk reaches up to @last, or without @stored count it as dropped. */
static void settle(struct kymo_reader *reader, struct kymo_image *image, struct kymo_frame_header *header,
		   const uint8_t *stored, uint64_t last)
{
	struct kymo_image_ring *ring = image->rings[header->ring - 1];
	bool is_overwritten = reader->session.policy == KYMO_POLICY_OVERWRITE;
	uint64_t before = header->first_ordinal - 1;

	before = before > header->lost_before ? before - header->lost_before : 0;
	if (ring->thread != header->thread) {
		end_thread(reader, image, ring);
		ring->thread = header->thread;
		ring->stored = ring->counted = before;
		ring->missing = 0;
	}
	/* Chunks in between were overwritten, or there were none. */
	if (ring->missing & KYMO_LOSS_DISCARDED && before > ring->counted)
		ring->missing |= is_overwritten ? KYMO_LOSS_OVERWRITTEN : KYMO_LOSS_DAMAGED;
	if (ring->missing && before > ring->stored) {
		header->lost_before = header->first_ordinal - 1 - ring->stored;
		header->lost_reasons |= ring->missing;
	} else if (stored && header->seq == ring->seq) {
		/* It was open when it was taken before; decoders use this one instead. */
		header->lost_before = ring->lost_before;
		header->lost_reasons = ring->lost_reasons;
	}
	ring->seq = header->seq;
	ring->lost_before = header->lost_before;
	ring->lost_reasons = header->lost_reasons;
	if (!stored) {
		ring->missing |= header->lost_reasons | KYMO_LOSS_DISCARDED;
	} else if (kymo_trace_writer_copy(&reader->writer, header, stored)) {
		ring->missing |= header->lost_reasons | KYMO_LOSS_STORAGE;
		reader->unstored++;
		/* Of a chunk that was taken while it was open, count only the events after that. */
		before = header->first_ordinal - 1 > ring->counted ? header->first_ordinal - 1 : ring->counted;
		reader->unstored_events += last > before ? last - before : 0;
	} else {
		ring->missing = 0;
		ring->stored = last;
	}
	ring->counted = last;
}

/* The segment whose frames are held has ended, or what there is of it is kept. */
static void release(struct kymo_reader *reader, struct kymo_image *image, bool is_kept)
{
	struct kymo_held_frame *frame;

	while ((frame = kymo_held_next(&image->held, &reader->held_room, is_kept))) {
		settle(reader, image, &frame->header, is_kept ? frame->stored : NULL, frame->header.last_ordinal);
		image->rings[frame->header.ring - 1]->has_held = false;
		kymo_reader_tick(reader);
	}
	kymo_held_clear(&image->held, &reader->held_room);
}

void kymo_store_read_segments(struct kymo_reader *reader, struct kymo_image *image, uint64_t position,
			      const uint8_t *bytes, size_t length)
{
	enum kymo_fate fate;

	if (!kymo_segments_read(&image->segments, position, bytes, length) || kymo_held_is_empty(&image->held))
		return;
	fate = kymo_segments_fate(&image->segments, image->held_segment);
	if (fate != KYMO_FATE_OPEN)
		release(reader, image, fate == KYMO_FATE_KEPT);
}

/* A snapshot keeps what it takes; in a salvage no end will be reported any more. */
static enum kymo_fate fate_of(const struct kymo_reader *reader, const struct kymo_image *image, uint64_t segment,
			      bool is_snapshot)
{
	enum kymo_fate fate = kymo_segments_fate(&image->segments, segment);

	if (fate == KYMO_FATE_OPEN && (is_snapshot || reader->access == KYMO_ACCESS_READ || image->meta_is_bad ||
				       segment == image->unheld_segment))
		return KYMO_FATE_KEPT;
	return fate;
}

void kymo_store_chunk(struct kymo_reader *reader, struct kymo_image *image, uint32_t number,
		      const struct kymo_chunk *chunk, bool is_snapshot)
{
	struct kymo_image_ring *ring = image->rings[number - 1];
	enum kymo_fate fate = fate_of(reader, image, chunk->segment, is_snapshot);
	struct kymo_frame_header header = {
		.ring = number,
		.thread = chunk->thread,
		.seq = chunk->seq,
		.first_ordinal = chunk->first_ordinal,
		.lost_before = chunk->lost_before,
		.lost_reasons = chunk->lost_reasons,
	};
	uint64_t last = chunk->last_ordinal, close_clock = chunk->close_clock;
	uint16_t flags = is_snapshot ? KYMO_FRAME_SNAPSHOT : 0;
	const uint8_t *stored;

	/* Frames of a ring stay in order, and a segment whose end could not be written is kept. */
	if (fate == KYMO_FATE_OPEN ? chunk->segment != image->held_segment : ring->has_held)
		release(reader, image, true);
	if (chunk->is_open) {
		bool is_flow = reader->writer.required_features & KYMO_FEATURE_FLOW;

		flags |= KYMO_FRAME_PROVISIONAL;
		close_clock = kymo_counter_read(reader->session.counter);
		last = chunk->first_ordinal + count_events(chunk, is_flow) - 1;
	}
	if (fate == KYMO_FATE_DROPPED) {
		settle(reader, image, &header, NULL, last);
		return;
	}
	stored = kymo_trace_writer_pack_chunk(&reader->writer, image->number, number, chunk, close_clock, flags,
					      fate == KYMO_FATE_OPEN, &header);
	if (fate == KYMO_FATE_OPEN) {
		image->held_segment = chunk->segment;
		if (!kymo_held_put(&image->held, &reader->held_room, reader->writer.incomplete, &header, stored)) {
			ring->has_held = true;
			return;
		}
		/* There is no room to hold it: keep what fits in the trace. */
		image->unheld_segment = chunk->segment;
		release(reader, image, true);
		stored = kymo_trace_writer_pack_chunk(&reader->writer, image->number, number, chunk, close_clock,
						      flags, false, &header);
	}
	settle(reader, image, &header, stored, last);
}

/* Events lost behind the last chunk in the trace of the thread that holds a ring. */
static bool thread_end(const struct kymo_image_ring *ring, Kymo__ThreadEnd *end)
{
	const struct kymo_ring_page *page = ring->view.page;
	/* Relaxed: the process has ended, or its last chunks may be incomplete anyway. */
	uint32_t thread = kymo_load_relaxed_u32(&page->thread);
	uint64_t lost_ordinal = kymo_load_relaxed_u64(&page->lost_ordinal);
	uint64_t stopped_at = kymo_load_relaxed_u64(&page->stopped_at);
	bool has_chunk = thread == ring->thread;
	uint64_t stored = has_chunk ? ring->stored : 0;
	uint64_t counted = has_chunk ? ring->counted : 0;

	if (!thread)
		return false;
	end->thread = thread;
	end->last_ordinal = lost_ordinal > counted ? lost_ordinal : counted;
	end->lost = end->last_ordinal - stored;
	if (lost_ordinal > counted)
		end->lost_reasons = kymo_load_relaxed_u32(&page->lost_reasons);
	if (counted != stored)
		end->lost_reasons |= ring->missing;
	/* exec failed, and the thread went on. */
	if (stopped_at & KYMO_STOPPED_IF_LAST && kymo_load_relaxed_u32(&page->stopped_after) != (uint32_t)end->last_ordinal)
		return true;
	end->stopped_at = (uint32_t)stopped_at;
	end->is_least = KYMO_STOPPED_IS_LEAST(stopped_at);
	return true;
}

static void add_threads(const struct kymo_image *image, Kymo__ProcessEnd *end)
{
	Kymo__ThreadEnd *threads = calloc(image->ring_count + 1, sizeof *threads);

	end->threads = calloc(image->ring_count + 1, sizeof *end->threads);
	for (uint32_t i = 0; threads && end->threads && i < image->ring_count; i++) {
		const struct kymo_image_ring *ring = image->rings[i];
		const struct kymo_ring_page *page = ring->view.page;
		uint64_t longest;

		if (!ring->is_open)
			continue;
		longest = kymo_load_relaxed_u64(&page->longest_stall_ns);
		end->stalls += kymo_load_relaxed_u64(&page->stalls);
		end->stalled_ns += kymo_load_relaxed_u64(&page->stalled_ns);
		if (longest > end->longest_stall_ns)
			end->longest_stall_ns = longest;
		threads[end->n_threads] = (Kymo__ThreadEnd)KYMO__THREAD_END__INIT;
		end->threads[end->n_threads] = &threads[end->n_threads];
		if (thread_end(ring, &threads[end->n_threads]))
			end->n_threads++;
	}
	if (!end->n_threads)
		free(threads);
}

void kymo_store_define_end(struct kymo_reader *reader, struct kymo_image *image, Kymo__ProcessEnd *end)
{
	release(reader, image, true);
	for (uint32_t i = 0; i < image->ring_count; i++) {
		const struct kymo_image_ring *ring = image->rings[i];

		/* Relaxed: as in thread_end(), which reports the others. */
		if (ring->is_open && kymo_load_relaxed_u32(&ring->view.page->thread) != ring->thread)
			end_thread(reader, image, ring);
	}
	define_ended(reader, image);
	add_threads(image, end);
	kymo_run_define_process_end(&reader->writer, end);
	if (end->n_threads)
		free(end->threads[0]);
	free(end->threads);
}

void kymo_store_forget(struct kymo_reader *reader, struct kymo_image *image)
{
	kymo_held_clear(&image->held, &reader->held_room);
	kymo_segments_free(&image->segments);
	free(image->ended);
	image->ended = NULL;
}
