// SPDX-License-Identifier: Apache-2.0
#include "format/varint.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static size_t shortest(uint64_t value)
{
	size_t bytes = 1;

	while (value >>= 7)
		bytes++;
	return bytes;
}

/* Called where the compiler cannot see how little there is to read: it would warn of steps that are not taken. */
static size_t (*volatile get)(const uint8_t *, size_t, uint64_t *) = kymo_varint_get;

static void check(uint64_t value)
{
	uint8_t bytes[KYMO_VARINT_MAX_BYTES];
	size_t length = kymo_varint_put(bytes, value);
	uint64_t back = ~value;

	cr_assert_eq(length, shortest(value), "%#lx takes %zu bytes", value, length);
	cr_assert_eq(kymo_varint_get(bytes, sizeof bytes, &back), length);
	cr_assert_eq(back, value, "%#lx came back as %#lx", value, back);
	for (size_t cut = 0; cut < length; cut++) {
		/* Of its own size, so that AddressSanitizer sees a step too far. */
		uint8_t *part = malloc(cut ? cut : 1);

		memcpy(part, bytes, cut);
		cr_assert_eq(get(part, cut, &back), 0, "%#lx was read from %zu bytes",
			     value, cut);
		free(part);
	}
}

Test(varint, every_number_comes_back_from_the_fewest_bytes_and_from_no_fewer)
{
	check(0);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t power = UINT64_C(1) << bit;

		check(power - 1);
		check(power);
		check(power + 1);
		check(-power);
	}
}

Test(varint, low_bits_come_first)
{
	uint8_t bytes[KYMO_VARINT_MAX_BYTES];

	cr_assert_eq(kymo_varint_put(bytes, 300), 2);
	cr_assert_eq(bytes[0], 0xac);
	cr_assert_eq(bytes[1], 0x02);
}

Test(varint, what_follows_a_number_is_not_read)
{
	const uint8_t bytes[] = {0x7f, 0xff, 0xff};
	uint64_t value;

	cr_assert_eq(kymo_varint_get(bytes, sizeof bytes, &value), 1);
	cr_assert_eq(value, 0x7f);
}

Test(varint, a_padded_number_is_read)
{
	const uint8_t bytes[] = {0x81, 0x80, 0x00};
	uint64_t value;

	cr_assert_eq(kymo_varint_get(bytes, sizeof bytes, &value), 3);
	cr_assert_eq(value, 1);
}

Test(varint, more_than_64_bits_are_refused)
{
	uint8_t bytes[11];
	uint64_t value;

	memset(bytes, 0xff, sizeof bytes);
	bytes[9] = 0x01;
	cr_assert_eq(kymo_varint_get(bytes, sizeof bytes, &value), 10);
	cr_assert_eq(value, UINT64_MAX);
	bytes[9] = 0x02;
	cr_assert_eq(kymo_varint_get(bytes, sizeof bytes, &value), 0, "a 65th bit");
	bytes[9] = 0x80;
	bytes[10] = 0x00;
	cr_assert_eq(kymo_varint_get(bytes, sizeof bytes, &value), 0, "an eleventh byte");
}
