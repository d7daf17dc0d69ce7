// SPDX-License-Identifier: Apache-2.0
#include "replay/library/describe_json.h"

#include <jansson.h>

#include "format/chunk.h"
#include "format/kinds.h"
#include "replay/trace/describe.h"

/* Jansson rejects bytes that are not UTF-8; the recorder has already escaped them, so nothing is lost here. */
static json_t *text(const char *value)
{
	json_t *string = value ? json_string(value) : NULL;

	return string ? string : json_null();
}

static json_t *texts(char *const *values, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, text(values[i]));
	return list;
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static const char *policy_name(uint32_t policy)
{
	return policy == KYMO_POLICY_BLOCK ? "block" : policy == KYMO_POLICY_DROP ? "drop" : "overwrite";
}

static const char *clock_name(uint32_t mode)
{
	return mode == KYMO_CLOCK_EXACT ? "exact" : mode == KYMO_CLOCK_NONE ? "none" : "sampled";
}

/* Whose values are recorded; null: none are. */
static json_t *describe_values(const Kymo__Values *values)
{
	static const char *const names[] = {NULL, "args", "locals", "globals"};
	unsigned scope = values ? (unsigned)values->scope : 0;

	return text(scope < 4 ? names[scope] : "?");
}

static json_t *describe_config(const Kymo__Config *config)
{
	json_t *kinds = json_array();

	if (!config)
		return json_null();
	for (unsigned kind = 1; kind < KYMO_KINDS; kind++)
		if (config->events >> kind & 1 && kymo_kind_is_event((enum kymo_kind)kind))
			json_array_append_new(kinds, text(kymo_kind_name(kind)));
	return json_pack("{s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:o}", "profile", text(config->profile), "events",
			 kinds, "policy", policy_name(config->policy), "clock", clock_name(config->clock_mode), "ring_size",
			 number(config->ring_bytes), "max_size", number(config->max_bytes), "source",
			 texts(config->source, config->n_source), "include", texts(config->include, config->n_include), "omit",
			 texts(config->omit, config->n_omit), "no_stdlib", config->no_stdlib, "no_subprocesses",
			 config->no_subprocesses, "values", describe_values(config->values));
}

static json_t *describe_process(const struct kymo_timeline *timeline, const struct kymo_traced_process *process)
{
	const Kymo__Process *definition = process->definition;
	char end[KYMO_DESCRIBE_BYTES];

	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "number", (int)process->number, "pid", number(process->pid),
			 "parent", process->parent ? number(process->parent->pid) : json_null(), "executable",
			 text(definition ? definition->executable : NULL), "argv",
			 definition ? texts(definition->argv, definition->n_argv) : json_array(), "python",
			 text(definition ? definition->python_version : NULL), "end",
			 text(kymo_describe_end(timeline, process, end)));
}

static json_t *describe_thread(const struct kymo_index *index, size_t number_of_stream)
{
	const struct kymo_stream *stream = &index->timeline->streams[number_of_stream];
	size_t first = index->first_chunks[number_of_stream], end = index->first_chunks[number_of_stream + 1];
	uint64_t lines = 0, incomplete = 0;

	for (size_t i = first; i < end; i++) {
		lines += index->chunks[i].lines;
		incomplete += index->chunks[i].flags & KYMO_SUMMARY_MISSING;
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", number(stream->process->pid), "number",
			 number(stream->number), "native_id", number(stream->thread ? stream->thread->native_id : 0), "name",
			 text(stream->thread ? stream->thread->name : NULL), "first",
			 number(first < end ? index->chunks[first].first_n : 0), "last",
			 number(first < end ? index->chunks[end - 1].last_n : 0), "lines", number(lines), "chunks", number(end - first),
			 "incomplete_chunks", number(incomplete));
}

static json_t *describe_mark(const struct kymo_index *index, const struct kymo_index_mark *mark)
{
	const struct kymo_stream *stream = &index->timeline->streams[mark->stream];

	return json_pack("{s:o, s:i, s:o, s:o}", "text", text(kymo_traced_text(stream->process, mark->text)), "thread",
			 (int)mark->stream, "n", number(mark->n), "t_ns", json_integer(mark->t_ns));
}

char *kymo_describe_json(struct kymo_timeline *timeline, const struct kymo_index *index)
{
	const Kymo__Session *session = timeline->definitions.session;
	const Kymo__Ending *ending = timeline->definitions.ending;
	json_t *processes = json_array(), *threads = json_array(), *marks = json_array(), *all;
	char *dumped;

	for (size_t i = 0; i < timeline->definitions.process_count; i++)
		json_array_append_new(processes, describe_process(timeline, &timeline->definitions.processes[i]));
	for (size_t i = 0; i < timeline->stream_count; i++)
		json_array_append_new(threads, describe_thread(index, i));
	for (size_t i = 0; i < index->mark_count; i++)
		json_array_append_new(marks, describe_mark(index, &index->marks[i]));
	all = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
			text(session ? session->kymo_version : NULL), "command",
			session ? texts(session->argv, session->n_argv) : json_array(), "directory",
			text(session ? session->working_directory : NULL), "host", text(session ? session->host : NULL),
			"started_unix_ns", number(timeline->trace.header.created_unix_ns), "config",
			describe_config(session ? session->config : NULL), "ending", text(ending ? ending->reason : NULL),
			"processes", processes, "threads", threads, "marks", marks);
	dumped = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	return dumped;
}
