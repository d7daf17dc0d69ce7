// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/hunk.h"

#include <errno.h>
#include <string.h>

#include "replay/trace/line_table.h"

void kymo_hunk_begin(struct kymo_hunk *hunk, struct kymo_comparison *comparison, const struct kymo_pair *pair)
{
	*hunk = (struct kymo_hunk){.comparison = comparison, .pair = pair, .code = {pair->code[0], pair->code[1]},
				   .outer = pair->outer};
	for (size_t s = 0; s < 2; s++)
		hunk->common_line[s].line = KYMO_LINE_NONE;
	for (size_t i = 0; i < 2 * KYMO_LINES_BEFORE; i++)
		hunk->earlier[i % 2][i / 2].line = KYMO_LINE_NONE;
}

static bool is_shown(const struct kymo_comparison *comparison, size_t side, uint32_t code)
{
	return !kymo_comparison_code(comparison, side, code)->is_library;
}

/* A call that only @side made here is compared with the same call elsewhere in the other's activation. */
static int match_moved(struct kymo_hunk *hunk, size_t side, const struct kymo_item *item)
{
	struct kymo_moved *others = &hunk->moved[1 - side], *own = &hunk->moved[side];

	for (size_t i = 0; i < others->count; i++) {
		struct kymo_item other = others->items[i];
		const struct kymo_item *left = side ? &other : item, *right = side ? item : &other;
		struct kymo_pair pair = {
			.trees = {hunk->pair->trees[0], hunk->pair->trees[1]},
			.begin = {left->at, right->at},
			.depth = {left->depth, right->depth},
			.code = {left->code, right->code},
			.outer = hunk->outer,
		};

		if (other.alike != item->alike)
			continue;
		memmove(&others->items[i], &others->items[i + 1], (others->count - i - 1) * sizeof other);
		others->count--;
		return left->key == right->key ? 0 : kymo_comparison_add_pair(hunk->comparison, &pair);
	}
	if (own->count == sizeof own->items / sizeof *own->items) {
		memmove(&own->items[0], &own->items[1], sizeof own->items - sizeof own->items[0]);
		own->count--;
	}
	own->items[own->count++] = *item;
	return 0;
}

/* A scheduler may make its calls in another order. */
static bool may_move(const struct kymo_hunk *hunk, size_t side, const struct kymo_item *item)
{
	return item->kind == KYMO_TOKEN_ENTER && is_shown(hunk->comparison, side, item->code) &&
	       (!hunk->code[side] || !is_shown(hunk->comparison, side, hunk->code[side]));
}

/* An exception leaves a call of a library, into other code. */
static bool comes_out_of_library(const struct kymo_hunk *hunk, size_t side)
{
	return !is_shown(hunk->comparison, side, hunk->last_call[side].code) && is_shown(hunk->comparison, side, hunk->code[side]);
}

int kymo_hunk_add(struct kymo_hunk *hunk, size_t side, const struct kymo_item *item)
{
	struct kymo_hunk_side *own = &hunk->sides[side];

	if (!own->items++)
		own->first = *item;
	hunk->aligned = 0;
	own->is_incomplete |= item->is_incomplete;
	hunk->has_missing[side] |= item->is_incomplete;
	switch (item->kind) {
	case KYMO_TOKEN_LINE:
		if (!own->has_line)
			own->first_line = *item;
		own->has_line = own->has_ways = true;
		own->lines++;
		own->rounds += hunk->has_common_line && item->key == hunk->common_line[side].key;
		own->last_line_key = item->key;
		break;
	case KYMO_TOKEN_BRANCH:
		own->has_ways = true;
		break;
	case KYMO_TOKEN_ENTER:
		if (own->called_count < KYMO_CALLS_TOLD)
			own->called[own->called_count++] = item->code;
		own->calls++;
		hunk->last_call[side] = *item;
		break;
	case KYMO_TOKEN_RERAISE:
		if (hunk->has_exception[side])
			break;
		/* fallthrough */
	case KYMO_TOKEN_RAISE:
		own->has_any_raise = true;
		if (item->is_passed_on && own->calls && !own->has_passed_call && !own->has_raise) {
			own->has_passed_call = true;
			own->passed_call = hunk->last_call[side];
			if (comes_out_of_library(hunk, side)) {
				own->has_raise = true;
				own->raise = *item;
			}
		} else if ((!item->is_passed_on || hunk->is_behind_library) && !own->has_raise && !own->has_passed_call) {
			own->has_raise = true;
			own->is_raise_first = !own->has_ways;
			own->raise = *item;
		}
		break;
	default:
		break;
	}
	return may_move(hunk, side, item) ? match_moved(hunk, side, item) : 0;
}

