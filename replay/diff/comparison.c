// SPDX-License-Identifier: Apache-2.0
/* What a comparison finds: pairs to be compared, what is aligned, differences. */
#include "replay/diff/comparison.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_PAIRS (1U << 17)
#define MAX_ALIGNED (1U << 18)
#define SLOTS (4 * KYMO_MAX_DIFFERENCES)

int kymo_comparison_add_pair(struct kymo_comparison *comparison, const struct kymo_pair *pair)
{
	if (comparison->pair_count == MAX_PAIRS) {
		comparison->not_followed++;
		return 0;
	}
	if (kymo_grow(&comparison->pairs, &comparison->pair_capacity, comparison->pair_count + 1, sizeof *comparison->pairs))
		return kymo_fail(comparison->error, -ENOMEM, "out of memory");
	comparison->pairs[comparison->pair_count++] = *pair;
	return 0;
}

int kymo_comparison_add_aligned(struct kymo_comparison *comparison, const struct kymo_aligned *aligned)
{
	if (!comparison->wants_aligned || comparison->aligned_count == MAX_ALIGNED)
		return 0;
	if (kymo_grow(&comparison->aligned, &comparison->aligned_capacity, comparison->aligned_count + 1, sizeof *comparison->aligned))
		return kymo_fail(comparison->error, -ENOMEM, "out of memory");
	comparison->aligned[comparison->aligned_count++] = *aligned;
	return 0;
}

static bool is_earlier(const struct kymo_difference *a, const struct kymo_difference *b)
{
	size_t side = a->sides[1].has_place && b->sides[1].has_place;

	return a->sides[side].stream == b->sides[side].stream &&
	       kymo_position_compare(a->sides[side].at, b->sides[side].at) < 0;
}

size_t kymo_comparison_add(struct kymo_comparison *comparison, const struct kymo_difference *difference)
{
	uint32_t slot = (uint32_t)(difference->key >> 20) % SLOTS;
	struct kymo_difference *known;

	if (!comparison->slots)
		comparison->slots = calloc(SLOTS, sizeof *comparison->slots);
	if (!comparison->slots)
		return SIZE_MAX;
	for (; comparison->slots[slot]; slot = (slot + 1) % SLOTS) {
		known = &comparison->differences[comparison->slots[slot] - 1];
		if (known->key != difference->key)
			continue;
		known->count++;
		if (is_earlier(difference, known)) {
			uint64_t count = known->count;

			*known = *difference;
			known->count = count;
			if (known->outer == comparison->slots[slot] - 1)
				known->outer = SIZE_MAX;
		}
		return comparison->slots[slot] - 1;
	}
	if (comparison->difference_count == KYMO_MAX_DIFFERENCES ||
	    kymo_grow(&comparison->differences, &comparison->difference_capacity, comparison->difference_count + 1,
		      sizeof *comparison->differences)) {
		comparison->not_kept++;
		return SIZE_MAX;
	}
	known = &comparison->differences[comparison->difference_count++];
	*known = *difference;
	known->count = 1;
	comparison->slots[slot] = (uint32_t)comparison->difference_count;
	return comparison->difference_count - 1;
}

void kymo_comparison_release(struct kymo_comparison *comparison)
{
	for (size_t s = 0; s < 2; s++) {
		kymo_pages_release(&comparison->pages[s]);
		free(comparison->windows[s].items);
	}
	free(comparison->differences);
	free(comparison->slots);
	free(comparison->pairs);
	free(comparison->aligned);
	kymo_alignment_release(&comparison->alignment);
	kymo_alignment_release(&comparison->inner);
}
