// SPDX-License-Identifier: Apache-2.0
/* The decoders of records and sync blocks are total functions on any bytes. */
#include <stdlib.h>

#include "format/record.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

static void decode_records(const uint8_t *data, size_t size)
{
	struct kymo_record record, again;
	enum kymo_decode state;
	size_t at = 0;

	while ((state = kymo_record_decode(data + at, size - at, &record)) == KYMO_DECODE_OK) {
		bool has_values = record.special == KYMO_TAG_EXTENDED && record.extended == KYMO_EXTENDED_VALUES;

		CHECK(record.bytes > 0 && record.bytes <= KYMO_MAX_RECORD_BYTES + (has_values ? KYMO_VALUES_MAX_BYTES : 0));
		CHECK(record.bytes <= size - at);
		CHECK(record.kind < KYMO_KINDS);
		CHECK((record.kind == KYMO_KIND_SPECIAL) == (record.special != 0));
		CHECK(record.special != KYMO_TAG_BITS || (record.a > 1 && record.a <= UINT32_MAX));
		/* A byte less is too few, and what follows a record does not matter to it. */
		CHECK(kymo_record_decode(data + at, record.bytes - 1U, &again) != KYMO_DECODE_OK);
		CHECK(kymo_record_decode(data + at, record.bytes, &again) == KYMO_DECODE_OK);
		CHECK(again.kind == record.kind && again.a == record.a && again.b == record.b);
		at += record.bytes;
	}
	CHECK((state == KYMO_DECODE_END) == (at == size));
}

static void decode_sync(const uint8_t *data, size_t size)
{
	uint8_t block[KYMO_SYNC_MAX_BYTES];
	struct kymo_sync sync, again;
	size_t bytes;

	if (kymo_sync_decode(data, size, &sync) != KYMO_DECODE_OK)
		return;
	CHECK(sync.listed <= KYMO_MAX_SYNC_FRAMES && sync.listed <= sync.depth);
	bytes = kymo_sync_encode(&sync, block);
	CHECK(bytes <= size); /* fewer where a number was padded */
	CHECK(kymo_sync_decode(block, bytes, &again) == KYMO_DECODE_OK);
	CHECK(again.depth == sync.depth && again.listed == sync.listed);
	for (uint32_t i = 0; i < sync.listed; i++)
		CHECK(again.frames[i].code == sync.frames[i].code &&
		      again.frames[i].offset_plus_1 == sync.frames[i].offset_plus_1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode_records(data, size);
	decode_sync(data, size);
	return 0;
}
