// SPDX-License-Identifier: Apache-2.0
#include "format/trace_file.h"

#include <isa-l/crc.h>
#include <stdbool.h>

/* isa-l's crc32_iscsi() leaves the inversions to its caller. */
uint32_t kymo_crc32c(uint32_t crc, const void *bytes, size_t length)
{
	return ~crc32_iscsi((unsigned char *)(uintptr_t)bytes, (int)length, ~crc);
}

uint32_t kymo_frame_crc(const struct kymo_frame_header *header, const void *payload)
{
	struct kymo_frame_header copy = *header;

	copy.crc32c = 0;
	return kymo_crc32c(kymo_crc32c(0, &copy, sizeof copy), payload, header->stored_bytes);
}

uint32_t kymo_trace_header_crc(const struct kymo_trace_header *header)
{
	return kymo_crc32c(0, header, offsetof(struct kymo_trace_header, crc32c));
}

enum kymo_frame_check kymo_frame_header_check(const struct kymo_frame_header *header)
{
	const unsigned flags = KYMO_FRAME_LZ4 | KYMO_FRAME_PROVISIONAL | KYMO_FRAME_SNAPSHOT;
	bool is_lz4 = header->flags & KYMO_FRAME_LZ4;

	if (header->magic != KYMO_FRAME_MAGIC)
		return KYMO_FRAME_BAD_MAGIC;
	if (header->header_bytes != sizeof *header || header->reserved || header->flags & ~flags ||
	    header->kind < KYMO_FRAME_CHUNK || header->kind > KYMO_FRAME_TRAILER ||
	    header->raw_bytes > KYMO_MAX_RAW_BYTES || header->stored_bytes > header->raw_bytes ||
	    (!is_lz4 && header->stored_bytes != header->raw_bytes))
		return KYMO_FRAME_BAD_HEADER;
	if (header->kind == KYMO_FRAME_CHUNK &&
	    (header->sync_bytes > header->raw_bytes || header->branches == 0))
		return KYMO_FRAME_BAD_HEADER;
	return KYMO_FRAME_OK;
}

enum kymo_frame_check kymo_frame_check(const struct kymo_frame_header *header, const void *payload)
{
	enum kymo_frame_check result = kymo_frame_header_check(header);

	if (result == KYMO_FRAME_OK && kymo_frame_crc(header, payload) != header->crc32c)
		result = KYMO_FRAME_BAD_CRC;
	return result;
}
