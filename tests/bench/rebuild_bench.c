// SPDX-License-Identifier: Apache-2.0
/*
 * rebuild_bench TRACE: how fast the lines of a `flow` recording are rebuilt, into a consumer that sums up the code
 * and the line of each.  Prints lines, seconds, and the sum.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "replay/decode/rebuild.h"

static uint64_t lines, sum;

static void consume(const struct kymo_rebuilt *out)
{
	uint64_t code = out->steps_code_id;

	for (uint32_t i = 0; i < out->step_count; i++)
		sum = sum * 31 + (code ^ out->steps[i].value);
	lines += out->step_count;
}

static void replay_chunk(struct kymo_rebuild *rebuild, const struct kymo_frame *frame, bool is_next)
{
	struct kymo_rebuilt out;
	struct kymo_record record;
	struct kymo_sync sync;
	size_t at = frame->header.sync_bytes, end = frame->header.raw_bytes;

	if (kymo_sync_decode(frame->payload, at, &sync) == KYMO_DECODE_OK &&
	    kymo_rebuild_open(rebuild, &sync, is_next, &out))
		consume(&out);
	while (kymo_flow_record_decode(frame->payload + at, end - at, &record) == KYMO_DECODE_OK) {
		if (kymo_rebuild_take(rebuild, &record, frame->payload + at, &out))
			consume(&out);
		at += record.bytes;
	}
}

static int replay(struct kymo_timeline *timeline, const struct kymo_stream *stream, struct kymo_error *error)
{
	struct kymo_rebuild *rebuild = kymo_rebuild_new(stream->process, UINT64_C(1) << KYMO_LINE);
	const struct kymo_index_entry *last = NULL;
	struct kymo_frame frame = {0};
	int result = rebuild ? 0 : kymo_fail(error, -1, "no flow recording");

	for (size_t i = 0; i < stream->chunk_count && !result; i++) {
		const struct kymo_index_entry *entry = timeline->chunks[stream->first_chunk + i];

		if (last && kymo_is_same_chunk(last, entry))
			continue;
		result = kymo_trace_read(&timeline->trace, entry, &frame, error);
		if (!result)
			replay_chunk(rebuild, &frame, last && last->last_ordinal + 1 == entry->first_ordinal);
		last = entry;
	}
	kymo_frame_release(&frame);
	kymo_rebuild_free(rebuild);
	return result;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct kymo_timeline timeline;
	struct kymo_error error;
	double start;

	if (argc != 2)
		return fprintf(stderr, "usage: rebuild_bench TRACE\n"), 2;
	if (kymo_timeline_open(&timeline, argv[1], 0, &error))
		return fprintf(stderr, "%s\n", error.message), 1;
	start = now();
	for (size_t i = 0; i < timeline.stream_count; i++)
		if (replay(&timeline, &timeline.streams[i], &error))
			return fprintf(stderr, "%s\n", error.message), 1;
	printf("{\"lines\": %" PRIu64 ", \"seconds\": %.6f, \"sum\": %" PRIu64 "}\n", lines, now() - start, sum);
	kymo_timeline_close(&timeline);
	return 0;
}
