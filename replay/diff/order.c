// SPDX-License-Identifier: Apache-2.0
/*
 * Another order of threads: the turns of the GIL in which one thread stopped in the middle of a function, and another ran the same
 * function, or code of the same file, before the first continued. Those that only one side has are reported.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/diff.h"
#include "replay/trace/line_table.h"

/* Turns of others that are looked at behind one. */
#define TURNS_AHEAD 64U
#define MAX_FOUND (1U << 18)
#define TOLD 8U

struct turn {
	const struct kymo_tree_turn *turn;
	const struct kymo_traced_process *process;
	size_t stream;
	size_t number; /* of its thread's */
};

struct found {
	uint64_t key;
	uint64_t count;
	bool is_alone; /* the other side has none like it */
	struct kymo_interruption what;
};

struct finder {
	const struct kymo_side *side;
	struct turn *turns; /* by process, interpreter, number */
	size_t turn_count;
	struct found *found;
	size_t found_count, found_capacity;
};

static int compare_turns(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->turn->interpreter != b->turn->interpreter)
		return a->turn->interpreter < b->turn->interpreter ? -1 : 1;
	return a->turn->slice < b->turn->slice ? -1 : a->turn->slice > b->turn->slice;
}

static int list_turns(struct finder *finder, const struct kymo_forest *forest)
{
	size_t count = 0;

	for (size_t i = 0; i < forest->tree_count; i++)
		finder->turn_count += forest->trees[i].turn_count;
	finder->turns = calloc(finder->turn_count + 1, sizeof *finder->turns);
	if (!finder->turns)
		return -ENOMEM;
	for (size_t i = 0; i < forest->tree_count; i++)
		for (size_t t = 0; t < forest->trees[i].turn_count; t++)
			finder->turns[count++] =
				(struct turn){&forest->trees[i].turns[t], forest->side.timeline.streams[i].process, i, t};
	qsort(finder->turns, count, sizeof *finder->turns, compare_turns);
	return 0;
}

static bool has_counted(const struct kymo_side_code *code)
{
	return code->content && !code->is_library && code->treatment == KYMO_SHOWN;
}

static int note(struct finder *finder, const struct kymo_interruption *what)
{
	const struct kymo_side_code *code = &finder->side->codes[what->code], *other = &finder->side->codes[what->other_code];
	uint64_t key = kymo_mix(13, code->identity);

	if (finder->found_count == MAX_FOUND)
		return 0;
	if (kymo_grow(&finder->found, &finder->found_capacity, finder->found_count + 1, sizeof *finder->found))
		return -ENOMEM;
	key = kymo_mix(key, (uint64_t)(what->last_line - code->base_line));
	key = kymo_mix(key, (uint64_t)(what->next_line - code->base_line));
	key = kymo_mix(key, other->identity);
	finder->found[finder->found_count++] = (struct found){key, 1, true, *what};
	return 0;
}

/* What @between ran while @before was over and @after had not begun. */
static int look_at(struct finder *finder, const struct turn *before, const struct kymo_tree_turn *after,
		   const struct turn *between)
{
	const struct kymo_side_code *codes = finder->side->codes, *code = &codes[before->turn->last_code];
	int result = 0;

	for (size_t i = 0; i < KYMO_TURN_CODES && between->turn->codes[i].code && !result; i++) {
		const struct kymo_turn_code *ran = &between->turn->codes[i];
		const struct kymo_side_code *other = &codes[ran->code];

		if (!has_counted(other) || strcmp(code->file, other->file) != 0)
			continue;
		result = note(finder, &(struct kymo_interruption){
					      .stream = before->stream,
					      .other_stream = between->stream,
					      .code = before->turn->last_code,
					      .other_code = ran->code,
					      .last_line = before->turn->last_line,
					      .next_line = after->first_line,
					      .low = ran->low,
					      .high = ran->high,
					      .last = before->turn->end,
					      .next = after->begin,
					      .other = between->turn->begin,
					      .is_same_function = code->identity == other->identity,
				      });
	}
	return result;
}

