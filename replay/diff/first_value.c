// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/first_value.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/report.h"

/* Values that are read again because their hashes differ. */
#define READ_AGAIN 4096U
#define MEMO_BITS 12
#define KNOWN_BITS 12
#define DURATION_BITS 8

struct finding {
	struct kymo_diff *diff;
	struct kymo_value_findings *found; /* of this thread */
	struct kymo_differing_value library; /* the first one that is only in libraries; states[0].told.n is 0: none */
	size_t most; /* as many are enough */
	struct kymo_value_side sides[2];
	struct memo {
		uint64_t hashes[2];
	} memo[1 << MEMO_BITS]; /* pairs that are not known to differ */
	uint64_t known[1 << KNOWN_BITS]; /* variables that were reported, or are ignored */
	uint64_t durations[1 << DURATION_BITS]; /* hashes of times that passed, of the second side: they may be handed on */
	uint32_t *reads;
};

static const char *const nothing[] = {NULL};

static const char *const *ignored_of(const struct kymo_diff *diff)
{
	return diff->options->ignored_values ? diff->options->ignored_values : nothing;
}

bool kymo_value_is_ignored(const struct kymo_told_value *value, const char *const *ignored)
{
	const struct kymo_value *binding = kymo_value_at(&value->tree, value->number);
	const char *name = binding ? kymo_value_name(value->code, binding->name) : NULL;

	for (; name && *ignored; ignored++)
		if (!fnmatch(*ignored, name, 0))
			return true;
	return false;
}

int kymo_value_pair_read(struct kymo_value_pair *pair, const struct kymo_index *const indexes[2], struct kymo_owner *const owners[2],
			 const struct kymo_variable_state *const states[2], struct kymo_error *error)
{
	*pair = (struct kymo_value_pair){.likeness = KYMO_NOT_KNOWN};
	for (size_t s = 0; s < 2; s++) {
		const struct kymo_timeline *timeline = owners[s]->timeline;
		int result = kymo_told_value_read(&pair->values[s], indexes[s], (size_t)(owners[s]->stream - timeline->streams), states[s],
						  error);

		if (result)
			return result;
		pair->sides[s] = (struct kymo_likeness_side){owners[s], &pair->values[s].tree, pair->values[s].number};
	}
	if (pair->sides[0].number && pair->sides[1].number)
		pair->likeness = kymo_values_compare(pair->sides, pair->path);
	return 0;
}

void kymo_value_pair_release(struct kymo_value_pair *pair)
{
	kymo_told_value_release(&pair->values[0]);
	kymo_told_value_release(&pair->values[1]);
}

static const struct kymo_side_code *code_of(const struct finding *finding, size_t side)
{
	const struct kymo_value_frame *top = kymo_value_side_top(&finding->sides[side]);

	return kymo_comparison_code(&finding->diff->comparison, side, top ? top->code : 0);
}

static uint64_t *known_of(struct finding *finding, const struct kymo_variable_state *state)
{
	return &finding->known[kymo_mix(code_of(finding, 0)->identity, state->key) >> (64 - KNOWN_BITS)];
}

static uint64_t name_of(const struct finding *finding, const struct kymo_variable_state *state)
{
	return kymo_mix(kymo_mix(28, code_of(finding, 0)->identity), state->key) | 1;
}

static void add(struct finding *finding, const struct kymo_variable_state *const states[2])
{
	struct kymo_differing_value value = {
		.streams = {finding->sides[0].tree->range.stream, finding->sides[1].tree->range.stream},
		.states = {*states[0], *states[1]},
		.lines = finding->sides[1].lines,
	};

	for (size_t s = 0; s < 2; s++)
		value.codes[s] = kymo_value_side_top(&finding->sides[s]) ? kymo_value_side_top(&finding->sides[s])->code : 0;
	value.is_library = code_of(finding, 0)->is_library && code_of(finding, 1)->is_library;
	if (!value.is_library)
		finding->found->values[finding->found->count++] = value;
	else if (!finding->library.states[0].told.n)
		finding->library = value;
}

