// SPDX-License-Identifier: Apache-2.0
/* Comparing pairs of activations that differ: equal stretches are skipped, the others are aligned in windows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/hunk.h"

#define NARROW 512U
#define WIDE 16384U
/* Most differences searched for between two windows; beyond that, the search is for something alike. */
#define LIMIT 160U
#define INNER_LIMIT 48U
#define ANCHOR 4U
/* Steps of alignment for each token there is, and at least: beyond that, what is left is not aligned. */
#define EFFORT 20U
#define LEAST_EFFORT 20000000U

/* @has_stops: not beyond where a block begins. */
static int fill(struct kymo_comparison *comparison, size_t wanted, bool has_stops)
{
	for (size_t s = 0; s < 2; s++) {
		struct kymo_window *window = &comparison->windows[s];

		while (window->count < wanted && !window->is_at_end &&
		       !(has_stops && window->count && kymo_sequence_block(&window->sequence))) {
			int result = kymo_sequence_next(&window->sequence, &window->items[window->count], comparison->error);

			if (result < 0)
				return result;
			window->is_at_end = !result;
			window->count += (size_t)result;
		}
	}
	return 0;
}

static void drop(struct kymo_window *window, size_t count)
{
	window->count -= count;
	memmove(window->items, window->items + count, window->count * sizeof *window->items);
}

static struct kymo_keys keys_of(const struct kymo_item *items, size_t count, bool are_alike)
{
	return (struct kymo_keys){are_alike ? (const void *)&items->alike : (const void *)&items->key, count, sizeof *items};
}

/*
 * These match whatever comes later: both sides were the same up to here, both call the same function in the same line, and an
 * exception leaves one of the calls.
 */
static bool are_counterparts(const struct kymo_hunk *hunk, const struct kymo_item *a, const struct kymo_item *b)
{
	return a->kind == KYMO_TOKEN_ENTER && b->kind == KYMO_TOKEN_ENTER && a->alike == b->alike && a->left != b->left &&
	       !hunk->sides[0].items && !hunk->sides[1].items;
}

/* Take what is equal at the beginning of both windows. */
static int take_equal(struct kymo_comparison *comparison, struct kymo_hunk *hunk, size_t *count)
{
	struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];

	for (*count = 0; *count < a->count && *count < b->count &&
			 (a->items[*count].key == b->items[*count].key ||
			  are_counterparts(hunk, &a->items[*count], &b->items[*count]));
	     ++*count) {
		int result = kymo_hunk_match(hunk, &a->items[*count], &b->items[*count]);

		if (result)
			return result;
	}
	drop(a, *count);
	drop(b, *count);
	return 0;
}

static int add_all(struct kymo_hunk *hunk, size_t side, const struct kymo_item *items, size_t count)
{
	int result = 0;

	for (size_t i = 0; i < count && !result; i++)
		result = kymo_hunk_add(hunk, side, &items[i]);
	return result;
}

/* The same of both sides. */
static int add_both(struct kymo_hunk *hunk, const struct kymo_item *a, size_t a_count, const struct kymo_item *b, size_t b_count)
{
	int result = add_all(hunk, 0, a, a_count);

	return result ? result : add_all(hunk, 1, b, b_count);
}

/* The differences between two matches: calls of the same function in the same line still match. */
static int take_piece(struct kymo_hunk *hunk, const struct kymo_item *a, size_t a_count, const struct kymo_item *b,
		      size_t b_count)
{
	struct kymo_comparison *comparison = hunk->comparison;
	struct kymo_alignment *inner = &comparison->inner;
	size_t left = 0, right = 0;
	int result = 0;

	if (a_count && b_count) {
		uint64_t before = inner->steps;

		if (kymo_align(inner, keys_of(a, a_count, true), keys_of(b, b_count, true), INNER_LIMIT))
			return kymo_fail(comparison->error, -ENOMEM, "out of memory");
		comparison->effort += inner->steps - before;
		for (size_t i = 0; i < inner->left && !result; i++) {
			size_t j = inner->pairs[i];

			if (j == KYMO_UNALIGNED)
				continue;
			result = add_both(hunk, a + left, i - left, b + right, j - right);
			if (!result)
				result = kymo_hunk_match(hunk, &a[i], &b[j]);
			left = i + 1;
			right = j + 1;
		}
	}
	return result ? result : add_both(hunk, a + left, a_count - left, b + right, b_count - right);
}

