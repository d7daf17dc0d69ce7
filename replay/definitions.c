// SPDX-License-Identifier: Apache-2.0
#include "replay/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/varint.h"
#include "replay/flow_code.h"

#define MAX_MESSAGE_BYTES KYMO_MAX_RAW_BYTES

/* One definitions stream while it is read: frames put together, cut into messages. */
struct stream {
	struct kymo_definitions *definitions;
	uint32_t process; /* index in definitions->processes; of the run: unused */
	bool is_run;
	bool has_values; /* the trace's recording */
	uint64_t position; /* of bytes[0] */
	const struct kymo_index_entry *frame; /* the last one, which began or went on what is in @bytes */
	uint8_t *bytes;
	size_t length, capacity;
};

static int table_add(struct kymo_table *table, uint64_t id, uint64_t position, void *value)
{
	if (kymo_grow(&table->items, &table->capacity, table->count + 1, sizeof *table->items))
		return -ENOMEM;
	table->items[table->count++] = (struct kymo_definition){id, position, value};
	return 0;
}

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

static struct kymo_traced_thread *make_thread(struct kymo_traced_process *process, uint32_t number)
{
	struct kymo_traced_thread *thread = kymo_traced_thread(process, number);

	if (thread)
		return thread;
	if (kymo_grow(&process->threads, &process->thread_capacity, process->thread_count + 1,
		      sizeof *process->threads))
		return NULL;
	thread = &process->threads[process->thread_count++];
	*thread = (struct kymo_traced_thread){.number = number};
	return thread;
}

static int define_thread(struct kymo_traced_process *process, const Kymo__Thread *message)
{
	struct kymo_traced_thread *thread = make_thread(process, message->thread);

	if (!thread)
		return -ENOMEM;
	if (message->native_id)
		thread->native_id = message->native_id;
	if (message->ident)
		thread->ident = message->ident;
	if (message->name[0]) {
		free(thread->name);
		thread->name = strdup(message->name);
		if (!thread->name)
			return -ENOMEM;
	}
	return 0;
}

static int end_thread(struct kymo_traced_process *process, const Kymo__ThreadEnd *message)
{
	struct kymo_traced_thread *thread = make_thread(process, message->thread);

	if (!thread)
		return -ENOMEM;
	thread->has_ended = true;
	thread->last_ordinal = message->last_ordinal;
	thread->lost = message->lost;
	thread->lost_reasons = message->lost_reasons;
	return 0;
}

/* The thread ended in a dropped segment: what it says itself to have lost after that comes on top. */
static int end_discarded(struct kymo_traced_process *process, const Kymo__ThreadEnd *message)
{
	const struct kymo_traced_thread *known = kymo_traced_thread(process, message->thread);
	Kymo__ThreadEnd end = *message;

	if (known && known->has_ended && known->last_ordinal > end.last_ordinal) {
		end.lost += known->last_ordinal - end.last_ordinal;
		end.last_ordinal = known->last_ordinal;
		end.lost_reasons |= known->lost_reasons;
	}
	return end_thread(process, &end);
}

static const uint8_t *put_bytes(uint8_t **at, const ProtobufCBinaryData *bytes)
{
	uint8_t *copy = *at;

	if (bytes->len)
		memcpy(copy, bytes->data, bytes->len);
	*at += bytes->len;
	return copy;
}

static size_t names_bytes(char *const *names, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(names[i]) + 1;
	return bytes;
}

static const char *put_names(uint8_t **at, char *const *names, size_t count)
{
	char *first = (char *)*at, *end = first;

	for (size_t i = 0; i < count; i++)
		end = stpcpy(end, names[i]) + 1;
	*at = (uint8_t *)end;
	return first;
}

/* One allocation holds the strings and the tables, too. */
static int define_content(struct kymo_traced_process *process, const Kymo__Content *message,
			  uint64_t position, bool has_values)
{
	size_t name_count = has_values ? message->n_names : 0;
	size_t file_bytes = strlen(message->file) + 1;
	const char *function = message->qualname[0] ? message->qualname : message->name;
	size_t function_bytes = strlen(function) + 1;
	struct kymo_content *content = malloc(sizeof *content + file_bytes + function_bytes +
					      message->line_table.len + message->bytecode.len +
					      message->exception_table.len +
					      names_bytes(message->varnames, message->n_varnames) +
					      names_bytes(message->names, name_count));
	char *file;
	uint8_t *tables;

	if (!content)
		return -ENOMEM;
	file = (char *)(content + 1);
	tables = (uint8_t *)file + file_bytes + function_bytes;
	memcpy(file, message->file, file_bytes);
	memcpy(file + file_bytes, function, function_bytes);
	*content = (struct kymo_content){
		.id = message->id,
		.process = process->number,
		.file = file,
		.function = file + file_bytes,
		.first_line = message->first_line,
		.flags = message->flags,
		.line_table = put_bytes(&tables, &message->line_table),
		.line_table_bytes = (uint32_t)message->line_table.len,
		.bytecode = put_bytes(&tables, &message->bytecode),
		.bytecode_bytes = (uint32_t)message->bytecode.len,
		.exception_table = put_bytes(&tables, &message->exception_table),
		.exception_table_bytes = (uint32_t)message->exception_table.len,
		.locals = put_names(&tables, message->varnames, message->n_varnames),
		.local_count = (uint32_t)message->n_varnames,
		.names = put_names(&tables, message->names, name_count),
		.name_count = (uint32_t)name_count,
		/* co_flags: CO_VARARGS, CO_VARKEYWORDS */
		.argument_count = message->argcount + message->kwonlyargcount + !!(message->flags & 4) + !!(message->flags & 8),
	};
	return table_add(&process->contents, message->id, position, content);
}

