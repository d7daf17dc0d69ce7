// SPDX-License-Identifier: Apache-2.0
/* The values of variables when each line ran last: one pass finds the events, another reads their values. */
#define KYMO_HISTORY_API __attribute__((visibility("default")))
#include <errno.h>
#include <stdlib.h>

#include "replay/library/history_private.h"
#include "replay/library/sized.h"
#include "replay/profile/lookup.h"
#include "replay/values/event_values.h"
#include "replay/decode/merge.h"
#include "replay/trace/text.h"

#define COLUMNS 100U
#define NO_LINE (-1)

/* Equal: the same code, line and kind. */
struct last {
	const struct kymo_content *content;
	int64_t line; /* NO_LINE: for the call as a whole */
	unsigned kind;
	bool is_told; /* false: it had no values this time */
	const struct kymo_stream *stream;
	uint64_t n;
	uint32_t k;
	uint64_t order; /* of all events */
	char *text;
};

struct lines {
	int64_t *of; /* of each frame, the last one */
	size_t count, capacity;
};

struct search {
	struct kymo_history *history;
	const struct kymo_history_slice *slice;
	const unsigned char *threads;
	uint64_t kinds, most;
	struct lines *lines; /* by thread */
	struct last *found;
	size_t count, capacity;
	struct kymo_lookup by_place, by_event;
	uint64_t order;
	bool is_cut;
};

#define EVENT(kind) (UINT64_C(1) << (kind))
#define ENTRIES (EVENT(KYMO_PY_START) | EVENT(KYMO_PY_START_AT) | EVENT(KYMO_PY_RESUME) | EVENT(KYMO_PY_THROW))
#define EXITS (EVENT(KYMO_PY_RETURN) | EVENT(KYMO_PY_YIELD) | EVENT(KYMO_PY_UNWIND))

static uint32_t hash_event(const struct kymo_stream *stream, uint64_t n, uint32_t k)
{
	return (uint32_t)kymo_hash_mix(kymo_hash_mix((uintptr_t)stream, n), k);
}

/* NULL: there was none and it is not to be @made, or no memory. */
static struct last *find(struct search *search, const struct kymo_event *event, int64_t line, bool is_made)
{
	const struct kymo_content *content = event->code->content;
	uint32_t hash = (uint32_t)kymo_hash_mix(kymo_hash_mix((uintptr_t)content, (uint64_t)line), event->kind), number;

	for (size_t at = hash; (number = kymo_lookup_next(&search->by_place, hash, &at)); at++) {
		struct last *last = &search->found[number - 1];

		if (last->content == content && last->line == line && last->kind == event->kind)
			return last;
	}
	number = (uint32_t)search->count + 1;
	if (!is_made || number == UINT32_MAX ||
	    kymo_grow(&search->found, &search->capacity, number, sizeof(*search->found)) ||
	    kymo_lookup_add(&search->by_place, hash, number))
		return NULL;
	search->found[search->count++] = (struct last){.content = content, .line = line, .kind = event->kind};
	return &search->found[number - 1];
}

static int note(struct search *search, const struct kymo_event *event, int64_t line)
{
	struct last *last = find(search, event, line, event->values.bytes);

	if (!last)
		return event->values.bytes ? -ENOMEM : 0;
	last->is_told = event->values.bytes;
	last->stream = event->stream;
	last->n = event->n;
	last->k = event->k;
	last->order = search->order;
	return 0;
}

/* At a LINE event the line before it has run: changes are shown at that line. */
static int note_event(struct search *search, const struct kymo_event *event, struct lines *lines)
{
	int64_t line = event->kind < KYMO_KINDS ? kymo_event_line(event) : NO_LINE, place = line;
	uint64_t bit = EVENT(event->kind);
	int result = 0;

	if (event->kind == KYMO_EVENT_GAP) {
		lines->count = 0;
		return 0;
	}
	if (bit & ENTRIES || (event->kind == KYMO_LINE && !lines->count)) {
		if (kymo_grow(&lines->of, &lines->capacity, lines->count + 1, sizeof(*lines->of)))
			return -ENOMEM;
		lines->of[lines->count++] = bit & ENTRIES ? NO_LINE : line;
	} else if (event->kind == KYMO_LINE) {
		place = lines->of[lines->count - 1];
	}
	if (event->code && place >= 0 && (event->values.bytes || event->kind == KYMO_LINE))
		result = note(search, event, place);
	if (!result && event->code && event->values.bytes && (event->kind == KYMO_PY_START || event->kind == KYMO_PY_RETURN))
		result = note(search, event, NO_LINE);
	if (event->kind == KYMO_LINE)
		lines->of[lines->count - 1] = line;
	else if (bit & EXITS && lines->count)
		lines->count--;
	return result;
}

