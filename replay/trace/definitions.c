// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/definitions.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "format/varint.h"
#include "replay/trace/definition_messages.h"

#define MAX_MESSAGE_BYTES KYMO_MAX_RAW_BYTES

/*
 * Memory limit for definitions: bytes per stored byte, and a minimum. A program that compiles one function 100,000 times needs about
 * 50 per byte, one that imports pandas 5.
 */
#define BUDGET_PER_BYTE 128
#define BUDGET_BYTES ((uint64_t)256 << 20)

static int compare_items(const void *left, const void *right)
{
	const struct kymo_definition *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

static void table_sort(struct kymo_table *table)
{
	bool is_sorted = true;

	for (size_t i = 1; i < table->count && is_sorted; i++)
		is_sorted = compare_items(&table->items[i - 1], &table->items[i]) <= 0;
	if (!is_sorted)
		qsort(table->items, table->count, sizeof *table->items, compare_items);
}

static void table_release(struct kymo_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->items[i].value);
	free(table->items);
}

/* Take the complete messages off the front of @stream. */
static int cut_messages(struct kymo_definition_stream *stream)
{
	size_t at = 0;

	while (at < stream->length) {
		uint64_t length;
		size_t head = kymo_varint_get(stream->bytes + at, stream->length - at, &length);
		int result;

		if (!head && stream->length - at < KYMO_VARINT_MAX_BYTES)
			break;
		if (!head || length > MAX_MESSAGE_BYTES) {
			/* The beginning of the next message is not known before the next frame. */
			stream->definitions->damaged++;
			stream->length = 0;
			return 0;
		}
		if (length > stream->length - at - head)
			break;
		result = kymo_definition_take(stream, stream->bytes + at + head, (size_t)length,
				stream->position + at);
		if (result)
			return result;
		at += head + (size_t)length;
	}
	if (at)
		memmove(stream->bytes, stream->bytes + at, stream->length - at);
	stream->position += at;
	stream->length -= at;
	return 0;
}

static int feed(struct kymo_definition_stream *stream, uint64_t position, const uint8_t *bytes, size_t length)
{
	uint64_t next = stream->position + stream->length;

	if (position < next) { /* a part was in an earlier frame */
		if (next - position >= length)
			return 0;
		bytes += next - position;
		length -= (size_t)(next - position);
	} else if (position > next) { /* frames begin at messages, so only the cut message is lost */
		stream->definitions->damaged++;
		stream->position = position;
		stream->length = 0;
	}
	stream->definitions->bytes += length;
	if (kymo_grow(&stream->bytes, &stream->capacity, stream->length + length + 1, 1))
		return -ENOMEM;
	memcpy(stream->bytes + stream->length, bytes, length);
	stream->length += length;
	return cut_messages(stream);
}

static int compare_entries(const void *left, const void *right)
{
	const struct kymo_index_entry *a = *(struct kymo_index_entry *const *)left;
	const struct kymo_index_entry *b = *(struct kymo_index_entry *const *)right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->seq != b->seq)
		return a->seq < b->seq ? -1 : 1;
	return a->file_offset < b->file_offset ? -1 : a->file_offset > b->file_offset;
}

static int begin_stream(struct kymo_definition_stream *stream, uint32_t process)
{
	struct kymo_definitions *definitions = stream->definitions;

	stream->is_run = process == 0;
	stream->position = stream->length = 0;
	if (stream->is_run)
		return 0;
	if (kymo_grow(&definitions->processes, &definitions->process_capacity,
		      definitions->process_count + 1, sizeof *definitions->processes))
		return -ENOMEM;
	stream->process = (uint32_t)definitions->process_count;
	definitions->processes[definitions->process_count++] =
		(struct kymo_traced_process){.number = process, .folder = ""};
	return 0;
}

/* Unreadable messages are damage of the frame; missing frames were noted before. */
static int take_frame(struct kymo_definition_stream *stream, struct kymo_trace *trace, const struct kymo_frame *frame)
{
	struct kymo_definitions *definitions = stream->definitions;
	uint64_t left_out = definitions->left_out, damaged = definitions->damaged;
	int result;

	definitions->budget += BUDGET_PER_BYTE * (uint64_t)frame->header.stored_bytes;
	result = feed(stream, stream->frame->seq, frame->payload, frame->header.raw_bytes);
	if (definitions->left_out > left_out)
		kymo_trace_note_damage(trace, stream->frame->file_offset, frame->header.stored_bytes,
				       "definitions that take too much memory, left out");
	else if (definitions->damaged > damaged)
		kymo_trace_note_damage(trace, stream->frame->file_offset, frame->header.stored_bytes,
				       "definitions are missing or malformed");
	return result;
}

/* Read every META frame; a process without one is added if it has chunks. */
static int load_streams(struct kymo_definitions *definitions, struct kymo_trace *trace,
			struct kymo_index_entry **entries, struct kymo_error *error)
{
	struct kymo_definition_stream stream = {
		.definitions = definitions,
		.is_run = true,
		.has_values = trace->header.required_features & KYMO_FEATURE_VALUES,
	};
	struct kymo_frame frame = {0};
	uint32_t process = 0;
	int result = 0;

	for (size_t i = 0; i < trace->frame_count && !result; i++) {
		const struct kymo_index_entry *entry = entries[i];

		if (entry->process != process) {
			process = entry->process;
			result = begin_stream(&stream, process);
			if (result)
				break;
		}
		if (entry->kind != KYMO_FRAME_META)
			continue;
		result = kymo_trace_read(trace, entry, &frame, error);
		stream.frame = entry;
		if (!result)
			result = take_frame(&stream, trace, &frame);
		else if (result == -EBADMSG)
			result = 0; /* noted; its definitions are missing, which the next frame shows */
	}
	free(stream.bytes);
	kymo_frame_release(&frame);
	return result;
}

