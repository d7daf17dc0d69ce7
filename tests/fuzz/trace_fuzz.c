// SPDX-License-Identifier: Apache-2.0
/*
 * A hostile trace file: opened by its index and by a scan, every event walked, its lines counted, its calls nested, added up and
 * exported, salvaged.
 *
 * Each input is tried as it is, and again with its checksums made right, without which
 * nothing behind them would ever be reached.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay/coverage/branch_trail.h"
#include "replay/coverage/covered_files.h"
#include "replay/profile/export/export.h"
#include "replay/profile/export/perfetto.pb-c.h"
#include "replay/profile/call_tree.h"
#include "reader/run.h"
#include "replay/decode/merge.h"
#include "tests/support/nesting.h"

#define MAX_EVENTS 20000

static int file = -1;
static char path[64];

static void put_file(const uint8_t *data, size_t size)
{
	if (file < 0) {
		file = memfd_create("trace", MFD_CLOEXEC);
		snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	}
	if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
		abort();
}

static void walk(unsigned flags)
{
	char why[KYMO_LOSS_TEXT_BYTES];
	struct kymo_timeline timeline;
	struct kymo_merge *merge;
	struct kymo_event event;
	struct kymo_error error;

	if (kymo_timeline_open(&timeline, path, flags, &error))
		return;
	if (!kymo_merge_open(&merge, &timeline, INT64_MIN, NULL, NULL, &error)) {
		for (int i = 0; i < MAX_EVENTS && kymo_merge_next(merge, &event, &error) > 0; i++) {
			if (!kymo_event_kind_name(event.kind))
				abort();
			if (event.kind == KYMO_EVENT_GAP &&
			    (!event.lost || !*kymo_loss_text(event.lost_reasons, why)))
				abort();
			kymo_event_line(&event);
		}
		kymo_merge_close(merge);
	}
	for (size_t i = 0; i < timeline.stream_count; i++) {
		struct kymo_cursor cursor;

		kymo_cursor_init(&cursor, &timeline, &timeline.streams[i]);
		kymo_cursor_seek_time(&cursor, 1000000);
		for (int n = 0; n < 100 && kymo_cursor_next(&cursor, &event, &error) > 0; n++)
			;
		kymo_cursor_release(&cursor);
	}
	kymo_timeline_close(&timeline);
}

static void follow_branches(struct kymo_trails *trails, const struct kymo_content_counts *of)
{
	bool is_exit;

	for (uint32_t i = 0; i < of->branch_count; i++) {
		trails->count = 0;
		if (of->branches[i].hits[1] && !kymo_trail_follow(trails, of, of->branches[i].dests[1], &is_exit) &&
		    trails->count > KYMO_MAX_TRAIL)
			abort();
	}
}

static void count(bool wants_contexts)
{
	struct kymo_covered_files files;
	struct kymo_trails trails = {0};
	struct kymo_timeline timeline;
	struct kymo_counts counts;
	struct kymo_error error;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return;
	if (!kymo_counts_read(&counts, &timeline, wants_contexts, &error)) {
		if (!kymo_covered_files_make(&files, &counts))
			for (size_t i = 0; i < files.count; i++)
				follow_branches(&trails, files.contents[i].of);
		kymo_covered_files_release(&files);
		kymo_trails_release(&trails);
	}
	kymo_counts_release(&counts);
	kymo_timeline_close(&timeline);
}

static void nest(struct kymo_slice slice)
{
	struct kymo_nesting nesting;
	struct kymo_timeline timeline;
	struct kymo_error error;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return;
	kymo_check_nesting(&nesting, &timeline, &slice, MAX_EVENTS);
	if (nesting.broken)
		abort();
	kymo_timeline_close(&timeline);
}

/* Who was called from where, with few nodes; each thread's time is shared out. */
static void add_up(struct kymo_slice slice, bool wants_lines)
{
	struct kymo_timeline timeline;
	struct kymo_call_tree tree;
	struct kymo_error error;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return;
	if (!kymo_call_tree_read(&tree, &timeline, &slice, wants_lines, 16, &error)) {
		for (size_t i = 0; i < tree.thread_count; i++)
			if (tree.threads[i].begin_ns > tree.threads[i].end_ns || tree.threads[i].outside_ns < 0)
				abort();
		for (size_t i = 0; i < tree.node_shares.count; i++)
			if (tree.node_shares.items[i].self_ns < 0 || tree.node_shares.items[i].total_ns < 0)
				abort();
	}
	kymo_call_tree_release(&tree);
	kymo_timeline_close(&timeline);
}

static void check_json(const char *text, size_t length)
{
	json_t *parsed = json_loadb(text, length, 0, NULL);

	if (!parsed)
		abort();
	json_decref(parsed);
}

