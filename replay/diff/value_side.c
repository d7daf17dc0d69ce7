// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/value_side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/around.h"
#include "replay/trace/line_table.h"

/* Tokens that are read at once, about. */
#define PART 4096U

/* The same for a variable of one name on both sides, and of one kind: a local is not a global. */
static uint64_t key_of(const struct kymo_code *code, uint64_t name)
{
	const char *text = kymo_value_name(code, name);

	if (!name)
		return 0;
	return text ? kymo_hash_bytes(25 + (name & 1), text, strlen(text)) | 1 : kymo_mix(27, name) | 1;
}

static uint64_t find_key(struct kymo_value_side *side, const struct kymo_code *code, uint64_t name)
{
	struct kymo_known_key *known = &side->keys[((uintptr_t)code / sizeof *code + name) % (sizeof side->keys / sizeof *side->keys)];

	if (known->code != code || known->name != name)
		*known = (struct kymo_known_key){code, name, key_of(code, name)};
	return known->key;
}

/* What value @number of @tree tells. */
static struct kymo_variable_state state_of(struct kymo_value_side *side, const struct kymo_value_tree *tree, uint32_t number,
					   const struct kymo_code *code, struct kymo_position told)
{
	uint64_t hash;

	side->owner.saw_time = false;
	hash = kymo_likeness_hash(&side->owner, tree, number);
	return (struct kymo_variable_state){
		.key = find_key(side, code, tree->nodes[number].name),
		.name = tree->nodes[number].name,
		.hash = hash,
		.has_time = side->owner.saw_time,
		.told = told,
		.kind = (uint8_t)tree->nodes[number].kind,
		.may_be_stale = side->has_arguments_alone || kymo_value_may_be_stale(tree, number),
	};
}

static bool add_told(struct kymo_value_side *side, const struct kymo_token_run *run)
{
	struct kymo_value_tree *tree = &side->values_tree;
	struct kymo_value_token *token = &side->tokens[side->token_count - 1];

	if (kymo_value_tree_read(tree, *run->values))
		return false;
	token->is_whole = tree->flags & KYMO_VALUES_WHOLE;
	token->first = (uint32_t)side->told_count;
	for (uint32_t i = tree->count > 1 ? 1 : 0; i; i = tree->nodes[i].next) {
		if (kymo_grow(&side->told, &side->told_capacity, side->told_count + 1, sizeof *side->told))
			return false;
		side->told[side->told_count++] = state_of(side, tree, i, run->values_code, kymo_token_position(run->tokens));
		token->count++;
	}
	side->values += token->count;
	return true;
}

static bool take(void *context, const struct kymo_token_run *run)
{
	struct kymo_value_side *side = context;

	for (size_t i = 0; i < run->count && !side->is_short; i++) {
		if (kymo_grow(&side->tokens, &side->token_capacity, side->token_count + 1, sizeof *side->tokens))
			side->is_short = true;
		else
			side->tokens[side->token_count++] = (struct kymo_value_token){.is = run->tokens[i]};
	}
	if (run->values && !side->wants_none && !side->is_short)
		side->is_short = !add_told(side, run);
	side->pauses = side->token_count >= PART;
	return !side->is_short;
}

int kymo_value_side_open(struct kymo_value_side *side, struct kymo_forest *forest, const struct kymo_thread_tree *tree,
			 size_t first_chunk, const char *const *ignored, struct kymo_error *error)
{
	const struct kymo_timeline *timeline = &forest->side.timeline;

	const Kymo__Session *session = timeline->definitions.session;

	*side = (struct kymo_value_side){.forest = forest, .tree = tree};
	side->has_arguments_alone = session && session->config && session->config->values &&
				    session->config->values->scope == KYMO__VALUES__SCOPE__ARGS;
	kymo_owner_of(&side->owner, timeline, &timeline->streams[tree->range.stream], ignored);
	side->walking = (struct kymo_token_walking){
		.side = &forest->side,
		.range = tree->range,
		.first_chunk = first_chunk,
		.end_chunk = tree->end_chunk,
		.depths = tree->depths,
		.take = take,
		.context = side,
		.has_values = true,
		.pauses = &side->pauses,
	};
	side->walk = kymo_tokens_open(&side->walking);
	return side->walk ? 0 : kymo_fail(error, -ENOMEM, "out of memory");
}

void kymo_value_side_release(struct kymo_value_side *side)
{
	kymo_tokens_close(side->walk);
	free(side->frames);
	free(side->variables);
	free(side->tokens);
	free(side->told);
	kymo_value_tree_release(&side->values_tree);
}

static int read_part(struct kymo_value_side *side, struct kymo_error *error)
{
	int result = 1;

	side->token_count = side->told_count = side->at = 0;
	while (!side->token_count && result > 0) {
		side->pauses = false;
		result = kymo_tokens_go_on(side->walk, error);
	}
	side->is_over = !result;
	if (side->is_short)
		return kymo_fail(error, -ENOMEM, "out of memory");
	return result < 0 ? result : side->token_count > 0;
}

static void cut_frames(struct kymo_value_side *side, size_t count)
{
	if (side->frame_count <= count)
		return;
	side->frame_count = count;
	side->variable_count = side->frames[count].first;
}

static bool push_frame(struct kymo_value_side *side, uint32_t code, int32_t line)
{
	if (kymo_grow(&side->frames, &side->frame_capacity, side->frame_count + 1, sizeof *side->frames))
		return false;
	side->frames[side->frame_count++] = (struct kymo_value_frame){code, line, side->variable_count};
	return true;
}

