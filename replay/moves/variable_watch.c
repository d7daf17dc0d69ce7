// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/variable_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/moves/frame_told.h"
#include "replay/values/value_path.h"

static const struct kymo_position at_begin = {0, 0}, at_end = {UINT64_MAX, 0};

/* What a variable held, as a number: see kymo_value_hash(). */
enum { NO_VALUE = 0, NOT_THERE = 2 };

struct held {
	bool is_known;
	uint64_t hash;
};

/* A walk along one variable. */
struct walk {
	struct kymo_replay *replay;
	const struct kymo_activation *activation;
	const struct kymo_watchpoint *watch;
	struct kymo_frame_told told;
	struct kymo_value_tree tree;
	uint32_t node; /* of the watched value, by the block that was read last; 0: none */
};

static void walk_end(struct walk *walk)
{
	kymo_frame_told_release(&walk->told);
	kymo_value_tree_release(&walk->tree);
}

static int read_chunk(struct walk *walk, const struct kymo_chunk_summary *chunk, struct kymo_position place, struct kymo_position limit,
		      struct kymo_error *error)
{
	int result = kymo_check_interrupt(walk->replay, error);

	return result ? result : kymo_frame_told_read(walk->replay, chunk, walk->activation->level, place, limit, &walk->told, error);
}

/* The value according to block @i; unchanged if that is not known. */
static int read_block(struct walk *walk, uint32_t i, struct held *held, struct kymo_error *error)
{
	const char *path = walk->watch->expression;
	struct kymo_value_tree *tree = &walk->tree;
	const struct kymo_value *value;
	uint32_t number = 1;

	if (kymo_value_tree_read(tree, kymo_told_values(&walk->told, i)))
		return kymo_fail(error, -ENOMEM, "out of memory");
	while ((value = kymo_value_at(tree, number)) && value->name != walk->watch->number)
		number = value->next;
	walk->node = 0;
	*held = (struct held){.is_known = value || tree->flags & KYMO_VALUES_WHOLE, .hash = NO_VALUE};
	if (!value || value->kind == KYMO_VALUE_UNBOUND)
		return 0;
	if (kymo_value_path(tree, number, path, path + walk->watch->name_bytes, &walk->node, NULL))
		held->hash = NOT_THERE;
	else
		held->hash = kymo_value_hash(tree, walk->node);
	return 0;
}

static bool has_arguments_alone(const struct walk *walk)
{
	return kymo_values_scope(walk->replay->timeline) <= KYMO__VALUES__SCOPE__ARGS;
}

/* The first chunk from @chunk on, but not beyond the activation's last event, in which its frame may have been on top; NULL: none. */
static const struct kymo_chunk_summary *next_chunk(const struct walk *walk, const struct kymo_chunk_summary *chunk)
{
	const struct kymo_activation *activation = walk->activation;
	const struct kymo_chunk_summary *end = kymo_end_chunk(walk->replay, activation->stream);

	if (has_arguments_alone(walk))
		return NULL;
	for (; chunk < end && chunk->first_n <= activation->last.at.n; chunk++)
		if (chunk->lowest_depth <= activation->level || chunk->flags & KYMO_SUMMARY_MISSING)
			return chunk;
	return NULL;
}

static void find_first(struct kymo_activation *out, const struct kymo_frame_told *told, const struct kymo_chunk_summary *chunk)
{
	out->first = told->first;
	out->has_first = told->has_first;
	if (!out->first.at.n)
		out->first.at = (struct kymo_position){chunk->first_n, 1};
	out->first.stream = chunk->stream;
}

/* Search for its first event in chunks before @chunk. */
static int find_entry(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_frame_told *told,
		      struct kymo_activation *out, struct kymo_error *error)
{
	const struct kymo_chunk_summary *entry = kymo_chunk_of_entry(replay, chunk, out->level);
	int result;