/* A duration: from where a clock was read, or passed on from there. */
static bool are_durations(struct finding *finding, const struct kymo_value_pair *pair)
{
	uint64_t hash, *known;

	if (!kymo_values_may_be_durations(pair->sides))
		return false;
	hash = kymo_likeness_hash(pair->sides[1].owner, pair->sides[1].tree, pair->sides[1].number);
	known = &finding->durations[hash >> (64 - DURATION_BITS)];
	if (kymo_value_side_has_time(&finding->sides[0]) && kymo_value_side_has_time(&finding->sides[1]))
		*known = hash;
	return *known == hash;
}

/* Their hashes differ, which means little for values that were cut, are redacted or refer to themselves. */
static int compare_again(struct finding *finding, const struct kymo_variable_state *const states[2])
{
	const struct kymo_comparison *comparison = &finding->diff->comparison;
	const struct kymo_index *const indexes[] = {&comparison->forests[0].side.index, &comparison->forests[1].side.index};
	struct kymo_owner *const owners[] = {&finding->sides[0].owner, &finding->sides[1].owner};
	struct memo *memo = &finding->memo[kymo_mix(states[0]->hash, states[1]->hash) >> (64 - MEMO_BITS)];
	struct kymo_value_pair pair;
	int result;

	if (memo->hashes[0] == states[0]->hash && memo->hashes[1] == states[1]->hash)
		return 0;
	if (*finding->reads >= READ_AGAIN) {
		finding->diff->values.has_more = true;
		return 0;
	}
	++*finding->reads;
	result = kymo_value_pair_read(&pair, indexes, owners, states, finding->diff->error);
	if (!result && pair.likeness == KYMO_NOT_ALIKE) {
		if (!are_durations(finding, &pair) && !kymo_value_is_ignored(&pair.values[1], ignored_of(finding->diff)))
			add(finding, states);
		*known_of(finding, states[0]) = name_of(finding, states[0]);
	} else if (!result) {
		*memo = (struct memo){{states[0]->hash, states[1]->hash}};
	}
	kymo_value_pair_release(&pair);
	return result;
}

static bool is_known_kind(const struct kymo_variable_state *state)
{
	return state->kind != KYMO_VALUE_REDACTED && state->kind != KYMO_VALUE_CUT;
}

/* It is the variable's value now, not the one when it was recorded. */
static bool is_fresh(const struct kymo_value_side *side, const struct kymo_variable_state *state)
{
	return !state->may_be_stale || state->index == side->index;
}

static int compare_states(struct finding *finding, const struct kymo_variable_state *left, const struct kymo_variable_state *right)
{
	const struct kymo_variable_state *const states[] = {left, right};

	if (!left || !right || !left->told.n || !right->told.n || finding->found->count >= finding->most)
		return 0;
	finding->found->compared++;
	if (left->hash == right->hash || !is_known_kind(left) || !is_known_kind(right) || !is_fresh(&finding->sides[0], left) ||
	    !is_fresh(&finding->sides[1], right) || *known_of(finding, left) == name_of(finding, left))
		return 0;
	return compare_again(finding, states);
}

/* Both stand at tokens that are the same. */
static int compare_tokens(struct finding *finding)
{
	const struct kymo_value_side *left = &finding->sides[0], *right = &finding->sides[1];
	int result = 0;

	if (!left->token.count && !right->token.count)
		return 0;
	for (uint32_t i = 0; i < left->token.count && !result; i++) {
		uint64_t key = left->told[left->token.first + i].key;

		if (key)
			result = compare_states(finding, kymo_value_side_find(left, key), kymo_value_side_find(right, key));
	}
	for (uint32_t i = 0; i < right->token.count && !result; i++) {
		uint64_t key = right->told[right->token.first + i].key;
		const struct kymo_variable_state *other = kymo_value_side_find(left, key);

		if (key && other && other->index != left->index)
			result = compare_states(finding, other, kymo_value_side_find(right, key));
	}
	return result ? result : compare_states(finding, &left->own, &right->own);
}

