// SPDX-License-Identifier: Apache-2.0
/* The parent of each process: by fork, by exec in the same process, or by fork and exec. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/definitions.h"

/* Processes with their definitions, by pid and then by their start. */
struct births {
	struct kymo_traced_process **items;
	size_t count;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* A copy of @process with @pid. */
static int compare_birth(uint64_t pid, const struct kymo_traced_process *process,
			 const struct kymo_traced_process *other)
{
	int order = compare_u64(pid, other->definition->pid);

	order = order ? order : compare_u64(process->definition->started_clock,
					    other->definition->started_clock);
	return order ? order : compare_u64(process->number, other->number);
}

static int compare_births(const void *left, const void *right)
{
	const struct kymo_traced_process *a = *(struct kymo_traced_process *const *)left;
	const struct kymo_traced_process *b = *(struct kymo_traced_process *const *)right;

	return compare_birth(a->definition->pid, a, b);
}

/*
 * The last of the processes with @pid that began before @process and satisfy @is_wanted. It always began earlier, so walks from
 * child to parent end.
 */
static struct kymo_traced_process *
find_latest(const struct births *births, uint64_t pid, const struct kymo_traced_process *process,
	    bool (*is_wanted)(const Kymo__Process *earlier, const Kymo__Process *later))
{
	size_t low = 0, high = births->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_birth(pid, process, births->items[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- > 0 && births->items[low]->definition->pid == pid)
		if (is_wanted(births->items[low]->definition, process->definition))
			return births->items[low];
	return NULL;
}

/* True if an exec in the same process replaced @earlier, by @later or before it. */
static bool is_image_before(const Kymo__Process *earlier, const Kymo__Process *later)
{
	return earlier->start_ticks == later->start_ticks &&
	       earlier->pid_namespace == later->pid_namespace;
}

static bool is_forked_from(const Kymo__Process *earlier, const Kymo__Process *later)
{
	return !strcmp(earlier->folder, later->forked_from);
}

static bool is_any(const Kymo__Process *earlier, const Kymo__Process *later)
{
	(void)earlier;
	(void)later;
	return true;
}

static void link_process(const struct births *births, struct kymo_traced_process *process)
{
	const Kymo__Process *definition = process->definition;

	if (definition->forked_from[0]) {
		process->origin = KYMO_ORIGIN_FORK;
		process->parent = process->forked_from =
			find_latest(births, strtoul(definition->forked_from, NULL, 10), process,
				    is_forked_from);
		return;
	}
	process->parent = find_latest(births, definition->pid, process, is_image_before);
	if (process->parent) {
		process->origin = KYMO_ORIGIN_EXEC;
		return;
	}
	process->parent = find_latest(births, definition->parent_pid, process, is_any);
	if (process->parent)
		process->origin = KYMO_ORIGIN_SPAWN;
}

int kymo_processes_link(struct kymo_definitions *definitions)
{
	struct births births = {
		.items = calloc(definitions->process_count + 1, sizeof(struct kymo_traced_process *)),
	};

	if (!births.items)
		return -ENOMEM;
	for (size_t i = 0; i < definitions->process_count; i++)
		if (definitions->processes[i].definition)
			births.items[births.count++] = &definitions->processes[i];
	qsort(births.items, births.count, sizeof(struct kymo_traced_process *), compare_births);
	for (size_t i = 0; i < births.count; i++)
		link_process(&births, births.items[i]);
	free(births.items);
	return 0;
}
