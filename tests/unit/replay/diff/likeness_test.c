// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/likeness.h"

#define BYTES 64U

static const char *const nothing[] = {NULL};

struct side {
	struct kymo_owner owner;
	struct kymo_value_tree tree;
};

/* The first value of a block; with names of types T1 and T2, and a run in 2001. */
static void read_value(struct side *side, const uint8_t *block, uint32_t bytes)
{
	static struct {
		bool is_stop_iteration, is_record;
		char text[8];
	} names[] = {{false, false, "T1"}, {false, false, "T2"}};
	static struct kymo_definition defined[] = {{.id = 1, .value = &names[0]}, {.id = 2, .value = &names[1]}};
	static struct kymo_traced_process process = {.pid = 1234, .names = {.items = defined, .count = 2, .capacity = 2}};
	static struct kymo_stream stream = {.process = &process};
	static struct kymo_clock_sample clocks[] = {{0, 1000000000000, 1000000000000000000}, {9, 1001000000000, 1000000001000000000}};
	static struct kymo_timeline timeline = {.definitions = {.clocks = clocks, .clock_count = 2}};

	kymo_owner_of(&side->owner, &timeline, &stream, nothing);
	cr_assert_eq(kymo_value_tree_read(&side->tree, (struct kymo_values){block, 0, bytes}), 0);
}

static enum kymo_likeness compare_blocks(const uint8_t *left, uint32_t left_bytes, const uint8_t *right, uint32_t right_bytes, char *path,
					 bool *has_same_hash)
{
	static struct side sides[2];
	struct kymo_likeness_side compared[2] = {{&sides[0].owner, &sides[0].tree, 1}, {&sides[1].owner, &sides[1].tree, 1}};

	read_value(&sides[0], left, left_bytes);
	read_value(&sides[1], right, right_bytes);
	if (has_same_hash)
		*has_same_hash = kymo_likeness_hash(&sides[0].owner, &sides[0].tree, 1) ==
				 kymo_likeness_hash(&sides[1].owner, &sides[1].tree, 1);
	return kymo_values_compare(compared, path);
}

static char path[KYMO_PATH_BYTES];

#define BLOCK(...) (const uint8_t[]){0, 1, __VA_ARGS__}, sizeof((const uint8_t[]){0, 1, __VA_ARGS__})
#define LIKENESS(left, right) compare_blocks(left, right, path, NULL)
#define K(kind) KYMO_VALUE_##kind
#define ID 1, 2, 0, 0, 0, 0, 0, 0
#define OTHER_ID 1, 3, 0, 0, 0, 0, 0, 0
#define ONE K(INT), 2
#define TWO K(INT), 4
#define A_STR K(STR), 1, 1, 1, 'a'
#define B_STR K(STR), 1, 1, 1, 'b'

Test(likeness, is_by_type_and_content)
{
	cr_assert_eq(LIKENESS(BLOCK(ONE), BLOCK(ONE)), KYMO_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(ONE), BLOCK(TWO)), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(ONE), BLOCK(K(TRUE))), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(SUBCLASS), 1, ONE), BLOCK(K(SUBCLASS), 2, ONE)), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(SUBCLASS), 1, ONE), BLOCK(K(SUBCLASS), 9, ONE)), KYMO_NOT_KNOWN);
	cr_assert_eq(LIKENESS(BLOCK(K(OBJECT), 1, ID, 0, 0), BLOCK(K(OBJECT), 1, OTHER_ID, 0, 0)), KYMO_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(OBJECT), 1, ID, 0, 0), BLOCK(K(OBJECT), 2, ID, 0, 0)), KYMO_NOT_ALIKE);
}

