// SPDX-License-Identifier: Apache-2.0
/* The call stack, followed from event to event and from chunk to chunk, against one that is written out. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/line_table.h"
#include "replay/decode/stack.h"

#define DEEPEST 600
#define LISTED 128

static struct kymo_traced_process process;
static const struct kymo_stream stream = {.process = &process};

/* Code ids, outermost first. */
struct model {
	uint64_t frames[DEEPEST];
	uint64_t depth;
};

static void take(struct kymo_stack *stack, unsigned kind, uint64_t n, uint64_t code)
{
	struct kymo_event event = {.stream = &stream, .kind = kind, .n = n, .code_id = code, .line = 1};

	cr_assert_eq(kymo_stack_take(stack, &event, NULL), 0);
}

static void take_sync(struct kymo_stack *stack, const struct model *model)
{
	struct kymo_event event = {.stream = &stream, .kind = KYMO_EVENT_STACK};
	static struct kymo_sync sync;

	sync.depth = model->depth;
	sync.listed = (typeof(sync.listed))(model->depth < LISTED ? model->depth : LISTED);
	for (uint64_t i = 0; i < sync.listed; i++)
		sync.frames[i] = (struct kymo_sync_frame){.code = model->frames[model->depth - 1 - i]};
	cr_assert_eq(kymo_stack_take(stack, &event, &sync), 0);
}

/* What is known of the stack is right, and at least what the last beginning of a chunk lists and is still there is known. */
static void check(const struct kymo_stack *stack, const struct model *model, uint64_t known_from)
{
	cr_assert_eq(kymo_stack_depth(stack), model->depth);
	cr_assert_leq(stack->hidden, known_from);
	for (uint64_t level = stack->hidden; level < model->depth; level++)
		cr_assert_eq(stack->frames[level - stack->hidden].code_id, model->frames[level]);
}

static uint64_t hidden_of(const struct model *model)
{
	return model->depth > LISTED ? model->depth - LISTED : 0;
}

Test(stack, any_walk_over_chunks_knows_what_they_list)
{
	static struct model model;
	struct kymo_stack stack = {0};
	uint64_t n = 0, known_from = 0, code = 0;
	bool is_leaving = false;

	srand(1);
	model.depth = 400;
	for (uint64_t i = 0; i < model.depth; i++)
		model.frames[i] = ++code;
	for (int chunk = 0; chunk < 400; chunk++) {
		/* As deep as can be, or as low: now and then a chunk leaves more frames than the next one lists. */
		bool goes_down = chunk % 3, is_done = false;

		if (is_leaving)
			model.depth--;
		is_leaving = false;
		take_sync(&stack, &model);
		known_from = chunk && known_from < hidden_of(&model) ? known_from : hidden_of(&model);
		check(&stack, &model, known_from);
		for (int i = rand() % 300; i && !is_done; i--) {
			if (is_leaving)
				model.depth--;
			is_leaving = false;
			if (rand() % 5 && (goes_down || model.depth + 2 > DEEPEST) && model.depth > 1) {
				take(&stack, KYMO_PY_RETURN, ++n, model.frames[model.depth - 1]);
				is_leaving = true;
			} else if (model.depth + 2 < DEEPEST) {
				take(&stack, KYMO_PY_START, ++n, ++code);
				model.frames[model.depth++] = code;
			}
			known_from = known_from < model.depth ? known_from : model.depth;
			check(&stack, &model, known_from);
		}
	}
	kymo_stack_release(&stack);
}

Test(stack, frames_come_into_reach_where_the_stack_has_become_lower)
{
	static struct model model;
	struct kymo_stack stack = {0};
	uint64_t n = 0;

	model.depth = 500;
	for (uint64_t i = 0; i < model.depth; i++)
		model.frames[i] = i + 1;
	take_sync(&stack, &model);
	check(&stack, &model, 500 - LISTED);
	for (int i = 0; i < LISTED - 3; i++)
		take(&stack, KYMO_PY_UNWIND, ++n, 500 - (uint64_t)i);
	model.depth -= LISTED - 3;
	take_sync(&stack, &model);
	check(&stack, &model, model.depth - LISTED);
	/* Far below what was listed at first. */
	for (int i = 0; i < 100; i++)
		take(&stack, KYMO_PY_UNWIND, ++n, model.depth - (uint64_t)i);
	cr_assert_eq(kymo_stack_top(&stack)->code_id, model.depth - 99);
	kymo_stack_release(&stack);
}

Test(stack, a_frame_is_on_it_up_to_and_with_the_event_that_leaves_it)
{
	struct kymo_stack stack = {0};

	take(&stack, KYMO_PY_START, 1, 7);
	cr_assert_eq(kymo_stack_depth(&stack), 1);
	cr_assert_eq(kymo_stack_top(&stack)->code_id, 7);
	take(&stack, KYMO_PY_RETURN, 2, 7);
	cr_assert_eq(kymo_stack_depth(&stack), 1);
	cr_assert(stack.is_leaving);
	take(&stack, KYMO_PY_START, 3, 8);
	cr_assert_eq(kymo_stack_depth(&stack), 1);
	cr_assert_eq(kymo_stack_top(&stack)->code_id, 8);
	kymo_stack_release(&stack);
}