/* Take what was aligned, up to the last match; @is_all: and what is behind it. */
static int take_alignment(struct kymo_comparison *comparison, struct kymo_hunk *hunk, bool is_all)
{
	struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];
	const struct kymo_alignment *alignment = &comparison->alignment;
	size_t left = 0, right = 0;
	int result = 0;

	for (size_t i = 0; i < alignment->left && !result; i++) {
		size_t j = alignment->pairs[i];

		if (j == KYMO_UNALIGNED)
			continue;
		result = take_piece(hunk, a->items + left, i - left, b->items + right, j - right);
		if (!result)
			result = kymo_hunk_match(hunk, &a->items[i], &b->items[j]);
		left = i + 1;
		right = j + 1;
	}
	if (is_all && !result) {
		result = take_piece(hunk, a->items + left, a->count - left, b->items + right, b->count - right);
		left = a->count;
		right = b->count;
	}
	drop(a, left);
	drop(b, right);
	return result;
}

static int align(struct kymo_comparison *comparison, bool are_alike, bool *is_good, bool *is_all)
{
	const struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];
	struct kymo_alignment *alignment = &comparison->alignment;
	uint64_t before = alignment->steps;

	if (kymo_align(alignment, keys_of(a->items, a->count, are_alike), keys_of(b->items, b->count, are_alike), LIMIT))
		return kymo_fail(comparison->error, -ENOMEM, "out of memory");
	comparison->effort += alignment->steps - before;
	*is_all = a->is_at_end && b->is_at_end && alignment->left == a->count && alignment->right == b->count;
	*is_good = *is_all || alignment->matches * 8 > alignment->left + alignment->right;
	return 0;
}

/* This many items only one side has. */
static int skip(struct kymo_comparison *comparison, struct kymo_hunk *hunk, size_t left, size_t right)
{
	struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];
	int result = add_both(hunk, a->items, left, b->items, right);

	drop(a, left);
	drop(b, right);
	return result;
}

/* Nothing near is alike: go to the next place that is, or skip what was seen. */
static int take_apart(struct kymo_comparison *comparison, struct kymo_hunk *hunk)
{
	struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];
	size_t left, right;
	int result = fill(comparison, WIDE, false);

	for (int are_alike = 0; are_alike < 2 && !result; are_alike++) {
		comparison->effort += a->count + b->count;
		result = kymo_find_anchor(keys_of(a->items, a->count, are_alike), keys_of(b->items, b->count, are_alike), ANCHOR, &left,
					  &right);
	}
	if (result < 0)
		return result;
	if (result && left + right)
		return skip(comparison, hunk, left, right);
	/* How both end is the same at least. */
	if (a->is_at_end && b->is_at_end) {
		size_t same = 0;

		while (same < a->count && same < b->count && a->items[a->count - 1 - same].key == b->items[b->count - 1 - same].key)
			same++;
		return skip(comparison, hunk, a->count - same, b->count - same);
	}
	/* The side that has more is more likely to reach what the other does now. */
	if (a->is_at_end != b->is_at_end)
		return skip(comparison, hunk, a->is_at_end ? 0 : a->count, b->is_at_end ? 0 : b->count);
	return skip(comparison, hunk, a->count, b->count);
}

static uint64_t limit_of(const struct kymo_comparison *comparison)
{
	return LEAST_EFFORT + EFFORT * comparison->total;
}

static bool is_worn_out(const struct kymo_comparison *comparison)
{
	return comparison->effort > limit_of(comparison) ||
	       comparison->pages[0].decoded + comparison->pages[1].decoded > LEAST_EFFORT + 2 * comparison->total;
}

