// SPDX-License-Identifier: Apache-2.0
/* Values in the report; docs/diff.md has the fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/describe_diff.h"
#include "replay/values/event_values.h"
#include "replay/trace/line_table.h"

#define VARIABLES 16U
/* How far a frame's first event is searched for in what is decoded again. */
#define CHUNKS_BACK 16U

static const char *const side_names[] = {"pass", "fail"};
static const char *const nothing[] = {NULL};

static const char *const *ignored_of(const struct kymo_describing *describing)
{
	return describing->diff->options->ignored_values ? describing->diff->options->ignored_values : nothing;
}

/* As in docs/guide/values.md. */
static json_t *value(const struct kymo_value_tree *tree, uint32_t number, const struct kymo_traced_process *process)
{
	const struct kymo_value *found = kymo_value_at(tree, number);
	json_t *described = NULL;
	char *text = NULL;
	size_t bytes;
	FILE *out = found ? open_memstream(&text, &bytes) : NULL;

	if (out) {
		kymo_value_put_json(out, tree, found, process);
		if (!fclose(out))
			described = json_loadb(text, bytes, JSON_ALLOW_NUL, NULL);
		free(text);
	}
	return described ? described : json_null();
}

static const char *what_of(const struct kymo_told_value *told)
{
	const struct kymo_value *binding = kymo_value_at(&told->tree, told->number);

	if (binding && binding->name)
		return binding->name & 1 ? "local" : "global";
	return told->event_kind == KYMO_PY_RETURN ? "returned" : told->event_kind == KYMO_PY_YIELD ? "yielded" : "raised";
}

static json_t *name_of(const struct kymo_told_value *told)
{
	const struct kymo_value *binding = kymo_value_at(&told->tree, told->number);
	const char *name = binding ? kymo_value_name(told->code, binding->name) : NULL;

	return name ? json_string(name) : json_null();
}

/* A variable that is not the same on both sides. */
static json_t *describe_pair(const struct kymo_describing *describing, const struct kymo_value_pair *pair,
			     const struct kymo_variable_state *const states[2], const size_t streams[2])
{
	json_t *path = json_string(pair->path), *described;

	described = json_pack("{s:o, s:s, s:o}", "name", name_of(&pair->values[1]), "what", what_of(&pair->values[1]), "path",
			      path ? path : json_string(""));
	for (size_t s = 0; s < 2; s++) {
		const struct kymo_traced_process *process = kymo_describe_side(describing, s)->timeline.streams[streams[s]].process;

		json_object_set_new(described, side_names[s],
				    json_pack("{s:o, s:o, s:o}", "value", value(pair->sides[s].tree, pair->sides[s].number, process),
					      "line", kymo_describe_line(states[s]->line), "position", kymo_describe_position(states[s]->told)));
	}
	return described;
}

/* Read both states again; the result is null if they are alike or not known. @has_time: a clock was read in both frames. */
static json_t *describe_states(struct kymo_describing *describing, struct kymo_owner *const owners[2],
			       const struct kymo_variable_state *const states[2], bool has_time)
{
	const struct kymo_index *const indexes[] = {&kymo_describe_side(describing, 0)->index, &kymo_describe_side(describing, 1)->index};
	size_t streams[2];
	json_t *described = NULL;
	struct kymo_value_pair pair;
	int result = kymo_value_pair_read(&pair, indexes, owners, states, describing->error);

	for (size_t s = 0; s < 2; s++)
		streams[s] = (size_t)(owners[s]->stream - owners[s]->timeline->streams);
	if (result)
		describing->result = result;
	else if (pair.likeness == KYMO_NOT_ALIKE && !(has_time && kymo_values_may_be_durations(pair.sides)) &&
		 !kymo_value_is_ignored(&pair.values[1], ignored_of(describing)))
		described = describe_pair(describing, &pair, states, streams);
	kymo_value_pair_release(&pair);
	return described;
}

static size_t chunk_at(const struct kymo_index *index, const struct kymo_thread_tree *tree, struct kymo_position at)
{
	const struct kymo_chunk_summary *chunk = kymo_index_find(index, tree->range.stream, at.n);
	size_t number = chunk ? (size_t)(chunk - index->chunks) : tree->first_chunk;

	return number < tree->first_chunk ? tree->first_chunk : number;
}

