// SPDX-License-Identifier: Apache-2.0
/*
 * A hostile trace file: opened by its index and by a scan, every event walked, salvaged.
 *
 * Each input is tried as it is, and again with its checksums made right, without which
 * nothing behind them would ever be reached.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader/run.h"
#include "replay/merge.h"

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