static void check_perfetto(const char *bytes, size_t length)
{
	Perfetto__Trace *trace = perfetto__trace__unpack(NULL, length, (const uint8_t *)bytes);

	if (!trace)
		abort();
	perfetto__trace__free_unpacked(trace, NULL);
}

/* What is whole is of the format; a trace may say more than there is room for. */
static void export_as(kymo_exporter exporter, void (*check)(const char *bytes, size_t length))
{
	static const struct kymo_slice all = KYMO_SLICE_ALL;
	static char room[1 << 20];
	struct kymo_timeline timeline;
	struct kymo_export export = {.timeline = &timeline, .slice = &all};
	struct kymo_error error;
	int result;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return;
	export.out = fmemopen(room, sizeof room, "w");
	if (!export.out)
		abort();
	result = exporter(&export, &error);
	if (!result && !fflush(export.out) && !ferror(export.out))
		check(room, (size_t)ftell(export.out));
	fclose(export.out);
	kymo_timeline_close(&timeline);
}

static void learn_past(bool stops_at_damage)
{
	struct kymo_error error;
	struct kymo_past past;

	if (!kymo_past_read(&past, file, stops_at_damage, NULL, &error))
		kymo_past_free(&past);
}

static void try_file(const uint8_t *data, size_t size)
{
	put_file(data, size);
	walk(0);
	walk(KYMO_TRACE_SCAN);
	count(false);
	count(true);
	nest(KYMO_SLICE_ALL);
	nest((struct kymo_slice){.from_ns = 1000, .to_ns = INT64_MAX, .function = "[a-m]*", .test = "", .min_duration_ns = 10});
	add_up(KYMO_SLICE_ALL, false);
	add_up((struct kymo_slice){.from_ns = 1000, .to_ns = INT64_MAX / 2, .min_duration_ns = 10}, true);
	export_as(kymo_export_perfetto, check_perfetto);
	export_as(kymo_export_chrome, check_json);
	export_as(kymo_export_speedscope, check_json);
	export_as(kymo_export_gecko, check_json);
	learn_past(false);
	learn_past(true);
}

/* Make the checksums right; false if there is no header to begin with. */
static bool repair(uint8_t *data, size_t size)
{
	struct kymo_trace_header header;
	struct kymo_frame_header frame;

	if (size < sizeof header)
		return false;
	memcpy(&header, data, sizeof header);
	header.crc32c = kymo_trace_header_crc(&header);
	memcpy(data, &header, sizeof header);
	for (size_t at = sizeof header; at + sizeof frame <= size;
	     at += sizeof frame + frame.stored_bytes) {
		memcpy(&frame, data + at, sizeof frame);
		if (frame.stored_bytes > size - at - sizeof frame)
			break;
		frame.crc32c = kymo_frame_crc(&frame, data + at + sizeof frame);
		memcpy(data + at, &frame, sizeof frame);
	}
	return true;
}

static size_t count_frames(unsigned flags)
{
	struct kymo_trace trace;
	struct kymo_error error;
	size_t count;

	if (kymo_trace_open(&trace, path, flags, &error))
		return SIZE_MAX;
	count = trace.frame_count;
	kymo_trace_close(&trace);
	return count;
}

/*
 * The frames of the index are as many as the trailer says; of an index that has more or fewer
 * nothing is believed, and they are those that a scan finds.  With a trailer that is right if
 * the input is, and with such as miscount.
 */
static void try_trailers(const uint8_t *data, size_t size)
{
	struct {
		struct kymo_frame_header frame;
		struct kymo_trailer trailer;
	} last, sound;

	if (size < sizeof(struct kymo_trace_header) + sizeof last)
		return;
	memcpy(&sound, data + size - sizeof sound, sizeof sound);
	if (sound.frame.magic != KYMO_FRAME_MAGIC || sound.frame.kind != KYMO_FRAME_TRAILER ||
	    sound.frame.stored_bytes != sizeof sound.trailer)
		return;
	put_file(data, size);
	for (int more = -1; more <= 1; more++) {
		size_t listed;

		last = sound;
		last.trailer.frames += (uint64_t)more;
		last.frame.crc32c = kymo_frame_crc(&last.frame, &last.trailer);
		if (pwrite(file, &last, sizeof last, (off_t)(size - sizeof last)) != sizeof last)
			abort();
		listed = count_frames(0);
		if (listed != last.trailer.frames && listed != count_frames(KYMO_TRACE_SCAN))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	try_file(data, size);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	if (repair(copy, size)) {
		if (memcmp(copy, data, size))
			try_file(copy, size);
		try_trailers(copy, size);
	}
	free(copy);
	return 0;
}
