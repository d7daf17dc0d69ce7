// SPDX-License-Identifier: Apache-2.0
#include "replay/library/arrow_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/trace/text.h"

/* The caller frees it; NULL: no memory. */
static char *as_utf8(const char *text)
{
	char *out = NULL;
	size_t bytes;
	FILE *stream = open_memstream(&out, &bytes);

	if (!stream)
		return NULL;
	kymo_text_put_utf8(stream, text);
	if (fclose(stream)) {
		free(out);
		return NULL;
	}
	return out;
}

static bool add(struct kymo_arrow_text_table *table, const char *text)
{
	if (!text)
		return true;
	if (kymo_grow(&table->items, &table->capacity, table->count + 1, sizeof *table->items))
		return false;
	table->items[table->count] = as_utf8(text);
	return table->items[table->count] && ++table->count;
}

static bool add_strings(struct kymo_arrow_text_table *table, const struct kymo_table *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		if (!add(table, ((const struct kymo_traced_string *)strings->items[i].value)->text))
			return false;
	return true;
}

static bool add_process(struct kymo_arrow_texts *texts, const struct kymo_traced_process *process)
{
	struct kymo_arrow_text_table *tables = texts->tables;

	for (size_t i = 0; i < process->contents.count; i++) {
		const struct kymo_content *content = process->contents.items[i].value;

		if (!add(&tables[KYMO_TEXTS_FILES], content->file) || !add(&tables[KYMO_TEXTS_FUNCTIONS], content->function))
			return false;
	}
	for (size_t i = 0; i < process->thread_count; i++)
		if (!add(&tables[KYMO_TEXTS_THREADS], process->threads[i].name))
			return false;
	for (size_t i = 0; i < process->tasks.count; i++)
		if (!add(&tables[KYMO_TEXTS_TASKS], ((const struct kymo_traced_task *)process->tasks.items[i].value)->name))
			return false;
	return add_strings(&tables[KYMO_TEXTS_NAMES], &process->names) &&
	       add_strings(&tables[KYMO_TEXTS_NAMES], &process->texts);
}

static bool gather(struct kymo_arrow_texts *texts, const struct kymo_timeline *timeline)
{
	for (unsigned kind = 1; kind < KYMO_EVENT_KINDS; kind++)
		if (!add(&texts->tables[KYMO_TEXTS_EVENTS], kymo_event_kind_name(kind)))
			return false;
	for (size_t i = 0; i < timeline->definitions.process_count; i++)
		if (!add_process(texts, &timeline->definitions.processes[i]))
			return false;
	return true;
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Write the gathered texts one after the other, in order, each once. */
static bool settle(struct kymo_arrow_text_table *table)
{
	size_t count = 0, bytes = 0, at = 0;

	if (table->count)
		qsort(table->items, table->count, sizeof *table->items, compare);
	for (size_t i = 0; i < table->count; i++) {
		if (count && !strcmp(table->items[count - 1], table->items[i])) {
			free(table->items[i]);
			continue;
		}
		table->items[count++] = table->items[i];
		bytes += strlen(table->items[i]);
	}
	table->count = count;
	if (count >= INT32_MAX || bytes > INT32_MAX)
		return false;
	table->offsets = calloc(count + 1, sizeof *table->offsets);
	table->bytes = malloc(bytes + 1);
	if (!table->offsets || !table->bytes)
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(table->items[i]);

		memcpy(table->bytes + at, table->items[i], length);
		at += length;
		table->offsets[i + 1] = (int32_t)at;
	}
	return true;
}

struct kymo_arrow_texts *kymo_arrow_texts_new(const struct kymo_timeline *timeline)
{
	struct kymo_arrow_texts *texts = calloc(1, sizeof *texts);
	bool is_good;

	if (!texts)
		return NULL;
	texts->users = 1;
	is_good = gather(texts, timeline);
	for (size_t i = 0; i < KYMO_ARROW_DICTIONARIES && is_good; i++)
		is_good = settle(&texts->tables[i]);
	if (!is_good) {
		kymo_arrow_texts_release(texts);
		return NULL;
	}
	return texts;
}

void kymo_arrow_texts_use(struct kymo_arrow_texts *texts)
{
	texts->users++;
}

void kymo_arrow_texts_release(struct kymo_arrow_texts *texts)
{
	if (!texts || --texts->users)
		return;
	for (size_t i = 0; i < KYMO_ARROW_DICTIONARIES; i++) {
		struct kymo_arrow_text_table *table = &texts->tables[i];

		for (size_t k = 0; k < table->count; k++)
			free(table->items[k]);
		free(table->items);
		free(table->offsets);
		free(table->bytes);
	}
	free(texts);
}

int32_t kymo_arrow_text_find(const struct kymo_arrow_texts *texts, enum kymo_arrow_dictionary number, const char *text)
{
	const struct kymo_arrow_text_table *table = &texts->tables[number];
	char *wanted = text ? as_utf8(text) : NULL;
	char **found = wanted && table->count
			       ? bsearch(&wanted, table->items, table->count, sizeof *table->items, compare)
			       : NULL;

	free(wanted);
	return found ? (int32_t)(found - table->items) : -1;
}
