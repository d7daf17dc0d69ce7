// SPDX-License-Identifier: Apache-2.0
/* Places and threads in the report. */
#include <string.h>

#include "replay/diff/describe_diff.h"
#include "replay/trace/line_table.h"

json_t *kymo_describe_text(const char *value)
{
	json_t *string = value ? json_string(value) : NULL;

	return string ? string : json_null();
}

json_t *kymo_describe_number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *kymo_describe_line(int64_t line)
{
	return line == KYMO_LINE_NONE ? json_null() : json_integer(line);
}

const struct kymo_side *kymo_describe_side(const struct kymo_describing *describing, size_t side)
{
	return &describing->diff->comparison.forests[side].side;
}

static const struct kymo_source *source_of(struct kymo_describing *describing, size_t side, const struct kymo_content *content)
{
	struct kymo_shelf *shelf = &describing->shelves[side];
	struct kymo_timeline *timeline = &describing->diff->comparison.forests[side].side.timeline;
	const struct kymo_source_place *kept = content->source ? kymo_content_source_place(&timeline->definitions, NULL, content) : NULL;
	struct kymo_read_source *entry;
	int result;

	for (size_t i = 0; i < shelf->count; i++)
		if (!strcmp(shelf->entries[i].file, content->file) && shelf->entries[i].kept == kept)
			return shelf->entries[i].is_there ? &shelf->entries[i].source : NULL;
	if (kymo_grow(&shelf->entries, &shelf->capacity, shelf->count + 1, sizeof *shelf->entries))
		return NULL;
	entry = &shelf->entries[shelf->count++];
	*entry = (struct kymo_read_source){.file = content->file, .kept = kept};
	result = kymo_content_source(timeline, kymo_traced_find(&timeline->definitions, content->process), content, &entry->source,
				     describing->error);
	entry->is_there = !result;
	return entry->is_there ? &entry->source : NULL;
}

/* Line @line as the trace has it; null: it does not. */
static json_t *source_line(struct kymo_describing *describing, size_t side, const struct kymo_content *content, int64_t line)
{
	const struct kymo_source *source = content && line > 0 ? source_of(describing, side, content) : NULL;
	size_t bytes = 0;
	const char *found = source && source->text ? kymo_source_line(source, (uint64_t)line, &bytes) : NULL;
	json_t *string = found ? json_stringn(found, bytes) : NULL;

	return string ? string : json_null();
}

json_t *kymo_describe_position(struct kymo_position at)
{
	return json_pack("{s:o, s:o}", "n", kymo_describe_number(at.n), "k", kymo_describe_number(at.k));
}

/* A place in a file, with its text. */
json_t *kymo_describe_place(struct kymo_describing *describing, size_t side, const struct kymo_content *content, int64_t line)
{
	const struct kymo_side *of = kymo_describe_side(describing, side);

	return json_pack("{s:b, s:o, s:o, s:o, s:o}", "library", of->codes[kymo_side_code(of, content)].is_library, "file", kymo_describe_text(content ? content->file : NULL), "function",
			 kymo_describe_text(content ? content->function : NULL), "line", kymo_describe_line(line), "text",
			 source_line(describing, side, content, line));
}

json_t *kymo_describe_thread(const struct kymo_describing *describing, size_t side, size_t stream)
{
	const struct kymo_stream *found = &kymo_describe_side(describing, side)->timeline.streams[stream];

	return json_pack("{s:o, s:o, s:o, s:o}", "index", kymo_describe_number(stream), "process", kymo_describe_number(found->process->pid), "number",
			 kymo_describe_number(found->number), "name", kymo_describe_text(found->thread ? found->thread->name : NULL));
}
