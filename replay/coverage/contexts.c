// SPDX-License-Identifier: Apache-2.0
#include "replay/coverage/contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "context:"

/* NULL: @text is not a context's mark. */
static const char *context_name(const char *text)
{
	return text && !strncmp(text, PREFIX, strlen(PREFIX)) ? text + strlen(PREFIX) : NULL;
}

static struct kymo_process_contexts *of_process(const struct kymo_contexts *contexts,
						const struct kymo_traced_process *process)
{
	return &contexts->processes[process - contexts->timeline->definitions.processes];
}

static bool has_contexts(const struct kymo_definitions *definitions)
{
	for (size_t i = 0; i < definitions->process_count; i++) {
		const struct kymo_table *texts = &definitions->processes[i].texts;

		for (size_t k = 0; k < texts->count; k++) {
			const struct kymo_traced_string *text = texts->items[k].value;

			if (context_name(text->text))
				return true;
		}
	}
	return false;
}

/* Find the marks in a chunk of @stream; only their places matter. */
static int find_in_chunk(struct kymo_contexts *contexts, const struct kymo_stream *stream, const struct kymo_frame *frame)
{
	struct kymo_process_contexts *of = of_process(contexts, stream->process);
	struct kymo_timeline *timeline = contexts->timeline;
	bool is_flow = timeline->trace.header.required_features & KYMO_FEATURE_FLOW;
	uint64_t slice = frame->header.switch_base, clock = frame->header.open_clock;
	uint32_t interpreter = frame->header.interpreter;
	size_t at = frame->header.sync_bytes, end = frame->header.raw_bytes;
	struct kymo_record record;

	for (; (is_flow ? kymo_flow_record_decode : kymo_record_decode)(frame->payload + at, end - at, &record) ==
	       KYMO_DECODE_OK;
	     at += record.bytes) {
		const char *name;

		if (record.kind == KYMO_SWITCH) {
			slice += record.a;
		} else if (record.kind == KYMO_TIME) {
			clock += record.a;
		} else if (record.kind == KYMO_KIND_SPECIAL && record.extended == KYMO_EXTENDED_INTERPRETER) {
			interpreter = (uint32_t)record.a;
			slice = 0;
		}
		if (record.kind != KYMO_KIND_SPECIAL || record.extended != KYMO_EXTENDED_MARK)
			continue;
		name = context_name(kymo_traced_text(stream->process, record.a));
		if (!name)
			continue;
		if (kymo_grow(&of->marks, &of->capacity, of->count + 1, sizeof(*of->marks)))
			return -ENOMEM;
		of->marks[of->count] = (struct kymo_context_mark){
			.name = name,
			.interpreter = interpreter,
			.slice = slice,
			.t_ns = kymo_clock_ns(&timeline->clock, clock),
			.order = of->count,
		};
		of->count++;
	}
	return 0;
}

/* Most chunks have no mark: a search for its first bytes is faster than decoding. */
static bool may_have_marks(const struct kymo_frame *frame)
{
	static const uint8_t mark[] = {KYMO_TAG_EXTENDED, KYMO_EXTENDED_MARK};

	return memmem(frame->payload, frame->header.raw_bytes, mark, sizeof mark);
}

static int find_in_stream(struct kymo_contexts *contexts, const struct kymo_stream *stream, struct kymo_frame *frame,
			  struct kymo_error *error)
{
	struct kymo_timeline *timeline = contexts->timeline;
	const struct kymo_index_entry *read = NULL;

	for (size_t i = 0; i < stream->chunk_count; i++) {
		const struct kymo_index_entry *entry = timeline->chunks[stream->first_chunk + i];
		int result;

		if (read && kymo_is_same_chunk(read, entry))
			continue;
		result = kymo_trace_read(&timeline->trace, entry, frame, error);
		if (result == -EBADMSG)
			continue;
		if (result)
			return result;
		read = entry;
		if (may_have_marks(frame) && find_in_chunk(contexts, stream, frame))
			return kymo_fail(error, -ENOMEM, "out of memory");
	}
	return 0;
}

static int compare_marks(const void *left, const void *right)
{
	const struct kymo_context_mark *a = left, *b = right;

	return a->t_ns != b->t_ns ? (a->t_ns < b->t_ns ? -1 : 1) : a->order < b->order ? -1 : 1;
}

static int compare_turns(const void *left, const void *right)
{
	const struct kymo_context_mark *a = left, *b = right;

	return a->slice != b->slice ? (a->slice < b->slice ? -1 : 1) : a->order < b->order ? -1 : 1;
}

