// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "replay/trace/trace.h"
#include "tests/unit/replay/trace_maker.h"

static struct maker maker;
static struct kymo_error error;

static struct payload some_lines(int count)
{
	struct payload payload = {.length = 0};

	add1(&payload, KYMO_CODE, 7);
	for (int i = 0; i < count; i++)
		add_line_step(&payload, 1);
	return payload;
}

/* Three chunks; returns the offset of the second. */
static size_t make_three(void)
{
	struct payload payload = some_lines(20);
	size_t second;

	make_start(&maker);
	make_chunk(&maker, (struct kymo_frame_header){.seq = 1, .first_ordinal = 1,
						       .last_ordinal = 20}, &payload);
	second = make_chunk(&maker, (struct kymo_frame_header){
			.seq = 2, .first_ordinal = 21, .last_ordinal = 40, .flags = KYMO_FRAME_LZ4},
		&payload);
	make_chunk(&maker, (struct kymo_frame_header){.seq = 3, .first_ordinal = 41,
						       .last_ordinal = 60}, &payload);
	return second;
}

static void open_made(struct kymo_trace *trace)
{
	int result = kymo_trace_open(trace, make_file(&maker), 0, &error);

	unlink(maker.path);
	cr_assert_eq(result, 0, "%s", error.message);
}

Test(trace, the_index_and_a_scan_give_the_same_frames)
{
	struct kymo_trace indexed, scanned;

	make_three();
	open_made(&scanned);
	cr_assert(!scanned.is_complete);
	make_end(&maker);
	open_made(&indexed);
	cr_assert(indexed.is_complete);
	cr_assert_eq(indexed.frame_count, 4);
	cr_assert_eq(scanned.frame_count, 4);
	cr_assert_arr_eq(indexed.frames, scanned.frames, 4 * sizeof *scanned.frames);
	cr_assert_eq(scanned.damage_count, 0);
	kymo_trace_close(&indexed);
	kymo_trace_close(&scanned);
}

Test(trace, a_compressed_payload_is_read_as_it_was)
{
	struct kymo_frame frame = {0};
	struct kymo_trace trace;

	make_three();
	open_made(&trace);
	cr_assert_eq(kymo_trace_read(&trace, &trace.frames[2], &frame, &error), 0);
	cr_assert_eq(frame.header.seq, 2);
	cr_assert_eq(frame.header.raw_bytes, 24);
	cr_assert_eq(frame.payload[23], KYMO_TAG_LINE + KYMO_LINE_BIAS + 1);
	kymo_frame_release(&frame);
	kymo_trace_close(&trace);
}

Test(trace, a_flipped_bit_anywhere_costs_one_frame_and_is_reported_with_its_offset)
{
	size_t second = make_three(), end = maker.index[3].file_offset;

	for (size_t at = second; at < end; at++) {
		struct kymo_trace trace;

		maker.bytes[at] ^= 0x10;
		open_made(&trace);
		maker.bytes[at] ^= 0x10;
		cr_assert_eq(trace.frame_count, 3, "byte %zu", at);
		cr_assert_eq(trace.frames[2].seq, 3);
		cr_assert_eq(trace.damage_count, 1);
		cr_assert_eq(trace.damage[0].offset, second);
		cr_assert_eq(trace.damage[0].bytes, end - second);
		kymo_trace_close(&trace);
	}
}

Test(trace, a_file_cut_anywhere_keeps_the_frames_before_the_cut)
{
	size_t whole;

	make_three();
	make_end(&maker);
	whole = maker.length;
	for (size_t cut = sizeof(struct kymo_trace_header); cut < whole; cut++) {
		struct kymo_trace trace;
		size_t intact = 0;

		maker.length = cut;
		open_made(&trace);
		while (intact < 4 && (intact == 3 ? maker.index[3].file_offset + 128 + 24
						  : maker.index[intact + 1].file_offset) <= cut)
			intact++;
		cr_assert_eq(trace.frame_count, intact, "cut at %zu", cut);
		cr_assert(!trace.is_complete);
		kymo_trace_close(&trace);
	}
}