/* The frame of @own's code that is nearest to the top. */
static const struct kymo_stack_frame *find_frame(const struct kymo_side *of, const struct kymo_look *look, uint32_t code)
{
	for (uint32_t i = 0; i < look->frame_count; i++)
		if (look->frames[i].code && kymo_side_code(of, look->frames[i].code->content) == code)
			return &look->frames[i];
	return NULL;
}

/* Where a side has parted. */
struct parting {
	uint64_t common; /* number of the token that both had last */
	struct kymo_position entered; /* the frame was, by this event */
};

/* Go on to where the sides part. The token there has the effects of the line before it, if it is of the same frame. */
static int go_to(struct kymo_value_side *side, const struct kymo_differing *own, uint64_t *common, struct kymo_error *error)
{
	const struct kymo_token *next = NULL;
	int result;

	while (!(result = kymo_value_side_peek(side, &next, error)) && next) {
		int order = kymo_position_compare(kymo_token_position(next), own->at);
		bool is_same_frame = next->kind != KYMO_TOKEN_ENTER && next->depth == side->frame_count && next->code == own->code;

		if (order > 0 || (!order && !is_same_frame))
			break;
		result = kymo_value_side_next(side, error);
		if (result <= 0 || !order)
			break;
		if (own->common.n && !kymo_position_compare(kymo_token_position(&side->token.is), own->common))
			*common = side->index;
		kymo_value_side_leave(side);
	}
	return result < 0 ? result : 0;
}

/* The variables of the frame in which @own parted, to @side. 1; 0: not known; or a negative errno. */
static int read_frame(struct kymo_describing *describing, size_t number, const struct kymo_differing *own, struct kymo_value_side *side,
		      struct parting *parting)
{
	struct kymo_forest *forest = &describing->diff->comparison.forests[number];
	const struct kymo_thread_tree *tree = &forest->trees[own->stream];
	const struct kymo_stack_frame *frame = NULL;
	struct kymo_position start = own->common.n ? own->common : own->at;
	struct kymo_look look;
	int result = kymo_look(&forest->side.index, own->stream, start, &look, describing->error);

	if (!result)
		frame = find_frame(&forest->side, &look, own->code);
	/* The frame's first record in each chunk has all its variables. */
	if (frame) {
		parting->entered = own->begin.n ? own->begin : frame->entered;
		if (frame->line_at.n && frame->line_at.n < start.n)
			start = frame->line_at;
		if (chunk_at(&forest->side.index, tree, parting->entered) + CHUNKS_BACK > chunk_at(&forest->side.index, tree, start))
			start = parting->entered;
	}
	result = result ? result
			: kymo_value_side_open(side, forest, tree, chunk_at(&forest->side.index, tree, start), ignored_of(describing),
					       describing->error);
	if (!result)
		result = go_to(side, own, &parting->common, describing->error);
	if (result || !side->frame_count || side->frames[side->frame_count - 1].code != own->code)
		return result;
	if (side->variable_count == side->frames[side->frame_count - 1].first && parting->entered.n)
		result = kymo_value_side_add(side, parting->entered, describing->error);
	return result ? result : 1;
}

/* A value that may have changed unnoticed is compared only if both sides recorded it at the same time. */
static bool are_comparable(const struct kymo_variable_state *const states[2], const struct parting partings[2])
{
	const struct parting *a = &partings[0], *b = &partings[1];
	bool are_late = states[0]->index > a->common && states[1]->index > b->common;
	bool are_arguments = a->entered.n && b->entered.n && !kymo_position_compare(states[0]->told, a->entered) &&
			     !kymo_position_compare(states[1]->told, b->entered);

	if (states[0]->hash == states[1]->hash)
		return false;
	return (!states[0]->may_be_stale && !states[1]->may_be_stale) || are_late || are_arguments ||
	       (states[0]->index && states[1]->index && a->common - states[0]->index == b->common - states[1]->index);
}

static json_t *list_variables(struct kymo_describing *describing, struct kymo_value_side sides[2], const struct parting partings[2])
{
	struct kymo_owner *const owners[] = {&sides[0].owner, &sides[1].owner};
	bool has_time = kymo_value_side_has_time(&sides[0]) && kymo_value_side_has_time(&sides[1]);
	json_t *list = json_array();

	for (size_t i = sides[0].frames[sides[0].frame_count - 1].first; i < sides[0].variable_count; i++) {
		const struct kymo_variable_state *const states[] = {&sides[0].variables[i],
								    kymo_value_side_find(&sides[1], sides[0].variables[i].key)};
		json_t *described;

		if (json_array_size(list) == VARIABLES || describing->result)
			break;
		if (!states[1] || !states[0]->key || !are_comparable(states, partings))
			continue;
		described = describe_states(describing, owners, states, has_time);
		if (described)
			json_array_append_new(list, described);
	}
	return list;
}