/* @size tokens from here on are the same. */
static int note_aligned(struct kymo_hunk *hunk, struct kymo_position left, struct kymo_position right, uint64_t size)
{
	struct kymo_comparison *comparison = hunk->comparison;
	size_t before = comparison->aligned_count;
	int result;

	if (!comparison->wants_aligned || !size)
		return 0;
	if (hunk->aligned) {
		comparison->aligned[hunk->aligned - 1].size += size;
		return 0;
	}
	result = kymo_comparison_add_aligned(comparison, &(struct kymo_aligned){.trees = {hunk->pair->trees[0], hunk->pair->trees[1]},
										.begin = {left, right},
										.size = size});
	hunk->aligned = comparison->aligned_count > before ? comparison->aligned_count : 0;
	return result;
}

static int match_call(struct kymo_hunk *hunk, const struct kymo_item *left, const struct kymo_item *right)
{
	const struct kymo_pair pair = {
		.trees = {hunk->pair->trees[0], hunk->pair->trees[1]},
		.begin = {left->at, right->at},
		.depth = {left->depth, right->depth},
		.code = {left->code, right->code},
		.outer = hunk->outer,
	};
	int result;

	hunk->has_missing[0] |= left->is_incomplete;
	hunk->has_missing[1] |= right->is_incomplete;
	hunk->is_behind_missing = left->is_incomplete || right->is_incomplete;
	hunk->is_behind_exception = left->left == KYMO_TOKEN_UNWIND || right->left == KYMO_TOKEN_UNWIND;
	hunk->is_behind_library = !is_shown(hunk->comparison, 0, left->code) && is_shown(hunk->comparison, 0, hunk->code[0]);
	result = note_aligned(hunk, left->at, right->at, 1);
	hunk->aligned = 0;
	return result ? result : kymo_comparison_add_pair(hunk->comparison, &pair);
}

int kymo_hunk_match(struct kymo_hunk *hunk, const struct kymo_item *left, const struct kymo_item *right)
{
	struct kymo_comparison *comparison = hunk->comparison;
	int result = kymo_hunk_flush(hunk, left, right);

	if (result)
		return result;
	hunk->is_behind_missing = hunk->is_behind_exception = false;
	if (left->key != right->key)
		return match_call(hunk, left, right);
	comparison->common += left->size;
	if (is_shown(comparison, 0, left->code))
		comparison->common_shown += left->size;
	if (left->kind == KYMO_TOKEN_LINE) {
		const struct kymo_item *const items[] = {left, right};

		for (size_t s = 0; s < 2; s++) {
			if (items[s]->line != hunk->common_line[s].line) {
				memmove(&hunk->earlier[s][1], &hunk->earlier[s][0], sizeof hunk->earlier[s] - sizeof hunk->earlier[s][0]);
				hunk->earlier[s][0] = hunk->common_line[s];
			}
			hunk->common_line[s] = *items[s];
		}
		hunk->has_common_line = true;
	}
	return note_aligned(hunk, left->at, right->at, left->size);
}

int kymo_hunk_match_blocks(struct kymo_hunk *hunk, const struct kymo_block *left, const struct kymo_block *right)
{
	const struct kymo_block *blocks[] = {left, right};
	struct kymo_item next[2];
	int result;

	for (size_t s = 0; s < 2; s++)
		next[s] = (struct kymo_item){.at = blocks[s]->begin, .line = hunk->common_line[s].line, .kind = KYMO_TOKEN_LINE};
	result = kymo_hunk_flush(hunk, &next[0], &next[1]);
	if (!result)
		result = note_aligned(hunk, left->begin, right->begin, left->size);
	hunk->is_behind_missing = hunk->is_behind_exception = false;
	hunk->comparison->common += left->size;
	if (is_shown(hunk->comparison, 0, hunk->code[0]))
		hunk->comparison->common_shown += left->size;
	for (size_t s = 0; s < 2 && left->last_line != KYMO_LINE_NONE; s++) {
		hunk->has_common_line = true;
		hunk->common_line[s] = (struct kymo_item){.key = blocks[s]->last_line_key, .at = blocks[s]->last_line_at,
							  .line = blocks[s]->last_line, .kind = KYMO_TOKEN_LINE};
	}
	return result;
}

/* What only one side did ends where both were before: it went around once more. */
static bool is_loop(const struct kymo_hunk *hunk, size_t side)
{
	const struct kymo_hunk_side *own = &hunk->sides[side];

	return !hunk->sides[1 - side].items && own->rounds && own->last_line_key == hunk->common_line[side].key;
}

static bool raises_first(const struct kymo_hunk_side *own)
{
	return own->has_raise && own->is_raise_first;
}