	for (int i = 0; i < 2 && entry < chunk; i++, entry++) {
		result = kymo_frame_told_read(replay, entry, out->level, at_end, at_end, told, error);
		if (result)
			return result;
		if (told->is_there) {
			find_first(out, told, entry);
			return 0;
		}
	}
	return 0;
}

static bool may_leave(const struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, uint64_t level)
{
	return chunk->flags & KYMO_SUMMARY_MISSING || chunk->lowest_depth <= level || chunk + 1 == kymo_end_chunk(replay, chunk->stream) ||
	       chunk[1].depth < level;
}

static int find_exit(struct kymo_replay *replay, const struct kymo_chunk_summary *chunk, struct kymo_frame_told *told,
		     struct kymo_activation *out, struct kymo_error *error)
{
	const struct kymo_chunk_summary *end = kymo_end_chunk(replay, chunk->stream);
	struct kymo_position place = kymo_position_of(kymo_replay_event(replay));

	for (; chunk < end; chunk++, place = at_begin) {
		int result;

		/* The event that leaves it may be the last of the chunk: the next chunk shows that. */
		if (place.n == 0 && !may_leave(replay, chunk, out->level) && !may_leave(replay, chunk - 1, out->level))
			continue;
		result = kymo_frame_told_read(replay, chunk, out->level, place, at_end, told, error);
		if (result)
			return result;
		if (told->last.at.n) {
			out->last = told->last;
			out->has_last = told->has_last;
			return 0;
		}
	}
	out->last = (struct kymo_moment){.stream = out->stream, .at = at_end, .t_ns = INT64_MAX};
	return 0;
}

int kymo_activation_find(struct kymo_replay *replay, size_t frame, struct kymo_activation *out, struct kymo_error *error)
{
	uint64_t depth = kymo_stack_depth(&replay->walker.stack);
	const struct kymo_chunk_summary *chunk = kymo_this_chunk(replay);
	struct kymo_position place = kymo_position_of(kymo_replay_event(replay));
	struct kymo_frame_told told = {0};
	int result;

	if (frame >= depth)
		return kymo_fail(error, -ENOENT, "no such frame here");
	*out = (struct kymo_activation){
		.stream = kymo_replay_stream(replay),
		.level = depth - frame,
		.process = kymo_replay_event(replay)->stream->process,
	};
	result = kymo_frame_told_read(replay, chunk, out->level, place, place, &told, error);
	if (!result) {
		out->code = told.code;
		find_first(out, &told, chunk);
		if (!told.first.at.n)
			result = find_entry(replay, chunk, &told, out, error);
	}
	if (!result && !out->code)
		out->code = told.code;
	if (!result)
		result = find_exit(replay, chunk, &told, out, error);
	kymo_frame_told_release(&told);
	return result;
}

int kymo_watchpoint_history(struct kymo_replay *replay, const struct kymo_watchpoint *watch, kymo_past_value_taker take, void *context,
			    struct kymo_error *error)
{
	const struct kymo_activation *activation = &watch->activation;
	struct walk walk = {.replay = replay, .activation = activation, .watch = watch};
	const struct kymo_chunk_summary *chunk = kymo_index_find(replay->index, activation->stream, activation->first.at.n);
	struct kymo_position place = activation->first.at;
	struct held last = {.is_known = true, .hash = NO_VALUE}, held = last;
	bool is_over = false;
	int result = 0;

	while (chunk && !result && !is_over) {
		result = read_chunk(&walk, chunk, place, at_end, error);
		for (uint32_t i = 0; i < walk.told.count && !result && !is_over; i++) {
			result = read_block(&walk, i, &held, error);
			if (result || !held.is_known || held.hash == last.hash)
				continue;
			last = held;
			is_over = !take(context, &(struct kymo_past_value){
							 .tree = &walk.tree,
							 .node = walk.node,
							 .line = walk.told.blocks[i].line,
							 .moment = walk.told.blocks[i].moment,
						 });
		}
		is_over |= walk.told.last.at.n != 0;
		chunk = next_chunk(&walk, chunk + 1);
		place = at_begin;
	}
	walk_end(&walk);
	return result;
}

