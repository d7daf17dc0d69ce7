// SPDX-License-Identifier: Apache-2.0
#include "replay/diff/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/line_table.h"
#include "replay/decode/walker.h"

struct level {
	uint64_t code_id;
	uint32_t code;
	uint32_t depth; /* of the frames that are shown, up to this one */
	uint8_t treatment;
};

#define RUN 256U

struct kymo_token_walk {
	const struct kymo_token_walking *how;
	struct kymo_walker walker;
	struct level *levels; /* as walker.stack.frames */
	uint32_t count;
	size_t capacity;
	uint64_t hidden;
	struct level base; /* of the frames that are not known */
	uint64_t slice;
	uint32_t interpreter;
	struct kymo_token_run run;
	struct kymo_token tokens[RUN];
	size_t chunk; /* that is being walked */
	const struct kymo_values *values; /* of the event that is told */
	const struct kymo_code *values_code;
	bool is_over;
	bool is_short; /* of memory */
};

static const struct level *top_level(const struct kymo_token_walk *walk)
{
	return walk->count ? &walk->levels[walk->count - 1] : &walk->base;
}

static void push_level(struct kymo_token_walk *walk, const struct kymo_stack_frame *frame)
{
	const struct level *below = top_level(walk);
	uint32_t code = kymo_side_code(walk->how->side, frame->code ? frame->code->content : NULL);
	uint8_t treatment = walk->how->side->codes[code].treatment;

	if (below->treatment == KYMO_LEFT_OUT)
		treatment = KYMO_LEFT_OUT;
	if (kymo_grow(&walk->levels, &walk->capacity, walk->count + 1, sizeof *walk->levels)) {
		walk->is_short = walk->is_over = true;
		return;
	}
	below = top_level(walk);
	walk->levels[walk->count] = (struct level){frame->code_id, code, below->depth + (treatment == KYMO_SHOWN), treatment};
	walk->count++;
}

/* Have the levels be those of the stack again, of which only frames on top may be others. */
static void follow(struct kymo_token_walk *walk)
{
	const struct kymo_stack *stack = &walk->walker.stack;
	uint32_t keep = stack->count;

	if (stack->hidden < walk->hidden && !walk->count)
		walk->base.depth -= walk->base.depth > 0;
	if (stack->hidden != walk->hidden)
		keep = 0;
	walk->hidden = stack->hidden;
	if (keep > walk->count)
		keep = walk->count;
	while (keep && walk->levels[keep - 1].code_id != stack->frames[keep - 1].code_id)
		keep--;
	walk->count = keep;
	while (walk->count < stack->count && !walk->is_short)
		push_level(walk, &stack->frames[walk->count]);
}

/* The same for a stack that was told: any of its frames may be another. */
static void follow_all(struct kymo_token_walk *walk)
{
	const struct kymo_stack *stack = &walk->walker.stack;
	uint32_t same = 0;

	if (stack->hidden == walk->hidden)
		while (same < walk->count && same < stack->count && walk->levels[same].code_id == stack->frames[same].code_id)
			same++;
	walk->count = same;
	follow(walk);
}

static void tell(struct kymo_token_walk *walk)
{
	if (walk->run.count && !walk->is_over && !walk->how->take(walk->how->context, &walk->run))
		walk->is_over = true;
	walk->run.count = 0;
	walk->run.values = NULL;
}

/* Lines and branches wait for those that follow in the same frame and turn. */
static void add_to_run(struct kymo_token_walk *walk, const struct kymo_token *token)
{
	struct kymo_token_run *run = &walk->run;
	const struct kymo_token *first = walk->tokens;
	bool can_wait = (token->kind == KYMO_TOKEN_LINE || token->kind == KYMO_TOKEN_BRANCH) && !walk->values;

	if (run->count && (!can_wait || run->count == RUN || first->depth != token->depth || first->code != token->code ||
			   run->slice != walk->slice || run->interpreter != walk->interpreter))
		tell(walk);
	if (walk->is_over)
		return;
	run->slice = walk->slice;
	run->interpreter = walk->interpreter;
	if (walk->values) {
		run->values = walk->values;
		run->values_code = walk->values_code;
	}
	walk->tokens[run->count++] = *token;
	if (!can_wait)
		tell(walk);
}