static int compare_clocks(const void *left, const void *right)
{
	const struct kymo_clock_sample *a = left, *b = right;

	return a->counter < b->counter ? -1 : a->counter > b->counter;
}

static int compare_stalls(const void *left, const void *right)
{
	const struct kymo_clock_stall *a = left, *b = right;

	return a->to_counter < b->to_counter ? -1 : a->to_counter > b->to_counter;
}

/* Of several with one name, the one that was written first stays in front. */
static int compare_sources(const void *left, const void *right)
{
	const struct kymo_source_place *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	if (order)
		return order;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The reader's messages about processes: their folders and ends. */
/* The thread ended in a dropped segment: losses that it recorded itself after that are added. */
static int end_discarded(struct kymo_traced_process *process, const Kymo__ThreadEnd *message)
{
	const struct kymo_traced_thread *known = kymo_traced_thread(process, message->thread);
	Kymo__ThreadEnd end = *message;

	if (known && known->has_ended && known->last_ordinal > end.last_ordinal) {
		end.lost += known->last_ordinal - end.last_ordinal;
		end.last_ordinal = known->last_ordinal;
		end.lost_reasons |= known->lost_reasons;
	}
	return kymo_definition_end_thread(process, &end);
}

static int apply_run(struct kymo_definitions *definitions)
{
	for (size_t i = 0; i < definitions->kept_count; i++) {
		const Kymo__Definition *message = definitions->kept[i];
		struct kymo_traced_process *process;

		if (message->kind_case == KYMO__DEFINITION__KIND_PROCESS_SEEN) {
			process = kymo_traced_find(definitions, message->process_seen->process);
			if (process && !process->folder[0])
				process->folder = message->process_seen->folder;
			if (process && !process->pid)
				process->pid = (uint32_t)strtoul(process->folder, NULL, 10);
		} else if (message->kind_case == KYMO__DEFINITION__KIND_PROCESS_END) {
			process = kymo_traced_find(definitions, message->process_end->process);
			if (!process)
				continue;
			process->end = message->process_end;
			for (size_t t = 0; t < process->end->n_threads; t++)
				if (kymo_definition_end_thread(process, process->end->threads[t]))
					return -ENOMEM;
		} else if (message->kind_case == KYMO__DEFINITION__KIND_DISCARDED) {
			process = kymo_traced_find(definitions, message->discarded->process);
			for (size_t t = 0; process && t < message->discarded->n_threads; t++)
				if (end_discarded(process, message->discarded->threads[t]))
					return -ENOMEM;
		}
	}
	return 0;
}

int kymo_definitions_load(struct kymo_definitions *definitions, struct kymo_trace *trace,
			  struct kymo_error *error)
{
	struct kymo_index_entry **entries = calloc(trace->frame_count + 1, sizeof *entries);
	int result = entries ? 0 : -ENOMEM;

	*definitions = (struct kymo_definitions){.budget = BUDGET_BYTES};
	for (size_t i = 0; i < trace->frame_count && !result; i++)
		entries[i] = &trace->frames[i];
	if (!result) {
		qsort(entries, trace->frame_count, sizeof(struct kymo_index_entry *),
		      compare_entries);
		result = load_streams(definitions, trace, entries, error);
	}
	free(entries);
	if (!result)
		result = apply_run(definitions);
	if (result == -ENOMEM)
		kymo_fail(error, result, "out of memory");
	if (result) {
		kymo_definitions_release(definitions);
		return result;
	}
	if (definitions->clock_count)
		qsort(definitions->clocks, definitions->clock_count, sizeof *definitions->clocks,
		      compare_clocks);
	if (definitions->stall_count)
		qsort(definitions->stalls, definitions->stall_count, sizeof *definitions->stalls,
		      compare_stalls);
	if (definitions->source_count)
		qsort(definitions->sources, definitions->source_count, sizeof *definitions->sources, compare_sources);
	for (size_t i = 0; i < definitions->process_count; i++) {
		struct kymo_traced_process *process = &definitions->processes[i];

		table_sort(&process->codes);
		table_sort(&process->contents);
		table_sort(&process->names);
		table_sort(&process->texts);
		table_sort(&process->tasks);
	}
	if (kymo_processes_link(definitions)) {
		kymo_definitions_release(definitions);
		return kymo_fail(error, -ENOMEM, "out of memory");
	}
	return 0;
}

/* A key is not a pointer: see definition_lookup.c. */
static void keep_key(void *key)
{
	(void)key;
}

void kymo_definitions_release(struct kymo_definitions *definitions)
{
	for (size_t i = 0; i < definitions->process_count; i++) {
		struct kymo_traced_process *process = &definitions->processes[i];

		for (size_t c = 0; c < process->contents.count; c++) {
			struct kymo_content *content = process->contents.items[c].value;

			free(content->lines);
			if (content->flow)
				content->release_flow(content->flow);
		}
		table_release(&process->codes);
		table_release(&process->contents);
		table_release(&process->names);
		table_release(&process->texts);
		table_release(&process->tasks);
		for (size_t t = 0; t < process->thread_count; t++)
			free(process->threads[t].name);
		free(process->threads);
		tdestroy(process->thread_tree, keep_key);
	}
	for (size_t i = 0; i < definitions->kept_count; i++)
		kymo__definition__free_unpacked(definitions->kept[i], NULL);
	for (size_t i = 0; i < definitions->source_count; i++)
		free((char *)(uintptr_t)definitions->sources[i].file);
	free(definitions->sources);
	free(definitions->kept);
	free(definitions->clocks);
	free(definitions->stalls);
	free(definitions->processes);
	*definitions = (struct kymo_definitions){0};
}