Test(likeness, is_not_known_where_something_is_missing)
{
	cr_assert_eq(LIKENESS(BLOCK(K(REDACTED)), BLOCK(ONE)), KYMO_NOT_KNOWN);
	cr_assert_eq(LIKENESS(BLOCK(ONE), BLOCK(K(CUT))), KYMO_NOT_KNOWN);
	cr_assert_eq(LIKENESS(BLOCK(K(STR), 9, 3, 1, 'a'), BLOCK(K(STR), 9, 3, 2, 'a', 'b')), KYMO_NOT_KNOWN);
	cr_assert_eq(LIKENESS(BLOCK(K(STR), 9, 3, 1, 'a'), BLOCK(K(STR), 9, 3, 2, 'b', 'b')), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(STR), 9, 3, 1, 'a'), BLOCK(K(STR), 8, 3, 1, 'a')), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(TUPLE), 2, 1, ONE), BLOCK(K(TUPLE), 2, 1, ONE)), KYMO_NOT_KNOWN);
	cr_assert_eq(LIKENESS(BLOCK(K(TUPLE), 2, 1, ONE), BLOCK(K(TUPLE), 2, 2, TWO, ONE)), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(SET), ID, 2, 1, ONE), BLOCK(K(SET), ID, 2, 1, TWO)), KYMO_NOT_KNOWN);
	cr_assert_eq(LIKENESS(BLOCK(K(SET), ID, 2, 1, ONE), BLOCK(K(SET), ID, 3, 1, ONE)), KYMO_NOT_ALIKE);
}

Test(likeness, order_counts_where_python_says_so)
{
	cr_assert_eq(LIKENESS(BLOCK(K(TUPLE), 2, 2, ONE, TWO), BLOCK(K(TUPLE), 2, 2, TWO, ONE)), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(SET), ID, 2, 2, ONE, TWO), BLOCK(K(SET), OTHER_ID, 2, 2, TWO, ONE)), KYMO_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(DICT), ID, 2, 2, A_STR, ONE, B_STR, TWO),
			      BLOCK(K(DICT), ID, 2, 2, B_STR, TWO, A_STR, ONE)), KYMO_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(DICT), ID, 2, 2, A_STR, ONE, B_STR, TWO),
			      BLOCK(K(DICT), ID, 2, 2, B_STR, ONE, A_STR, TWO)), KYMO_NOT_ALIKE);
}

Test(likeness, a_path_leads_to_what_differs)
{
	cr_assert_eq(LIKENESS(BLOCK(K(OBJECT), 1, ID, 1, 1, A_STR, K(LIST), ID, 2, 2, ONE, ONE),
			      BLOCK(K(OBJECT), 1, ID, 1, 1, A_STR, K(LIST), ID, 2, 2, ONE, TWO)),
		     KYMO_NOT_ALIKE);
	cr_assert_str_eq(path, ".a[1]");
	cr_assert_eq(LIKENESS(BLOCK(K(DICT), ID, 1, 1, A_STR, K(TUPLE), 1, 1, ONE), BLOCK(K(DICT), ID, 1, 1, A_STR, K(TUPLE), 0, 0)),
		     KYMO_NOT_ALIKE);
	cr_assert_str_eq(path, "['a']");
}

/* What is told once more is what it was, wherever it was told. */
Test(likeness, objects_that_were_told_before_are_followed)
{
	const uint8_t here[] = {0, 1, K(TUPLE), 3, 3, K(LIST), ID, 1, 1, ONE, K(LIST), OTHER_ID, 1, 1, TWO,
				K(SEEN), 0, ID};
	const uint8_t there[] = {0, 1, K(TUPLE), 3, 3, K(LIST), ID, 1, 1, ONE, K(LIST), OTHER_ID, 1, 1, TWO,
				K(SEEN), 0, OTHER_ID};
	const uint8_t again[] = {0, 1, K(TUPLE), 3, 3, K(LIST), ID, 1, 1, ONE, K(LIST), OTHER_ID, 1, 1, TWO,
				 K(LIST), 5, 5, 0, 0, 0, 0, 0, 0, 1, 1, ONE};
	bool has_same_hash;

	cr_assert_eq(compare_blocks(here, sizeof here, here, sizeof here, path, NULL), KYMO_ALIKE);
	cr_assert_eq(compare_blocks(here, sizeof here, there, sizeof there, path, &has_same_hash), KYMO_NOT_ALIKE);
	cr_assert(!has_same_hash);
	cr_assert_str_eq(path, "[2][0]");
	cr_assert_eq(compare_blocks(here, sizeof here, again, sizeof again, path, NULL), KYMO_ALIKE);
}

