// SPDX-License-Identifier: Apache-2.0
/* Call trees of the golden traces: calls are those of the events, and where there is no room for more nodes nothing is lost. */
#include "replay/profile/call_tree.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>

static void read_tree(struct kymo_call_tree *tree, struct kymo_timeline *timeline, const char *path, bool wants_lines,
		      uint32_t limit)
{
	const struct kymo_slice all = KYMO_SLICE_ALL;
	struct kymo_error error;

	cr_assert_eq(kymo_timeline_open(timeline, path, 0, &error), 0, "%s", error.message);
	cr_assert_eq(kymo_call_tree_read(tree, timeline, &all, wants_lines, limit, &error), 0, "%s", error.message);
}

static int64_t observed(const struct kymo_call_tree *tree)
{
	int64_t sum = 0;

	for (size_t i = 0; i < tree->thread_count; i++)
		sum += tree->threads[i].end_ns - tree->threads[i].begin_ns - tree->threads[i].outside_ns;
	return sum;
}

/* Calls of all nodes, the same as those of all functions; self times, the same as what was observed. */
static uint64_t check_sums(const struct kymo_call_tree *tree, const char *path)
{
	uint64_t calls = 0, called = 0;
	int64_t self_ns = 0, function_ns = 0;

	for (size_t i = 0; i < tree->node_count; i++) {
		cr_assert(tree->nodes[i].parent == KYMO_CALL_NODE_NONE || tree->nodes[i].parent < i);
		calls += tree->nodes[i].calls;
		self_ns += tree->node_shares.items[i + 1].self_ns;
	}
	for (size_t i = 0; i < tree->function_count; i++) {
		called += tree->functions[i].calls;
		function_ns += tree->function_shares.items[i + 1].self_ns;
		cr_assert_eq(tree->functions[i].running, 0);
	}
	cr_assert_eq(calls, called, "%s", path);
	cr_assert_eq(self_ns, function_ns, "%s", path);
	cr_assert_eq(self_ns, observed(tree), "%s", path);
	return calls;
}

static void check_limit(const char *path, const struct kymo_call_tree *whole, uint32_t limit)
{
	struct kymo_timeline timeline;
	struct kymo_call_tree tree;
	size_t more = 0;

	read_tree(&tree, &timeline, path, true, limit);
	check_sums(&tree, path);
	for (size_t i = 0; i < tree.node_count; i++) {
		more += tree.nodes[i].is_more;
		cr_assert(tree.nodes[i].parent == KYMO_CALL_NODE_NONE || !tree.nodes[tree.nodes[i].parent].is_more);
	}
	cr_assert(tree.node_count - more <= limit);
	cr_assert_eq(more > 0, whole->node_count > limit, "%s", path);
	/* Functions are as they were. */
	cr_assert_eq(tree.function_count, whole->function_count);
	for (size_t i = 0; i < tree.function_count; i++) {
		const struct kymo_share *has = &tree.function_shares.items[i + 1], *had = &whole->function_shares.items[i + 1];

		cr_assert_eq(tree.functions[i].calls, whole->functions[i].calls);
		cr_assert_eq(tree.functions[i].outermost, whole->functions[i].outermost);
		cr_assert(has->self_ns == had->self_ns && has->total_ns == had->total_ns);
	}
	kymo_call_tree_release(&tree);
	kymo_timeline_close(&timeline);
}

Test(call_tree, golden_traces)
{
	uint64_t calls = 0;
	glob_t found;

	cr_assert_eq(glob(KYMO_SOURCE_DIR "/tests/golden/v*/*.kymo", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct kymo_timeline timeline;
		struct kymo_call_tree tree;

		read_tree(&tree, &timeline, found.gl_pathv[i], true, KYMO_CALL_TREE_NODES);
		calls += check_sums(&tree, found.gl_pathv[i]);
		for (uint32_t limit = 1; limit <= 64; limit *= 4)
			check_limit(found.gl_pathv[i], &tree, limit);
		kymo_call_tree_release(&tree);
		kymo_timeline_close(&timeline);
	}
	cr_assert(calls > 100);
	globfree(&found);
}
