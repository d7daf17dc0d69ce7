// SPDX-License-Identifier: Apache-2.0
/* Looking up definitions: the reading half of definitions.h. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/definition_messages.h"
#include "replay/trace/definitions.h"
#include "replay/trace/line_table.h"

/* The number of items before (@id, @position). */
static size_t table_count_before(const struct kymo_table *table, uint64_t id, uint64_t position)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kymo_definition *item = &table->items[middle];

		if (item->id < id || (item->id == id && item->position < position))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first item of @id if ids have no gaps up to it, which is nearly always so; else table->count. */
static size_t find_dense(const struct kymo_table *table, uint64_t id)
{
	uint64_t at = table->count ? id - table->items[0].id : 0;

	if (at >= table->count || table->items[at].id != id || (at && table->items[at - 1].id == id))
		return table->count;
	return (size_t)at;
}

/* The first definition of @id before stream position @limit. */
static void *table_find(const struct kymo_table *table, uint64_t id, uint64_t limit)
{
	size_t at = find_dense(table, id);

	if (at == table->count)
		at = table_count_before(table, id, 0);

	if (at == table->count || table->items[at].id != id || table->items[at].position >= limit)
		return NULL;
	return table->items[at].value;
}

/* The last one. */
static void *table_find_last(const struct kymo_table *table, uint64_t id, uint64_t limit)
{
	size_t count = table_count_before(table, id, limit);

	return count && table->items[count - 1].id == id ? table->items[count - 1].value : NULL;
}

typedef void *(*finding)(const struct kymo_table *table, uint64_t id, uint64_t limit);

/*
 * Find @id in the table at offset @member of a process, or of one from which it was forked.
 */
static void *find_inherited_by(finding find, const struct kymo_traced_process *process, size_t member, uint64_t id,
			       const struct kymo_traced_process **owner)
{
	uint64_t limit = UINT64_MAX;

	for (; process; process = process->forked_from) {
		const struct kymo_table *table =
			(const void *)((const char *)process + member);
		void *value = find(table, id, limit);

		if (value) {
			if (owner)
				*owner = process;
			return value;
		}
		if (process->definition)
			limit = process->definition->forked_at;
	}
	return NULL;
}

static void *find_inherited(const struct kymo_traced_process *process, size_t member, uint64_t id,
			    const struct kymo_traced_process **owner)
{
	return find_inherited_by(table_find, process, member, id, owner);
}

const struct kymo_code *kymo_traced_code(const struct kymo_traced_process *process, uint64_t id)
{
	const struct kymo_traced_process *owner = NULL;
	struct kymo_code *code = find_inherited(
		process, offsetof(struct kymo_traced_process, codes), id, &owner);

	if (code && !code->content)
		code->content = kymo_traced_content(owner, code->content_id);
	return code && code->content ? code : NULL;
}

struct kymo_content *kymo_traced_content(const struct kymo_traced_process *process, uint64_t id)
{
	return find_inherited(process, offsetof(struct kymo_traced_process, contents), id, NULL);
}

const char *kymo_traced_name(const struct kymo_traced_process *process, uint64_t id)
{
	const struct kymo_traced_string *name =
		find_inherited(process, offsetof(struct kymo_traced_process, names), id, NULL);

	return name ? name->text : NULL;
}

/* True if @type is @name, of @bytes, or its last part. */
static bool names_type(const char *name, size_t bytes, const char *type)
{
	size_t wanted = strlen(type);

	return wanted && bytes >= wanted && !memcmp(name + bytes - wanted, type, wanted) &&
	       (bytes == wanted || name[bytes - wanted - 1] == '.' || *type == '.');
}

bool kymo_traced_is_type(const struct kymo_traced_process *process, uint64_t id, const char *type)
{
	const char *name = kymo_traced_name(process, id), *base;

	if (!name)
		return false;
	if (names_type(name, strlen(name), type))
		return true;
	for (base = name + strlen(name) + 1; *base; base += *base == '\n') {
		size_t bytes = strcspn(base, "\n");

		if (names_type(base, bytes, type))
			return true;
		base += bytes;
	}
	return false;
}

bool kymo_traced_name_is_stop(const struct kymo_traced_process *process, uint64_t id)
{
	const struct kymo_traced_string *name =
		find_inherited(process, offsetof(struct kymo_traced_process, names), id, NULL);

	return name && name->is_stop_iteration;
}

bool kymo_traced_name_is_record(const struct kymo_traced_process *process, uint64_t id)
{
	const struct kymo_traced_string *name =
		find_inherited(process, offsetof(struct kymo_traced_process, names), id, NULL);

	return name && name->is_record;
}

const char *kymo_traced_text(const struct kymo_traced_process *process, uint64_t id)
{
	const struct kymo_traced_string *text =
		find_inherited(process, offsetof(struct kymo_traced_process, texts), id, NULL);

	return text ? text->text : NULL;
}

const struct kymo_traced_task *kymo_traced_task(const struct kymo_traced_process *process, uint64_t id)
{
	return find_inherited_by(table_find_last, process, offsetof(struct kymo_traced_process, tasks), id, NULL);
}

void kymo_content_read_lines(struct kymo_content *content)
{
	size_t units = kymo_line_table_decode(content->line_table, content->line_table_bytes, content->first_line, NULL, 0);
	int32_t *lines = calloc(units + 1, sizeof *lines);

	if (!lines)
		return;
	content->units = kymo_line_table_decode(content->line_table, content->line_table_bytes, content->first_line, lines,
						units);
	content->lines = lines;
}

struct kymo_traced_process *kymo_traced_find(const struct kymo_definitions *definitions,
					     uint32_t number)
{
	size_t low = 0, high = definitions->process_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (definitions->processes[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == definitions->process_count || definitions->processes[low].number != number)
		return NULL;
	return &definitions->processes[low];
}

/* A tree's key is not a pointer, but a thread's number followed by its place in process->threads. */
_Static_assert(sizeof(uintptr_t) == 8, "a key holds both");

static void *thread_key(uint32_t number, size_t place)
{
	return (void *)((uintptr_t)number << 32 | place);
}

static int compare_threads(const void *left, const void *right)
{
	uint32_t a = (uint32_t)((uintptr_t)left >> 32), b = (uint32_t)((uintptr_t)right >> 32);

	return a < b ? -1 : a > b;
}

bool kymo_traced_thread_remember(struct kymo_traced_process *process, uint32_t number)
{
	return tsearch(thread_key(number, process->thread_count), &process->thread_tree, compare_threads);
}

struct kymo_traced_thread *kymo_traced_thread(const struct kymo_traced_process *process,
					      uint32_t number)
{
	const uintptr_t *found;

	/* Threads are numbered from 1 in the order of their definitions, so this guess is nearly always right. */
	if (number && number <= process->thread_count && process->threads[number - 1].number == number)
		return &process->threads[number - 1];
	found = tfind(thread_key(number, 0), &process->thread_tree, compare_threads);
	return found ? &process->threads[(uint32_t)*found] : NULL;
}
