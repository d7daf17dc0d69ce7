// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/report.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/decode/walker.h"

int kymo_look(const struct kymo_index *index, size_t stream, struct kymo_position at, struct kymo_look *look,
	      struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(index, stream, at.n);
	struct kymo_walker walker;
	int result;

	*look = (struct kymo_look){0};
	if (!chunk)
		return 0;
	kymo_index_walk(index, &walker, chunk);
	while ((result = kymo_walker_next(&walker, error)) > 0) {
		const struct kymo_event *event = &walker.event;

		if (look->is_found && kymo_position_compare(kymo_position_of(event), at) > 0)
			break;
		look->is_found = true;
		look->moment = kymo_moment_of(index->timeline, event);
		look->t_err_ns = event->t_err_ns;
		look->name = event->name;
		look->depth = kymo_stack_depth(&walker.stack);
		look->frame_count = 0;
		if (event->n < at.n) {
			kymo_walker_skip(&walker, at.n);
			continue;
		}
		for (uint32_t i = walker.stack.count; i-- > 0 && look->frame_count < KYMO_FRAMES_TOLD;)
			look->frames[look->frame_count++] = walker.stack.frames[i];
		if (!kymo_position_compare(kymo_position_of(event), at))
			break;
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : 0;
}

/* Choosing. */

/* Differences reported right below the one that causes them; others come later. */
#define BENEATH 3U

struct candidate {
	const struct kymo_difference *difference;
	size_t number;
	bool is_first;
};

static unsigned weight_of(const struct kymo_difference *difference)
{
	static const unsigned char weights[] = {
		[KYMO_DIFFER_EXCEPTION] = 0, [KYMO_DIFFER_LEFT] = 1,	[KYMO_DIFFER_ORDER] = 2, [KYMO_DIFFER_BRANCH] = 3,
		[KYMO_DIFFER_CALL] = 4,	     [KYMO_DIFFER_LOOP] = 5,	[KYMO_DIFFER_THREAD] = 6, [KYMO_DIFFER_PROCESS] = 7,
		[KYMO_DIFFER_ENDING] = 8,    [KYMO_DIFFER_UNKNOWN] = 9,
	};

	/* The order of turns in a run that passed means less. */
	if (difference->kind == KYMO_DIFFER_ORDER && !difference->sides[1].has_place)
		return weights[KYMO_DIFFER_THREAD];
	return weights[difference->kind];
}

static bool has_outer(const struct kymo_difference *difference)
{
	return difference->outer != SIZE_MAX;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	const struct kymo_differing *p = &a->difference->sides[1], *q = &b->difference->sides[1];
	unsigned v = weight_of(a->difference), w = weight_of(b->difference);

	if (a->is_first != b->is_first)
		return a->is_first ? -1 : 1;
	if (a->difference->is_library != b->difference->is_library)
		return a->difference->is_library ? 1 : -1;
	if (has_outer(a->difference) != has_outer(b->difference))
		return has_outer(a->difference) ? 1 : -1;
	if (v != w)
		return v < w ? -1 : 1;
	if (a->difference->kind == KYMO_DIFFER_ORDER && b->difference->kind == KYMO_DIFFER_ORDER)
		return a->number < b->number ? -1 : 1;
	if (p->stream != q->stream)
		return p->stream < q->stream ? -1 : 1;
	v = (unsigned)(kymo_position_compare(p->at, q->at) + 1);
	return v != 1 ? (int)v - 1 : a->number < b->number ? -1 : a->number > b->number;
}

static bool is_place(const struct kymo_difference *difference, bool wants_library)
{
	return difference->sides[1].has_place && difference->kind != KYMO_DIFFER_UNKNOWN && difference->kind != KYMO_DIFFER_ORDER &&
	       (wants_library || !difference->is_library);
}

/* The one that came first: of each thread the earliest, and of these by the order of the run. */
static int find_earliest(const struct kymo_diff *diff, bool wants_library, size_t *first, struct kymo_error *error)
{
	const struct kymo_comparison *comparison = &diff->comparison;
	const struct kymo_forest *forest = &comparison->forests[1];
	size_t *earliest = calloc(forest->tree_count + 1, sizeof *earliest);
	struct kymo_look best, look;
	int result = 0;

	*first = SIZE_MAX;
	if (!earliest)
		return kymo_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < comparison->difference_count; i++) {
		const struct kymo_difference *difference = &comparison->differences[i];
		size_t *known = &earliest[difference->sides[1].stream];

		if (is_place(difference, wants_library) &&
		    (!*known || kymo_position_compare(difference->sides[1].at, comparison->differences[*known - 1].sides[1].at) < 0))
			*known = i + 1;
	}
	for (size_t s = 0; s < forest->tree_count && !result; s++) {
		if (!earliest[s])
			continue;
		result = kymo_look(&forest->side.index, s, comparison->differences[earliest[s] - 1].sides[1].at, &look, error);
		if (!result && (*first == SIZE_MAX ||
				(look.is_found && kymo_moment_compare(&forest->side.timeline, &look.moment, &best.moment) < 0))) {
			*first = earliest[s] - 1;
			best = look;
		}
	}
	free(earliest);
	return result;
}

int kymo_report_find_first(const struct kymo_diff *diff, size_t *first, struct kymo_error *error)
{
	int result = find_earliest(diff, false, first, error);

	return result || *first != SIZE_MAX ? result : find_earliest(diff, true, first, error);
}

/* Add @at, and below it what follows from it. */
static void tell(const struct candidate *candidates, size_t count, size_t at, size_t limit, bool *is_told,
		 struct kymo_report *report)
{
	size_t beneath = 0;

	if (is_told[at] || report->count == limit)
		return;
	is_told[at] = true;
	report->order[report->count++] = candidates[at].number;
	for (size_t i = 0; i < count && beneath < BENEATH; i++) {
		const struct kymo_difference *difference = candidates[i].difference;

		if (difference->outer != candidates[at].number || is_told[i] ||
		    (difference->is_library && !candidates[at].difference->is_library))
			continue;
		beneath++;
		tell(candidates, count, i, limit, is_told, report);
	}
}

int kymo_report_choose(const struct kymo_diff *diff, size_t limit, struct kymo_report *report, struct kymo_error *error)
{
	const struct kymo_comparison *comparison = &diff->comparison;
	struct candidate *candidates = calloc(comparison->difference_count + 1, sizeof *candidates);
	bool *is_told = calloc(comparison->difference_count + 1, sizeof *is_told);
	size_t first = SIZE_MAX;
	int result = candidates && is_told ? kymo_report_find_first(diff, &first, error) : kymo_fail(error, -ENOMEM, "out of memory");

	*report = (struct kymo_report){0};
	report->order = calloc(comparison->difference_count + 1, sizeof *report->order);
	if (!result && !report->order)
		result = kymo_fail(error, -ENOMEM, "out of memory");
	if (!result) {
		for (size_t i = 0; i < comparison->difference_count; i++)
			candidates[i] = (struct candidate){&comparison->differences[i], i, i == first};
		if (comparison->difference_count)
			qsort(candidates, comparison->difference_count, sizeof *candidates, compare_candidates);
		for (size_t i = 0; i < comparison->difference_count && report->count < limit; i++)
			tell(candidates, comparison->difference_count, i, limit, is_told, report);
		report->more = comparison->difference_count - report->count + (size_t)comparison->not_kept;
	}
	free(candidates);
	free(is_told);
	return result;
}
