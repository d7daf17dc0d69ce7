// SPDX-License-Identifier: Apache-2.0
/*
 * Pairing the processes and threads of two runs.
 *
 * Processes are the same by how they came to be and by their commands, in the order in which they began; threads by their names, by the
 * function that they began with, and by that order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/diff.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static uint64_t command_of(const struct kymo_traced_process *process)
{
	const Kymo__Process *definition = process->definition;
	uint64_t hash = kymo_mix(9, process->origin);

	for (size_t i = 1; definition && i < definition->n_argv; i++) {
		const char *word = last_part(definition->argv[i]);

		hash = kymo_hash_bytes(hash, word, strlen(word));
	}
	return hash;
}

static const struct kymo_definitions *definitions_of(const struct kymo_diff *diff, size_t side)
{
	return &diff->comparison.forests[side].side.timeline.definitions;
}

/* What things of one side are known by; those with the same key are each other's in their order. */
struct keyed {
	uint64_t key;
	size_t number;
};

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Pair those with the same key. */
static void match_keyed(struct keyed *const lists[2], const size_t counts[2], size_t *left_partners, size_t *right_partners)
{
	size_t i = 0, j = 0;

	for (size_t s = 0; s < 2; s++)
		if (counts[s])
			qsort(lists[s], counts[s], sizeof *lists[s], compare_keyed);
	while (i < counts[0] && j < counts[1]) {
		if (lists[0][i].key < lists[1][j].key) {
			i++;
		} else if (lists[0][i].key > lists[1][j].key) {
			j++;
		} else {
			left_partners[lists[0][i].number] = lists[1][j].number;
			right_partners[lists[1][j++].number] = lists[0][i++].number;
		}
	}
}

enum likeness {
	SAME_COMMAND,
	SAME_ORIGIN,
	ANY_PROCESS,
	LIKENESSES,
};

static uint64_t key_of_process(const struct kymo_traced_process *process, unsigned likeness)
{
	return likeness == SAME_COMMAND ? command_of(process) : likeness == SAME_ORIGIN ? process->origin : 0;
}

static int match_processes(struct kymo_diff *diff)
{
	const struct kymo_definitions *const sides[] = {definitions_of(diff, 0), definitions_of(diff, 1)};
	struct keyed *lists[2] = {calloc(sides[0]->process_count + 1, sizeof(struct keyed)),
				  calloc(sides[1]->process_count + 1, sizeof(struct keyed))};
	bool has_one = sides[0]->process_count == 1 && sides[1]->process_count == 1;

	/* A process without a match is not paired with another, unless both sides have only one. */
	for (unsigned likeness = 0; likeness < LIKENESSES && lists[0] && lists[1]; likeness++) {
		size_t counts[2] = {0, 0};

		if (likeness == ANY_PROCESS && !has_one)
			break;
		for (size_t s = 0; s < 2; s++)
			for (size_t i = 0; i < sides[s]->process_count; i++)
				if (diff->processes[s][i] == SIZE_MAX)
					lists[s][counts[s]++] = (struct keyed){key_of_process(&sides[s]->processes[i], likeness), i};
		match_keyed(lists, counts, diff->processes[0], diff->processes[1]);
	}
	has_one = lists[0] && lists[1];
	free(lists[0]);
	free(lists[1]);
	return has_one ? 0 : -ENOMEM;
}

/* What of two threads must be the same, in the order in which it is tried. */
enum {
	NAME = 1 << 0,
	FUNCTION = 1 << 1,
	HISTORY = 1 << 2,
};

static const unsigned wanted_of_threads[] = {NAME | FUNCTION | HISTORY, NAME | FUNCTION, FUNCTION | HISTORY, FUNCTION, NAME};

/* False: it has none. */
static bool key_of_thread(const struct kymo_diff *diff, size_t side, size_t number, unsigned wanted, uint64_t *key)
{
	const struct kymo_forest *forest = &diff->comparison.forests[side];
	const struct kymo_thread_tree *tree = &forest->trees[number];
	const struct kymo_stream *stream = &forest->side.timeline.streams[number];
	const char *name = stream->thread && stream->thread->name ? stream->thread->name : "";
	size_t process = (size_t)(stream->process - definitions_of(diff, side)->processes);

	if (!tree->size || diff->processes[side][process] == SIZE_MAX || (wanted & FUNCTION && !tree->first_code))
		return false;
	*key = kymo_mix(15, side ? diff->processes[1][process] : process);
	if (wanted & NAME)
		*key = kymo_hash_bytes(*key, name, strlen(name));
	if (wanted & FUNCTION)
		*key = kymo_mix(*key, forest->side.codes[tree->first_code].identity);
	if (wanted & HISTORY)
		*key = kymo_mix(*key, tree->hash);
	return true;
}

static int match_threads(struct kymo_diff *diff, size_t *partner_of_right)
{
	const struct kymo_forest *forests = diff->comparison.forests;
	struct keyed *lists[2] = {calloc(forests[0].tree_count + 1, sizeof(struct keyed)),
				  calloc(forests[1].tree_count + 1, sizeof(struct keyed))};
	size_t *const partners[] = {diff->partners, partner_of_right};
	bool is_done = lists[0] && lists[1];

	for (size_t w = 0; w < sizeof wanted_of_threads / sizeof *wanted_of_threads && is_done; w++) {
		size_t counts[2] = {0, 0};
		uint64_t key;

		for (size_t s = 0; s < 2; s++)
			for (size_t i = 0; i < forests[s].tree_count; i++)
				if (partners[s][i] == SIZE_MAX && key_of_thread(diff, s, i, wanted_of_threads[w], &key))
					lists[s][counts[s]++] = (struct keyed){key, i};
		match_keyed(lists, counts, partners[0], partners[1]);
	}
	free(lists[0]);
	free(lists[1]);
	return is_done ? 0 : -ENOMEM;
}