static void emit(struct kymo_token_walk *walk, enum kymo_token_kind kind, uint64_t key, struct kymo_position at, int64_t line)
{
	const struct kymo_range *range = &walk->how->range;
	const struct level *top = top_level(walk);
	struct kymo_token token = {
		.key = kymo_mix(kymo_mix(kind, 1), key),
		.n = at.n,
		.k = at.k < (1U << 24) ? at.k : (1U << 24) - 1,
		.line = (int32_t)line,
		.depth = top->depth,
		.code = top->code,
		.kind = kind,
	};

	if (kind == KYMO_TOKEN_MISSING)
		token.depth = KYMO_ANY_DEPTH;
	else if (top->treatment != KYMO_SHOWN)
		return;
	if (at.n <= range->after || walk->is_over)
		return;
	if (at.n < range->before) {
		add_to_run(walk, &token);
		return;
	}
	tell(walk);
	walk->is_over = true;
}

static void emit_missing(struct kymo_token_walk *walk, struct kymo_position at)
{
	if (top_level(walk)->treatment != KYMO_LEFT_OUT)
		emit(walk, KYMO_TOKEN_MISSING, kymo_mix(walk->how->side->number + 1, at.n), at, KYMO_LINE_NONE);
}

static void emit_line(struct kymo_token_walk *walk, struct kymo_position at, int64_t line)
{
	const struct kymo_side_code *code = &walk->how->side->codes[top_level(walk)->code];
	int64_t number = line - (code->content ? code->content->first_line : 0);

	if (code->texts && number >= 0 && number < code->text_count)
		emit(walk, KYMO_TOKEN_LINE, code->texts[number], at, line);
	else
		emit(walk, KYMO_TOKEN_LINE, (uint64_t)(line - code->base_line), at, line);
}

static uint64_t hash_name(const char *name)
{
	return name ? kymo_hash_bytes(4, name, strlen(name)) : 0;
}

static void emit_event(struct kymo_token_walk *walk, unsigned kind, struct kymo_position at, const struct kymo_code *code,
		       uint64_t offset, uint64_t dest, const char *name)
{
	const struct kymo_side_code *own = &walk->how->side->codes[top_level(walk)->code];
	int64_t line = KYMO_LINE_NONE;

	if (code && kind != KYMO_BRANCH && kind != KYMO_BRANCH_LEFT && kind != KYMO_BRANCH_RIGHT)
		line = kymo_code_line(code, offset);
	switch (kind) {
	case KYMO_PY_START:
	case KYMO_PY_START_AT:
		emit(walk, KYMO_TOKEN_ENTER, own->identity, at, line);
		break;
	case KYMO_PY_RESUME:
	case KYMO_PY_THROW:
		emit(walk, KYMO_TOKEN_ENTER, own->identity + kind, at, line);
		break;
	case KYMO_BRANCH:
	case KYMO_BRANCH_LEFT:
	case KYMO_BRANCH_RIGHT:
		if (!own->has_changed && !own->has_no_branches)
			emit(walk, KYMO_TOKEN_BRANCH, kind << 24 ^ offset << 32 ^ dest, at, line);
		break;
	case KYMO_RAISE:
		emit(walk, KYMO_TOKEN_RAISE, hash_name(name), at, line);
		break;
	case KYMO_RERAISE:
		emit(walk, KYMO_TOKEN_RERAISE, hash_name(name), at, line);
		break;
	case KYMO_PY_RETURN:
		emit(walk, KYMO_TOKEN_RETURN, 0, at, line);
		break;
	case KYMO_PY_YIELD:
		emit(walk, KYMO_TOKEN_YIELD, 0, at, line);
		break;
	case KYMO_PY_UNWIND:
		emit(walk, KYMO_TOKEN_UNWIND, hash_name(name), at, KYMO_LINE_NONE);
		break;
	default:
		break;
	}
}

static bool has_name(unsigned kind)
{
	return kind == KYMO_RAISE || kind == KYMO_RERAISE || kind == KYMO_PY_UNWIND;
}

