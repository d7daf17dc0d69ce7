// SPDX-License-Identifier: Apache-2.0
#include "format/trace_file.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

static const char payload[] = "the bytes of a chunk";

static struct kymo_frame_header chunk_header(void)
{
	struct kymo_frame_header header = {
		.magic = KYMO_FRAME_MAGIC,
		.kind = KYMO_FRAME_CHUNK,
		.header_bytes = sizeof header,
		.stored_bytes = sizeof payload,
		.raw_bytes = sizeof payload,
		.process = 1,
		.ring = 1,
		.thread = 1,
		.seq = 7,
		.thread_chunk = 7,
		.first_ordinal = 1001,
		.sync_bytes = 4,
		.branches = 1,
	};

	header.crc32c = kymo_frame_crc(&header, payload);
	return header;
}

/* Bit by bit, as the polynomial is defined. */
static uint32_t crc32c(uint32_t crc, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	crc = ~crc;
	while (length--) {
		crc ^= *at++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

Test(trace_file, fields_lie_where_the_specification_says)
{
	cr_assert_eq(offsetof(struct kymo_trace_header, version), 8);
	cr_assert_eq(offsetof(struct kymo_trace_header, required_features), 16);
	cr_assert_eq(offsetof(struct kymo_trace_header, optional_features), 24);
	cr_assert_eq(offsetof(struct kymo_trace_header, created_unix_ns), 32);
	cr_assert_eq(offsetof(struct kymo_trace_header, session_id), 40);
	cr_assert_eq(offsetof(struct kymo_trace_header, crc32c), 60);
	cr_assert_eq(offsetof(struct kymo_frame_header, header_bytes), 8);
	cr_assert_eq(offsetof(struct kymo_frame_header, process), 20);
	cr_assert_eq(offsetof(struct kymo_frame_header, seq), 32);
	cr_assert_eq(offsetof(struct kymo_frame_header, lost_reasons), 72);
	cr_assert_eq(offsetof(struct kymo_frame_header, open_clock), 80);
	cr_assert_eq(offsetof(struct kymo_frame_header, switch_base), 104);
	cr_assert_eq(offsetof(struct kymo_frame_header, branches), 116);
	cr_assert_eq(offsetof(struct kymo_frame_header, crc32c), 124);
	cr_assert_eq(offsetof(struct kymo_index_entry, process), 48);
	cr_assert_eq(offsetof(struct kymo_index_entry, flags), 62);
	cr_assert_arr_eq("KYRF", &(uint32_t){KYMO_FRAME_MAGIC}, 4);
}

Test(trace_file, crc_is_castagnolis_over_header_and_payload)
{
	struct kymo_frame_header header = chunk_header();
	struct kymo_frame_header zeroed = header;
	struct kymo_trace_header file = {.version = 1, .session_id = "sixteen bytes"};

	cr_assert_eq(crc32c(0, "123456789", 9), 0xe3069283);
	zeroed.crc32c = 0;
	cr_assert_eq(kymo_frame_crc(&header, payload),
		     crc32c(crc32c(0, &zeroed, sizeof zeroed), payload, sizeof payload));
	cr_assert_eq(kymo_trace_header_crc(&file), crc32c(0, &file, 60));
}

Test(trace_file, an_intact_frame_is_accepted)
{
	struct kymo_frame_header header = chunk_header();

	cr_assert_eq(kymo_frame_check(&header, payload), KYMO_FRAME_OK);
	header.stored_bytes = 0;
	header.raw_bytes = 0;
	header.sync_bytes = 0;
	header.crc32c = kymo_frame_crc(&header, "");
	cr_assert_eq(kymo_frame_check(&header, ""), KYMO_FRAME_OK, "an empty payload");
}

Test(trace_file, every_flipped_bit_is_found)
{
	const struct kymo_frame_header header = chunk_header();
	struct kymo_frame_header other;
	char copy[4096] = {0};

	memcpy(copy, payload, sizeof payload);
	for (size_t bit = 0; bit < 8 * sizeof header; bit++) {
		other = header;
		((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* A length that grew must not make the checksum read beyond the buffer. */
		if (other.stored_bytes <= sizeof copy)
			cr_assert_neq(kymo_frame_check(&other, copy), KYMO_FRAME_OK,
				      "bit %zu of the header", bit);
		else
			cr_assert_eq(kymo_frame_header_check(&other), KYMO_FRAME_BAD_HEADER);
	}
	for (size_t bit = 0; bit < 8 * sizeof payload; bit++) {
		memcpy(copy, payload, sizeof payload);
		copy[bit / 8] ^= (char)(1 << bit % 8);
		cr_assert_eq(kymo_frame_check(&header, copy), KYMO_FRAME_BAD_CRC,
			     "bit %zu of the payload", bit);
	}
}

Test(trace_file, every_flipped_bit_of_the_file_header_is_found)
{
	const struct kymo_trace_header header = {.version = 1, .session_id = "sixteen bytes"};
	uint32_t crc = kymo_trace_header_crc(&header);

	for (size_t bit = 0; bit < 8 * offsetof(struct kymo_trace_header, crc32c); bit++) {
		struct kymo_trace_header other = header;

		((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_neq(kymo_trace_header_crc(&other), crc, "bit %zu", bit);
	}
}

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct kymo_frame_header h = chunk_header();                                       \
		change;                                                                            \
		cr_assert_eq(kymo_frame_header_check(&h), KYMO_FRAME_BAD_HEADER, #change);         \
	} while (false)

#define ACCEPTED(change)                                                                           \
	do {                                                                                       \
		struct kymo_frame_header h = chunk_header();                                       \
		change;                                                                            \
		cr_assert_eq(kymo_frame_header_check(&h), KYMO_FRAME_OK, #change);                 \
	} while (false)

Test(trace_file, lengths_that_cannot_be_are_refused)
{
	REFUSED(h.header_bytes = 120);
	REFUSED(h.header_bytes = 136);
	REFUSED(h.raw_bytes++);
	REFUSED(h.stored_bytes++);
	REFUSED(h.stored_bytes = h.raw_bytes = KYMO_MAX_RAW_BYTES + 1);
	ACCEPTED(h.stored_bytes = h.raw_bytes = KYMO_MAX_RAW_BYTES);
	ACCEPTED((h.flags = KYMO_FRAME_LZ4, h.stored_bytes--));
	REFUSED((h.flags = KYMO_FRAME_LZ4, h.stored_bytes++));
	ACCEPTED(h.sync_bytes = h.raw_bytes);
	REFUSED(h.sync_bytes = h.raw_bytes + 1);
}

Test(trace_file, unknown_kinds_and_reserved_bits_are_refused)
{
	REFUSED(h.kind = 0);
	REFUSED(h.kind = 5);
	REFUSED(h.reserved = 1);
	for (unsigned bit = 3; bit < 16; bit++)
		REFUSED(h.flags = (uint16_t)(1U << bit));
	ACCEPTED(h.flags = KYMO_FRAME_PROVISIONAL | KYMO_FRAME_SNAPSHOT);
}

Test(trace_file, a_chunk_has_a_branch_word_and_other_frames_have_none)
{
	REFUSED(h.branches = 0);
	ACCEPTED(h.branches = UINT32_MAX);
	ACCEPTED((h.kind = KYMO_FRAME_META, h.branches = 0, h.sync_bytes = 0));
}

Test(trace_file, another_magic_is_no_frame)
{
	struct kymo_frame_header header = chunk_header();

	header.magic ^= 0x20;
	cr_assert_eq(kymo_frame_check(&header, payload), KYMO_FRAME_BAD_MAGIC);
}