Test(likeness, what_differs_by_nature_is_alike)
{
	/* 1000000000 and 1000000001 seconds since 1970, the process's id, and addresses. */
	cr_assert_eq(LIKENESS(BLOCK(K(INT), 0x80, 0xa8, 0xd6, 0xb9, 0x07), BLOCK(K(INT), 0x82, 0xa8, 0xd6, 0xb9, 0x07)), KYMO_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(INT), 0x80, 0xa8, 0xd6, 0xb9, 0x07), BLOCK(K(INT), 0x80, 0xa8, 0xd6, 0xb9, 0x01)), KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(STR), 12, 12, 12, '<', '0', 'x', '7', 'f', '0', '1', '2', '3', '4', '5', '>'),
			      BLOCK(K(STR), 12, 12, 12, '<', '0', 'x', '7', 'e', '9', '1', '2', '3', '4', '5', '>')),
		     KYMO_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(STR), 6, 6, 6, '<', '0', 'x', '7', 'f', '>'), BLOCK(K(STR), 6, 6, 6, '<', '0', 'x', '7', 'e', '>')),
		     KYMO_NOT_ALIKE);
	cr_assert_eq(LIKENESS(BLOCK(K(TEXT), 1, 19, 19, '2', '0', '0', '1', '-', '0', '9', '-', '0', '9', ' ',
				    '0', '1', ':', '4', '6', ':', '4', '0'),
			      BLOCK(K(TEXT), 1, 19, 19, '2', '0', '0', '1', '-', '0', '9', '-', '0', '9', ' ',
				    '0', '3', ':', '4', '6', ':', '4', '1')),
		     KYMO_ALIKE);
}

static void fill(uint8_t *block, uint32_t bytes, unsigned *seed)
{
	static const uint8_t often[] = {K(TUPLE), K(LIST), K(SET), K(SEEN), K(INT), K(STR), K(SAME), K(NONE), K(CUT), 1, 2, 0};
	static const uint8_t pairs[] = {K(DICT), K(OBJECT)};

	for (uint32_t i = 2; i < bytes; i++)
		block[i] = rand_r(seed) % 8 ? often[(size_t)rand_r(seed) % sizeof often] : (uint8_t)rand_r(seed);
	for (uint32_t i = 2; i < bytes && seed[0] % 2; i += 7)
		block[i] = pairs[i % 2];
	block[0] = 0;
	block[1] = 1;
}

Test(likeness, of_any_bytes_goes_both_ways_and_agrees_with_the_hash)
{
	unsigned seed = 8;

	for (unsigned i = 0; i < 200000; i++) {
		uint8_t left[BYTES], right[BYTES];
		enum kymo_likeness there, back;
		bool has_same_hash;

		fill(left, BYTES, &seed);
		memcpy(right, left, BYTES);
		cr_assert_neq(compare_blocks(left, BYTES, right, BYTES, path, NULL), KYMO_NOT_ALIKE);
		right[2 + (unsigned)rand_r(&seed) % (BYTES - 2)] ^= (uint8_t)(1 << (unsigned)rand_r(&seed) % 8);
		there = compare_blocks(left, BYTES, right, BYTES, path, &has_same_hash);
		back = compare_blocks(right, BYTES, left, BYTES, path, NULL);
		/* No dict has a key twice, as these may. */
		if (!memchr(left, K(DICT), BYTES) && !memchr(left, K(OBJECT), BYTES) && !memchr(right, K(DICT), BYTES) &&
		    !memchr(right, K(OBJECT), BYTES))
			cr_assert_eq(there == KYMO_NOT_ALIKE, back == KYMO_NOT_ALIKE);
		cr_assert(!has_same_hash || there != KYMO_NOT_ALIKE);
	}
}
