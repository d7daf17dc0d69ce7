// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/thread_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "replay/trace/line_table.h"

#define MAX_TURNS (1U << 17)

struct maker {
	struct kymo_forest *forest;
	struct kymo_thread_tree *tree;
	struct kymo_fold fold;
	struct kymo_tree_turn turn; /* slice 0: none */
	bool is_flow;
	bool is_short;
};

/* Keep a place for it: activations come in the order in which they begin. */
static void reserve(void *context, struct kymo_activation *activation)
{
	struct maker *maker = context;
	struct kymo_thread_tree *tree = maker->tree;

	if (kymo_grow(&tree->nodes, &tree->node_capacity, tree->node_count + 1, sizeof *tree->nodes)) {
		maker->is_short = true;
		return;
	}
	activation->number = (uint32_t)tree->node_count;
	tree->nodes[tree->node_count++] = *activation;
	maker->forest->node_count++;
}

/* Keep larger ones alone, and those that are open. */
static void thin_out(struct maker *maker)
{
	struct kymo_forest *forest = maker->forest;

	forest->smallest *= 4;
	forest->node_count = 0;
	for (size_t t = 0; t < forest->tree_count; t++) {
		struct kymo_thread_tree *tree = &forest->trees[t];
		size_t kept = 0, open = 0;

		for (size_t i = 0; i < tree->node_count; i++) {
			bool is_open = tree == maker->tree && open < maker->fold.count && maker->fold.open[open].is.number == i;

			if (is_open)
				maker->fold.open[open++].is.number = (uint32_t)kept;
			if (is_open || tree->nodes[i].size >= forest->smallest)
				tree->nodes[kept++] = tree->nodes[i];
		}
		tree->node_count = kept;
		forest->node_count += kept;
	}
}

static void keep(void *context, const struct kymo_activation *activation)
{
	struct maker *maker = context;
	struct kymo_thread_tree *tree = maker->tree;

	if (activation->size < maker->forest->smallest) {
		/* What it called was smaller: it is the last one. */
		tree->node_count--;
		maker->forest->node_count--;
	} else {
		tree->nodes[activation->number] = *activation;
	}
	if (maker->fold.count)
		return;
	tree->hash = kymo_mix(tree->hash, activation->hash);
	tree->size += activation->size;
	tree->own++;
	tree->is_incomplete |= activation->is_incomplete;
	if (!tree->first_code)
		tree->first_code = activation->code;
}

static void end_turn(struct maker *maker)
{
	struct kymo_thread_tree *tree = maker->tree;

	if (!maker->turn.slice)
		return;
	if (tree->turn_count == MAX_TURNS)
		tree->has_more_turns = true;
	else if (kymo_grow(&tree->turns, &tree->turn_capacity, tree->turn_count + 1, sizeof *tree->turns))
		maker->is_short = true;
	else
		tree->turns[tree->turn_count++] = maker->turn;
	maker->turn.slice = 0;
}

static void note_line(struct kymo_tree_turn *turn, uint32_t code, int32_t line)
{
	size_t i = 0;

	while (i < KYMO_TURN_CODES && turn->codes[i].code && turn->codes[i].code != code)
		i++;
	if (i == KYMO_TURN_CODES)
		return;
	if (!turn->codes[i].code)
		turn->codes[i] = (struct kymo_turn_code){code, line, line};
	if (line < turn->codes[i].low)
		turn->codes[i].low = line;
	if (line > turn->codes[i].high)
		turn->codes[i].high = line;
}

static int32_t last_line(const struct kymo_token_run *run)
{
	for (size_t i = run->count; i-- > 0;)
		if (run->tokens[i].line != KYMO_LINE_NONE)
			return run->tokens[i].line;
	return KYMO_LINE_NONE;
}

static void note_turn(struct maker *maker, const struct kymo_token_run *run)
{
	struct kymo_tree_turn *turn = &maker->turn;
	const struct kymo_token *token = run->tokens, *last = &run->tokens[run->count - 1];
	bool is_library = maker->forest->side.codes[token->code].is_library;

	if (run->slice != turn->slice || run->interpreter != turn->interpreter) {
		end_turn(maker);
		/* What was rebuilt may have been run before the turn began: all but the last of it. */
		*turn = (struct kymo_tree_turn){.slice = run->slice, .interpreter = run->interpreter, .first_code = token->code,
						.first_line = maker->is_flow ? last_line(run) : token->line, .begin = kymo_token_position(token),
						.last_line = KYMO_LINE_NONE};
	}
	turn->last_code = last->code;
	turn->depth = last->depth;
	turn->end = kymo_token_position(last);
	for (; token <= last; token++) {
		if (token->line == KYMO_LINE_NONE)
			continue;
		turn->last_line = token->line;
		if (!is_library)
			note_line(turn, token->code, token->line);
	}
}

