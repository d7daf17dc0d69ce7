// SPDX-License-Identifier: Apache-2.0
#define KYMO_HISTORY_API __attribute__((visibility("default")))
#include "replay/library/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/kinds.h"
#include "replay/library/describe_json.h"
#include "replay/library/history_private.h"
#include "replay/library/sized.h"
#include "replay/values/event_values.h"
#include "replay/decode/merge.h"
#include "replay/trace/sources.h"
#include "replay/trace/text.h"

int kymo_history_open(const char *path, struct kymo_history **out, char *error, size_t error_bytes)
{
	struct kymo_history *history = calloc(1, sizeof *history);
	int result = history ? kymo_indexed_open(&history->trace, path, true, NULL, &history->error) : -ENOMEM;

	if (result) {
		kymo_error_copy(history ? &history->error : &(struct kymo_error){"out of memory"}, error, error_bytes);
		free(history);
		return result;
	}
	*out = history;
	return 0;
}

void kymo_history_close(struct kymo_history *history)
{
	if (!history)
		return;
	kymo_indexed_close(&history->trace);
	free(history);
}

const char *kymo_history_error(const struct kymo_history *history)
{
	return history->error.message;
}

void kymo_history_free(void *memory)
{
	free(memory);
}

char *kymo_history_describe(struct kymo_history *history)
{
	return kymo_describe_json(&history->trace.timeline, &history->trace.index);
}

void kymo_history_put_event(const struct kymo_timeline *timeline, const struct kymo_event *event,
			    struct kymo_history_event *out)
{
	const struct kymo_content *content = event->code ? event->code->content : NULL;

	*out = (struct kymo_history_event){
		.n = event->n,
		.k = event->k,
		.thread = (uint32_t)(event->stream - timeline->streams),
		.kind = kymo_event_kind_name(event->kind),
		.file = content ? content->file : NULL,
		.function = content ? content->function : NULL,
		.name = event->kind == KYMO_EVENT_MARK ? event->text : kymo_event_name_role(event) ? event->name : NULL,
		.line = event->kind < KYMO_KINDS ? kymo_event_line(event) : -1,
		.offset = kymo_event_has_offset(event) ? (int64_t)event->offset * KYMO_CODE_UNIT : -1,
		.dest = kymo_event_has_dest(event) ? (int64_t)event->dest * KYMO_CODE_UNIT : -1,
		.t_ns = event->t_ns,
		.t_err_ns = event->t_err_ns,
		.lost = event->kind == KYMO_EVENT_GAP ? event->lost : 0,
		.lost_reasons = event->kind == KYMO_EVENT_GAP ? event->lost_reasons : 0,
		.interpreter = event->interpreter,
		.turn = event->slice,
		.task = event->task_id,
		.task_name = event->task ? event->task->name : NULL,
		.first_line = event->first_line ? event->first_line : -1,
		.last_line = event->first_line ? event->last_line : -1,
	};
}

int kymo_history_values(const struct kymo_event *event, enum kymo_history_values how, char **values)
{
	struct kymo_json json = {0};
	size_t bytes;

	*values = NULL;
	if (!event->values.bytes)
		return 0;
	json.out = open_memstream(values, &bytes);
	if (!json.out)
		return -ENOMEM;
	kymo_json_begin(&json, NULL, '{');
	(how == KYMO_HISTORY_VALUES_BRIEF ? kymo_event_put_values_brief : kymo_event_put_values_json)(&json, event);
	kymo_json_end(&json, "}");
	if (fclose(json.out)) {
		free(*values);
		*values = NULL;
		return -ENOMEM;
	}
	return 0;
}

struct kymo_history_events {
	struct kymo_history *history;
	struct kymo_merge *merge;
	struct kymo_history_slice slice;
	uint64_t kinds;
	/* the last match of slice.files */
	const struct kymo_code *asked;
	bool is_wanted;
	/* values of the event that was read last */
	char **values;
	size_t values_count, values_capacity;
};

static bool wants_stream(const struct kymo_stream *stream, void *context)
{
	const struct kymo_history_events *events = context;

	return events->slice.thread < 0 ||
	       (size_t)events->slice.thread == (size_t)(stream - events->history->trace.timeline.streams);
}

uint64_t kymo_history_kinds(const char *names)
{
	uint64_t kinds = 0;

	if (!names)
		return UINT64_MAX;
	while (*names) {
		size_t length = strcspn(names, ",");
		uint64_t before = kinds;

		for (unsigned kind = 1; kind < KYMO_EVENT_KINDS; kind++) {
			const char *name = kymo_event_kind_name(kind);

			if (name && strlen(name) == length && !strncmp(name, names, length))
				kinds |= UINT64_C(1) << kind;
		}
		if (kinds == before)
			return 0;
		names += length + (names[length] == ',');
	}
	return kinds;
}