static void add_lonely_thread(struct kymo_diff *diff, size_t side, size_t stream)
{
	const struct kymo_thread_tree *tree = &diff->comparison.forests[side].trees[stream];
	struct kymo_difference difference = {
		.kind = KYMO_DIFFER_THREAD,
		.key = kymo_mix(kymo_mix(10, side), stream),
		.outer = SIZE_MAX,
	};
	struct kymo_differing *own = &difference.sides[side];

	own->has_place = own->is_own = true;
	own->stream = stream;
	own->at = (struct kymo_position){tree->range.after + 1, 0};
	own->code = tree->first_code;
	own->line = own->common_line = -1;
	own->kind = KYMO_TOKEN_ENTER;
	own->lines = tree->size;
	difference.is_library = kymo_comparison_code(&diff->comparison, side, tree->first_code)->is_library;
	(void)kymo_comparison_add(&diff->comparison, &difference);
}

static bool has_end(const struct kymo_traced_process *process)
{
	return process->end && (process->end->how == KYMO__PROCESS_END__HOW__EXITED ||
				process->end->how == KYMO__PROCESS_END__HOW__SIGNALED);
}

static void compare_processes(struct kymo_diff *diff)
{
	const struct kymo_definitions *left = definitions_of(diff, 0), *right = definitions_of(diff, 1);
	bool is_part = diff->options->tests[0] || diff->options->tests[1];

	for (size_t side = 0; side < 2 && !is_part; side++) {
		const struct kymo_definitions *own = definitions_of(diff, side);

		for (size_t i = 0; i < own->process_count; i++) {
			struct kymo_difference difference = {
				.kind = KYMO_DIFFER_PROCESS,
				.key = kymo_mix(kymo_mix(11, side), i),
				.outer = SIZE_MAX,
			};

			difference.sides[side].is_own = true;
			difference.sides[side].process = i;
			if (diff->processes[side][i] == SIZE_MAX)
				(void)kymo_comparison_add(&diff->comparison, &difference);
		}
	}
	for (size_t i = 0; i < left->process_count && !is_part; i++) {
		size_t j = diff->processes[0][i];
		const struct kymo_traced_process *a = &left->processes[i], *b = j == SIZE_MAX ? NULL : &right->processes[j];
		struct kymo_difference difference = {
			.kind = KYMO_DIFFER_ENDING,
			.sides = {{.process = i}, {.process = j}},
			.key = kymo_mix(12, i),
			.outer = SIZE_MAX,
		};

		if (b && has_end(a) && has_end(b) && (a->end->how != b->end->how || a->end->status != b->end->status))
			(void)kymo_comparison_add(&diff->comparison, &difference);
	}
}

static int match_all(struct kymo_diff *diff, size_t *partner_of_right)
{
	struct kymo_comparison *comparison = &diff->comparison;
	const struct kymo_forest *forests = comparison->forests;

	if (match_processes(diff) || match_threads(diff, partner_of_right))
		return kymo_fail(diff->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < forests[0].tree_count; i++) {
		const struct kymo_thread_tree *left = &forests[0].trees[i], *right;
		struct kymo_pair pair = {.outer = SIZE_MAX};
		int result;

		if (diff->partners[i] == SIZE_MAX)
			continue;
		right = &forests[1].trees[diff->partners[i]];
		diff->threads++;
		if (left->hash == right->hash) {
			comparison->common += left->size;
			comparison->common_shown += left->size;
			result = kymo_comparison_add_aligned(
				comparison, &(struct kymo_aligned){.trees = {left, right}, .size = left->size});
			if (result)
				return result;
			continue;
		}
		pair.trees[0] = left;
		pair.trees[1] = right;
		result = kymo_comparison_add_pair(comparison, &pair);
		if (result)
			return result;
	}
	return 0;
}

/* Threads without a partner come after those that were compared: none of their events can be called the first. */
static void add_lonely(struct kymo_diff *diff, const size_t *partner_of_right)
{
	const struct kymo_forest *forests = diff->comparison.forests;

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < forests[side].tree_count; i++) {
			const struct kymo_stream *stream = &forests[side].side.timeline.streams[i];
			size_t process = (size_t)(stream->process - definitions_of(diff, side)->processes);

			if (forests[side].trees[i].size && diff->processes[side][process] != SIZE_MAX &&
			    (side ? partner_of_right : diff->partners)[i] == SIZE_MAX)
				add_lonely_thread(diff, side, i);
		}
}

static size_t *nobody(size_t count)
{
	size_t *partners = calloc(count + 1, sizeof *partners);

	for (size_t i = 0; partners && i < count; i++)
		partners[i] = SIZE_MAX;
	return partners;
}

int kymo_diff_match(struct kymo_diff *diff)
{
	size_t *partner_of_right = nobody(diff->comparison.forests[1].tree_count);
	int result;

	diff->processes[0] = nobody(definitions_of(diff, 0)->process_count);
	diff->processes[1] = nobody(definitions_of(diff, 1)->process_count);
	diff->partners = nobody(diff->comparison.forests[0].tree_count);
	if (!partner_of_right || !diff->processes[0] || !diff->processes[1] || !diff->partners)
		result = kymo_fail(diff->error, -ENOMEM, "out of memory");
	else
		result = match_all(diff, partner_of_right);
	if (!result) {
		add_lonely(diff, partner_of_right);
		compare_processes(diff);
	}
	free(partner_of_right);
	return result;
}