/* Its text, if it is the last at its places. */
static int tell_event(struct search *search, const struct kymo_event *event, struct lines *lines)
{
	uint32_t hash = hash_event(event->stream, event->n, event->k), number;

	(void)lines;
	for (size_t at = hash; (number = kymo_lookup_next(&search->by_event, hash, &at)); at++) {
		struct last *last = &search->found[number - 1];
		size_t bytes;
		FILE *out;

		if (last->stream != event->stream || last->n != event->n || last->k != event->k || last->kind != event->kind)
			continue;
		out = open_memstream(&last->text, &bytes);
		if (!out)
			return -ENOMEM;
		kymo_event_put_values(out, event, COLUMNS);
		if (fclose(out))
			return -ENOMEM;
	}
	return 0;
}

static bool wants_stream(const struct kymo_stream *stream, void *context)
{
	const struct search *search = context;

	return !search->threads || search->threads[stream - search->history->trace.timeline.streams];
}

static int each_event(struct search *search, int (*take)(struct search *, const struct kymo_event *, struct lines *))
{
	struct kymo_history *history = search->history;
	const struct kymo_history_slice *slice = search->slice;
	struct kymo_merge *merge;
	struct kymo_event event;
	int result = kymo_merge_open(&merge, &history->trace.timeline, slice->from_ns, wants_stream, search, &history->error);

	if (result)
		return result;
	search->order = 0;
	while ((result = kymo_merge_next(merge, &event, &history->error)) > 0) {
		if (event.t_ns - (int64_t)event.t_err_ns > slice->to_ns)
			break;
		if (event.t_ns < slice->from_ns || event.t_ns > slice->to_ns || !(search->kinds & EVENT(event.kind)))
			continue;
		search->is_cut = search->order == search->most;
		if (search->is_cut)
			break;
		search->order++;
		if (take(search, &event, &search->lines[event.stream - history->trace.timeline.streams])) {
			result = kymo_fail(&history->error, -ENOMEM, "out of memory");
			break;
		}
	}
	kymo_merge_close(merge);
	return result < 0 ? result : 0;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = ((const struct last *)left)->order, b = ((const struct last *)right)->order;

	return a < b ? -1 : a > b;
}

static int put(struct search *search, char **json)
{
	size_t bytes;
	FILE *out = open_memstream(json, &bytes);

	if (!out)
		return -ENOMEM;
	if (search->count)
		qsort(search->found, search->count, sizeof(*search->found), compare);
	fprintf(out, "{\"is_cut\": %s, \"rows\": [", search->is_cut ? "true" : "false");
	for (size_t i = 0; i < search->count; i++) {
		const struct last *last = &search->found[i];

		fputs(i ? ",\n[" : "\n[", out);
		kymo_json_put(out, last->content->file);
		fputs(", ", out);
		kymo_json_put(out, last->content->function);
		fprintf(out, ", %lld, \"%s\", ", (long long)last->line, kymo_event_kind_name(last->kind));
		if (last->is_told)
			kymo_json_put(out, last->text ? last->text : "");
		else
			fputs("null", out);
		fputc(']', out);
	}
	fputs("]}", out);
	if (fclose(out)) {
		free(*json);
		return -ENOMEM;
	}
	return 0;
}

int kymo_history_last_values(struct kymo_history *history, const struct kymo_history_slice *given,
			     const unsigned char *threads, uint64_t most, char **json)
{
	size_t streams = history->trace.timeline.stream_count;
	struct kymo_history_slice slice = {0};
	struct search search = {
		.history = history,
		.slice = &slice,
		.threads = threads,
		.most = most,
		.lines = calloc(streams + 1, sizeof(*search.lines)),
	};
	int result = search.lines ? 0 : kymo_fail(&history->error, -ENOMEM, "out of memory");

	if (!result)
		result = kymo_sized_take(&slice, given, sizeof slice, &history->error);
	search.kinds = kymo_history_kinds(slice.kinds);

	if (!result)
		result = each_event(&search, note_event);
	for (size_t i = 0; i < search.count && !result; i++)
		if (kymo_lookup_add(&search.by_event, hash_event(search.found[i].stream, search.found[i].n, search.found[i].k),
				    (uint32_t)i + 1))
			result = kymo_fail(&history->error, -ENOMEM, "out of memory");
	if (!result)
		result = each_event(&search, tell_event);
	if (!result && put(&search, json))
		result = kymo_fail(&history->error, -ENOMEM, "out of memory");
	for (size_t i = 0; i < streams && search.lines; i++)
		free(search.lines[i].of);
	for (size_t i = 0; i < search.count; i++)
		free(search.found[i].text);
	free(search.lines);
	free(search.found);
	free(search.by_place.slots);
	free(search.by_event.slots);
	return result;
}