int kymo_history_events_open(struct kymo_history *history, const struct kymo_history_slice *given,
			     struct kymo_history_events **out)
{
	struct kymo_history_events *events = calloc(1, sizeof *events);
	const struct kymo_history_slice *slice;
	int result;

	if (!events)
		return kymo_fail(&history->error, -ENOMEM, "out of memory");
	events->history = history;
	result = kymo_sized_take(&events->slice, given, sizeof *given, &history->error);
	slice = &events->slice;
	events->kinds = kymo_history_kinds(slice->kinds);
	if (result)
		;
	else if (slice->thread >= 0 && (size_t)slice->thread >= history->trace.timeline.stream_count)
		result = kymo_fail(&history->error, -EINVAL, "no thread %d", (int)slice->thread);
	else if (slice->values > KYMO_HISTORY_VALUES_NONE)
		result = kymo_fail(&history->error, -EINVAL, "unknown way %u to report values", (unsigned)slice->values);
	else if (!events->kinds)
		result = kymo_fail(&history->error, -EINVAL, "'%s': no such event", slice->kinds);
	else
		result = kymo_merge_open(&events->merge, &history->trace.timeline, slice->from_ns, wants_stream, events,
					 &history->error);
	if (result)
		free(events);
	else
		*out = events;
	return result;
}

static bool wants_code(struct kymo_history_events *events, const struct kymo_code *code)
{
	const char *const *file = events->slice.files;

	if (!file || !code)
		return true;
	if (code != events->asked) {
		while (*file && strcmp(*file, code->content->file))
			file++;
		events->asked = code;
		events->is_wanted = *file;
	}
	return events->is_wanted;
}

static void forget_values(struct kymo_history_events *events)
{
	while (events->values_count)
		free(events->values[--events->values_count]);
}

static int put_values(struct kymo_history_events *events, const struct kymo_event *event, struct kymo_history_event *out)
{
	char *values;

	if (!event->values.bytes || events->slice.values == KYMO_HISTORY_VALUES_NONE)
		return 0;
	if (kymo_grow(&events->values, &events->values_capacity, events->values_count + 1, sizeof(*events->values)) ||
	    kymo_history_values(event, (enum kymo_history_values)events->slice.values, &values))
		return kymo_fail(&events->history->error, -ENOMEM, "out of memory");
	out->values = events->values[events->values_count++] = values;
	return 0;
}

int kymo_history_events_read(struct kymo_history_events *events, struct kymo_history_event *out, int count)
{
	size_t stride = out->size;
	struct kymo_history_event told;
	struct kymo_event event;
	int done = 0, result = 1;

	forget_values(events);
	if (!kymo_sized_bytes(out, sizeof told))
		return kymo_fail(&events->history->error, -EINVAL, "kymo_history_event.size of the first event is not set");
	while (done < count && (result = kymo_merge_next(events->merge, &event, &events->history->error)) > 0) {
		/* What comes after this one happened after its lower bound. */
		if (event.t_ns - (int64_t)event.t_err_ns > events->slice.to_ns)
			break;
		if (event.t_ns < events->slice.from_ns || event.t_ns > events->slice.to_ns ||
		    !(events->kinds >> event.kind & 1) || !wants_code(events, event.code))
			continue;
		kymo_history_put_event(&events->history->trace.timeline, &event, &told);
		result = put_values(events, &event, &told);
		kymo_sized_put(out, (size_t)done++, &told, sizeof told, stride);
		if (result)
			break;
	}
	return result < 0 ? result : done;
}

void kymo_history_events_close(struct kymo_history_events *events)
{
	if (!events)
		return;
	kymo_merge_close(events->merge);
	forget_values(events);
	free(events->values);
	free(events);
}

int kymo_history_source(struct kymo_history *history, uint32_t thread, const char *file, char **text, size_t *bytes)
{
	struct kymo_source source;
	int result;

	if (thread >= history->trace.timeline.stream_count)
		return kymo_fail(&history->error, -EINVAL, "no thread %u", (unsigned)thread);
	result = kymo_traced_source(&history->trace.timeline, history->trace.timeline.streams[thread].process, file, &source,
				    &history->error);
	if (result == -ENOENT)
		return kymo_fail(&history->error, result, "%s: the trace does not hold this source", file);
	if (result)
		return result;
	if (!source.text) {
		result = kymo_fail(&history->error, -ENOENT, "%s: %s", file, source.missing);
		kymo_source_release(&source);
		return result;
	}
	*text = source.text;
	*bytes = source.bytes;
	source.text = NULL;
	result = source.is_verified;
	kymo_source_release(&source);
	return result;
}
