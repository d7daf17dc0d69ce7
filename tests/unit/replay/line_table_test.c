// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdlib.h>

#include "replay/trace/line_table.h"

static size_t decode(const uint8_t *table, size_t bytes, uint32_t first_line, int32_t lines[64])
{
	return kymo_line_table_decode(table, bytes, first_line, lines, 64);
}

Test(line_table, every_form_of_entry_moves_the_line_as_cpython_says)
{
	static const uint8_t table[] = {
		0x80, 0x00,			     /* RESUME: line 1, columns in the short form */
		0xd9, 0x07, 0x08,		     /* two units, one line on */
		0xe8, 0x06,			     /* no columns: + 3 */
		0xf0, 0x01, 0x02, 0x05, 0x07,	     /* long form: - 0, ends 2 lines further */
		0xf8,				     /* no location */
		0xf1, 0x43, 0x01, 0x00, 0x01, 0x01,  /* long form: two bytes of step: - 33 */
	};
	int32_t lines[64];

	cr_assert_eq(decode(table, sizeof table, 100, lines), 8);
	cr_assert_eq(lines[0], 100);
	cr_assert_eq(lines[1], 101);
	cr_assert_eq(lines[2], 101);
	cr_assert_eq(lines[3], 104);
	cr_assert_eq(lines[4], 104);
	cr_assert_eq(lines[5], KYMO_LINE_NONE);
	cr_assert_eq(lines[6], 71);
	cr_assert_eq(lines[7], 71);
}

Test(line_table, a_cut_entry_ends_the_table)
{
	static const uint8_t table[] = {0x80, 0x00, 0xf0, 0x42};
	int32_t lines[64];

	cr_assert_eq(decode(table, sizeof table, 5, lines), 1);
	cr_assert_eq(lines[0], 5);
	cr_assert_eq(decode(table, 0, 5, lines), 0);
}

Test(line_table, more_units_than_asked_for_are_counted_and_not_stored)
{
	static const uint8_t table[] = {0x87, 0x00, 0x87, 0x00};
	int32_t lines[3] = {0, 0, 77};

	cr_assert_eq(kymo_line_table_decode(table, sizeof table, 1, lines, 2), 16);
	cr_assert_eq(lines[2], 77);
}

Test(line_table, any_bytes_are_decoded_without_reading_beyond_them)
{
	srand(1);
	for (int turn = 0; turn < 20000; turn++) {
		size_t bytes = (size_t)rand() % 40;
		uint8_t *table = malloc(bytes ? bytes : 1);
		int32_t lines[64];

		for (size_t i = 0; i < bytes; i++)
			table[i] = (uint8_t)(rand() | (rand() % 3 ? 0x80 : 0));
		cr_assert_leq(decode(table, bytes, (uint32_t)rand(), lines), 8 * bytes);
		free(table);
	}
}