static enum kymo_difference_kind kind_of(const struct kymo_hunk *hunk)
{
	const struct kymo_hunk_side *a = &hunk->sides[0], *b = &hunk->sides[1];

	/* Where it is not known what one side did, the other may have done the same. */
	if (a->is_incomplete || b->is_incomplete || (hunk->has_missing[0] && !a->items) || (hunk->has_missing[1] && !b->items))
		return KYMO_DIFFER_UNKNOWN;
	/* Nor how what comes first behind the gap began. */
	if (hunk->is_behind_missing)
		return KYMO_DIFFER_UNKNOWN;
	if (is_loop(hunk, 0) || is_loop(hunk, 1))
		return KYMO_DIFFER_LOOP;
	if (raises_first(a) || raises_first(b))
		return KYMO_DIFFER_EXCEPTION;
	if ((a->items && a->first.kind == KYMO_TOKEN_ENTER) || (b->items && b->first.kind == KYMO_TOKEN_ENTER))
		return KYMO_DIFFER_CALL;
	if (a->has_ways || b->has_ways)
		return KYMO_DIFFER_BRANCH;
	return a->has_raise || b->has_raise ? KYMO_DIFFER_EXCEPTION : KYMO_DIFFER_LEFT;
}

static struct kymo_differing describe(const struct kymo_hunk *hunk, size_t side, const struct kymo_item *next)
{
	const struct kymo_hunk_side *own = &hunk->sides[side];
	const struct kymo_item *first = own->items ? &own->first : next;
	struct kymo_differing differing = {
		.stream = hunk->pair->trees[side]->range.stream,
		.code = hunk->code[side],
		.begin = hunk->pair->depth[side] ? hunk->pair->begin[side] : (struct kymo_position){0, 0},
		.line = KYMO_LINE_NONE,
		.common = hunk->common_line[side].at,
		.common_line = hunk->common_line[side].line,
		.lines = own->lines,
		.calls = own->calls,
		.rounds = own->rounds,
		.called_count = own->called_count,
		.has_raise = own->has_raise,
		.raise = own->raise.at,
		.is_own = own->items,
	};

	for (size_t i = 0; i < KYMO_LINES_BEFORE; i++)
		differing.earlier[i] = hunk->earlier[side][i].line;
	for (uint32_t i = 0; i < own->called_count; i++)
		differing.called[i] = own->called[i];
	if (first) {
		differing.has_place = true;
		differing.at = first->at;
		differing.kind = first->kind;
		differing.is_missing = first->is_incomplete && first->kind == KYMO_TOKEN_MISSING;
		differing.line = own->has_line ? own->first_line.line : next ? next->line : first->line;
		if (raises_first(own) || first->kind == KYMO_TOKEN_ENTER)
			differing.line = first->line;
	}
	return differing;
}

static int64_t counted_line(const struct kymo_hunk *hunk, size_t side, int32_t line)
{
	return line == KYMO_LINE_NONE ? line : line - kymo_comparison_code(hunk->comparison, side, hunk->code[side])->base_line;
}

static uint64_t key_of(const struct kymo_hunk *hunk, const struct kymo_difference *difference)
{
	uint64_t key = kymo_mix(8, difference->kind);

	for (size_t s = 0; s < 2; s++) {
		const struct kymo_differing *own = &difference->sides[s];

		key = kymo_mix(key, kymo_comparison_code(hunk->comparison, s, own->code)->identity);
		key = kymo_mix(key, (uint64_t)counted_line(hunk, s, own->common_line));
		key = kymo_mix(key, difference->kind == KYMO_DIFFER_LOOP ? own->rounds > 0 : (uint64_t)counted_line(hunk, s, own->line));
		key = kymo_mix(key, own->has_place ? own->kind : UINT8_MAX);
		key = kymo_mix(key, own->called_count ? kymo_comparison_code(hunk->comparison, s, own->called[0])->identity : 0);
	}
	return key;
}

/*
 * Where the exception was raised that left @call, which only @side made: in the last call, in turn, that was left by it.
 */