/* Have the frame on top be the one that @token is of. */
static bool enter_frame(struct kymo_value_side *side, const struct kymo_token *token)
{
	struct kymo_value_frame *top;

	cut_frames(side, token->depth - (token->kind == KYMO_TOKEN_ENTER));
	while (side->frame_count < token->depth)
		if (!push_frame(side, side->frame_count + 1 == token->depth ? token->code : 0, KYMO_LINE_NONE))
			return false;
	top = &side->frames[side->frame_count - 1];
	if (top->code != token->code) {
		*top = (struct kymo_value_frame){token->code, KYMO_LINE_NONE, top->first};
		side->variable_count = top->first;
	}
	return true;
}

static struct kymo_variable_state *find(const struct kymo_value_side *side, uint64_t key)
{
	size_t first = side->frame_count ? side->frames[side->frame_count - 1].first : side->variable_count;

	for (size_t i = first; i < side->variable_count; i++)
		if (side->variables[i].key == key)
			return &side->variables[i];
	return NULL;
}

const struct kymo_variable_state *kymo_value_side_find(const struct kymo_value_side *side, uint64_t key)
{
	return find(side, key);
}

bool kymo_value_side_has_time(const struct kymo_value_side *side)
{
	for (size_t i = side->frame_count ? side->frames[side->frame_count - 1].first : side->variable_count; i < side->variable_count; i++)
		if (side->variables[i].has_time)
			return true;
	return false;
}

const struct kymo_value_frame *kymo_value_side_top(const struct kymo_value_side *side)
{
	return side->frame_count ? &side->frames[side->frame_count - 1] : NULL;
}

static struct kymo_variable_state *add_variable(struct kymo_value_side *side)
{
	if (kymo_grow(&side->variables, &side->variable_capacity, side->variable_count + 1, sizeof *side->variables))
		return NULL;
	return &side->variables[side->variable_count++];
}

/* Variables of a WHOLE record are all there are. */
static bool take_told(struct kymo_value_side *side, const struct kymo_value_token *token)
{
	const struct kymo_value_frame *top = &side->frames[side->frame_count - 1];

	if (token->is_whole)
		side->variable_count = top->first;
	for (uint32_t i = 0; i < token->count; i++) {
		struct kymo_variable_state *told = &side->told[token->first + i], *known;

		told->index = side->index;
		told->line = top->line == KYMO_LINE_NONE ? token->is.line : top->line;
		if (!told->key) {
			told->line = token->is.line;
			side->own = *told;
			continue;
		}
		known = token->is_whole ? NULL : find(side, told->key);
		if (!known && !(known = add_variable(side)))
			return false;
		*known = *told;
	}
	return true;
}

void kymo_value_side_leave(struct kymo_value_side *side)
{
	if (side->index && kymo_token_leaves(&side->token.is))
		cut_frames(side, side->token.is.depth - 1);
}

int kymo_value_side_peek(struct kymo_value_side *side, const struct kymo_token **token, struct kymo_error *error)
{
	int result = 1;

	if (side->at == side->token_count)
		result = side->is_over ? 0 : read_part(side, error);
	*token = result > 0 ? &side->tokens[side->at].is : NULL;
	return result < 0 ? result : 0;
}

int kymo_value_side_next(struct kymo_value_side *side, struct kymo_error *error)
{
	const struct kymo_token *token;
	int result;

	kymo_value_side_leave(side);
	result = kymo_value_side_peek(side, &token, error);
	if (result || !token)
		return result;
	side->token = side->tokens[side->at++];
	side->index++;
	side->own.told.n = 0;
	token = &side->token.is;
	side->lines += token->kind == KYMO_TOKEN_LINE;
	if (token->kind == KYMO_TOKEN_MISSING || !token->depth) {
		cut_frames(side, 0);
		return 1;
	}
	if (!enter_frame(side, token) || !take_told(side, &side->token))
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (token->line != KYMO_LINE_NONE)
		side->frames[side->frame_count - 1].line = token->line;
	return 1;
}

int kymo_value_side_add(struct kymo_value_side *side, struct kymo_position at, struct kymo_error *error)
{
	struct kymo_walker walker;
	int result = kymo_walk_to(&side->forest->side.index, side->tree->range.stream, at, &walker, error);

	if (result > 0 && kymo_value_tree_read(&side->values_tree, walker.event.values))
		result = kymo_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = result > 0 && side->values_tree.count > 1 ? 1 : 0; i && side->frame_count; i = side->values_tree.nodes[i].next) {
		struct kymo_variable_state *state = add_variable(side);

		if (state)
			*state = state_of(side, &side->values_tree, i, walker.event.code, at);
	}
	kymo_walker_release(&walker);
	return result < 0 ? result : 0;
}

int kymo_told_value_read(struct kymo_told_value *value, const struct kymo_index *index, size_t stream,
			 const struct kymo_variable_state *state, struct kymo_error *error)
{
	int result;

	*value = (struct kymo_told_value){0};
	result = kymo_walk_to(index, stream, state->told, &value->walker, error);
	if (result <= 0)
		return result;
	value->code = value->walker.event.code;
	value->event_kind = value->walker.event.kind;
	if (kymo_value_tree_read(&value->tree, value->walker.event.values))
		return kymo_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = value->tree.count > 1 ? 1 : 0; i; i = value->tree.nodes[i].next)
		if (value->tree.nodes[i].name == state->name)
			value->number = i;
	return 0;
}

void kymo_told_value_release(struct kymo_told_value *value)
{
	kymo_walker_release(&value->walker);
	kymo_value_tree_release(&value->tree);
}
