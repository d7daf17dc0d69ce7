// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/definition_messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/unpack.h"

/* Upper limit of what a definition takes in addition to its message: its structure, its place in a table, malloc()'s overhead. */
#define DEFINITION_BYTES 128

static int table_add(struct kymo_table *table, uint64_t id, uint64_t position, void *value)
{
	if (kymo_grow(&table->items, &table->capacity, table->count + 1, sizeof *table->items))
		return -ENOMEM;
	table->items[table->count++] = (struct kymo_definition){id, position, value};
	return 0;
}

static struct kymo_traced_thread *make_thread(struct kymo_traced_process *process, uint32_t number)
{
	struct kymo_traced_thread *thread = kymo_traced_thread(process, number);

	if (thread)
		return thread;
	if (kymo_grow(&process->threads, &process->thread_capacity, process->thread_count + 1,
		      sizeof *process->threads))
		return NULL;
	if (!kymo_traced_thread_remember(process, number))
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

int kymo_definition_end_thread(struct kymo_traced_process *process, const Kymo__ThreadEnd *message)
{
	struct kymo_traced_thread *thread = make_thread(process, message->thread);

	if (!thread)
		return -ENOMEM;
	thread->has_ended = true;
	thread->last_ordinal = message->last_ordinal;
	thread->lost = message->lost;
	thread->lost_reasons = message->lost_reasons;
	thread->stopped_at = message->stopped_at;
	thread->is_least = message->is_least;
	return 0;
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
		.source = message->source,
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

/* @type: what a name says of a type; NULL: not a type's name. */
static int define_string(struct kymo_table *table, uint64_t id, const char *text, const Kymo__Name *type, uint64_t position)
{
	const char *bases = type ? type->bases : "";
	size_t bytes = strlen(text) + 1, base_bytes = strlen(bases) + 1;
	struct kymo_traced_string *string = malloc(sizeof *string + bytes + base_bytes);

	if (!string)
		return -ENOMEM;
	string->is_stop_iteration = type && type->is_stop_iteration;
	string->is_record = type && type->is_record;
	memcpy(string->text, text, bytes);
	memcpy(string->text + bytes, bases, base_bytes);
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

/* One allocation holds both strings.  @process: the process in whose stream the message is; 0: the run's stream. */
static int add_source(struct kymo_definition_stream *stream, const Kymo__Source *message, uint32_t process, uint64_t position)
{
	struct kymo_definitions *definitions = stream->definitions;
	size_t file_bytes = strlen(message->file) + 1, missing_bytes = strlen(message->missing) + 1;
	struct kymo_source_place *place;
	char *file;

	if (position < stream->frame->seq) { /* a message is never split; this one could not be read again */
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
		.process = process ? process : message->process,
		.id = process ? message->id : 0,
		.is_verified = message->verified && missing_bytes == 1,
		.missing = missing_bytes > 1 ? file + file_bytes : NULL,
		.bytes = missing_bytes > 1 ? 0 : message->text.len,
		.frame = stream->frame,
		.offset = position - stream->frame->seq,
	};
	return 0;
}

static int define_for_process(struct kymo_definition_stream *stream, Kymo__Definition **owned, uint64_t position)
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
		return kymo_definition_end_thread(process, message->thread_end);
	case KYMO__DEFINITION__KIND_CONTENT:
		return define_content(process, message->content, position, stream->has_values);
	case KYMO__DEFINITION__KIND_CODE:
		return define_code(process, message->code, position);
	case KYMO__DEFINITION__KIND_NAME:
		return define_string(&process->names, message->name->id, message->name->name, message->name, position);
	case KYMO__DEFINITION__KIND_TEXT:
		return define_string(&process->texts, message->text->id, message->text->text, NULL, position);
	case KYMO__DEFINITION__KIND_TASK:
		return define_task(&process->tasks, message->task, position);
	case KYMO__DEFINITION__KIND_SOURCE:
		/* Only definitions with an id can be referred to. */
		return message->source->id ? add_source(stream, message->source, process->number, position) : 0;
	default: /* modules are read again where they are needed */
		return 0;
	}
}

static int define_for_run(struct kymo_definition_stream *stream, Kymo__Definition **owned, uint64_t position)
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
		return add_source(stream, message->source, 0, position);
	default:
		break;
	}
	return keep(definitions, owned);
}

int kymo_definition_take(struct kymo_definition_stream *stream, const uint8_t *bytes, size_t length, uint64_t position)
{
	struct kymo_definitions *definitions = stream->definitions;
	Kymo__Definition *message;
	size_t taken;
	int result = kymo_unpack(bytes, length, &message, &taken);

	definitions->messages++;
	if (result == -ENOMEM)
		return result;
	if (result) {
		definitions->damaged += result == -EBADMSG;
		definitions->left_out += result == -E2BIG;
		return 0;
	}
	if (message->kind_case == KYMO__DEFINITION__KIND__NOT_SET) { /* a kind from a newer kymo */
		kymo__definition__free_unpacked(message, NULL);
		return 0;
	}
	/* Most messages are copied into smaller structures and freed; those of a run are kept as they are. */
	taken += DEFINITION_BYTES;
	if (taken > definitions->budget) {
		definitions->left_out++;
		kymo__definition__free_unpacked(message, NULL);
		return 0;
	}
	definitions->budget -= taken;
	if (stream->is_run)
		result = define_for_run(stream, &message, position);
	else
		result = define_for_process(stream, &message, position);
	kymo__definition__free_unpacked(message, NULL);
	return result;
}