void kymo_watchpoint_release(struct kymo_watchpoint *watch)
{
	free(watch->expression);
	*watch = (struct kymo_watchpoint){0};
}

int kymo_watchpoint_set(struct kymo_watchpoint *watch, struct kymo_replay *replay, size_t frame, const char *expression,
		   struct kymo_error *error)
{
	struct kymo_variables variables;
	const struct kymo_variable *variable;
	uint32_t node;
	int result;

	*watch = (struct kymo_watchpoint){.expression = strdup(expression), .name_bytes = kymo_name_bytes(expression)};
	if (!watch->expression)
		return kymo_fail(error, -ENOMEM, "out of memory");
	result = kymo_variables_read(replay, frame, &variables, error);
	if (!result)
		result = kymo_variables_path(&variables, expression, &node, error);
	watch->expression[watch->name_bytes] = '\0';
	variable = result != -EINVAL ? kymo_variables_find(&variables, watch->expression) : NULL;
	strcpy(watch->expression, expression);
	/* It may get a value. */
	if (result == -ENODATA && variable && variable->state != KYMO_VARIABLE_NOT_RECORDED)
		result = 0;
	if (!result)
		result = kymo_activation_find(replay, frame, &watch->activation, error);
	if (!result)
		watch->number = variable->number;
	kymo_variables_release(&variables);
	if (result)
		kymo_watchpoint_release(watch);
	return result;
}

/* Where the watch's thread is at @now.  0, or a negative errno. */
static int place_of(struct kymo_replay *replay, const struct kymo_watchpoint *watch, const struct kymo_moment *now,
		    struct kymo_position *place, struct kymo_error *error)
{
	struct kymo_moment then = *now;
	int result = 1;

	if (now->stream != watch->activation.stream)
		result = kymo_moment_of_thread(replay->index, watch->activation.stream, now, &then, error);
	*place = result > 0 ? then.at : at_begin;
	return result < 0 ? result : 0;
}

/* Its value where @chunk begins, from the chunks before it. */
static int held_before(struct walk *walk, const struct kymo_chunk_summary *chunk, struct held *held, struct kymo_error *error)
{
	while (!held->is_known && (chunk = kymo_find_level(walk->replay, chunk, walk->activation->level))) {
		int result = read_chunk(walk, chunk, at_end, at_end, error);

		for (uint32_t i = walk->told.count; i-- > 0 && !result && !held->is_known;)
			result = read_block(walk, i, held, error);
		if (result || walk->told.has_first || walk->told.is_lost)
			return result;
	}
	return 0;
}

int kymo_watchpoint_after(struct kymo_replay *replay, const struct kymo_watchpoint *watch, const struct kymo_moment *now,
		     struct kymo_moment *found, struct kymo_error *error)
{
	const struct kymo_activation *activation = &watch->activation;
	struct walk walk = {.replay = replay, .activation = activation, .watch = watch};
	struct held last = {.is_known = false}, held = last;
	const struct kymo_chunk_summary *chunk;
	struct kymo_position from, place;
	int result = place_of(replay, watch, now, &from, error);
	enum kymo_watch_stop stop = KYMO_WATCH_NONE;

