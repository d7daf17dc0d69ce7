// SPDX-License-Identifier: Apache-2.0
/*
 * What an earlier reader of the session has left: the numbers that it gave to processes,
 * and how far it got in their rings and definitions.
 */
#include <errno.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

#include "format/frame_scan.h"
#include "format/unpack.h"
#include "format/varint.h"
#include "reader/run.h"

static void *grow(void *array, uint32_t count, size_t size)
{
	/* Doubled whenever the count reaches a power of two. */
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * (size_t)count : 1) * size);
}

static struct kymo_past_process *find_process(struct kymo_past *past, uint32_t number)
{
	for (uint32_t i = 0; i < past->process_count; i++)
		if (past->processes[i].number == number)
			return &past->processes[i];
	return NULL;
}

static int add_process(struct kymo_past *past, const Kymo__ProcessSeen *seen)
{
	struct kymo_past_process *grown =
		grow(past->processes, past->process_count, sizeof *past->processes);
	struct kymo_past_process *process;

	if (!grown)
		return -ENOMEM;
	past->processes = grown;
	process = &grown[past->process_count++];
	*process = (struct kymo_past_process){.number = seen->process, .seen_ns = seen->seen_unix_ns};
	strncpy(process->folder, seen->folder, sizeof process->folder - 1);
	return 0;
}

static int learn_message(struct kymo_past *past, struct kymo_sources *sources, const uint8_t *bytes, size_t length)
{
	Kymo__Definition *definition;
	int err = kymo_unpack(bytes, length, &definition, NULL);

	if (err)
		return err == -ENOMEM ? err : 0;
	if (definition->kind_case == KYMO__DEFINITION__KIND_PROCESS_SEEN) {
		err = add_process(past, definition->process_seen);
		kymo_sources_begin_process(sources, definition->process_seen->process,
					   definition->process_seen->seen_unix_ns, 0);
	} else if (definition->kind_case == KYMO__DEFINITION__KIND_CLOCK) {
		past->last_counter = definition->clock->counter;
	} else if (definition->kind_case == KYMO__DEFINITION__KIND_ENDING) {
		past->has_ending = true;
	} else if (definition->kind_case == KYMO__DEFINITION__KIND_SOURCE) {
		kymo_sources_know(sources, definition->source->file);
	}
	kymo__definition__free_unpacked(definition, NULL);
	return err;
}

static int learn_run(struct kymo_past *past, struct kymo_sources *sources, const struct kymo_frame_header *header,
		     const uint8_t *raw)
{
	size_t at = 0, n;
	uint64_t message;
	int err = 0;

	while (!err && (n = kymo_varint_get(raw + at, header->raw_bytes - at, &message)) &&
	       message <= header->raw_bytes - at - n) {
		err = learn_message(past, sources, raw + at + n, message);
		at += n + message;
	}
	past->run_position = header->seq + header->raw_bytes;
	return err;
}

static int learn_definitions(struct kymo_past *past, struct kymo_sources *sources,
			     const struct kymo_frame_header *header, const uint8_t *stored)
{
	struct kymo_past_process *process = find_process(past, header->process);
	uint8_t *raw;
	int err = 0;

	if (process)
		process->meta_taken = header->seq + header->raw_bytes;
	raw = malloc(header->raw_bytes + 1);
	if (!raw)
		return -ENOMEM;
	if (!(header->flags & KYMO_FRAME_LZ4))
		memcpy(raw, stored, header->raw_bytes);
	else if (LZ4_decompress_safe((const char *)stored, (char *)raw, (int)header->stored_bytes,
				     (int)header->raw_bytes) != (int)header->raw_bytes)
		goto out;
	if (process)
		kymo_segments_read(&process->segments, header->seq, raw, header->raw_bytes);
	if (header->process)
		kymo_sources_scan(sources, header->process, header->seq, raw, header->raw_bytes, true);
	else
		err = learn_run(past, sources, header, raw);
out:
	free(raw);
	return err;
}

