// SPDX-License-Identifier: Apache-2.0
/*
 * Everything about a run that is not an event: processes, threads, code, names.
 *
 * Of code objects, only what is needed to name events is kept in memory. A forked process inherits what its parent had defined up to
 * the fork; its own definitions take precedence.
 */
#ifndef KYMO_REPLAY_TRACE_DEFINITIONS_H
#define KYMO_REPLAY_TRACE_DEFINITIONS_H

#include "format/metadata.pb-c.h"
#include "replay/trace/line_table.h"
#include "replay/trace/trace.h"

/* What equal code objects share. */
struct kymo_content {
	uint64_t id;	  /* in process number @process, which defined it */
	uint32_t process;
	uint32_t number; /* given by code that counts its lines, in an index or for coverage; 0: none */
	const char *file;
	const char *function; /* qualified name */
	const char *locals; /* names of local variables, @local_count of them, each followed by a NUL */
	const char *names; /* global variables and attributes that it names (co_names), likewise; none if no values are recorded */
	uint32_t local_count, name_count;
	uint32_t argument_count; /* number of locals, the first ones, that are arguments; *args and **kwargs included */
	uint32_t first_line;
	uint32_t flags; /* co_flags */
	uint32_t line_table_bytes;
	const uint8_t *line_table;
	/* for rebuilding lines; none in recordings that have them */
	uint32_t bytecode_bytes, exception_table_bytes;
	const uint8_t *bytecode, *exception_table;
	uint64_t source; /* of its text, which the process kept: see sources.h; 0: the text is its file's */
	struct kymo_flow_code *flow; /* see flow_code.h, which makes it at first use and releases it */
	void (*release_flow)(struct kymo_flow_code *flow);
	int32_t *lines; /* of each code unit; decoded at first use */
	size_t units;
	uint64_t events; /* for counting: see summary.h */
};

struct kymo_code {
	uint64_t id;
	uint64_t content_id;
	uint32_t entry_offset;	      /* code units */
	bool has_lines;		      /* flow: its lines could not be rebuilt, and are recorded */
	struct kymo_content *content; /* NULL: not looked up yet, or not defined */
};

struct kymo_traced_thread {
	uint32_t number;
	uint32_t lost_reasons;
	uint64_t native_id;
	uint64_t ident;
	char *name; /* NULL: not known */
	bool has_ended; /* the next fields are known; also for threads of a killed process */
	uint64_t last_ordinal;
	uint64_t lost; /* after its last chunk */
	uint64_t stopped_at; /* where the frame on top was for CPython, in code units + 1; 0: not known */
	bool is_least;	     /* it may have continued from there */
};

/* A name or the text of a mark. */
struct kymo_traced_string {
	bool is_stop_iteration, is_record; /* for a type: see Name */
	char text[]; /* behind its NUL, for an exception type: its base types, one name per line */
};

/* An asyncio task. */
struct kymo_traced_task {
	uint32_t id; /* in its process; forked processes inherit it */
	char name[]; /* the last known name; "": none */
};

/* Definitions of one kind, found by id. */
struct kymo_table {
	struct kymo_definition {
		uint64_t id;
		uint64_t position; /* of its message in the stream */
		void *value;
	} *items;
	size_t count, capacity;
};

/* How a process came to be. */
enum kymo_origin {
	KYMO_ORIGIN_ROOT = 0, /* no recorded parent is known */
	KYMO_ORIGIN_FORK = 1,
	KYMO_ORIGIN_EXEC = 2, /* another image in the same process; @parent is the image before */
	KYMO_ORIGIN_SPAWN = 3, /* started by @parent, with an exec in between */
};

struct kymo_traced_process {
	uint32_t number; /* in this trace, from 1 */
	uint32_t pid;
	const char *folder; /* "": not known */
	const Kymo__Process *definition; /* NULL: lost */
	const Kymo__ProcessEnd *end;	 /* NULL: the trace ends before */
	enum kymo_origin origin;
	struct kymo_traced_process *parent;
	struct kymo_traced_process *forked_from; /* its ids are inherited */
	struct kymo_table codes, contents, names, texts, tasks;
	struct kymo_traced_thread *threads;
	size_t thread_count, thread_capacity;
	void *thread_tree; /* places of threads by number, for tfind() */
};