static void sort_marks(struct kymo_process_contexts *of)
{
	of->is_by_turn = true;
	for (size_t i = 0; i < of->count; i++)
		of->is_by_turn &= of->marks[i].slice && of->marks[i].interpreter == of->marks[0].interpreter;
	if (of->count)
		qsort(of->marks, of->count, sizeof(*of->marks), of->is_by_turn ? compare_turns : compare_marks);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The number of @name, which exists. */
static uint32_t number_of(const struct kymo_contexts *contexts, const char *name)
{
	const char **found = bsearch(&name, contexts->names, contexts->count, sizeof(*contexts->names), compare_names);

	return found ? (uint32_t)(found - contexts->names) : KYMO_CONTEXT_SAME;
}

static int number_names(struct kymo_contexts *contexts)
{
	size_t processes = contexts->timeline->definitions.process_count, count = 1;
	uint32_t kept = 1;

	for (size_t i = 0; i < processes; i++)
		count += contexts->processes[i].count;
	contexts->names = calloc(count, sizeof(*contexts->names));
	if (!contexts->names)
		return -ENOMEM;
	count = 0;
	contexts->names[count++] = "";
	for (size_t i = 0; i < processes; i++)
		for (size_t k = 0; k < contexts->processes[i].count; k++)
			contexts->names[count++] = contexts->processes[i].marks[k].name;
	qsort(contexts->names, count, sizeof(*contexts->names), compare_names);
	for (size_t i = 1; i < count; i++)
		if (strcmp(contexts->names[i], contexts->names[kept - 1]))
			contexts->names[kept++] = contexts->names[i];
	contexts->count = kept;
	for (size_t i = 0; i < processes; i++)
		for (size_t k = 0; k < contexts->processes[i].count; k++) {
			struct kymo_context_mark *mark = &contexts->processes[i].marks[k];

			mark->context = number_of(contexts, mark->name);
		}
	return 0;
}

int kymo_contexts_find(struct kymo_contexts *contexts, struct kymo_timeline *timeline, struct kymo_error *error)
{
	const struct kymo_definitions *definitions = &timeline->definitions;
	bool is_wanted = has_contexts(definitions);
	struct kymo_frame frame = {0};
	int result = 0;

	*contexts = (struct kymo_contexts){.timeline = timeline};
	contexts->processes = calloc(definitions->process_count + 1, sizeof(*contexts->processes));
	if (!contexts->processes)
		return kymo_fail(error, -ENOMEM, "out of memory");
	for (size_t i = 0; is_wanted && i < timeline->stream_count && !result; i++)
		result = find_in_stream(contexts, &timeline->streams[i], &frame, error);
	kymo_frame_release(&frame);
	if (result)
		return result;
	for (size_t i = 0; i < definitions->process_count; i++)
		sort_marks(&contexts->processes[i]);
	return number_names(contexts) ? kymo_fail(error, -ENOMEM, "out of memory") : 0;
}

int kymo_contexts_find_test(struct kymo_contexts *contexts, struct kymo_timeline *timeline, const char *test,
			    struct kymo_error *error)
{
	int result = kymo_contexts_find(contexts, timeline, error);

	if (result)
		return result;
	for (uint32_t i = 0; i < contexts->count; i++)
		if (kymo_context_is_of(contexts, i, test))
			return 0;
	if (contexts->count > 1)
		return kymo_fail(error, -ENOENT, "no test '%s' in the trace; it has %u, such as '%s'", test,
				 contexts->count - 1, contexts->names[1]);
	return kymo_fail(error, -ENOENT, "nothing of the trace was recorded in a test, or other context");
}

void kymo_contexts_release(struct kymo_contexts *contexts)
{
	for (size_t i = 0; contexts->processes && i < contexts->timeline->definitions.process_count; i++)
		free(contexts->processes[i].marks);
	free(contexts->processes);
	free(contexts->names);
	*contexts = (struct kymo_contexts){0};
}

uint32_t kymo_contexts_number(const struct kymo_contexts *contexts, const char *text)
{
	const char *name = context_name(text);

	return name ? number_of(contexts, name) : KYMO_CONTEXT_SAME;
}

bool kymo_context_is_of(const struct kymo_contexts *contexts, uint32_t number, const char *test)
{
	const char *name = contexts->names[number];
	size_t length = strlen(test);

	return !strcmp(name, test) ||
	       (length && !strncmp(name, test, length) && name[length] == '|' && !strchr(name + length + 1, '|'));
}

/* How many marks come before the turn @slice or, by time, at @t_ns or before. */
static size_t marks_before(const struct kymo_process_contexts *of, bool is_by_turn, uint64_t slice, int64_t t_ns)
{
	size_t low = 0, high = of->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct kymo_context_mark *mark = &of->marks[middle];

		if (is_by_turn ? mark->slice < slice : mark->t_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct kymo_context_place kymo_contexts_at(const struct kymo_contexts *contexts,
					   const struct kymo_traced_process *process, uint32_t interpreter,
					   uint64_t slice, int64_t t_ns)
{
	int64_t until_ns = INT64_MAX;

	for (; process; process = process->parent, slice = 0) {
		const struct kymo_process_contexts *of = of_process(contexts, process);
		bool is_by_turn = of->is_by_turn && slice && of->count && of->marks[0].interpreter == interpreter;
		size_t before = marks_before(of, is_by_turn, slice, t_ns);

		if (!is_by_turn && before < of->count && of->marks[before].t_ns < until_ns)
			until_ns = of->marks[before].t_ns;
		if (before)
			return (struct kymo_context_place){of->marks[before - 1].context, until_ns};
	}
	return (struct kymo_context_place){0, until_ns};
}

bool kymo_context_walk_to(struct kymo_context_walk *walk, const struct kymo_contexts *contexts, const struct kymo_event *event,
			  const char *test)
{
	uint32_t mark = event->kind == KYMO_EVENT_MARK ? kymo_contexts_number(contexts, event->text) : KYMO_CONTEXT_SAME;
	bool was_wanted = walk->is_wanted;

	if (mark != KYMO_CONTEXT_SAME)
		walk->place = (struct kymo_context_place){mark, INT64_MAX};
	else if (event->slice != walk->turn || event->interpreter != walk->interpreter || event->t_ns >= walk->place.until_ns)
		walk->place = kymo_contexts_at(contexts, event->stream->process, event->interpreter, event->slice, event->t_ns);
	walk->turn = event->slice;
	walk->interpreter = event->interpreter;
	walk->is_wanted = kymo_context_is_of(contexts, walk->place.context, test);
	return walk->is_wanted || (was_wanted && mark != KYMO_CONTEXT_SAME);
}