static int define_code(struct kymo_traced_process *process, const Kymo__Code *message,
		       uint64_t position)
{
	struct kymo_code *code = malloc(sizeof *code);

	if (!code)
		return -ENOMEM;
	*code = (struct kymo_code){
		.id = message->id,
		.content_id = message->content,
		.entry_offset = message->entry_offset,
		.has_lines = message->has_lines,
	};
	return table_add(&process->codes, message->id, position, code);
}

static int define_string(struct kymo_table *table, uint64_t id, const char *text, bool is_stop_iteration,
			 uint64_t position)
{
	size_t bytes = strlen(text) + 1;
	struct kymo_traced_string *string = malloc(sizeof *string + bytes);

	if (!string)
		return -ENOMEM;
	string->is_stop_iteration = is_stop_iteration;
	memcpy(string->text, text, bytes);
	return table_add(table, id, position, string);
}

static int define_task(struct kymo_table *table, const Kymo__Task *message, uint64_t position)
{
	size_t bytes = strlen(message->name) + 1;
	struct kymo_traced_task *task = malloc(sizeof *task + bytes);

	if (!task)
		return -ENOMEM;
	task->id = message->id;
	memcpy(task->name, message->name, bytes);
	return table_add(table, task->id, position, task);
}

static int keep(struct kymo_definitions *definitions, Kymo__Definition **message)
{
	if (kymo_grow(&definitions->kept, &definitions->kept_capacity, definitions->kept_count + 1,
		      sizeof(Kymo__Definition *)))
		return -ENOMEM;
	definitions->kept[definitions->kept_count++] = *message;
	*message = NULL;
	return 0;
}

static int define_for_process(struct stream *stream, Kymo__Definition **owned, uint64_t position)
{
	struct kymo_definitions *definitions = stream->definitions;
	struct kymo_traced_process *process = &definitions->processes[stream->process];
	const Kymo__Definition *message = *owned;

	switch (message->kind_case) {
	case KYMO__DEFINITION__KIND_PROCESS:
		if (process->definition)
			return 0;
		process->definition = message->process;
		process->pid = message->process->pid;
		process->folder = message->process->folder;
		return keep(definitions, owned);
	case KYMO__DEFINITION__KIND_THREAD:
		return define_thread(process, message->thread);
	case KYMO__DEFINITION__KIND_THREAD_END:
		return end_thread(process, message->thread_end);
	case KYMO__DEFINITION__KIND_CONTENT:
		return define_content(process, message->content, position, stream->has_values);
	case KYMO__DEFINITION__KIND_CODE:
		return define_code(process, message->code, position);
	case KYMO__DEFINITION__KIND_NAME:
		return define_string(&process->names, message->name->id, message->name->name,
				     message->name->is_stop_iteration, position);
	case KYMO__DEFINITION__KIND_TEXT:
		return define_string(&process->texts, message->text->id, message->text->text,
				     false, position);
	case KYMO__DEFINITION__KIND_TASK:
		return define_task(&process->tasks, message->task, position);
	default: /* modules are read again by whoever needs them */
		return 0;
	}
}

static int add_clock(struct kymo_definitions *definitions, const Kymo__Clock *message)
{
	if (kymo_grow(&definitions->clocks, &definitions->clock_capacity,
		      definitions->clock_count + 1, sizeof *definitions->clocks))
		return -ENOMEM;
	definitions->clocks[definitions->clock_count++] = (struct kymo_clock_sample){
		message->counter, message->monotonic_ns, message->unix_ns};
	return 0;
}

static int add_stall(struct kymo_definitions *definitions, const Kymo__ClockStall *message)
{
	if (kymo_grow(&definitions->stalls, &definitions->stall_capacity,
		      definitions->stall_count + 1, sizeof *definitions->stalls))
		return -ENOMEM;
	definitions->stalls[definitions->stall_count++] = (struct kymo_clock_stall){
		.from_counter = message->from_counter, .to_counter = message->to_counter};
	return 0;
}

