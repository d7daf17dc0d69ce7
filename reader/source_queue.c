// SPDX-License-Identifier: Apache-2.0
#include "reader/source_queue.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/counter.h"
#include "format/varint.h"
#include "reader/run_definitions.h"
#include "reader/source_command.h"
#include "reader/source_file.h"
#include "reader/source_scan.h"

#define MAX_TOTAL_BYTES (256ULL << 20)
/* Share of --max-size; the rest is for events. */
#define MAX_SHARE 4
/* Programs can make up any number of names. */
#define MAX_FILES 65536U
/* Sources are gathered, since they compress better together: up to this many bytes, for this long. */
#define GATHERED_BYTES (64U << 10)
#define GATHERED_NS 1000000000U

struct process {
	struct process *next;
	uint32_t number;
	bool is_over;
	uint32_t queued;  /* number of its files in the queue */
	uint64_t scanned; /* position in its stream */
	/* its Process definition; NULL: not known yet */
	Kymo__Process *facts;
	bool is_foreign;
	uint64_t seen_ns;
	/* files that it named, a bit each */
	uint8_t *named;
	size_t named_bytes;
};

struct file {
	uint64_t hash;
	bool is_written;
	bool is_in_past;
	struct kymo_source_state state; /* of the text in the trace, for all processes */
	char *name;
};

/* A file that a process has named, and the first code object of it. */
struct queued {
	struct queued *next;
	struct process *process;
	uint32_t file;
	bool is_past;
	size_t bytecode_bytes, line_table_bytes;
	uint8_t code[];
};

struct kymo_sources {
	struct kymo_trace_writer *writer;
	uint64_t pid_namespace;
	uint64_t boot_ns; /* the earliest that was seen, since clocks can be set */
	uint64_t bytes;	  /* of all texts that were written */
	struct process *processes;
	struct file *files;
	uint32_t file_count;
	uint32_t *slots; /* of the hash table: 1 + index of a file */
	struct queued *first, **last;
	uint64_t gathered_ns;
	size_t gathered;
	uint8_t buffer[GATHERED_BYTES];
};

#define SLOTS (2 * MAX_FILES)

struct kymo_sources *kymo_sources_make(struct kymo_trace_writer *writer, uint64_t pid_namespace)
{
	struct kymo_sources *sources = calloc(1, sizeof *sources);
	uint32_t *slots = calloc(SLOTS, sizeof *slots);
	struct file *files = calloc(MAX_FILES, sizeof *files);

	if (!sources || !slots || !files) {
		free(sources);
		free(slots);
		free(files);
		return NULL;
	}
	sources->writer = writer;
	sources->pid_namespace = pid_namespace;
	sources->boot_ns = kymo_source_boot_ns();
	sources->slots = slots;
	sources->files = files;
	sources->last = &sources->first;
	return sources;
}

static void free_process(struct kymo_sources *sources, struct process *process)
{
	for (struct process **link = &sources->processes; *link; link = &(*link)->next) {
		if (*link == process) {
			*link = process->next;
			break;
		}
	}
	if (process->facts)
		kymo__process__free_unpacked(process->facts, NULL);
	free(process->named);
	free(process);
}

/* Take the first one out of the queue. */
static void drop_first(struct kymo_sources *sources)
{
	struct queued *queued = sources->first;

	sources->first = queued->next;
	if (!sources->first)
		sources->last = &sources->first;
	if (!--queued->process->queued && queued->process->is_over)
		free_process(sources, queued->process);
	free(queued);
}

void kymo_sources_free(struct kymo_sources *sources)
{
	if (!sources)
		return;
	while (sources->first)
		drop_first(sources);
	while (sources->processes)
		free_process(sources, sources->processes);
	for (uint32_t i = 0; i < sources->file_count; i++)
		free(sources->files[i].name);
	free(sources->files);
	free(sources->slots);
	free(sources);
}