/* What happens in @code_id now, happens in the frame on top, and moves none. */
static bool is_on_top(const struct kymo_token_walk *walk, uint64_t code_id)
{
	const struct kymo_stack *stack = &walk->walker.stack;

	return !stack->is_leaving && stack->count && kymo_stack_top(stack)->code_id == code_id;
}

static bool moves_none(unsigned kind)
{
	return kind == KYMO_LINE || kind == KYMO_BRANCH || kind == KYMO_BRANCH_LEFT || kind == KYMO_BRANCH_RIGHT || kind == KYMO_JUMP;
}

/* @values belong to what is told from here to forget_values(). */
static void set_values(struct kymo_token_walk *walk, const struct kymo_values *values, const struct kymo_code *code)
{
	if (!walk->how->has_values || !values->bytes)
		return;
	walk->values = values;
	walk->values_code = code;
}

static void forget_values(struct kymo_token_walk *walk)
{
	walk->values = NULL;
}

static bool is_paused(const struct kymo_token_walk *walk)
{
	return walk->how->pauses && *walk->how->pauses;
}

/* What was rebuilt before an event, in the frame that was on top before it. */
static void take_steps(struct kymo_token_walk *walk, const struct kymo_skipped *skipped)
{
	struct kymo_walker *walker = &walk->walker;
	struct kymo_skipped first = *skipped;

	/* Only the first updates the stack: the others only change lines. */
	first.kind = KYMO_KIND_SPECIAL;
	first.step_count = first.step_count > 0;
	if (skipped->is_unknown || !is_on_top(walk, skipped->steps_code_id)) {
		kymo_stack_skip(&walker->stack, walker->cursor.stream, &first, &walker->cursor.sync);
		follow(walk);
	}
	if (skipped->is_unknown)
		emit_missing(walk, (struct kymo_position){skipped->n, skipped->first_k - 1});
	for (uint32_t i = 0; i < skipped->step_count && !walk->is_over; i++) {
		const struct kymo_step *step = &skipped->steps[i];
		struct kymo_position at = {skipped->n, skipped->first_k + i};

		if (step->kind == KYMO_LINE)
			emit_line(walk, at, step->value);
		else
			emit_event(walk, step->kind, at, skipped->steps_code, step->unit, step->value, NULL);
	}
}

static bool take_skipped(void *context, const struct kymo_skipped *skipped)
{
	struct kymo_token_walk *walk = context;
	struct kymo_walker *walker = &walk->walker;
	struct kymo_skipped event = *skipped;
	const char *name = NULL;

	walk->slice = walker->cursor.slice;
	walk->interpreter = walker->cursor.interpreter;
	if (skipped->kind == KYMO_EVENT_STACK) {
		kymo_stack_skip(&walker->stack, walker->cursor.stream, skipped, &walker->cursor.sync);
		follow_all(walk);
		return true;
	}
	if (skipped->is_unknown || skipped->step_count)
		take_steps(walk, skipped);
	if (!skipped->kind || walk->is_over)
		return !walk->is_over;
	event.is_unknown = false;
	event.step_count = 0;
	if (!moves_none(event.kind) || !is_on_top(walk, event.code_id)) {
		kymo_stack_skip(&walker->stack, walker->cursor.stream, &event, &walker->cursor.sync);
		follow(walk);
	}
	if (has_name(event.kind))
		name = kymo_traced_name(walker->cursor.stream->process, event.name_id);
	set_values(walk, &walker->cursor.values, event.code);
	if (event.kind == KYMO_LINE)
		emit_line(walk, (struct kymo_position){event.n, 0}, (int64_t)event.line);
	else
		emit_event(walk, event.kind, (struct kymo_position){event.n, 0}, event.code,
			   kymo_place_of(event.offset, event.place_plus_1), event.dest, name);
	forget_values(walk);
	return !walk->is_over && !is_paused(walk);
}