/* One allocation holds both strings. */
static int add_source(struct stream *stream, const Kymo__Source *message, uint64_t position)
{
	struct kymo_definitions *definitions = stream->definitions;
	size_t file_bytes = strlen(message->file) + 1, missing_bytes = strlen(message->missing) + 1;
	struct kymo_source_place *place;
	char *file;

	if (position < stream->frame->seq) { /* messages are not cut: it could not be read again */
		definitions->damaged++;
		return 0;
	}
	file = malloc(file_bytes + missing_bytes);
	if (!file || kymo_grow(&definitions->sources, &definitions->source_capacity, definitions->source_count + 1,
			       sizeof *definitions->sources)) {
		free(file);
		return -ENOMEM;
	}
	memcpy(file, message->file, file_bytes);
	memcpy(file + file_bytes, message->missing, missing_bytes);
	place = &definitions->sources[definitions->source_count++];
	*place = (struct kymo_source_place){
		.file = file,
		.process = message->process,
		.is_verified = message->verified && missing_bytes == 1,
		.missing = missing_bytes > 1 ? file + file_bytes : NULL,
		.bytes = missing_bytes > 1 ? 0 : message->text.len,
		.frame = stream->frame,
		.offset = position - stream->frame->seq,
	};
	return 0;
}

static int define_for_run(struct stream *stream, Kymo__Definition **owned, uint64_t position)
{
	struct kymo_definitions *definitions = stream->definitions;
	const Kymo__Definition *message = *owned;

	switch (message->kind_case) {
	case KYMO__DEFINITION__KIND_SESSION:
		definitions->session = message->session;
		break;
	case KYMO__DEFINITION__KIND_ENDING:
		definitions->ending = message->ending;
		break;
	case KYMO__DEFINITION__KIND_CLOCK:
		return add_clock(definitions, message->clock);
	case KYMO__DEFINITION__KIND_CLOCK_STALL:
		return add_stall(definitions, message->clock_stall);
	case KYMO__DEFINITION__KIND_SOURCE:
		return add_source(stream, message->source, position);
	default:
		break;
	}
	return keep(definitions, owned);
}

static int define(struct stream *stream, const uint8_t *bytes, size_t length, uint64_t position)
{
	struct kymo_definitions *definitions = stream->definitions;
	Kymo__Definition *message = kymo__definition__unpack(NULL, length, bytes);
	int result;

	definitions->messages++;
	if (!message || message->kind_case == KYMO__DEFINITION__KIND__NOT_SET) {
		definitions->damaged += !message; /* else: a kind that a newer kymo has */
		kymo__definition__free_unpacked(message, NULL);
		return 0;
	}
	if (stream->is_run)
		result = define_for_run(stream, &message, position);
	else
		result = define_for_process(stream, &message, position);
	kymo__definition__free_unpacked(message, NULL);
	return result;
}

/* Take the complete messages off the front of @stream. */
static int cut_messages(struct stream *stream)
{
	size_t at = 0;

	while (at < stream->length) {
		uint64_t length;
		size_t head = kymo_varint_get(stream->bytes + at, stream->length - at, &length);
		int result;

		if (!head && stream->length - at < KYMO_VARINT_MAX_BYTES)
			break;
		if (!head || length > MAX_MESSAGE_BYTES) {
			/* Where the next message begins cannot be known before the next frame. */
			stream->definitions->damaged++;
			stream->length = 0;
			return 0;
		}
		if (length > stream->length - at - head)
			break;
		result = define(stream, stream->bytes + at + head, (size_t)length,
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

static int feed(struct stream *stream, uint64_t position, const uint8_t *bytes, size_t length)
{
	uint64_t next = stream->position + stream->length;

	if (position < next) { /* a part that an earlier frame had */
		if (next - position >= length)
			return 0;
		bytes += next - position;
		length -= (size_t)(next - position);
	} else if (position > next) { /* frames begin at messages, so only what was cut is lost */
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

static int begin_stream(struct stream *stream, uint32_t process)
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

/* Read every META frame; a process without one is made, too, when it has chunks. */
static int load_streams(struct kymo_definitions *definitions, struct kymo_trace *trace,
			struct kymo_index_entry **entries, struct kymo_error *error)
{
	struct stream stream = {
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
			result = feed(&stream, entry->seq, frame.payload, frame.header.raw_bytes);
		else if (result == -EBADMSG)
			result = 0; /* noted; what it defined is missing, the next frame says so */
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

/* Of several with one name, the first one that was written stays in front. */
static int compare_sources(const void *left, const void *right)
{
	const struct kymo_source_place *a = left, *b = right;
	int order = strcmp(a->file, b->file);

	if (order)
		return order;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->frame != b->frame)
		return a->frame < b->frame ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* What the reader says of processes: their folders and ends. */
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
				if (end_thread(process, process->end->threads[t]))
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

	*definitions = (struct kymo_definitions){0};
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

void kymo_definitions_release(struct kymo_definitions *definitions)
{
	for (size_t i = 0; i < definitions->process_count; i++) {
		struct kymo_traced_process *process = &definitions->processes[i];

		for (size_t c = 0; c < process->contents.count; c++) {
			struct kymo_content *content = process->contents.items[c].value;

			free(content->lines);
			kymo_flow_code_free(content->flow);
		}
		table_release(&process->codes);
		table_release(&process->contents);
		table_release(&process->names);
		table_release(&process->texts);
		table_release(&process->tasks);
		for (size_t t = 0; t < process->thread_count; t++)
			free(process->threads[t].name);
		free(process->threads);
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