	if (result || kymo_position_compare(from, activation->last.at) >= 0)
		return result;
	place = from;
	if (kymo_position_compare(from, activation->first.at) < 0) {
		place = activation->first.at;
		last.is_known = activation->has_first;
	}
	chunk = kymo_index_find(replay->index, activation->stream, place.n);
	if (!last.is_known && chunk) {
		result = read_chunk(&walk, chunk, place, place, error);
		last.is_known = !result && walk.told.has_first;
		for (uint32_t i = 0; i < walk.told.count && !result; i++) {
			result = read_block(&walk, i, &held, error);
			last = held.is_known ? held : last;
		}
		if (!result && !walk.told.is_lost)
			result = held_before(&walk, chunk, &last, error);
	}
	while (chunk && !result && !stop) {
		result = read_chunk(&walk, chunk, place, at_end, error);
		for (uint32_t i = 0; i < walk.told.count && !result && !stop; i++) {
			if (kymo_position_compare(walk.told.blocks[i].moment.at, from) <= 0)
				continue;
			result = read_block(&walk, i, &held, error);
			if (result || !held.is_known)
				continue;
			if (last.is_known && held.hash != last.hash) {
				stop = KYMO_WATCH_CHANGED;
				*found = walk.told.blocks[i].moment;
			}
			last = held;
		}
		chunk = next_chunk(&walk, chunk + 1);
		place = at_begin;
	}
	walk_end(&walk);
	if (!result && !stop && activation->last.at.n != UINT64_MAX) {
		*found = activation->last;
		stop = KYMO_WATCH_OVER;
	}
	return result ? result : (int)stop;
}

/* The last change that a chunk records. */
struct changes {
	struct held first, last; /* its value in the first block that records it, and in the last */
	struct kymo_moment first_at; /* of that first block */
	struct kymo_moment changed;  /* at.n is 0: nowhere */
};

/* Take the blocks before @end of the chunk that was read; or up to and including @end if it @is_other, in another thread. */
static int find_changes(struct walk *walk, struct kymo_position end, bool is_other, struct changes *out, struct kymo_error *error)
{
	*out = (struct changes){.last = {.is_known = walk->told.has_first}};
	for (uint32_t i = 0; i < walk->told.count; i++) {
		const struct kymo_moment *at = &walk->told.blocks[i].moment;
		struct held held = {0};

		if (kymo_position_compare(at->at, end) >= !!is_other)
			break;
		if (read_block(walk, i, &held, error))
			return -ENOMEM;
		if (!held.is_known)
			continue;
		if (out->last.is_known && held.hash != out->last.hash)
			out->changed = *at;
		if (!out->first.is_known) {
			out->first = held;
			out->first_at = *at;
		}
		out->last = held;
	}
	return 0;
}

int kymo_watchpoint_before(struct kymo_replay *replay, const struct kymo_watchpoint *watch, const struct kymo_moment *now,
		      struct kymo_moment *found, struct kymo_error *error)
{
	const struct kymo_activation *activation = &watch->activation;
	struct walk walk = {.replay = replay, .activation = activation, .watch = watch};
	const struct kymo_chunk_summary *chunk;
	struct kymo_position to, place;
	struct changes later = {0}, here;
	bool is_other, is_over = false;
	int result = place_of(replay, watch, now, &to, error);

	if (result || kymo_position_compare(to, activation->first.at) <= 0)
		return result;
	is_other = now->stream != activation->stream || kymo_position_compare(to, activation->last.at) > 0;
	place = kymo_position_compare(to, activation->last.at) > 0 ? activation->last.at : to;
	to = place;
	if (has_arguments_alone(&walk))
		place = activation->first.at;
	*found = activation->first;
	for (chunk = kymo_index_find(replay->index, activation->stream, place.n); chunk && !is_over;) {
		result = read_chunk(&walk, chunk, place, place, error);
		if (!result)
			result = find_changes(&walk, to, is_other, &here, error);
		if (result)
			break;
		if (later.first.is_known && here.last.is_known && later.first.hash != here.last.hash)
			here.changed = later.first_at;
		if (here.changed.at.n) {
			*found = here.changed;
			result = KYMO_WATCH_CHANGED;
			break;
		}
		if (here.first.is_known)
			later = here;
		is_over = walk.told.has_first || walk.told.is_lost;
		chunk = kymo_find_level(replay, chunk, activation->level);
		place = at_end;
	}
	walk_end(&walk);
	return result ? result : KYMO_WATCH_OVER;
}