/* To the first token at @at or behind it.  1; 0: there is none; or a negative errno. */
static int seek(struct finding *finding, size_t side, struct kymo_position at)
{
	struct kymo_value_side *own = &finding->sides[side];
	int result = own->index > 0;

	while (result >= 0 && (!own->index || kymo_position_compare(kymo_token_position(&own->token.is), at) < 0)) {
		result = kymo_value_side_next(own, finding->diff->error);
		if (!result)
			return 0;
	}
	return result;
}

static bool is_at(const struct kymo_value_side *side, struct kymo_position at)
{
	return !at.n || !kymo_position_compare(kymo_token_position(&side->token.is), at);
}

static int go_along(struct finding *finding, const struct kymo_aligned *aligned)
{
	struct kymo_value_side *sides = finding->sides;
	int result = 1;

	for (size_t s = 0; s < 2 && result > 0; s++)
		result = seek(finding, s, aligned->begin[s]);
	if (result <= 0 || !is_at(&sides[0], aligned->begin[0]) || !is_at(&sides[1], aligned->begin[1]))
		return result < 0 ? result : 0;
	for (uint64_t i = 0; i < aligned->size && sides[0].token.is.key == sides[1].token.is.key; i++) {
		result = compare_tokens(finding);
		if (result || i + 1 == aligned->size || finding->found->count >= finding->most)
			return result;
		for (size_t s = 0; s < 2; s++) {
			result = kymo_value_side_next(&sides[s], finding->diff->error);
			if (result <= 0)
				return result;
		}
	}
	return 0;
}

/* Go through what @aligned has of one thread, up to @until, if that is not NULL. */
static int walk(struct finding *finding, const struct kymo_aligned *aligned, size_t count, const struct kymo_difference *until)
{
	struct kymo_position last = {0, 0};
	int result = 0;

	for (size_t s = 0; s < 2 && !result; s++)
		result = kymo_value_side_open(&finding->sides[s], &finding->diff->comparison.forests[s], aligned->trees[s],
					      aligned->trees[s]->first_chunk, ignored_of(finding->diff), finding->diff->error);
	for (size_t i = 0; i < count && !result && finding->found->count < finding->most; i++) {
		if (aligned[i].begin[1].n && kymo_position_compare(aligned[i].begin[1], last) < 0)
			continue;
		if (until && kymo_position_compare(aligned[i].begin[1], until->sides[1].at) >= 0)
			break;
		last = aligned[i].begin[1];
		result = go_along(finding, &aligned[i]);
	}
	/* Lines from there to the divergence are counted, and nothing else. */
	finding->sides[0].wants_none = finding->sides[1].wants_none = true;
	if (!result && until && finding->found->count + (finding->library.states[0].told.n > 0)) {
		result = seek(finding, 1, until->sides[1].at);
		finding->found->has_lines_before = result >= 0;
		finding->found->lines = finding->sides[1].lines;
		/* Not the line that it ran instead. */
		if (result > 0 && finding->sides[1].token.is.kind == KYMO_TOKEN_LINE)
			finding->found->lines--;
	}
	if (!finding->found->count && finding->library.states[0].told.n)
		finding->found->values[finding->found->count++] = finding->library;
	for (size_t s = 0; s < 2; s++)
		kymo_value_side_release(&finding->sides[s]);
	return result < 0 ? result : 0;
}

static int compare_aligned(const void *left, const void *right)
{
	const struct kymo_aligned *a = left, *b = right;
	size_t p = a->trees[0]->range.stream, q = b->trees[0]->range.stream;

	return p != q ? (p < q ? -1 : 1) : kymo_position_compare(a->begin[0], b->begin[0]);
}