/* Heads differ. */
static int take_different(struct kymo_comparison *comparison, struct kymo_hunk *hunk)
{
	struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];
	bool is_good = false, is_all = false;
	int result = 0;

	if (is_worn_out(comparison)) {
		hunk->is_unaligned = true;
		return skip(comparison, hunk, a->count, b->count);
	}
	if (!a->count || !b->count)
		return skip(comparison, hunk, a->count, b->count);
	for (size_t width = NARROW; width <= WIDE && !is_good && !result; width *= 32) {
		result = fill(comparison, width, false);
		for (int are_alike = 0; are_alike < 2 && !is_good && !result; are_alike++)
			result = align(comparison, are_alike, &is_good, &is_all);
	}
	if (result)
		return result;
	return is_good ? take_alignment(comparison, hunk, is_all) : take_apart(comparison, hunk);
}

/* Skip equal blocks where both sides begin one. */
static int skip_blocks(struct kymo_comparison *comparison, struct kymo_hunk *hunk)
{
	struct kymo_sequence *a = &comparison->windows[0].sequence, *b = &comparison->windows[1].sequence;
	const struct kymo_block *left, *right;

	while (!comparison->windows[0].count && !comparison->windows[1].count && (left = kymo_sequence_block(a)) &&
	       (right = kymo_sequence_block(b)) && left->hash == right->hash && left->items == right->items) {
		int result = kymo_hunk_match_blocks(hunk, left, right);

		if (result)
			return result;
		kymo_sequence_skip(a, left);
		kymo_sequence_skip(b, right);
	}
	return 0;
}

static int go_through(struct kymo_comparison *comparison, struct kymo_hunk *hunk)
{
	struct kymo_window *a = &comparison->windows[0], *b = &comparison->windows[1];
	size_t equal;
	int result;

	for (;;) {
		result = skip_blocks(comparison, hunk);
		if (!result)
			result = fill(comparison, NARROW, true);
		if (!result)
			result = take_equal(comparison, hunk, &equal);
		for (size_t s = 0; s < 2; s++)
			if (!hunk->code[s])
				hunk->code[s] = comparison->windows[s].sequence.code;
		if (!result && !equal && (a->count || b->count))
			result = take_different(comparison, hunk);
		if (result)
			return result;
		if (a->is_at_end && b->is_at_end && !a->count && !b->count)
			return kymo_hunk_flush(hunk, NULL, NULL);
	}
}

/* The pairs found in one activation are taken in order: the first must be on top of the stack. */
static void reverse(struct kymo_pair *pairs, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct kymo_pair other = pairs[i];

		pairs[i] = pairs[count - 1 - i];
		pairs[count - 1 - i] = other;
	}
}

static int compare_pair(struct kymo_comparison *comparison, const struct kymo_pair *pair)
{
	size_t first = comparison->pair_count;
	struct kymo_hunk hunk;
	int result = 0;

	kymo_hunk_begin(&hunk, comparison, pair);
	for (size_t s = 0; s < 2; s++) {
		struct kymo_window *window = &comparison->windows[s];

		window->count = 0;
		window->is_at_end = false;
		if (!result)
			result = kymo_sequence_open(&window->sequence, &comparison->pages[s], pair->trees[s], pair->begin[s],
						    pair->depth[s], comparison->error);
		else
			window->sequence = (struct kymo_sequence){0};
	}
	if (!result)
		result = go_through(comparison, &hunk);
	for (size_t s = 0; s < 2; s++)
		kymo_sequence_close(&comparison->windows[s].sequence);
	reverse(comparison->pairs + first, comparison->pair_count - first);
	return result;
}

int kymo_compare(struct kymo_comparison *comparison)
{
	int result = 0;

	for (size_t s = 0; s < 2; s++) {
		comparison->pages[s].forest = &comparison->forests[s];
		comparison->windows[s].items = calloc(WIDE + 1, sizeof *comparison->windows[s].items);
		if (!comparison->windows[s].items)
			return kymo_fail(comparison->error, -ENOMEM, "out of memory");
	}
	reverse(comparison->pairs, comparison->pair_count);
	while (comparison->pair_count && !result) {
		struct kymo_pair pair = comparison->pairs[--comparison->pair_count];

		if (is_worn_out(comparison))
			comparison->not_followed++;
		else
			result = compare_pair(comparison, &pair);
	}
	return result;
}
