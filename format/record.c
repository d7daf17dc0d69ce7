// SPDX-License-Identifier: Apache-2.0
#include "format/record.h"

#include "format/varint.h"

static uint64_t load_le(const uint8_t *bytes, size_t width)
{
	uint64_t value = 0;

	switch (width) { /* each of these is one load */
	case 1:
		return bytes[0];
	case 2:
		return bytes[0] | (uint64_t)bytes[1] << 8;
	case 4:
		return bytes[0] | (uint64_t)bytes[1] << 8 | (uint64_t)bytes[2] << 16 | (uint64_t)bytes[3] << 24;
	default:
		for (size_t i = 0; i < width; i++)
			value |= (uint64_t)bytes[i] << (8 * i);
		return value;
	}
}

/* A record that has @record->a more bytes. */
static enum kymo_decode decode_block(size_t bytes, uint64_t max_bytes, struct kymo_record *record)
{
	if (record->a > max_bytes)
		return KYMO_DECODE_CORRUPT;
	record->bytes += (uint32_t)record->a;
	return bytes < record->bytes ? KYMO_DECODE_TRUNCATED : KYMO_DECODE_OK;
}

static enum kymo_decode decode_special(const uint8_t *payload, size_t bytes, bool is_flow,
				       struct kymo_record *record)
{
	size_t length = payload[0] == KYMO_TAG_BITS ? 5 : 6;

	if (payload[0] != KYMO_TAG_BITS && payload[0] != KYMO_TAG_EXTENDED)
		return KYMO_DECODE_CORRUPT;
	if (bytes < length)
		return KYMO_DECODE_TRUNCATED;
	record->kind = KYMO_KIND_SPECIAL;
	record->special = payload[0];
	record->bytes = (uint32_t)length;
	record->a = load_le(payload + length - 4, 4);
	if (record->special == KYMO_TAG_BITS)
		return record->a > 1 ? KYMO_DECODE_OK : KYMO_DECODE_CORRUPT;
	record->extended = payload[1];
	if (is_flow && (record->extended == KYMO_EXTENDED_STACK || record->extended == KYMO_EXTENDED_OTHER_STACK))
		return decode_block(bytes, KYMO_SYNC_MAX_BYTES, record);
	if (record->extended == KYMO_EXTENDED_VALUES)
		return decode_block(bytes, KYMO_VALUES_MAX_BYTES, record);
	if (record->extended != KYMO_EXTENDED_MARK && record->extended != KYMO_EXTENDED_INTERPRETER &&
	    record->extended != KYMO_EXTENDED_TASK)
		return KYMO_DECODE_CORRUPT;
	return KYMO_DECODE_OK;
}

static void decode_step(uint8_t tag, struct kymo_record *record)
{
	bool is_line = tag >= KYMO_TAG_LINE;

	record->kind = is_line ? KYMO_LINE : KYMO_INSTRUCTION;
	record->a = is_line ? (uint64_t)((tag & 0x7f) - KYMO_LINE_BIAS)
			    : (uint64_t)((tag & 0x1f) - KYMO_INSTRUCTION_BIAS);
	record->is_delta = true;
	record->bytes = 1;
}

static enum kymo_decode decode_fields(const uint8_t *payload, size_t bytes, struct kymo_record *record)
{
	enum kymo_kind kind = payload[0] >> 2;
	size_t width = (size_t)1 << (payload[0] & 3);
	size_t fields = kymo_kind_has_two_fields(kind) ? 2 : 1;

	if (bytes < 1 + fields * width)
		return KYMO_DECODE_TRUNCATED;
	record->kind = kind;
	record->bytes = (uint32_t)(1 + fields * width);
	record->a = load_le(payload + 1, width);
	if (fields == 2)
		record->b = load_le(payload + 1 + width, width);
	return KYMO_DECODE_OK;
}

enum kymo_decode kymo_record_decode(const uint8_t *payload, size_t bytes, struct kymo_record *record)
{
	*record = (struct kymo_record){0};
	if (bytes == 0)
		return KYMO_DECODE_END;
	if (payload[0] >= KYMO_TAG_INSTRUCTION) {
		decode_step(payload[0], record);
		return KYMO_DECODE_OK;
	}
	if (payload[0] >> 2 == KYMO_KIND_SPECIAL)
		return decode_special(payload, bytes, false, record);
	return decode_fields(payload, bytes, record);
}

enum kymo_decode kymo_flow_record_decode_any(const uint8_t *payload, size_t bytes, struct kymo_record *record)
{
	*record = (struct kymo_record){0};
	if (bytes == 0)
		return KYMO_DECODE_END;
	if (payload[0] >= KYMO_TAG_SITE) {
		record->kind = KYMO_SITE;
		record->a = (uint64_t)(payload[0] - KYMO_TAG_SITE) + KYMO_SITE_BIAS;
		record->bytes = 1;
		return KYMO_DECODE_OK;
	}
	if (payload[0] >> 2 == KYMO_KIND_SPECIAL)
		return decode_special(payload, bytes, true, record);
	return payload[0] >> 2 < KYMO_KINDS ? decode_fields(payload, bytes, record) : KYMO_DECODE_CORRUPT;
}

enum kymo_decode kymo_sync_decode(const uint8_t *block, size_t bytes, struct kymo_sync *sync)
{
	uint64_t listed;
	size_t at, n;

	*sync = (struct kymo_sync){0};
	if (!(at = kymo_varint_get(block, bytes, &sync->depth)))
		return KYMO_DECODE_TRUNCATED;
	if (!(n = kymo_varint_get(block + at, bytes - at, &listed)))
		return KYMO_DECODE_TRUNCATED;
	at += n;
	if (listed > KYMO_MAX_SYNC_FRAMES || listed > sync->depth)
		return KYMO_DECODE_CORRUPT;
	for (uint32_t i = 0; i < listed; i++) {
		struct kymo_sync_frame *frame = &sync->frames[i];

		if (!(n = kymo_varint_get(block + at, bytes - at, &frame->code)))
			return KYMO_DECODE_TRUNCATED;
		at += n;
		if (!(n = kymo_varint_get(block + at, bytes - at, &frame->offset_plus_1)))
			return KYMO_DECODE_TRUNCATED;
		at += n;
		sync->listed = i + 1;
	}
	return at == bytes ? KYMO_DECODE_OK : KYMO_DECODE_CORRUPT;
}

size_t kymo_sync_encode(const struct kymo_sync *sync, uint8_t *block)
{
	size_t at = kymo_varint_put(block, sync->depth);

	at += kymo_varint_put(block + at, sync->listed);
	for (uint32_t i = 0; i < sync->listed; i++) {
		at += kymo_varint_put(block + at, sync->frames[i].code);
		at += kymo_varint_put(block + at, sync->frames[i].offset_plus_1);
	}
	return at;
}