/* Where the block before ended, is known when this one begins. */
static void keep_block(void *context, const struct kymo_block *block)
{
	struct maker *maker = context;
	struct kymo_thread_tree *tree = maker->tree;

	if (kymo_grow(&tree->blocks, &tree->block_capacity, tree->block_count + 1, sizeof *tree->blocks))
		maker->is_short = true;
	else
		tree->blocks[tree->block_count++] = *block;
}

static bool take(void *context, const struct kymo_token_run *run)
{
	struct maker *maker = context;

	if (run->tokens->kind == KYMO_TOKEN_MISSING) {
		maker->tree->is_incomplete = true;
		if (!kymo_fold_take(&maker->fold, run->tokens, false))
			maker->tree->hash = kymo_mix(maker->tree->hash, run->tokens->key);
	} else {
		note_turn(maker, run);
		kymo_fold_take_run(&maker->fold, run->tokens, run->count);
	}
	if (maker->forest->node_count > KYMO_MAX_NODES && maker->fold.count < KYMO_MAX_NODES / 4)
		thin_out(maker);
	return !maker->is_short && !maker->fold.is_short;
}

/* Chunks that have any of the range. */
static void find_chunks(const struct kymo_side *side, struct kymo_thread_tree *tree)
{
	const struct kymo_index *index = &side->index;
	size_t stream = tree->range.stream;

	tree->first_chunk = index->first_chunks[stream];
	tree->end_chunk = index->first_chunks[stream + 1];
	while (tree->first_chunk + 1 < tree->end_chunk && index->chunks[tree->first_chunk].last_n <= tree->range.after)
		tree->first_chunk++;
	while (tree->end_chunk > tree->first_chunk + 1 && index->chunks[tree->end_chunk - 1].first_n >= tree->range.before)
		tree->end_chunk--;
}

static int compare_activations(const struct kymo_block *block, struct kymo_position begin, uint32_t depth)
{
	int order = kymo_position_compare(block->of, begin);

	return order ? order : block->depth < depth ? -1 : block->depth > depth;
}

static int compare_blocks(const void *left, const void *right)
{
	const struct kymo_block *a = left, *b = right;
	int order = compare_activations(a, b->of, b->depth);

	return order ? order : kymo_position_compare(a->begin, b->begin);
}

/* Sort them, and say where each ends: where the next of its activation begins. */
static void link_blocks(struct kymo_thread_tree *tree)
{
	if (tree->block_count)
		qsort(tree->blocks, tree->block_count, sizeof *tree->blocks, compare_blocks);
	for (size_t i = 0; i + 1 < tree->block_count; i++)
		if (!compare_activations(&tree->blocks[i], tree->blocks[i + 1].of, tree->blocks[i + 1].depth))
			tree->blocks[i].end = tree->blocks[i + 1].begin;
}

const struct kymo_block *kymo_thread_tree_blocks(const struct kymo_thread_tree *tree, struct kymo_position begin,
						 uint32_t depth, size_t *count)
{
	size_t low = 0, high = tree->block_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_activations(&tree->blocks[middle], begin, depth) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < tree->block_count && !compare_activations(&tree->blocks[end], begin, depth); end++)
		;
	*count = end - low;
	return *count ? &tree->blocks[low] : NULL;
}

int kymo_thread_tree_make(struct kymo_forest *forest, struct kymo_thread_tree *tree, struct kymo_error *error)
{
	struct maker maker = {.forest = forest, .tree = tree};
	int result;

	maker.is_flow = forest->side.timeline.trace.header.required_features & KYMO_FEATURE_FLOW;
	find_chunks(&forest->side, tree);
	tree->depths = calloc(forest->side.timeline.streams[tree->range.stream].chunk_count + 1, sizeof *tree->depths);
	if (!tree->depths)
		return kymo_fail(error, -ENOMEM, "out of memory");
	maker.fold = (struct kymo_fold){.opened = reserve, .closed = keep, .cut = keep_block, .context = &maker};
	result = kymo_tokens_walk(&(struct kymo_token_walking){.side = &forest->side, .range = tree->range,
							       .first_chunk = tree->first_chunk, .end_chunk = tree->end_chunk,
							       .depths = tree->depths, .take = take, .context = &maker}, error);
	kymo_fold_end(&maker.fold);
	end_turn(&maker);
	if (maker.is_short || maker.fold.is_short)
		result = kymo_fail(error, -ENOMEM, "out of memory");
	kymo_fold_release(&maker.fold);
	link_blocks(tree);
	return result;
}

void kymo_thread_tree_release(struct kymo_thread_tree *tree)
{
	free(tree->depths);
	free(tree->nodes);
	free(tree->turns);
	free(tree->blocks);
}

const struct kymo_activation *kymo_thread_tree_find(const struct kymo_thread_tree *tree, struct kymo_position begin,
						    uint32_t depth)
{
	size_t low = 0, high = tree->node_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kymo_activation *node = &tree->nodes[middle];
		int order = kymo_position_compare(node->begin, begin);

		if (order < 0 || (!order && node->depth < depth))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == tree->node_count || kymo_position_compare(tree->nodes[low].begin, begin) || tree->nodes[low].depth != depth)
		return NULL;
	return &tree->nodes[low];
}