struct kymo_clock_sample {
	uint64_t counter;
	uint64_t monotonic_ns;
	uint64_t unix_ns;
};

/* A period without a tick. */
struct kymo_clock_stall {
	uint64_t from_counter, to_counter;
	int64_t reach_ns; /* for clock.c: latest time of an event in it, or in stalls that follow */
};

/* Where the trace has the source of a file, or text that a process kept of code that is not in a file; it is not loaded: see sources.h. */
struct kymo_source_place {
	const char *file;
	uint32_t process; /* whose source; 0: of all processes that have none of their own */
	uint64_t id; /* of a kept text; 0: a file */
	bool is_verified;
	const char *missing; /* why there is no text; NULL: there is */
	uint64_t bytes;
	const struct kymo_index_entry *frame;
	uint64_t offset; /* of the message in the frame's payload */
};

struct kymo_definitions {
	const Kymo__Session *session; /* NULL: lost */
	const Kymo__Ending *ending;   /* NULL: the writer was killed */
	struct kymo_traced_process *processes; /* by number */
	size_t process_count, process_capacity;
	struct kymo_clock_sample *clocks; /* by counter */
	size_t clock_count, clock_capacity;
	struct kymo_clock_stall *stalls; /* in the order of their ends */
	size_t stall_count, stall_capacity;
	struct kymo_source_place *sources; /* by file, process and id */
	size_t source_count, source_capacity;
	/* all messages of the run itself except clocks and sources, in order; also the kept messages of processes */
	Kymo__Definition **kept;
	size_t kept_count, kept_capacity;
	uint64_t messages;
	uint64_t bytes;
	uint64_t damaged; /* unreadable messages, and missing frames */
	uint64_t budget; /* bytes of memory left for further messages */
	uint64_t left_out; /* messages that did not fit in the budget */
};

KYMO_MUST_CHECK
int kymo_definitions_load(struct kymo_definitions *definitions, struct kymo_trace *trace,
			  struct kymo_error *error);
void kymo_definitions_release(struct kymo_definitions *definitions);

/* Find the origin of each process; a part of loading them. 0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_processes_link(struct kymo_definitions *definitions);

struct kymo_traced_process *kymo_traced_find(const struct kymo_definitions *definitions,
					     uint32_t number);
struct kymo_traced_thread *kymo_traced_thread(const struct kymo_traced_process *process,
					      uint32_t number);

/* The definition of @id in @process; NULL: not defined. */
const struct kymo_code *kymo_traced_code(const struct kymo_traced_process *process, uint64_t id);
struct kymo_content *kymo_traced_content(const struct kymo_traced_process *process, uint64_t id);
const char *kymo_traced_name(const struct kymo_traced_process *process, uint64_t id);
/*
 * True if the exception whose name has that id is a @type, or is derived from it as far as that was recorded. The last part of a
 * type's name, as of a.B.C, is enough.
 */
bool kymo_traced_is_type(const struct kymo_traced_process *process, uint64_t id, const char *type);
/* True for StopIteration and types derived from it. */
bool kymo_traced_name_is_stop(const struct kymo_traced_process *process, uint64_t id);
/* True for types whose objects are just their fields, as dataclasses. */
bool kymo_traced_name_is_record(const struct kymo_traced_process *process, uint64_t id);
const char *kymo_traced_text(const struct kymo_traced_process *process, uint64_t id);

/* The task with @id in @process: always the same pointer, and for no other task of that process. */
const struct kymo_traced_task *kymo_traced_task(const struct kymo_traced_process *process, uint64_t id);

/* Fill in content->lines and .units; without memory they stay empty. */
void kymo_content_read_lines(struct kymo_content *content);
/* The line of the instruction at code unit @offset, or KYMO_LINE_NONE. */
static inline int32_t kymo_code_line(const struct kymo_code *code, uint64_t offset)
{
	struct kymo_content *content = code->content;

	if (!content->lines)
		kymo_content_read_lines(content);
	return offset < content->units ? content->lines[offset] : KYMO_LINE_NONE;
}

#endif
