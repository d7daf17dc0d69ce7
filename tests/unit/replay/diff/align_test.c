// SPDX-License-Identifier: Apache-2.0
/* Alignments against the table of longest common subsequences, which needs time and room that a diff does not have. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "replay/diff/align.h"

#define LONGEST 40

static struct kymo_keys keys_of(const uint64_t *keys, size_t count)
{
	return (struct kymo_keys){keys, count, sizeof *keys};
}

static size_t longest_common(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	size_t table[LONGEST + 1][LONGEST + 1] = {{0}};

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			table[i + 1][j + 1] = a[i] == b[j]			? table[i][j] + 1
					      : table[i][j + 1] > table[i + 1][j] ? table[i][j + 1]
										  : table[i + 1][j];
	return table[n][m];
}

/* Pairs are of equal keys, rise on both sides, and are as many as the alignment says. */
static void check_pairs(const struct kymo_alignment *alignment, const uint64_t *a, const uint64_t *b)
{
	size_t next = 0, matches = 0;

	for (size_t i = 0; i < alignment->left; i++) {
		if (alignment->pairs[i] == KYMO_UNALIGNED)
			continue;
		cr_assert_geq(alignment->pairs[i], next);
		cr_assert_lt(alignment->pairs[i], alignment->right);
		cr_assert_eq(a[i], b[alignment->pairs[i]]);
		next = alignment->pairs[i] + 1;
		matches++;
	}
	cr_assert_eq(matches, alignment->matches);
}

static size_t make(uint64_t *keys, unsigned *state, unsigned alphabet)
{
	size_t count = (size_t)rand_r(state) % (LONGEST + 1);

	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)rand_r(state) % alphabet;
	return count;
}

Test(align, finds_the_most_that_is_common)
{
	struct kymo_alignment alignment = {0};
	unsigned state = 3;

	for (unsigned round = 0; round < 20000; round++) {
		uint64_t a[LONGEST], b[LONGEST];
		size_t n = make(a, &state, 1 + round % 7), m = make(b, &state, 1 + round % 7);

		cr_assert_eq(kymo_align(&alignment, keys_of(a, n), keys_of(b, m), 2 * LONGEST), 0);
		cr_assert_eq(alignment.left, n);
		cr_assert_eq(alignment.right, m);
		check_pairs(&alignment, a, b);
		cr_assert_eq(alignment.matches, longest_common(a, n, b, m), "round %u", round);
	}
	kymo_alignment_release(&alignment);
}

Test(align, gives_up_with_what_it_has)
{
	struct kymo_alignment alignment = {0};
	unsigned state = 4;

	for (unsigned round = 0; round < 5000; round++) {
		uint64_t a[LONGEST], b[LONGEST];
		size_t n = make(a, &state, 3), m = make(b, &state, 3);

		cr_assert_eq(kymo_align(&alignment, keys_of(a, n), keys_of(b, m), 1 + round % 9), 0);
		cr_assert_leq(alignment.left, n);
		cr_assert_leq(alignment.right, m);
		cr_assert(n + m == 0 || alignment.left + alignment.right > 0);
		check_pairs(&alignment, a, b);
	}
	kymo_alignment_release(&alignment);
}

Test(align, keys_may_lie_in_larger_things)
{
	const struct {
		uint64_t key, other;
	} a[] = {{1, 9}, {2, 8}, {3, 7}}, b[] = {{2, 1}, {3, 1}};
	struct kymo_alignment alignment = {0};

	cr_assert_eq(kymo_align(&alignment, (struct kymo_keys){a, 3, sizeof *a}, (struct kymo_keys){b, 2, sizeof *b}, 9), 0);
	cr_assert_eq(alignment.matches, 2);
	cr_assert_eq(alignment.pairs[1], 0);
	cr_assert_eq(alignment.pairs[2], 1);
	kymo_alignment_release(&alignment);
}

Test(align, an_anchor_is_the_nearest_run)
{
	const uint64_t a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, b[] = {7, 8, 9, 0, 4, 5, 6, 0};
	size_t left, right;

	cr_assert_eq(kymo_find_anchor(keys_of(a, 9), keys_of(b, 8), 3, &left, &right), 1);
	cr_assert_eq(left + right, 6);
	cr_assert_eq(a[left], b[right]);
	cr_assert_eq(kymo_find_anchor(keys_of(a, 9), keys_of(b, 8), 4, &left, &right), 0);
	cr_assert_eq(kymo_find_anchor(keys_of(a, 2), keys_of(b, 8), 3, &left, &right), 0);
}
