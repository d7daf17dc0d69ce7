// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/sequence.h"

#include <errno.h>
#include <string.h>

#include "replay/trace/line_table.h"

static const struct kymo_index *index_of(const struct kymo_sequence *sequence)
{
	return &sequence->pages->forest->side.index;
}

/* Have @part of @chunk, or what comes after it; none: the end.  0 or a negative errno. */
static int turn_page(struct kymo_sequence *sequence, size_t chunk, uint32_t part, struct kymo_error *error)
{
	sequence->at = 0;
	for (; chunk < sequence->tree->end_chunk; chunk++, part = 0) {
		struct kymo_page *page = kymo_page_get(sequence->pages, sequence->tree, chunk, part, error);

		kymo_page_put(sequence->page);
		sequence->page = page;
		if (!page)
			return -EIO;
		if (page->count)
			return 0;
	}
	kymo_page_put(sequence->page);
	sequence->page = NULL;
	return 0;
}

static int advance(struct kymo_sequence *sequence, struct kymo_error *error)
{
	const struct kymo_page *page = sequence->page;

	if (++sequence->at < page->count)
		return 0;
	return page->has_more ? turn_page(sequence, page->chunk, page->part + 1, error)
			      : turn_page(sequence, page->chunk + 1, 0, error);
}

static bool is_before(const struct kymo_token *token, struct kymo_position at, bool is_behind)
{
	int order = kymo_position_compare(kymo_token_position(token), at);

	return order < 0 || (!order && is_behind);
}

/* To the first token at @at or after; @is_behind: after it. */
static int seek(struct kymo_sequence *sequence, struct kymo_position at, bool is_behind, struct kymo_error *error)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(index_of(sequence), sequence->tree->range.stream, at.n);
	size_t number = chunk ? (size_t)(chunk - index_of(sequence)->chunks) : 0;
	struct kymo_page *page = sequence->page;
	size_t low, high;
	int result = 0;

	if (number < sequence->tree->first_chunk)
		number = sequence->tree->first_chunk;
	if (!page || page->chunk != number || !page->count || !is_before(&page->tokens[0], at, true))
		result = turn_page(sequence, number, 0, error);
	while (!result && sequence->page && is_before(&sequence->page->tokens[sequence->page->count - 1], at, is_behind)) {
		page = sequence->page;
		result = page->has_more ? turn_page(sequence, page->chunk, page->part + 1, error)
					: turn_page(sequence, page->chunk + 1, 0, error);
	}
	if (result || !sequence->page)
		return result;
	for (low = 0, high = sequence->page->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (is_before(&sequence->page->tokens[middle], at, is_behind))
			low = middle + 1;
		else
			high = middle;
	}
	sequence->at = low;
	return 0;
}

static void keep_closed(void *context, const struct kymo_activation *activation)
{
	struct kymo_sequence *sequence = context;

	if (activation->depth == sequence->depth + 1)
		sequence->closed = *activation;
}

int kymo_sequence_open(struct kymo_sequence *sequence, struct kymo_pages *pages, const struct kymo_thread_tree *tree,
		       struct kymo_position begin, uint32_t depth, struct kymo_error *error)
{
	size_t blocks;

	*sequence = (struct kymo_sequence){.pages = pages, .tree = tree, .depth = depth, .line = KYMO_LINE_NONE};
	sequence->fold = (struct kymo_fold){.base = depth, .closed = keep_closed, .context = sequence};
	sequence->block = kymo_thread_tree_blocks(tree, begin, depth, &blocks);
	sequence->blocks_end = sequence->block ? sequence->block + blocks : NULL;
	if (!depth)
		return turn_page(sequence, tree->first_chunk, 0, error);
	return seek(sequence, begin, false, error);
}

void kymo_sequence_close(struct kymo_sequence *sequence)
{
	kymo_page_put(sequence->page);
	sequence->page = NULL;
	kymo_fold_release(&sequence->fold);
}

static void end(struct kymo_sequence *sequence, struct kymo_item *item, struct kymo_position at)
{
	sequence->is_over = true;
	*item = (struct kymo_item){.key = KYMO_CUT, .alike = KYMO_CUT, .at = at, .line = sequence->line, .code = sequence->code,
				   .kind = KYMO_CUT, .is_end = true};
}

static void put_call(struct kymo_sequence *sequence, const struct kymo_activation *call, struct kymo_item *item)
{
	*item = (struct kymo_item){
		.key = call->hash,
		.alike = kymo_mix(sequence->line_key, call->entry),
		.at = call->begin,
		.end = call->end,
		.size = call->size,
		.line = sequence->line,
		.code = call->code,
		.depth = call->depth,
		.kind = KYMO_TOKEN_ENTER,
		.left = call->left,
		.is_incomplete = call->is_incomplete,
	};
	sequence->is_unwound = call->left == KYMO_TOKEN_UNWIND;
}

