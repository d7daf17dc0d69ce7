// SPDX-License-Identifier: Apache-2.0
#include "reader/run_definitions.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/counter.h"
#include "format/record.h"
#include "format/varint.h"

/* Definition.session, field 16, length-delimited. */
#define SESSION_KEY (16U << 3 | 2U)

uint64_t kymo_unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t kymo_run_features(const Kymo__Config *config)
{
	/* Tasks are recorded if all starts of their coroutines are. */
	bool has_starts = config->events >> KYMO_PY_START & 1 && !config->once;

	return (config->flow ? KYMO_FEATURE_FLOW : 0) | (has_starts ? KYMO_FEATURE_TASKS : 0) |
	       (config->values && config->values->scope ? KYMO_FEATURE_VALUES : 0);
}

void kymo_run_definitions_flush(struct kymo_trace_writer *writer)
{
	if (!writer->run_used)
		return;
	/* They are few and small: even a full writer accepts them, from its reserve. */
	kymo_trace_writer_put_meta(writer, 0, writer->run_position, writer->run_buffer,
				   writer->run_used, writer->is_full);
	writer->run_position += writer->run_used;
	writer->run_used = 0;
}

int kymo_run_put_frame(struct kymo_trace_writer *writer, const uint8_t *bytes, uint32_t length)
{
	int err = kymo_trace_writer_put_meta(writer, 0, writer->run_position, bytes, length, false);

	if (!err)
		writer->run_position += length;
	return err;
}

/* Room for one message of @bytes and its length; NULL: no buffer is large enough. */
static uint8_t *room(struct kymo_trace_writer *writer, size_t bytes)
{
	uint8_t *at;

	if (bytes > KYMO_RUN_BUFFER_BYTES - KYMO_VARINT_MAX_BYTES)
		return NULL;
	if (bytes > KYMO_RUN_BUFFER_BYTES - KYMO_VARINT_MAX_BYTES - writer->run_used)
		kymo_run_definitions_flush(writer);
	at = writer->run_buffer + writer->run_used;
	at += kymo_varint_put(at, bytes);
	writer->run_used = (uint32_t)(at + bytes - writer->run_buffer);
	return at;
}

static void define(struct kymo_trace_writer *writer, const Kymo__Definition *definition)
{
	uint8_t *at = room(writer, kymo__definition__get_packed_size(definition));

	if (at)
		kymo__definition__pack(definition, at);
}

void kymo_run_define_session(struct kymo_trace_writer *writer, const uint8_t *session,
			     uint32_t bytes)
{
	uint8_t head[2 * KYMO_VARINT_MAX_BYTES];
	uint8_t whole_head[3 * KYMO_VARINT_MAX_BYTES];
	size_t head_bytes = kymo_varint_put(head, SESSION_KEY);
	size_t whole_head_bytes;
	uint8_t *whole;

	head_bytes += kymo_varint_put(head + head_bytes, bytes);
	whole_head_bytes = kymo_varint_put(whole_head, head_bytes + bytes);
	memcpy(whole_head + whole_head_bytes, head, head_bytes);
	whole_head_bytes += head_bytes;
	/* Its command line may be longer than the buffer: it is written alone. */
	whole = malloc(whole_head_bytes + bytes);
	if (!whole)
		return;
	memcpy(whole, whole_head, whole_head_bytes);
	memcpy(whole + whole_head_bytes, session, bytes);
	kymo_run_definitions_flush(writer);
	kymo_run_put_frame(writer, whole, (uint32_t)whole_head_bytes + bytes);
	free(whole);
}

void kymo_run_define_process_seen(struct kymo_trace_writer *writer, uint32_t process,
				  const char *folder)
{
	Kymo__ProcessSeen seen = KYMO__PROCESS_SEEN__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	seen.process = process;
	seen.folder = (char *)(uintptr_t)folder;
	seen.seen_unix_ns = kymo_unix_ns();
	definition.kind_case = KYMO__DEFINITION__KIND_PROCESS_SEEN;
	definition.process_seen = &seen;
	define(writer, &definition);
	kymo_run_definitions_flush(writer);
}

void kymo_run_define_process_end(struct kymo_trace_writer *writer, Kymo__ProcessEnd *end)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	end->ended_unix_ns = kymo_unix_ns();
	definition.kind_case = KYMO__DEFINITION__KIND_PROCESS_END;
	definition.process_end = end;
	define(writer, &definition);
	kymo_run_definitions_flush(writer);
}

void kymo_run_define_discarded(struct kymo_trace_writer *writer, uint32_t process, Kymo__ThreadEnd *threads,
			       uint32_t count)
{
	Kymo__Discarded discarded = KYMO__DISCARDED__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__ThreadEnd **listed = calloc(count, sizeof *listed);

	if (!listed)
		return;
	for (uint32_t i = 0; i < count; i++)
		listed[i] = &threads[i];
	discarded.process = process;
	discarded.n_threads = count;
	discarded.threads = listed;
	definition.kind_case = KYMO__DEFINITION__KIND_DISCARDED;
	definition.discarded = &discarded;
	define(writer, &definition);
	free(listed);
}

void kymo_run_define_clock(struct kymo_trace_writer *writer, uint32_t counter)
{
	Kymo__Clock clock = KYMO__CLOCK__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	uint64_t best = UINT64_MAX;

	/* Take the least interrupted of a few readings. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = kymo_counter_read(counter);
		uint64_t monotonic = kymo_monotonic_ns();
		uint64_t unix_ns = kymo_unix_ns();
		uint64_t width = kymo_counter_read(counter) - before;

		if (width >= best)
			continue;
		best = width;
		clock.counter = before + width / 2;
		clock.monotonic_ns = monotonic;
		clock.unix_ns = unix_ns;
	}
	definition.kind_case = KYMO__DEFINITION__KIND_CLOCK;
	definition.clock = &clock;
	define(writer, &definition);
}

void kymo_run_define_stall(struct kymo_trace_writer *writer, uint64_t from, uint64_t to)
{
	Kymo__ClockStall stall = KYMO__CLOCK_STALL__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	stall.from_counter = from;
	stall.to_counter = to;
	definition.kind_case = KYMO__DEFINITION__KIND_CLOCK_STALL;
	definition.clock_stall = &stall;
	define(writer, &definition);
}

void kymo_run_define_snapshot(struct kymo_trace_writer *writer, uint32_t number)
{
	Kymo__Snapshot snapshot = KYMO__SNAPSHOT__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	snapshot.number = number;
	snapshot.unix_ns = kymo_unix_ns();
	definition.kind_case = KYMO__DEFINITION__KIND_SNAPSHOT;
	definition.snapshot = &snapshot;
	define(writer, &definition);
	kymo_run_definitions_flush(writer);
}

void kymo_run_define_unrecorded(struct kymo_trace_writer *writer, Kymo__Unrecorded *unrecorded)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	definition.kind_case = KYMO__DEFINITION__KIND_UNRECORDED;
	definition.unrecorded = unrecorded;
	define(writer, &definition);
}

void kymo_run_define_ending(struct kymo_trace_writer *writer, const char *reason, uint64_t unstored)
{
	Kymo__Ending ending = KYMO__ENDING__INIT;
	Kymo__Definition definition = KYMO__DEFINITION__INIT;

	ending.reason = (char *)(uintptr_t)reason;
	ending.unix_ns = kymo_unix_ns();
	ending.unstored = unstored;
	definition.kind_case = KYMO__DEFINITION__KIND_ENDING;
	definition.ending = &ending;
	define(writer, &definition);
	kymo_run_definitions_flush(writer);
}
