// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/diff.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static const Kymo__Config *config_of(const struct kymo_side *side)
{
	const Kymo__Session *session = side->timeline.definitions.session;

	return session ? session->config : NULL;
}

#define COMPARED_KINDS                                                                                                   \
	(UINT64_C(1) << KYMO_LINE | UINT64_C(1) << KYMO_PY_START | UINT64_C(1) << KYMO_PY_RETURN | UINT64_C(1) << KYMO_RAISE | \
	 UINT64_C(1) << KYMO_PY_UNWIND)

/* Both must hold the same kinds of events: a line that was not recorded may have run. */
static int check_profiles(const struct kymo_diff *diff)
{
	const Kymo__Config *a = config_of(&diff->comparison.forests[0].side), *b = config_of(&diff->comparison.forests[1].side);

	if (!a || !b)
		return 0;
	if (a->once || b->once)
		return kymo_fail(diff->error, -ENOTSUP, "a recording of coverage has each line once: it cannot be compared");
	if (a->flow == b->flow && (a->events & COMPARED_KINDS) == (b->events & COMPARED_KINDS))
		return 0;
	return kymo_fail(diff->error, -ENOTSUP,
			 "the traces hold different things: one was recorded with --events=%s, the other with --events=%s",
			 a->profile[0] ? a->profile : "?", b->profile[0] ? b->profile : "?");
}

struct pass {
	struct kymo_forest *forest;
	struct kymo_error error;
	int result;
};

static void *make_trees(void *context)
{
	struct pass *pass = context;

	for (size_t i = 0; i < pass->forest->tree_count && !pass->result; i++) {
		struct kymo_thread_tree *tree = &pass->forest->trees[i];

		if (tree->range.before > tree->range.after + 1)
			pass->result = kymo_thread_tree_make(pass->forest, tree, &pass->error);
	}
	return NULL;
}

/* Both sides at once: they share nothing. */
static int make_all(struct kymo_diff *diff)
{
	struct kymo_comparison *comparison = &diff->comparison;
	struct pass passes[2] = {{.forest = &comparison->forests[0]}, {.forest = &comparison->forests[1]}};
	pthread_t other;
	bool has_other = !pthread_create(&other, NULL, make_trees, &passes[1]);

	make_trees(&passes[0]);
	if (has_other)
		pthread_join(other, NULL);
	else
		make_trees(&passes[1]);
	for (size_t s = 0; s < 2; s++) {
		if (passes[s].result) {
			*diff->error = passes[s].error;
			return passes[s].result;
		}
		for (size_t i = 0; i < comparison->forests[s].tree_count; i++)
			comparison->total += comparison->forests[s].trees[i].size;
	}
	return 0;
}

int kymo_diff_run(struct kymo_diff *diff, const struct kymo_diff_options *options, struct kymo_error *error)
{
	struct kymo_comparison *comparison = &diff->comparison;
	int result;

	diff->options = options;
	diff->error = comparison->error = error;
	result = check_profiles(diff);
	if (result)
		return result;
	comparison->forests[0].side.number = 0;
	comparison->forests[1].side.number = 1;
	result = kymo_sides_identify(
		(struct kymo_side *[2]){&comparison->forests[0].side, &comparison->forests[1].side}, options->ignored, options->sources,
		error);
	for (size_t s = 0; s < 2 && !result; s++)
		result = kymo_diff_choose_part(&comparison->forests[s], options->tests[s], s == 0, error);
	if (!result)
		result = make_all(diff);
	comparison->wants_aligned = kymo_diff_has_values(diff);
	if (!result)
		result = kymo_diff_match(diff);
	if (!result)
		result = kymo_compare(comparison);
	/* The order of threads does not count as a difference unless it causes one. */
	if (!result && !kymo_diff_is_same(diff))
		result = kymo_diff_find_orders(diff);
	if (!result && kymo_diff_has_values(diff))
		result = kymo_diff_find_values(diff);
	return result;
}

bool kymo_diff_has_values(const struct kymo_diff *diff)
{
	bool has_values = !diff->options->without_values;

	for (size_t s = 0; s < 2; s++) {
		const Kymo__Config *config = config_of(&diff->comparison.forests[s].side);

		has_values &= config && config->values && config->values->scope;
	}
	return has_values;
}

bool kymo_diff_is_same(const struct kymo_diff *diff)
{
	const struct kymo_comparison *comparison = &diff->comparison;

	for (size_t i = 0; i < comparison->difference_count; i++)
		if (comparison->differences[i].kind != KYMO_DIFFER_UNKNOWN)
			return false;
	if (diff->options->values_differ && diff->values.count)
		return false;
	return !comparison->not_kept && !comparison->not_followed;
}

void kymo_diff_release(struct kymo_diff *diff)
{
	kymo_comparison_release(&diff->comparison);
	for (size_t s = 0; s < 2; s++) {
		struct kymo_forest *forest = &diff->comparison.forests[s];

		for (size_t i = 0; i < forest->tree_count; i++)
			kymo_thread_tree_release(&forest->trees[i]);
		free(forest->trees);
		kymo_side_release(&forest->side);
		free(diff->processes[s]);
	}
	free(diff->partners);
}