Test(trace, damage_behind_an_index_is_found_when_it_is_read)
{
	struct kymo_frame frame = {0};
	struct kymo_trace trace;
	size_t second = make_three();

	make_end(&maker);
	maker.bytes[second + 140] ^= 1;
	open_made(&trace);
	cr_assert_eq(trace.frame_count, 4);
	cr_assert_eq(kymo_trace_read(&trace, &trace.frames[2], &frame, &error), -EBADMSG);
	cr_assert(strstr(error.message, "checksum"));
	cr_assert_eq(trace.damage_count, 1);
	cr_assert_eq(trace.damage[0].offset, second);
	cr_assert_eq(kymo_trace_read(&trace, &trace.frames[3], &frame, &error), 0);
	kymo_frame_release(&frame);
	kymo_trace_close(&trace);
}

Test(trace, an_index_whose_frames_overlap_or_go_back_is_not_believed)
{
	struct kymo_frame frame = {0};
	struct kymo_trace trace;
	size_t inner = make_three() + sizeof(struct kymo_frame_header), second = maker.index[2].file_offset;
	struct kymo_frame_header header;

	/* The payload of the second chunk is a frame, too. */
	memcpy(&header, maker.bytes + second, sizeof header);
	header.stored_bytes = header.raw_bytes = 24;
	header.flags = 0;
	header.crc32c = kymo_frame_crc(&header, maker.bytes + inner + sizeof header);
	memcpy(maker.bytes + inner, &header, sizeof header);
	header.stored_bytes = header.raw_bytes = 128 + 24;
	header.crc32c = kymo_frame_crc(&header, maker.bytes + inner);
	memcpy(maker.bytes + second, &header, sizeof header);
	maker.index[3].file_offset = inner;
	maker.length = inner + 128 + 24;
	make_end(&maker);
	open_made(&trace);
	cr_assert_eq(trace.frame_count, 4);
	cr_assert_eq(kymo_trace_read(&trace, &trace.frames[3], &frame, &error), -EBADMSG);
	cr_assert_eq(kymo_trace_read(&trace, &trace.frames[2], &frame, &error), -EBADMSG);
	cr_assert(strstr(error.message, "reaches into the next"));
	kymo_trace_close(&trace);
	kymo_frame_release(&frame);

	make_three();
	maker.index[2].file_offset = maker.index[1].file_offset;
	make_end(&maker);
	open_made(&trace);
	cr_assert_eq(trace.frames[2].file_offset, second);
	kymo_trace_close(&trace);
}

Test(trace, other_versions_and_features_are_refused_by_name)
{
	struct kymo_trace_header header;
	struct kymo_trace trace;

	make_three();
	memcpy(&header, maker.bytes, sizeof header);
	header.version = 9;
	header.crc32c = kymo_trace_header_crc(&header);
	memcpy(maker.bytes, &header, sizeof header);
	cr_assert_eq(kymo_trace_open(&trace, make_file(&maker), 0, &error), -EPROTONOSUPPORT);
	cr_assert(strstr(error.message, "version 9"));
	unlink(maker.path);

	header.version = KYMO_TRACE_VERSION;
	header.required_features = 0x40;
	header.crc32c = kymo_trace_header_crc(&header);
	memcpy(maker.bytes, &header, sizeof header);
	cr_assert_eq(kymo_trace_open(&trace, make_file(&maker), 0, &error), -EPROTONOSUPPORT);
	cr_assert(strstr(error.message, "0x40"));
	unlink(maker.path);
}

Test(trace, of_damage_at_many_places_the_first_are_kept_and_the_rest_counted)
{
	struct kymo_trace trace = {.fd = -1};

	for (uint64_t i = 0; i < 3 * KYMO_DAMAGE_KEPT; i++)
		kymo_trace_note_damage(&trace, i % (2 * KYMO_DAMAGE_KEPT), 1, "test");
	cr_assert_eq(trace.damage_count, KYMO_DAMAGE_KEPT);
	cr_assert_eq(trace.damage_more, KYMO_DAMAGE_KEPT);
	kymo_trace_close(&trace);
}

Test(trace, what_is_no_trace_is_refused)
{
	struct kymo_trace trace;

	memset(maker.bytes, 'x', 200);
	for (maker.length = 0; maker.length < 200; maker.length += 50) {
		cr_assert_eq(kymo_trace_open(&trace, make_file(&maker), 0, &error), -EBADMSG);
		unlink(maker.path);
	}
	cr_assert_eq(kymo_trace_open(&trace, "/tmp", 0, &error), -EINVAL);
	cr_assert_eq(kymo_trace_open(&trace, "/nonexistent", 0, &error), -ENOENT);
}
