// SPDX-License-Identifier: Apache-2.0
/* How segments ended, from streams as programs write them and as none does. */
#include <criterion/criterion.h>

#include "format/metadata.pb-c.h"
#include "format/varint.h"
#include "reader/segments.h"

static struct kymo_segments segments;
static uint64_t position;

static bool feed(const Kymo__Definition *definition)
{
	uint8_t bytes[64];
	size_t length = kymo_varint_put(bytes, kymo__definition__get_packed_size(definition));

	length += kymo__definition__pack(definition, bytes + length);
	position += length;
	return kymo_segments_read(&segments, position - length, bytes, length);
}

static bool end(uint64_t segment, bool keep)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__SegmentEnd message = KYMO__SEGMENT_END__INIT;

	message.segment = segment;
	message.keep = keep;
	definition.kind_case = KYMO__DEFINITION__KIND_SEGMENT_END;
	definition.segment_end = &message;
	return feed(&definition);
}

static void clean(void)
{
	kymo_segments_free(&segments);
}

TestSuite(segments, .fini = clean, .timeout = 20);

Test(segments, each_has_the_fate_that_its_end_names)
{
	cr_assert_eq(kymo_segments_fate(&segments, 0), KYMO_FATE_KEPT);
	cr_assert_eq(kymo_segments_fate(&segments, 1), KYMO_FATE_OPEN);
	for (uint64_t segment = 1; segment <= 1000; segment++)
		cr_assert(end(segment, segment % 3));
	for (uint64_t segment = 1; segment <= 1000; segment++)
		cr_assert_eq(kymo_segments_fate(&segments, segment), segment % 3 ? KYMO_FATE_KEPT : KYMO_FATE_DROPPED);
	cr_assert_eq(kymo_segments_fate(&segments, 1001), KYMO_FATE_OPEN);
	cr_assert_eq(kymo_segments_fate(&segments, 0), KYMO_FATE_KEPT);
}

Test(segments, one_whose_end_is_missing_was_kept)
{
	end(1, false);
	end(5, false);
	for (uint64_t segment = 2; segment < 5; segment++)
		cr_assert_eq(kymo_segments_fate(&segments, segment), KYMO_FATE_KEPT);
	cr_assert_eq(kymo_segments_fate(&segments, 5), KYMO_FATE_DROPPED);
	end(5 + KYMO_SEGMENTS_KNOWN, true);
	cr_assert_eq(kymo_segments_fate(&segments, 5), KYMO_FATE_KEPT, "too long ago");
	cr_assert_eq(kymo_segments_fate(&segments, 6), KYMO_FATE_KEPT);
}

Test(segments, an_old_end_changes_nothing_again)
{
	end(7, true);
	end(3, false);
	end(7, false);
	cr_assert_eq(kymo_segments_fate(&segments, 3), KYMO_FATE_KEPT);
	cr_assert_eq(kymo_segments_fate(&segments, 7), KYMO_FATE_KEPT);
}

Test(segments, numbers_of_any_size_are_survived)
{
	end(UINT64_MAX - 1, false);
	cr_assert_eq(kymo_segments_fate(&segments, UINT64_MAX - 1), KYMO_FATE_DROPPED);
	cr_assert_eq(kymo_segments_fate(&segments, UINT64_MAX), KYMO_FATE_OPEN);
	cr_assert_eq(kymo_segments_fate(&segments, 1), KYMO_FATE_KEPT);
	end(UINT64_MAX, false);
	cr_assert_eq(kymo_segments_fate(&segments, UINT64_MAX), KYMO_FATE_DROPPED);
}

Test(segments, other_definitions_are_passed_over_and_none_is_read_twice)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Text text = KYMO__TEXT__INIT;
	const uint8_t cut[] = {9, 0x5a, 3};

	text.id = 1;
	text.text = (char *)"Z";
	definition.kind_case = KYMO__DEFINITION__KIND_TEXT;
	definition.text = &text;
	cr_assert(!feed(&definition));
	cr_assert_eq(segments.read, position);
	cr_assert(end(1, false));
	cr_assert(!kymo_segments_read(&segments, 0, (const uint8_t *)"", 0));
	position = 0;
	cr_assert(!end(2, false), "all of it lies below what was read");
	cr_assert(!kymo_segments_read(&segments, segments.read, cut, sizeof cut));
	cr_assert_eq(kymo_segments_fate(&segments, 2), KYMO_FATE_OPEN);
}