/* Find or add the file called @name; its index, or UINT32_MAX if there are too many. */
static uint32_t file_index(struct kymo_sources *sources, struct kymo_bytes name)
{
	uint64_t value = XXH3_64bits(name.at, name.bytes);
	uint32_t slot = (uint32_t)(value % SLOTS);
	struct file *file;

	for (; sources->slots[slot]; slot = (slot + 1) % SLOTS) {
		file = &sources->files[sources->slots[slot] - 1];
		if (file->hash == value && strlen(file->name) == name.bytes &&
		    !memcmp(file->name, name.at, name.bytes))
			return sources->slots[slot] - 1;
	}
	file = &sources->files[sources->file_count];
	if (sources->file_count == MAX_FILES || memchr(name.at, 0, name.bytes) ||
	    !(file->name = strndup((const char *)name.at, name.bytes)))
		return UINT32_MAX;
	file->hash = value;
	sources->slots[slot] = ++sources->file_count;
	return sources->file_count - 1;
}

static struct process *find_process(const struct kymo_sources *sources, uint32_t number)
{
	struct process *process = sources->processes;

	while (process && process->number != number)
		process = process->next;
	return process;
}

void kymo_sources_begin_process(struct kymo_sources *sources, uint32_t number, uint64_t seen_ns, uint64_t position)
{
	struct process *process = sources ? find_process(sources, number) : NULL;

	if (!sources)
		return;
	if (!process) {
		process = calloc(1, sizeof *process);
		if (!process)
			return;
		process->number = number;
		process->seen_ns = seen_ns;
		process->next = sources->processes;
		sources->processes = process;
	}
	if (position > process->scanned)
		process->scanned = position;
}

void kymo_sources_end_process(struct kymo_sources *sources, uint32_t number)
{
	struct process *process = sources ? find_process(sources, number) : NULL;

	if (!process)
		return;
	process->is_over = true;
	if (!process->queued)
		free_process(sources, process);
}

uint64_t kymo_sources_scanned(const struct kymo_sources *sources, uint32_t number)
{
	const struct process *process = sources ? find_process(sources, number) : NULL;

	return process ? process->scanned : UINT64_MAX;
}

/* A forked child has the code of its parent, and so its sources. */
static void inherit(const struct kymo_sources *sources, struct process *child)
{
	const struct process *parent = sources->processes;

	while (parent && (!parent->facts || strcmp(parent->facts->folder, child->facts->forked_from) != 0))
		parent = parent->next;
	if (!parent || !parent->named || child->named || !(child->named = malloc(parent->named_bytes)))
		return;
	child->named_bytes = parent->named_bytes;
	memcpy(child->named, parent->named, parent->named_bytes);
}

static void define_process(struct kymo_sources *sources, struct process *process, struct kymo_bytes facts)
{
	if (process->facts)
		return;
	process->facts = kymo__process__unpack(NULL, facts.bytes, facts.at);
	if (!process->facts)
		return;
	process->is_foreign = process->facts->pid_namespace && sources->pid_namespace &&
			      process->facts->pid_namespace != sources->pid_namespace;
	if (*process->facts->forked_from)
		inherit(sources, process);
}

/* False: it had named the file before. */
static bool name_file(struct process *process, uint32_t file)
{
	size_t bytes = file / 8 + 1;
	uint8_t bit = (uint8_t)(1U << file % 8);

	if (bytes > process->named_bytes) {
		size_t wanted = 2 * bytes;
		uint8_t *grown = realloc(process->named, wanted);

		if (!grown)
			return false;
		memset(grown + process->named_bytes, 0, wanted - process->named_bytes);
		process->named = grown;
		process->named_bytes = wanted;
	}
	if (process->named[file / 8] & bit)
		return false;
	process->named[file / 8] |= bit;
	return true;
}

static void queue(struct kymo_sources *sources, struct process *process, const struct kymo_scan *scan, bool is_past)
{
	uint32_t file = file_index(sources, scan->file);
	struct queued *queued;

	if (file == UINT32_MAX || !name_file(process, file))
		return;
	queued = malloc(sizeof *queued + scan->bytecode.bytes + scan->line_table.bytes);
	if (!queued)
		return;
	*queued = (struct queued){
		.process = process,
		.file = file,
		.is_past = is_past,
		.bytecode_bytes = scan->bytecode.bytes,
		.line_table_bytes = scan->line_table.bytes,
	};
	if (scan->bytecode.bytes)
		memcpy(queued->code, scan->bytecode.at, scan->bytecode.bytes);
	if (scan->line_table.bytes)
		memcpy(queued->code + scan->bytecode.bytes, scan->line_table.at, scan->line_table.bytes);
	process->queued++;
	*sources->last = queued;
	sources->last = &queued->next;
}