static void take_event(struct kymo_token_walk *walk)
{
	const struct kymo_event *event = &walk->walker.event;

	walk->slice = event->slice;
	walk->interpreter = event->interpreter;
	set_values(walk, &event->values, event->code);
	if (event->kind == KYMO_EVENT_GAP || event->kind == KYMO_EVENT_UNKNOWN)
		emit_missing(walk, kymo_position_of(event));
	else if (event->kind == KYMO_LINE)
		emit_line(walk, kymo_position_of(event), (int64_t)event->line);
	else if (event->kind == KYMO_EVENT_BRANCH_BIT)
		emit(walk, KYMO_TOKEN_BRANCH, event->is_taken, kymo_position_of(event), KYMO_LINE_NONE);
	else
		emit_event(walk, event->kind, kymo_position_of(event), event->code,
			   kymo_place_of(event->offset, event->place_plus_1), event->dest, event->name);
	forget_values(walk);
}

/* The first event of a chunk: frames below those that are known shift it. */
static void settle_depth(struct kymo_token_walk *walk, struct kymo_chunk_depth *depth)
{
	const struct level *top = top_level(walk);
	int64_t missing;

	if (!depth->is_known) {
		*depth = (struct kymo_chunk_depth){top->depth, top->treatment == KYMO_LEFT_OUT, true};
		return;
	}
	missing = (int64_t)depth->depth - top->depth;
	if (!walk->hidden || missing < 0 || (!missing && depth->is_left_out == (top->treatment == KYMO_LEFT_OUT)))
		return;
	walk->base.depth = (uint32_t)((int64_t)walk->base.depth + missing);
	if (depth->is_left_out && top->treatment != KYMO_LEFT_OUT)
		walk->base.treatment = KYMO_LEFT_OUT;
	walk->count = 0;
	follow(walk);
}

/* An index older than the damage says that nothing is missing; a walk that begins with this chunk must know better. */
static void note_gap(const struct kymo_token_walk *walk)
{
	const struct kymo_token_walking *how = walk->how;

	for (size_t i = how->first_chunk; i < how->end_chunk; i++)
		if (how->side->index.chunks[i].chunk == walk->walker.chunk)
			how->side->index.chunks[i].flags |= KYMO_SUMMARY_MISSING;
}

static void begin(struct kymo_token_walk *walk, const struct kymo_token_walking *how)
{
	const struct kymo_index *index = &how->side->index;

	walk->how = how;
	walk->run.tokens = walk->tokens;
	walk->chunk = SIZE_MAX;
	if (how->first_chunk < how->end_chunk)
		kymo_index_walk(index, &walk->walker, &index->chunks[how->first_chunk]);
	else
		walk->is_over = true;
}

static void end(struct kymo_token_walk *walk)
{
	kymo_walker_release(&walk->walker);
	free(walk->levels);
}

int kymo_tokens_go_on(struct kymo_token_walk *walk, struct kymo_error *error)
{
	const struct kymo_token_walking *how = walk->how;
	int result = 0;

	while (!walk->is_over && (result = kymo_walker_next(&walk->walker, error)) > 0) {
		if (walk->walker.chunk > how->side->index.chunks[how->end_chunk - 1].chunk)
			break;
		if (walk->walker.event.kind == KYMO_EVENT_GAP)
			note_gap(walk);
		follow_all(walk);
		if (walk->walker.chunk != walk->chunk) {
			walk->chunk = walk->walker.chunk;
			settle_depth(walk, &how->depths[walk->chunk]);
		}
		take_event(walk);
		if (is_paused(walk))
			return 1;
		kymo_cursor_skip(&walk->walker.cursor, walk->is_over ? 0 : UINT64_MAX, take_skipped, walk);
		if (is_paused(walk))
			return 1;
	}
	tell(walk);
	if (walk->is_short)
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (!walk->is_over && result < 0)
		return result;
	walk->is_over = true;
	return 0;
}

int kymo_tokens_walk(const struct kymo_token_walking *how, struct kymo_error *error)
{
	struct kymo_token_walk walk = {0};
	int result;

	begin(&walk, how);
	do
		result = kymo_tokens_go_on(&walk, error);
	while (result > 0);
	end(&walk);
	return result;
}

struct kymo_token_walk *kymo_tokens_open(const struct kymo_token_walking *how)
{
	struct kymo_token_walk *walk = calloc(1, sizeof *walk);

	if (walk)
		begin(walk, how);
	return walk;
}

void kymo_tokens_close(struct kymo_token_walk *walk)
{
	if (walk)
		end(walk);
	free(walk);
}
