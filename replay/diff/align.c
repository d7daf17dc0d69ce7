// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/trace.h"

static uint64_t key_at(struct kymo_keys keys, size_t i)
{
	uint64_t key;

	memcpy(&key, (const char *)keys.base + i * keys.stride, sizeof key);
	return key;
}

void kymo_alignment_release(struct kymo_alignment *alignment)
{
	free(alignment->pairs);
	free(alignment->trace);
	*alignment = (struct kymo_alignment){0};
}

/* For @d differences there are d + 1 diagonals, -d, -d + 2, … d; those for smaller numbers come before. */
static size_t row_of(uint32_t d)
{
	return (size_t)d * (d + 1) / 2;
}

/* The furthest left position with @d differences on diagonal @k = left - right, before anything equal is followed. */
static uint32_t begin_of(const uint32_t *trace, uint32_t d, int64_t k)
{
	const uint32_t *before = trace + row_of(d - 1);
	int64_t from = k + (int64_t)d; /* twice its number in the row */

	/* Down from k + 1, which is number from / 2 of the row before; or to the right from k - 1, which is the one before that. */
	if (k == -(int64_t)d || (k != (int64_t)d && before[from / 2 - 1] < before[from / 2]))
		return before[from / 2];
	return before[from / 2 - 1] + 1;
}

static uint32_t follow(struct kymo_keys left, struct kymo_keys right, uint32_t x, int64_t k, uint64_t *steps)
{
	size_t y = (size_t)((int64_t)x - k);

	while (x < left.count && y < right.count && key_at(left, x) == key_at(right, y)) {
		x++;
		y++;
		++*steps;
	}
	return x;
}

/* Pair what is equal on the way to @x on diagonal @k, which has @d differences. */
static void walk_back(struct kymo_alignment *alignment, uint32_t x, int64_t k, uint32_t d)
{
	alignment->left = x;
	alignment->right = (size_t)((int64_t)x - k);
	alignment->matches = 0;
	for (size_t i = 0; i < alignment->left; i++)
		alignment->pairs[i] = KYMO_UNALIGNED;
	for (;;) {
		uint32_t begin = d ? begin_of(alignment->trace, d, k) : 0;

		while (x > begin) {
			x--;
			alignment->pairs[x] = (size_t)((int64_t)x - k);
			alignment->matches++;
		}
		if (!d)
			return;
		/* The step that led here: from above, where x is the same, or from the left. */
		const uint32_t *before = alignment->trace + row_of(d - 1);
		int64_t from = k + (int64_t)d;

		if (k == -(int64_t)d || (k != (int64_t)d && before[from / 2 - 1] < before[from / 2])) {
			k++;
		} else {
			k--;
			x--;
		}
		d--;
	}
}

int kymo_align(struct kymo_alignment *alignment, struct kymo_keys left, struct kymo_keys right, uint32_t limit)
{
	uint32_t best_x = 0, d;
	int64_t best_k = 0, best = -1;

	if (kymo_grow(&alignment->pairs, &alignment->pair_capacity, left.count + 1, sizeof *alignment->pairs))
		return -ENOMEM;
	for (d = 0; d <= limit; d++) {
		best = -1;
		if (kymo_grow(&alignment->trace, &alignment->trace_capacity, row_of(d + 1), sizeof *alignment->trace))
			return -ENOMEM;
		for (int64_t k = -(int64_t)d; k <= (int64_t)d; k += 2) {
			uint32_t x = d ? begin_of(alignment->trace, d, k) : 0;
			int64_t y = (int64_t)x - k;

			alignment->steps++;
			/* There is nothing beyond an end: such a point keeps its place, and is never the best one. */
			if (x <= left.count && y >= 0 && (size_t)y <= right.count) {
				x = follow(left, right, x, k, &alignment->steps);
				y = (int64_t)x - k;
				if ((int64_t)x + y > best) {
					best = (int64_t)x + y;
					best_x = x;
					best_k = k;
				}
			}
			alignment->trace[row_of(d) + (size_t)((k + (int64_t)d) / 2)] = x;
			if (x == left.count && y == (int64_t)right.count) {
				walk_back(alignment, x, k, d);
				return 0;
			}
		}
		if (d == limit || best < 0)
			break;
	}
	walk_back(alignment, best_x, best_k, d);
	return 0;
}

/* Anchors. */

static uint64_t run_at(struct kymo_keys keys, size_t i, size_t run)
{
	uint64_t hash = 7;

	for (size_t r = 0; r < run; r++) {
		hash = (hash ^ key_at(keys, i + r)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

int kymo_find_anchor(struct kymo_keys left, struct kymo_keys right, size_t run, size_t *left_at, size_t *right_at)
{
	size_t slots = 16, best = SIZE_MAX;
	struct slot {
		uint64_t hash;
		size_t at_plus_1;
	} *table;

	if (left.count < run || right.count < run)
		return 0;
	while (slots < 2 * right.count)
		slots *= 2;
	table = calloc(slots, sizeof *table);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i + run <= right.count; i++) {
		uint64_t hash = run_at(right, i, run);
		size_t slot = (size_t)hash & (slots - 1);

		while (table[slot].at_plus_1 && table[slot].hash != hash)
			slot = (slot + 1) & (slots - 1);
		if (!table[slot].at_plus_1)
			table[slot] = (struct slot){hash, i + 1};
	}
	for (size_t i = 0; i + run <= left.count && i < best; i++) {
		uint64_t hash = run_at(left, i, run);
		size_t slot = (size_t)hash & (slots - 1);

		while (table[slot].at_plus_1 && table[slot].hash != hash)
			slot = (slot + 1) & (slots - 1);
		if (table[slot].at_plus_1 && i + table[slot].at_plus_1 - 1 < best) {
			best = i + table[slot].at_plus_1 - 1;
			*left_at = i;
			*right_at = table[slot].at_plus_1 - 1;
		}
	}
	free(table);
	return best != SIZE_MAX;
}