static int find_raise(struct kymo_hunk *hunk, size_t side, const struct kymo_item *call, struct kymo_item *raise, uint32_t *code)
{
	struct kymo_comparison *comparison = hunk->comparison;
	struct kymo_item item, inner = *call;
	bool has_inner = true;
	int result = 0;

	*raise = (struct kymo_item){.line = KYMO_LINE_NONE};
	while (has_inner && result >= 0) {
		struct kymo_sequence sequence;
		struct kymo_item around = inner;

		has_inner = false;
		*code = around.code;
		result = kymo_sequence_open(&sequence, &comparison->pages[side], hunk->pair->trees[side], around.at, around.depth,
					    comparison->error);
		while (!result && (result = kymo_sequence_next(&sequence, &item, comparison->error)) > 0) {
			result = 0;
			if (item.kind == KYMO_TOKEN_RAISE && !item.is_passed_on) {
				*raise = item;
				has_inner = false;
			} else if (item.kind == KYMO_TOKEN_ENTER && item.left == KYMO_TOKEN_UNWIND) {
				inner = item;
				has_inner = true;
			}
			if (item.is_end)
				break;
		}
		kymo_sequence_close(&sequence);
	}
	return result < 0 ? result : 0;
}

static int add_passed(struct kymo_hunk *hunk, size_t side, const struct kymo_difference *around, size_t outer)
{
	struct kymo_difference difference = {.kind = KYMO_DIFFER_EXCEPTION, .sides = {around->sides[0], around->sides[1]},
					     .outer = outer};
	struct kymo_differing *own = &difference.sides[side];
	struct kymo_item raise;
	uint32_t code;
	int result = find_raise(hunk, side, &hunk->sides[side].passed_call, &raise, &code);

	if (result || raise.line == KYMO_LINE_NONE)
		return result;
	own->at = own->raise = raise.at;
	own->kind = KYMO_TOKEN_RAISE;
	own->has_raise = true;
	own->code = code;
	own->begin = (struct kymo_position){0, 0};
	own->line = raise.line;
	own->common_line = KYMO_LINE_NONE;
	own->common = raise.at;
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < KYMO_LINES_BEFORE; i++)
			difference.sides[s].earlier[i] = KYMO_LINE_NONE;
	own->lines = own->calls = own->called_count = 0;
	difference.is_library = !is_shown(hunk->comparison, side, code);
	difference.key = kymo_mix(kymo_mix(around->key, kymo_comparison_code(hunk->comparison, side, code)->identity),
				  (uint64_t)raise.line);
	kymo_comparison_add(hunk->comparison, &difference);
	return 0;
}

/* True: it follows from an exception that was already reported, or is where that was raised. */
static bool is_consequence(const struct kymo_hunk *hunk, enum kymo_difference_kind kind)
{
	if (hunk->is_behind_exception && !hunk->is_behind_library)
		return true;
	return kind == KYMO_DIFFER_LEFT && (hunk->has_exception[0] || hunk->has_exception[1]);
}

/* A library's call of other code, except the steps of coroutines: their order is up to the event loop. */
static bool calls_shown(const struct kymo_hunk *hunk, size_t side)
{
	const struct kymo_hunk_side *own = &hunk->sides[side];
	const struct kymo_content *called;

	if (!own->items || own->first.kind != KYMO_TOKEN_ENTER || !is_shown(hunk->comparison, side, own->first.code))
		return false;
	called = kymo_comparison_code(hunk->comparison, side, own->first.code)->content;
	return !called || !kymo_content_is_coroutine(called);
}

int kymo_hunk_flush(struct kymo_hunk *hunk, const struct kymo_item *left_next, const struct kymo_item *right_next)
{
	struct kymo_difference difference = {.outer = hunk->outer, .is_unaligned = hunk->is_unaligned};
	size_t number;
	int result = 0;

	if (!hunk->sides[0].items && !hunk->sides[1].items)
		return 0;
	difference.kind = kind_of(hunk);
	difference.sides[0] = describe(hunk, 0, left_next);
	difference.sides[1] = describe(hunk, 1, right_next);
	/* A call below all frames is the interpreter's own, except the one with which a thread or a program begins. */
	difference.is_library = !is_shown(hunk->comparison, 0, hunk->code[0]) && !is_shown(hunk->comparison, 1, hunk->code[1]) &&
				!calls_shown(hunk, 0) && !calls_shown(hunk, 1);
	difference.key = key_of(hunk, &difference);
	/* The path of an exception is reported where it was raised, and where it came out of a library. */
	if (difference.kind == KYMO_DIFFER_UNKNOWN) {
		hunk->comparison->unknown++;
		kymo_comparison_add(hunk->comparison, &difference);
	} else if (!is_consequence(hunk, difference.kind)) {
		number = kymo_comparison_add(hunk->comparison, &difference);
		for (size_t s = 0; s < 2 && !result; s++)
			if (hunk->sides[s].has_passed_call)
				result = add_passed(hunk, s, &difference, number);
		if (number != SIZE_MAX)
			hunk->outer = number;
	}
	for (size_t s = 0; s < 2; s++) {
		hunk->has_exception[s] |= hunk->sides[s].has_any_raise;
		hunk->sides[s] = (struct kymo_hunk_side){0};
	}
	return result;
}
