// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/frame_scan.h"

#define HEADER_BYTES sizeof(struct kymo_frame_header)
#define HOSTILE_BYTES (48U << 20)

static struct kymo_frame_scan scan;
static struct kymo_frame_header found;
static struct kymo_error error;
static int file;

static void set_up(void)
{
	file = memfd_create("trace", 0);
	cr_assert_geq(file, 0);
}

static void tear_down(void)
{
	close(file);
}

static void put(uint64_t offset, const void *bytes, size_t length)
{
	cr_assert_eq(pwrite(file, bytes, length, (off_t)offset), (ssize_t)length);
}

static void put_trace_header(void)
{
	struct kymo_trace_header header = {
		.version = KYMO_TRACE_VERSION, .header_bytes = sizeof header};

	memcpy(header.magic, KYMO_TRACE_MAGIC, sizeof header.magic);
	header.crc32c = kymo_trace_header_crc(&header);
	put(0, &header, sizeof header);
}

static struct kymo_frame_header make_header(uint64_t seq, uint32_t bytes)
{
	return (struct kymo_frame_header){
		.magic = KYMO_FRAME_MAGIC, .kind = KYMO_FRAME_META, .header_bytes = HEADER_BYTES,
		.stored_bytes = bytes, .raw_bytes = bytes, .seq = seq};
}

/* A frame of @bytes at @offset; returns where it ends. */
static uint64_t put_frame(uint64_t offset, uint64_t seq, uint32_t bytes)
{
	struct kymo_frame_header header = make_header(seq, bytes);
	uint8_t *payload = calloc(bytes + 1, 1);

	header.crc32c = kymo_frame_crc(&header, payload);
	put(offset, &header, sizeof header);
	put(offset + sizeof header, payload, bytes);
	free(payload);
	return offset + sizeof header + bytes;
}

static void begin(void)
{
	struct kymo_trace_header header;

	put_trace_header();
	cr_assert_eq(kymo_frame_scan_begin(&scan, file, &header, &error), 0, "%s", error.message);
}

TestSuite(frame_scan, .init = set_up, .fini = tear_down, .timeout = 120);

Test(frame_scan, damage_of_any_length_is_passed_over)
{
	/* Around the length of the window, which is looked through at a time. */
	for (unsigned bytes = 1; bytes < 3 * KYMO_SCAN_WINDOW_BYTES; bytes += 4093) {
		uint8_t *noise = malloc(bytes);
		uint64_t end;

		memset(noise, 'K', bytes);
		cr_assert_eq(ftruncate(file, 0), 0);
		end = put_frame(sizeof(struct kymo_trace_header), 1, 100);
		put(end, noise, bytes);
		put_frame(end + bytes, 2, 100);
		free(noise);
		begin();
		cr_assert(kymo_frame_scan_intact(&scan, &found));
		cr_assert_eq(scan.gap, 0);
		cr_assert(kymo_frame_scan_intact(&scan, &found), "%u bytes", bytes);
		cr_assert_eq(found.seq, 2);
		cr_assert_eq(scan.gap, bytes);
		cr_assert_str_eq(scan.why, "no frame begins here");
		cr_assert_not(kymo_frame_scan_intact(&scan, &found));
		cr_assert_eq(scan.skipped, bytes);
		kymo_frame_scan_end(&scan);
	}
}

Test(frame_scan, a_frame_that_looks_longer_than_it_is_hides_none_behind_it)
{
	struct kymo_frame_header header = make_header(1, 1000);

	put(sizeof(struct kymo_trace_header), &header, sizeof header);
	put_frame(sizeof(struct kymo_trace_header) + 200, 2, 2000);
	begin();
	cr_assert(kymo_frame_scan_intact(&scan, &found));
	cr_assert_eq(found.seq, 2);
	cr_assert_eq(scan.gap, 200);
	cr_assert_str_eq(scan.why, "checksum does not match");
	kymo_frame_scan_end(&scan);
}

/* Fill the file with headers every @step bytes, all of frames that reach as far as they may. */
static void put_hostile(uint32_t step)
{
	uint8_t *bytes = calloc(HOSTILE_BYTES, 1);

	for (uint32_t at = 0; at + HEADER_BYTES <= HOSTILE_BYTES; at += step) {
		struct kymo_frame_header header =
			make_header(at, HOSTILE_BYTES - at - (uint32_t)HEADER_BYTES);
		size_t length = step < HEADER_BYTES ? step : HEADER_BYTES;

		memcpy(bytes + at, &header, length);
	}
	put(sizeof(struct kymo_trace_header), bytes, HOSTILE_BYTES);
	free(bytes);
}

Test(frame_scan, a_file_full_of_headers_takes_no_longer_than_its_size_allows)
{
	static const uint32_t steps[] = {HEADER_BYTES, 4};

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		put_hostile(steps[i]);
		begin();
		cr_assert_not(kymo_frame_scan_intact(&scan, &found));
		cr_assert_eq(scan.skipped, HOSTILE_BYTES);
		cr_assert_lt(scan.wasted, UINT64_C(2) << 30);
		kymo_frame_scan_end(&scan);
	}
}