static struct kymo_past_ring of_chunk(const struct kymo_frame_header *header)
{
	return (struct kymo_past_ring){
		.process = header->process,
		.ring = header->ring,
		.taken = header->seq,
		.thread = header->thread,
		.last_ordinal = header->last_ordinal,
	};
}

static int learn_chunk(struct kymo_past *past, const struct kymo_frame_header *header)
{
	struct kymo_past_ring *grown;

	/* A provisional frame may be replaced by a later one. */
	if (header->flags & KYMO_FRAME_PROVISIONAL)
		return 0;
	for (uint32_t i = past->ring_count; i-- > 0;) {
		struct kymo_past_ring *ring = &past->rings[i];

		if (ring->process != header->process || ring->ring != header->ring)
			continue;
		if (header->seq > ring->taken)
			*ring = of_chunk(header);
		return 0;
	}
	grown = grow(past->rings, past->ring_count, sizeof *past->rings);
	if (!grown)
		return -ENOMEM;
	past->rings = grown;
	grown[past->ring_count++] = of_chunk(header);
	return 0;
}

/* Learn from @header, found by @scan, and copy its frame to @writer if there is one. */
static int take_frame(struct kymo_past *past, const struct kymo_frame_scan *scan,
		      const struct kymo_frame_header *header, struct kymo_trace_writer *writer,
		      struct kymo_sources *sources)
{
	int err = 0;

	if (header->kind == KYMO_FRAME_CHUNK)
		err = learn_chunk(past, header);
	else if (header->kind == KYMO_FRAME_META)
		err = learn_definitions(past, sources, header, scan->payload);
	past->end = scan->next;
	past->frames++;
	if (!err && writer && !writer->is_full)
		kymo_trace_writer_copy(writer, header, scan->payload);
	return err;
}

static int walk(struct kymo_past *past, int fd, bool stops_at_damage,
		struct kymo_trace_writer *writer, struct kymo_sources *sources, struct kymo_watch *watch,
		struct kymo_error *error)
{
	struct kymo_frame_scan *scan = malloc(sizeof *scan);
	struct kymo_trace_header trace_header;
	struct kymo_frame_header header;
	int err;

	*past = (struct kymo_past){.end = sizeof trace_header};
	if (!scan)
		return kymo_fail(error, -ENOMEM, "out of memory");
	err = kymo_frame_scan_begin(scan, fd, &trace_header, error);
	kymo_store_relaxed_u64(&watch->total, scan->size);
	while (!err && kymo_frame_scan_intact(scan, &header)) {
		bool is_derived = header.kind >= KYMO_FRAME_INDEX;

		if (stops_at_damage && (is_derived || scan->skipped))
			break;
		kymo_store_relaxed_u64(&watch->done, scan->next);
		if (is_derived)
			continue;
		err = take_frame(past, scan, &header, writer, sources);
		if (err)
			kymo_fail(error, err, "out of memory");
	}
	kymo_frame_scan_end(scan);
	free(scan);
	if (err)
		kymo_past_free(past);
	return err;
}

int kymo_past_read(struct kymo_past *past, int fd, bool stops_at_damage, struct kymo_sources *sources,
		   struct kymo_error *error)
{
	struct kymo_watch unwatched;

	return walk(past, fd, stops_at_damage, NULL, sources, &unwatched, error);
}

int kymo_past_copy(struct kymo_past *past, int fd, struct kymo_trace_writer *writer, struct kymo_sources *sources,
		   struct kymo_watch *watch, struct kymo_error *error)
{
	return walk(past, fd, false, writer, sources, watch, error);
}

void kymo_past_free(struct kymo_past *past)
{
	for (uint32_t i = 0; i < past->process_count; i++)
		kymo_segments_free(&past->processes[i].segments);
	free(past->processes);
	free(past->rings);
	*past = (struct kymo_past){0};
}
