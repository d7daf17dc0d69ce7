// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/fold.h"

#include <stdlib.h>

#include "replay/trace/line_table.h"

/* Least and most items of a block; between these it ends at an item whose key has no bit of the mask. */
#define LEAST_ITEMS 512U
#define MOST_ITEMS 8192U
#define END_MASK 1023U

void kymo_fold_release(struct kymo_fold *fold)
{
	free(fold->open);
	*fold = (struct kymo_fold){0};
}

/* An item of @open begins at @at. */
static void begin_item(struct kymo_open_activation *open, struct kymo_position at)
{
	if (!open->block.items)
		open->block = (struct kymo_block){.of = open->is.begin, .depth = open->is.depth, .begin = at, .last_line = KYMO_LINE_NONE};
}

/* It has ended, and has @size tokens. */
static void end_item(struct kymo_fold *fold, struct kymo_open_activation *open, uint64_t key, uint64_t size)
{
	struct kymo_block *block = &open->block;

	open->is.hash = kymo_mix(open->is.hash, key);
	open->is.size += size;
	open->is.own++;
	if (!fold->cut)
		return;
	block->hash = kymo_mix(block->hash, key);
	block->size += size;
	if (++block->items >= MOST_ITEMS || (block->items >= LEAST_ITEMS && !(key & END_MASK))) {
		fold->cut(fold->context, block);
		block->items = 0;
	}
}

static void close_top(struct kymo_fold *fold, unsigned left, struct kymo_position end)
{
	struct kymo_activation *top = &fold->open[--fold->count].is;

	top->left = (uint8_t)left;
	top->end = end;
	if (left == KYMO_CUT)
		top->hash = kymo_mix(top->hash, KYMO_CUT);
	if (fold->count) {
		struct kymo_open_activation *caller = &fold->open[fold->count - 1];

		caller->is.is_incomplete |= top->is_incomplete;
		caller->block.is_unwound = left == KYMO_TOKEN_UNWIND;
		end_item(fold, caller, top->hash, top->size);
	}
	fold->closed(fold->context, top);
}

static bool push(struct kymo_fold *fold, struct kymo_activation activation)
{
	if (kymo_grow(&fold->open, &fold->capacity, fold->count + 1, sizeof *fold->open)) {
		fold->is_short = true;
		return false;
	}
	if (fold->count)
		begin_item(&fold->open[fold->count - 1], activation.begin);
	fold->open[fold->count].is = activation;
	fold->open[fold->count].block.items = 0;
	if (fold->opened)
		fold->opened(fold->context, &fold->open[fold->count].is);
	fold->count++;
	return true;
}

/* Close what @token shows to be gone. */
static void close_gone(struct kymo_fold *fold, const struct kymo_token *token)
{
	size_t level = token->depth - fold->base;

	while (fold->count) {
		const struct kymo_activation *top = &fold->open[fold->count - 1].is;

		if (fold->count < level ||
		    (fold->count == level && token->kind != KYMO_TOKEN_ENTER && (!top->code || top->code == token->code)))
			return;
		close_top(fold, KYMO_CUT, kymo_token_position(token));
	}
}

/* @token is the activation's own. */
static void take_own(struct kymo_fold *fold, struct kymo_open_activation *top, const struct kymo_token *token)
{
	begin_item(top, kymo_token_position(token));
	if (token->kind == KYMO_TOKEN_LINE) {
		top->block.last_line = token->line;
		top->block.last_line_key = token->key;
		top->block.last_line_at = kymo_token_position(token);
	}
	top->block.is_unwound = false;
	end_item(fold, top, token->key, 1);
}

bool kymo_fold_take(struct kymo_fold *fold, const struct kymo_token *token, bool is_single)
{
	bool is_entry = token->kind == KYMO_TOKEN_ENTER, had_some = fold->count > 0;
	struct kymo_activation *top;

	if (token->kind == KYMO_TOKEN_MISSING) {
		if (!fold->count)
			return false;
	} else {
		if (token->depth <= fold->base) {
			while (fold->count)
				close_top(fold, KYMO_CUT, kymo_token_position(token));
			return false;
		}
		close_gone(fold, token);
		if (is_single && had_some && !fold->count)
			return false;
		while (fold->base + fold->count + is_entry < token->depth) {
			uint32_t depth = fold->base + (uint32_t)fold->count + 1;

			if (!push(fold, (struct kymo_activation){.hash = 5, .begin = kymo_token_position(token), .depth = depth,
								 .code = depth == token->depth ? token->code : 0,
								 .line = KYMO_LINE_NONE}))
				return false;
		}
		if (is_entry)
			return push(fold, (struct kymo_activation){.hash = token->key, .begin = kymo_token_position(token), .size = 1,
								   .own = 1, .entry = token->key, .depth = token->depth,
								   .code = token->code, .line = token->line});
	}
	top = &fold->open[fold->count - 1].is;
	if (!top->code && token->kind != KYMO_TOKEN_MISSING)
		top->code = token->code;
	if (top->line == KYMO_LINE_NONE)
		top->line = token->line;
	top->is_incomplete |= token->kind == KYMO_TOKEN_MISSING;
	take_own(fold, &fold->open[fold->count - 1], token);
	if (kymo_token_leaves(token))
		close_top(fold, token->kind, kymo_token_position(token));
	return true;
}

void kymo_fold_take_run(struct kymo_fold *fold, const struct kymo_token *tokens, size_t count)
{
	struct kymo_open_activation *top;

	if (!kymo_fold_take(fold, &tokens[0], false))
		return;
	top = &fold->open[fold->count - 1];
	for (size_t i = 1; i < count; i++)
		take_own(fold, top, &tokens[i]);
}

void kymo_fold_end(struct kymo_fold *fold)
{
	while (fold->count)
		close_top(fold, KYMO_CUT, (struct kymo_position){UINT64_MAX, 0});
}