static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static int find(struct finder *finder, const struct kymo_forest *forest)
{
	size_t kept = 0;
	int result = list_turns(finder, forest);

	for (size_t i = 0; i < finder->turn_count && !result; i++) {
		const struct turn *before = &finder->turns[i];
		const struct kymo_thread_tree *tree = &forest->trees[before->stream];
		const struct kymo_tree_turn *after = before->turn + 1;

		/* It goes on in the function in which it stopped. */
		if (before->number + 1 >= tree->turn_count || after->interpreter != before->turn->interpreter ||
		    after->first_code != before->turn->last_code || !has_counted(&finder->side->codes[before->turn->last_code]) ||
		    before->turn->last_line == KYMO_LINE_NONE || after->first_line == KYMO_LINE_NONE)
			continue;
		for (size_t j = i + 1; j < finder->turn_count && j <= i + TURNS_AHEAD && !result; j++) {
			const struct turn *between = &finder->turns[j];

			if (between->process != before->process || between->turn->interpreter != before->turn->interpreter ||
			    between->turn->slice >= after->slice)
				break;
			if (between->stream != before->stream)
				result = look_at(finder, before, after, between);
		}
	}
	if (result || !finder->found_count)
		return result;
	qsort(finder->found, finder->found_count, sizeof *finder->found, compare_found);
	for (size_t i = 0; i < finder->found_count; i++) {
		if (kept && finder->found[kept - 1].key == finder->found[i].key)
			finder->found[kept - 1].count++;
		else
			finder->found[kept++] = finder->found[i];
	}
	finder->found_count = kept;
	return 0;
}

static int compare_weight(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->what.is_same_function != b->what.is_same_function)
		return a->what.is_same_function ? -1 : 1;
	return a->count > b->count ? -1 : a->count < b->count;
}

static void mark_common(struct finder *a, struct finder *b)
{
	for (size_t i = 0; i < a->found_count; i++) {
		struct found *like = b->found_count ? bsearch(&a->found[i], b->found, b->found_count, sizeof *b->found, compare_found)
						    : NULL;

		if (like)
			like->is_alone = a->found[i].is_alone = false;
	}
}

/* Those that only @own has, most important first; if in some both threads were in one function, only those. */
static void add(struct kymo_diff *diff, size_t side, struct finder *own)
{
	size_t kept = 0;

	for (size_t i = 0; i < own->found_count; i++)
		if (own->found[i].is_alone)
			own->found[kept++] = own->found[i];
	if (kept)
		qsort(own->found, kept, sizeof *own->found, compare_weight);
	for (size_t i = 0; i < kept && i < TOLD && own->found[i].what.is_same_function == own->found[0].what.is_same_function; i++) {
		struct kymo_difference difference = {
			.kind = KYMO_DIFFER_ORDER,
			.interruption = own->found[i].what,
			.key = kymo_mix(own->found[i].key, side),
			.outer = SIZE_MAX,
		};
		struct kymo_differing *place = &difference.sides[side];
		size_t number;

		place->has_place = place->is_own = true;
		place->stream = own->found[i].what.stream;
		place->at = own->found[i].what.next;
		place->common = own->found[i].what.last;
		place->code = own->found[i].what.code;
		place->line = own->found[i].what.next_line;
		place->common_line = own->found[i].what.last_line;
		number = kymo_comparison_add(&diff->comparison, &difference);
		if (number != SIZE_MAX)
			diff->comparison.differences[number].count = own->found[i].count;
	}
}

int kymo_diff_find_orders(struct kymo_diff *diff)
{
	struct finder finders[2] = {{0}, {0}};
	int result = 0;

	for (size_t s = 0; s < 2 && !result; s++) {
		finders[s].side = &diff->comparison.forests[s].side;
		result = find(&finders[s], &diff->comparison.forests[s]);
	}
	if (result) {
		kymo_fail(diff->error, result, "out of memory");
	} else {
		mark_common(&finders[0], &finders[1]);
		add(diff, 1, &finders[1]);
		add(diff, 0, &finders[0]);
	}
	for (size_t s = 0; s < 2; s++) {
		free(finders[s].turns);
		free(finders[s].found);
	}
	return result;
}
