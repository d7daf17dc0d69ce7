// SPDX-License-Identifier: Apache-2.0
#include "replay/decode/merge.h"

#include <errno.h>
#include <stdlib.h>

struct source {
	struct kymo_cursor cursor;
	struct kymo_event head; /* its next event */
};

struct kymo_merge {
	struct kymo_timeline *timeline;
	int64_t from_ns;
	const struct kymo_stream **waiting; /* not begun, by start */
	size_t waiting_count, waiting_next;
	struct source **sources;
	size_t source_count, source_capacity;
	struct source *current; /* has the GIL's turn or is the earliest; NULL: choose */
	bool is_told;		/* its head was returned, and it has not moved on */
	/* how long it may continue without another look at the others */
	int64_t others_ns; /* the earliest event of sources that are ordered by time */
	int64_t waiting_ns; /* the start of the next waiting stream */
};

static int compare_starts(const void *left, const void *right)
{
	const struct kymo_stream *a = *(struct kymo_stream *const *)left;
	const struct kymo_stream *b = *(struct kymo_stream *const *)right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

int kymo_merge_open(struct kymo_merge **out, struct kymo_timeline *timeline, int64_t from_ns,
		    kymo_stream_filter filter, void *context, struct kymo_error *error)
{
	struct kymo_merge *merge = calloc(1, sizeof *merge);

	if (merge)
		merge->waiting = calloc(timeline->stream_count + 1, sizeof(struct kymo_stream *));
	if (!merge || !merge->waiting) {
		free(merge);
		return kymo_fail(error, -ENOMEM, "out of memory");
	}
	merge->timeline = timeline;
	merge->from_ns = from_ns;
	for (size_t i = 0; i < timeline->stream_count; i++)
		if (!filter || filter(&timeline->streams[i], context))
			merge->waiting[merge->waiting_count++] = &timeline->streams[i];
	qsort(merge->waiting, merge->waiting_count, sizeof(struct kymo_stream *), compare_starts);
	*out = merge;
	return 0;
}

static void end_source(struct kymo_merge *merge, size_t index)
{
	kymo_cursor_release(&merge->sources[index]->cursor);
	free(merge->sources[index]);
	merge->sources[index] = merge->sources[--merge->source_count];
}

void kymo_merge_close(struct kymo_merge *merge)
{
	if (!merge)
		return;
	while (merge->source_count)
		end_source(merge, 0);
	free(merge->sources);
	free(merge->waiting);
	free(merge);
}

/* Begin the next waiting stream. */
static int begin_source(struct kymo_merge *merge, struct kymo_error *error)
{
	const struct kymo_stream *stream = merge->waiting[merge->waiting_next++];
	struct source *source = malloc(sizeof *source);
	int result;

	if (!source || kymo_grow(&merge->sources, &merge->source_capacity, merge->source_count + 1,
				 sizeof(struct source *))) {
		free(source);
		return kymo_fail(error, -ENOMEM, "out of memory");
	}
	kymo_cursor_init(&source->cursor, merge->timeline, stream);
	kymo_cursor_seek_time(&source->cursor, merge->from_ns);
	merge->sources[merge->source_count++] = source;
	result = kymo_cursor_next(&source->cursor, &source->head, error);
	if (result <= 0)
		end_source(merge, merge->source_count - 1);
	return result < 0 ? result : 0;
}

static bool share_gil(const struct kymo_event *a, const struct kymo_event *b)
{
	return a->slice && b->slice && a->interpreter == b->interpreter &&
	       a->stream->process == b->stream->process;
}

/* The source whose event comes first: the earliest, or one that held its GIL before it. */
static struct source *choose(struct kymo_merge *merge)
{
	struct source *best = NULL;

	for (size_t i = 0; i < merge->source_count; i++)
		if (!best || merge->sources[i]->head.t_ns < best->head.t_ns)
			best = merge->sources[i];
	for (size_t i = 0; best && i < merge->source_count; i++)
		if (share_gil(&merge->sources[i]->head, &best->head) &&
		    merge->sources[i]->head.slice < best->head.slice)
			best = merge->sources[i];
	return best;
}

static void set_limits(struct kymo_merge *merge)
{
	merge->others_ns = INT64_MAX;
	for (size_t i = 0; i < merge->source_count; i++) {
		const struct source *other = merge->sources[i];

		if (other != merge->current && other->head.t_ns < merge->others_ns &&
		    !share_gil(&other->head, &merge->current->head))
			merge->others_ns = other->head.t_ns;
	}
	merge->waiting_ns = merge->waiting_next < merge->waiting_count
				    ? merge->waiting[merge->waiting_next]->start_ns
				    : INT64_MAX;
}

static int choose_current(struct kymo_merge *merge, struct kymo_error *error)
{
	for (;;) {
		const struct source *best = merge->current = choose(merge);
		int result;

		/* A stream that began before this event's latest possible time may come first. */
		if (merge->waiting_next == merge->waiting_count ||
		    (best && merge->waiting[merge->waiting_next]->start_ns >
				     best->head.t_ns + (int64_t)best->head.t_err_ns))
			break;
		result = begin_source(merge, error);
		if (result)
			return result;
	}
	if (merge->current)
		set_limits(merge);
	return 0;
}

/* Advance the source of the event returned last. Only now, because the cursor owns what the event points at. */
static int advance(struct kymo_merge *merge, struct kymo_error *error)
{
	struct source *source = merge->current;
	uint64_t slice = source->head.slice;
	uint32_t interpreter = source->head.interpreter;
	int result = kymo_cursor_next(&source->cursor, &source->head, error);

	merge->is_told = false;
	if (result < 0)
		return result;
	if (!result) {
		for (size_t i = 0; i < merge->source_count; i++)
			if (merge->sources[i] == source) {
				end_source(merge, i);
				break;
			}
		merge->current = NULL;
	} else if (source->head.slice != slice || source->head.interpreter != interpreter ||
		   source->head.t_ns > merge->others_ns ||
		   source->head.t_ns + (int64_t)source->head.t_err_ns >= merge->waiting_ns) {
		merge->current = NULL;
	}
	return 0;
}

int kymo_merge_next(struct kymo_merge *merge, struct kymo_event *event, struct kymo_error *error)
{
	int result = merge->is_told ? advance(merge, error) : 0;

	if (!result && !merge->current)
		result = choose_current(merge, error);
	if (result)
		return result;
	if (!merge->current)
		return 0;
	*event = merge->current->head;
	merge->is_told = true;
	return 1;
}