static bool is_before(const struct kymo_diff *diff, const struct kymo_look *a, const struct kymo_look *b)
{
	return a->is_found && b->is_found && kymo_moment_compare(&diff->comparison.forests[1].side.timeline, &a->moment, &b->moment) < 0;
}

/* Of all threads, those that come first: the earliest is kept, and those of its thread. */
static int keep_earliest(struct kymo_diff *diff, const struct kymo_value_findings *found, struct kymo_look *best)
{
	const struct kymo_differing_value *first = &found->values[0];
	struct kymo_look look;
	int result = kymo_look(&diff->comparison.forests[1].side.index, first->streams[1], first->states[1].told, &look, diff->error);

	if (result)
		return result;
	if (diff->values.count && (diff->values.values[0].is_library == first->is_library ? !is_before(diff, &look, best)
											  : first->is_library))
		return 0;
	*best = look;
	diff->values.count = found->count;
	memcpy(diff->values.values, found->values, sizeof found->values);
	return 0;
}

/* Go through all threads but the one of the first divergence: its @until, if it is there, is what comes after what is wanted. */
static int walk_threads(struct kymo_diff *diff, struct finding *finding, const struct kymo_difference *until, bool wants_its_thread)
{
	const struct kymo_comparison *comparison = &diff->comparison;
	struct kymo_look divergence = {0}, best = {0}, look;
	int result = 0;

	if (until)
		result = kymo_look(&comparison->forests[1].side.index, until->sides[1].stream, until->sides[1].at, &divergence,
				   diff->error);
	for (size_t i = 0, end; i < comparison->aligned_count && !result; i = end) {
		const struct kymo_aligned *first = &comparison->aligned[i];
		bool is_its = until && first->trees[1]->range.stream == until->sides[1].stream;
		struct kymo_value_findings found = {0};

		for (end = i; end < comparison->aligned_count && comparison->aligned[end].trees[0] == first->trees[0]; end++)
			;
		if (is_its != wants_its_thread)
			continue;
		finding->found = &found;
		finding->library = (struct kymo_differing_value){0};
		memset(finding->memo, 0, sizeof finding->memo);
		memset(finding->known, 0, sizeof finding->known);
		result = walk(finding, first, end - i, is_its ? until : NULL);
		diff->values.compared += found.compared;
		if (result || !found.count)
			continue;
		if (until && !is_its) {
			result = kymo_look(&comparison->forests[1].side.index, found.values[0].streams[1], found.values[0].states[1].told,
					   &look, diff->error);
			if (result || !is_before(diff, &look, &divergence))
				continue;
		}
		diff->values.has_lines_before = is_its && found.has_lines_before;
		diff->values.lines = found.lines;
		result = keep_earliest(diff, &found, &best);
	}
	return result;
}

int kymo_diff_find_values(struct kymo_diff *diff)
{
	struct kymo_comparison *comparison = &diff->comparison;
	const struct kymo_difference *until = NULL;
	struct finding *finding = calloc(1, sizeof *finding);
	uint32_t reads = 0;
	size_t first;
	int result;

	if (!finding)
		return kymo_fail(diff->error, -ENOMEM, "out of memory");
	finding->diff = diff;
	finding->most = KYMO_VALUES_TOLD;
	finding->reads = &reads;
	result = kymo_report_find_first(diff, &first, diff->error);
	/* If only libraries differ, all that other code does is the same. */
	if (!result && first != SIZE_MAX && !comparison->differences[first].is_library)
		until = &comparison->differences[first];
	if (comparison->aligned_count)
		qsort(comparison->aligned, comparison->aligned_count, sizeof *comparison->aligned, compare_aligned);
	if (!result && until)
		result = walk_threads(diff, finding, until, true);
	/* Threads hand values to each other. */
	if (!result && !diff->values.count) {
		finding->most = until ? 1 : KYMO_VALUES_TOLD;
		result = walk_threads(diff, finding, until, false);
	}
	free(finding);
	return result;
}