json_t *kymo_describe_parting(struct kymo_describing *describing, const struct kymo_difference *difference)
{
	const struct kymo_comparison *comparison = &describing->diff->comparison;
	const struct kymo_differing *left = &difference->sides[0], *right = &difference->sides[1];
	struct kymo_value_side *sides;
	struct parting partings[2] = {0};
	json_t *list = NULL;
	int result = 1;

	if (!kymo_diff_has_values(describing->diff))
		return json_null();
	if (!left->has_place || !right->has_place || !left->code || !right->code ||
	    kymo_comparison_code(comparison, 0, left->code)->identity != kymo_comparison_code(comparison, 1, right->code)->identity)
		return json_array();
	sides = calloc(2, sizeof *sides);
	for (size_t s = 0; s < 2 && sides && result > 0; s++)
		result = read_frame(describing, s, &difference->sides[s], &sides[s], &partings[s]);
	if (sides && result > 0)
		list = list_variables(describing, sides, partings);
	if (!sides || result < 0)
		describing->result = sides ? result : kymo_fail(describing->error, -ENOMEM, "out of memory");
	for (size_t s = 0; s < 2 && sides; s++)
		kymo_value_side_release(&sides[s]);
	free(sides);
	return list ? list : json_array();
}

static json_t *describe_finding(struct kymo_describing *describing, const struct kymo_differing_value *finding)
{
	const struct kymo_value_findings *found = &describing->diff->values;
	const struct kymo_variable_state *const states[] = {&finding->states[0], &finding->states[1]};
	struct kymo_owner *owners[2] = {calloc(1, sizeof *owners[0]), calloc(1, sizeof *owners[1])};
	const struct kymo_content *const contents[] = {kymo_describe_side(describing, 0)->codes[finding->codes[0]].content,
						       kymo_describe_side(describing, 1)->codes[finding->codes[1]].content};
	json_t *described = NULL;

	for (size_t s = 0; s < 2 && owners[0] && owners[1]; s++) {
		const struct kymo_timeline *timeline = &kymo_describe_side(describing, s)->timeline;

		kymo_owner_of(owners[s], timeline, &timeline->streams[finding->streams[s]], ignored_of(describing));
	}
	if (owners[0] && owners[1])
		described = describe_states(describing, owners, states, false);
	for (size_t s = 0; s < 2 && described; s++) {
		json_t *told = json_object_get(described, side_names[s]);

		json_object_update_missing_new(told, kymo_describe_place(describing, s, contents[s], states[s]->line));
		json_object_set_new(told, "thread", kymo_describe_thread(describing, s, finding->streams[s]));
	}
	if (described)
		json_object_set_new(described, "lines_before",
				    found->has_lines_before ? json_integer((json_int_t)(found->lines - finding->lines)) : json_null());
	free(owners[0]);
	free(owners[1]);
	return described;
}

json_t *kymo_describe_findings(struct kymo_describing *describing)
{
	const struct kymo_value_findings *found = &describing->diff->values;
	json_t *list;

	if (!kymo_diff_has_values(describing->diff))
		return json_null();
	list = json_array();
	for (size_t i = 0; i < found->count && !describing->result; i++) {
		json_t *described = describe_finding(describing, &found->values[i]);

		if (described)
			json_array_append_new(list, described);
	}
	return json_pack("{s:o, s:o, s:b}", "compared", json_integer((json_int_t)found->compared), "first", list, "incomplete",
			 found->has_more);
}

json_t *kymo_describe_own_value(struct kymo_describing *describing, size_t side, size_t stream, struct kymo_position at)
{
	const struct kymo_side *of = kymo_describe_side(describing, side);
	const struct kymo_variable_state own = {.told = at};
	struct kymo_told_value told;
	json_t *described = NULL;
	int result = kymo_told_value_read(&told, &of->index, stream, &own, describing->error);

	if (result)
		describing->result = result;
	else if (told.number)
		described = value(&told.tree, told.number, of->timeline.streams[stream].process);
	kymo_told_value_release(&told);
	return described ? described : json_null();
}