/* A call begins at the token that is next. */
static int take_call(struct kymo_sequence *sequence, struct kymo_item *item, struct kymo_error *error)
{
	const struct kymo_token *token = &sequence->page->tokens[sequence->at];
	const struct kymo_activation *kept =
		kymo_thread_tree_find(sequence->tree, kymo_token_position(token), sequence->depth + 1);
	int result = 0;

	if (kept) {
		put_call(sequence, kept, item);
		return seek(sequence, kept->end, kept->left != KYMO_CUT, error);
	}
	sequence->fold.count = 0;
	sequence->closed = (struct kymo_activation){.left = KYMO_CUT, .line = KYMO_LINE_NONE};
	while (!result && sequence->page) {
		token = &sequence->page->tokens[sequence->at];
		if (!kymo_fold_take(&sequence->fold, token, true))
			break;
		result = advance(sequence, error);
		if (!sequence->fold.count)
			break;
	}
	if (!sequence->page)
		kymo_fold_end(&sequence->fold);
	if (sequence->fold.is_short)
		result = kymo_fail(error, -ENOMEM, "out of memory");
	put_call(sequence, &sequence->closed, item);
	return result;
}

/* True: the token that is next shows that the activation is over. */
static bool is_gone(const struct kymo_sequence *sequence, const struct kymo_token *token)
{
	if (token->kind == KYMO_TOKEN_MISSING || token->depth > sequence->depth)
		return false;
	return token->depth < sequence->depth || token->kind == KYMO_TOKEN_ENTER ||
	       (sequence->code && token->code != sequence->code);
}

int kymo_sequence_next(struct kymo_sequence *sequence, struct kymo_item *item, struct kymo_error *error)
{
	const struct kymo_token *token;
	int result;

	if (sequence->is_over)
		return 0;
	if (sequence->is_ahead) {
		sequence->is_ahead = false;
		result = seek(sequence, sequence->ahead, false, error);
		if (result)
			return result;
	}
	if (!sequence->page) {
		end(sequence, item, (struct kymo_position){UINT64_MAX, 0});
		return 1;
	}
	token = &sequence->page->tokens[sequence->at];
	if (!sequence->is_begun && token->kind == KYMO_TOKEN_ENTER && token->depth == sequence->depth) {
		sequence->is_begun = true;
		sequence->code = token->code;
		sequence->line = token->line;
		result = advance(sequence, error);
		return result ? result : kymo_sequence_next(sequence, item, error);
	}
	sequence->is_begun = true;
	if (is_gone(sequence, token)) {
		end(sequence, item, kymo_token_position(token));
		return 1;
	}
	if (token->kind != KYMO_TOKEN_MISSING && token->depth > sequence->depth) {
		result = take_call(sequence, item, error);
		return result ? result : 1;
	}
	if (token->kind != KYMO_TOKEN_MISSING && !sequence->code)
		sequence->code = token->code;
	if (token->kind == KYMO_TOKEN_LINE) {
		sequence->line = token->line;
		sequence->line_key = token->key;
	}
	*item = (struct kymo_item){
		.key = token->key,
		.alike = token->key,
		.at = kymo_token_position(token),
		.size = 1,
		.line = token->line == KYMO_LINE_NONE ? sequence->line : token->line,
		.code = token->code,
		.kind = token->kind,
		.is_incomplete = token->kind == KYMO_TOKEN_MISSING,
		.is_passed_on = token->kind == KYMO_TOKEN_RAISE && sequence->is_unwound,
		.is_end = kymo_token_leaves(token),
	};
	sequence->is_unwound = false;
	sequence->is_over = item->is_end;
	result = advance(sequence, error);
	return result ? result : 1;
}

const struct kymo_block *kymo_sequence_block(struct kymo_sequence *sequence)
{
	struct kymo_position here;

	if (!sequence->page || !sequence->is_begun || sequence->block == sequence->blocks_end)
		return NULL;
	here = sequence->is_ahead ? sequence->ahead : kymo_token_position(&sequence->page->tokens[sequence->at]);
	while (sequence->block != sequence->blocks_end && kymo_position_compare(sequence->block->begin, here) < 0)
		sequence->block++;
	if (sequence->block == sequence->blocks_end || kymo_position_compare(sequence->block->begin, here) || !sequence->block->end.n)
		return NULL;
	return sequence->block;
}

void kymo_sequence_skip(struct kymo_sequence *sequence, const struct kymo_block *block)
{
	if (block->last_line != KYMO_LINE_NONE) {
		sequence->line = block->last_line;
		sequence->line_key = block->last_line_key;
	}
	sequence->is_unwound = block->is_unwound;
	sequence->ahead = block->end;
	sequence->is_ahead = true;
}