void kymo_sources_scan(struct kymo_sources *sources, uint32_t number, uint64_t position, const uint8_t *bytes,
		       size_t length, bool is_past)
{
	struct process *process = sources ? find_process(sources, number) : NULL;
	struct kymo_scan scan = {.stream = {bytes, length}};
	uint64_t at = position;

	for (; process && kymo_scan_next(&scan); at = position + scan.at) {
		if (scan.process.bytes)
			define_process(sources, process, scan.process);
		else if (scan.file.bytes && at >= process->scanned)
			queue(sources, process, &scan, is_past);
	}
	if (process && at > process->scanned)
		process->scanned = at;
}

void kymo_sources_know(struct kymo_sources *sources, const char *file)
{
	struct kymo_bytes name = {(const uint8_t *)file, strlen(file)};
	uint32_t index = sources ? file_index(sources, name) : UINT32_MAX;

	if (index == UINT32_MAX)
		return;
	sources->files[index].is_written = sources->files[index].is_in_past = true;
	sources->files[index].state.missing = "";
}

static void flush(struct kymo_sources *sources)
{
	if (sources->gathered)
		kymo_run_put_frame(sources->writer, sources->buffer, (uint32_t)sources->gathered);
	sources->gathered = 0;
}

static void put(struct kymo_sources *sources, Kymo__Source *source)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	uint8_t *at = sources->buffer + sources->gathered, *alone = NULL;
	size_t bytes, whole;

	definition.kind_case = KYMO__DEFINITION__KIND_SOURCE;
	definition.source = source;
	bytes = kymo__definition__get_packed_size(&definition);
	whole = bytes + KYMO_VARINT_MAX_BYTES;
	if (whole > GATHERED_BYTES - sources->gathered) {
		flush(sources);
		at = sources->buffer;
	}
	if (whole > GATHERED_BYTES) {
		at = alone = malloc(whole);
		if (!alone)
			return;
	}
	whole = kymo_varint_put(at, bytes);
	whole += kymo__definition__pack(&definition, at + whole);
	if (alone) {
		kymo_run_put_frame(sources->writer, alone, (uint32_t)whole);
		free(alone);
		return;
	}
	if (!sources->gathered)
		sources->gathered_ns = kymo_monotonic_ns();
	sources->gathered += whole;
}

/* Code of no file. */
static void set_text(const struct process *process, const char *name, Kymo__Source *source,
		     struct kymo_source_state *state)
{
	const char *text = process->facts && !strcmp(name, "<string>") ? kymo_source_command(process->facts) : NULL;

	*state = (struct kymo_source_state){.missing = "not recorded"};
	if (text && kymo_source_is_redacted(text)) {
		state->missing = "redacted";
	} else if (text) {
		source->text.len = strlen(text);
		source->text.data = (uint8_t *)(uintptr_t)text;
		*state = (struct kymo_source_state){.bytes = source->text.len, .inode = XXH3_64bits(text, source->text.len)};
	}
}

/* When the process's interpreter was executed, or a little earlier; 0: not known. */
static uint64_t image_ns(struct kymo_sources *sources, const struct process *process)
{
	uint64_t boot_ns = kymo_source_boot_ns(), start_ns;

	if (boot_ns < sources->boot_ns)
		sources->boot_ns = boot_ns;
	if (!process->facts || process->is_foreign)
		return 0;
	start_ns = kymo_source_start_ns(process->facts->image_start_ticks, sources->boot_ns);
	/* Ticks are not valid if the machine was restarted in between. */
	return start_ns <= process->seen_ns ? start_ns : 0;
}

static bool find_path(const struct process *process, const char *name, char path[PATH_MAX])
{
	const char *folder = process->facts ? process->facts->working_directory : "";

	if (name[0] == '/')
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	return *folder && snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

static bool has_room(const struct kymo_sources *sources, uint64_t bytes)
{
	uint64_t max_bytes = sources->writer->max_bytes;

	return sources->bytes + bytes <= MAX_TOTAL_BYTES &&
	       (!max_bytes || sources->bytes + bytes <= max_bytes / MAX_SHARE);
}

static bool has_end(const char *text, const char *end)
{
	size_t length = strlen(text), bytes = strlen(end);

	return length >= bytes && !strcmp(text + length - bytes, end);
}

/* True if @file has a name of Python's, or is what the process was started to run; else code may have been generated from it, as
   from a template. */
static bool is_program(const struct process *process, const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	if (!strchr(name, '.') || has_end(name, ".py") || has_end(name, ".pyw"))
		return true;
	for (size_t i = 1; process->facts && i < process->facts->n_argv; i++)
		if (has_end(process->facts->argv[i], name))
			return true;
	return false;
}

/* Read the file, unless it is @known, which then is @state. */
static uint8_t *read_file(struct kymo_sources *sources, const struct queued *queued,
			  const struct kymo_source_state *known, Kymo__Source *source, struct kymo_source_state *state)
{
	struct kymo_source_code code = {
		.cache_tag = queued->process->facts ? queued->process->facts->implementation : "",
		.image_ns = image_ns(sources, queued->process),
		.bytecode = queued->code,
		.bytecode_bytes = queued->bytecode_bytes,
		.line_table = queued->code + queued->bytecode_bytes,
		.line_table_bytes = queued->line_table_bytes,
	};
	bool is_steady = false;
	char path[PATH_MAX];
	uint8_t *text;

	*state = (struct kymo_source_state){.missing = "no such file"};
	if (!find_path(queued->process, source->file, path))
		return NULL;
	kymo_source_look(path, state);
	if (state->missing || (known && kymo_source_is_same(known, state)))
		return NULL;
	if (!has_room(sources, state->bytes)) {
		state->missing = "too much source text";
		return NULL;
	}
	text = kymo_source_read(path, state, &is_steady);
	source->text.data = text;
	source->text.len = text ? state->bytes : 0;
	source->verified = text && is_steady && is_program(queued->process, source->file) && kymo_source_verify(path, state, &code);
	return text;
}

static bool is_no_file(const char *name)
{
	size_t length = strlen(name);

	return length > 1 && name[0] == '<' && name[length - 1] == '>';
}

/* Write the source of the first in the queue; not @is_in_time: write that it was not read. */
static void take_first(struct kymo_sources *sources, bool is_in_time)
{
	const struct queued *queued = sources->first;
	struct file *file = &sources->files[queued->file];
	const struct kymo_source_state *known = file->is_written ? &file->state : NULL;
	struct kymo_source_state state = {.missing = "not read in time"};
	Kymo__Source source = KYMO__SOURCE__INIT;
	uint8_t *text = NULL;

	if (queued->is_past && file->is_in_past)
		return;
	source.file = file->name;
	if (is_no_file(file->name))
		set_text(queued->process, file->name, &source, &state);
	else if (is_in_time)
		text = read_file(sources, queued, known, &source, &state);
	/* Its state is the same for this process as for all others. */
	if (!known || !kymo_source_is_same(known, &state)) {
		source.process = known ? queued->process->number : 0;
		source.missing = (char *)(uintptr_t)(state.missing ? state.missing : protobuf_c_empty_string);
		sources->bytes += source.text.len;
		put(sources, &source);
		if (!known)
			file->state = state;
		file->is_written = true;
	}
	free(text);
}

bool kymo_sources_work(struct kymo_sources *sources, uint64_t until_ns)
{
	if (!sources || sources->writer->is_full)
		return false;
	while (sources->first) {
		take_first(sources, true);
		drop_first(sources);
		if (kymo_monotonic_ns() >= until_ns)
			break;
	}
	if (sources->gathered && kymo_monotonic_ns() - sources->gathered_ns > GATHERED_NS)
		flush(sources);
	return sources->first;
}

void kymo_sources_finish(struct kymo_sources *sources, uint64_t patience_ns)
{
	uint64_t until_ns = kymo_monotonic_ns() + patience_ns;

	if (!sources || sources->writer->is_full)
		return;
	for (; sources->first; drop_first(sources))
		take_first(sources, kymo_monotonic_ns() < until_ns);
	flush(sources);
}
