// SPDX-License-Identifier: Apache-2.0
#include "replay/moves/named_places.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/moves/replay_walks.h"
#include "replay/moves/tests_of.h"

bool kymo_parse_time(const char *text, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; end > text && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].name) && value * units[i].ns > -9e18 && value * units[i].ns < 9e18) {
			*ns = (int64_t)(value * units[i].ns);
			return true;
		}
	return false;
}

static const struct kymo_position first_event = {0}, last_event = {UINT64_MAX, 0};

/* The ordinal at @percent of the thread's events. */
static uint64_t at_percent(const struct kymo_replay *replay, size_t stream, double percent)
{
	const struct kymo_chunk_summary *first = kymo_first_chunk(replay, stream), *end = kymo_end_chunk(replay, stream);

	if (first == end)
		return 0;
	return first->first_n + (uint64_t)((double)(end[-1].last_n - first->first_n) * percent / 100);
}

static int go_to_mark(struct kymo_replay *replay, const char *text, struct kymo_error *error)
{
	const struct kymo_timeline *timeline = replay->timeline;
	struct kymo_moment now = kymo_moment_of(timeline, kymo_replay_event(replay));
	const struct kymo_index_mark *first = NULL, *next = NULL;

	for (size_t i = 0; i < replay->index->mark_count; i++) {
		const struct kymo_index_mark *mark = &replay->index->marks[i];
		const char *name = kymo_traced_text(timeline->streams[mark->stream].process, mark->text);
		struct kymo_moment then = {.stream = mark->stream, .at = {mark->n, 0}, .t_ns = mark->t_ns};

		if (!name || strcmp(name, text))
			continue;
		if (!first || mark->t_ns < first->t_ns)
			first = mark;
		if (kymo_moment_compare(timeline, &then, &now) > 0 && (!next || mark->t_ns < next->t_ns))
			next = mark;
	}
	next = next ? next : first;
	if (!next)
		return kymo_fail(error, -EINVAL, "'%s' is not a time (12.5s, 30ms), event (#123), N%%, start, end, test NAME or mark", text);
	return kymo_replay_seek(replay, next->stream, (struct kymo_position){next->n, 0}, error);
}

int kymo_replay_goto(struct kymo_replay *replay, const char *place, struct kymo_error *error)
{
	size_t stream = kymo_replay_stream(replay);
	int64_t t_ns;
	double percent;
	char *end;

	if (!strcmp(place, "start"))
		return kymo_replay_seek(replay, replay->index->chunks[0].stream, first_event, error);
	if (!strcmp(place, "end"))
		return kymo_replay_goto_end(replay, error);
	if (*place == '#' && isdigit((unsigned char)place[1])) {
		uint64_t n = strtoull(place + 1, &end, 10);

		if (!*end)
			return kymo_replay_seek(replay, stream, (struct kymo_position){n, 0}, error);
	}
	if (!strncmp(place, "test ", 5))
		return kymo_replay_goto_test(replay, place + 5 + strspn(place + 5, " \t"), error);
	percent = strtod(place, &end);
	if (end > place && !strcmp(end, "%") && !(percent >= 0 && percent <= 100)) /* also false for NaN */
		return kymo_fail(error, -EINVAL, "'%s' is outside of the run: 0%% to 100%% of this thread's events", place);
	if (end > place && !strcmp(end, "%"))
		return kymo_replay_seek(replay, stream,
					(struct kymo_position){at_percent(replay, stream, percent), 0}, error);
	if (kymo_parse_time(place, &t_ns))
		return kymo_replay_seek_time(replay, stream, t_ns, error);
	return go_to_mark(replay, place, error);
}

/* An exception that nothing catches. */
static bool ends_thread(const struct kymo_walker *walker, const void *context)
{
	const struct kymo_event *event = &walker->event;

	(void)context;
	return kymo_leaves_thread(walker) && event->name && !kymo_traced_is_type(event->stream->process, event->name_id, "SystemExit");
}

static bool leaves_module(const struct kymo_walker *walker, const void *context)
{
	const struct kymo_event *event = &walker->event;

	(void)context;
	return event->kind == KYMO_PY_RETURN && event->code && !strcmp(event->code->content->function, "<module>");
}

/* The replay stands at a thread's end: go to where the exception that ended the thread was raised. */
static int go_to_raise(struct kymo_replay *replay, struct kymo_error *error)
{
	const struct kymo_event *event = kymo_replay_event(replay);
	const struct kymo_chunk_summary *chunk;
	struct kymo_position found;
	int result = kymo_stand_at_last(replay, kymo_this_chunk(replay), kymo_position_of(event), ends_thread, NULL, error);

	if (result <= 0)
		return result;
	chunk = kymo_this_chunk(replay);
	result = kymo_find_raise(replay, &chunk, kymo_position_of(event), event->name, &found, error);
	return result > 0 ? kymo_stand_at(replay, chunk, found, error) : result;
}

int kymo_replay_leave_shutdown(struct kymo_replay *replay, const struct kymo_moment *from, struct kymo_error *error)
{
	struct kymo_moment here;
	size_t stream = kymo_replay_stream(replay);
	int result;

	if (stream != replay->index->chunks[0].stream)
		return 0;
	result = kymo_stand_at_last(replay, kymo_this_chunk(replay), kymo_position_of(kymo_replay_event(replay)), leaves_module, NULL, error);
	here = kymo_moment_of(replay->timeline, kymo_replay_event(replay));
	if (result <= 0 || kymo_moment_compare(replay->timeline, &here, from) >= 0)
		return result < 0 ? result : 0;
	/* It was behind that before. */
	return kymo_replay_seek(replay, from->stream, from->at, error);
}

int kymo_replay_goto_end(struct kymo_replay *replay, struct kymo_error *error)
{
	const struct kymo_timeline *timeline = replay->timeline;
	size_t stream = replay->index->chunks[0].stream;
	const struct kymo_traced_process *process = timeline->streams[stream].process;
	const Kymo__ProcessEnd *end = process->end;
	int result = kymo_replay_seek(replay, stream, last_event, error);

	if (result || !end)
		return result;
	if (end->how == KYMO__PROCESS_END__HOW__EXITED && end->status == 1)
		return go_to_raise(replay, error);
	if (end->how == KYMO__PROCESS_END__HOW__SIGNALED) {
		struct kymo_moment latest = kymo_moment_of(timeline, kymo_replay_event(replay));

		for (size_t other = stream + 1; other < timeline->stream_count; other++) {
			struct kymo_moment moment;

			if (timeline->streams[other].process != process ||
			    kymo_first_chunk(replay, other) == kymo_end_chunk(replay, other))
				continue;
			result = kymo_replay_seek(replay, other, last_event, error);
			if (result)
				return result;
			moment = kymo_moment_of(timeline, kymo_replay_event(replay));
			if (kymo_moment_compare(timeline, &moment, &latest) > 0)
				latest = moment;
		}
		return kymo_replay_seek(replay, latest.stream, latest.at, error);
	}
	result = kymo_stand_at_last(replay, kymo_this_chunk(replay), kymo_position_of(kymo_replay_event(replay)),
				    leaves_module, NULL, error);
	return result < 0 ? result : 0;
}

/* A distance up to this counts as being there. */
#define NEAR_NS 1000000

char *kymo_replay_describe_reached(const struct kymo_replay *replay, const char *place)
{
	const struct kymo_event *event = kymo_replay_event(replay);
	int64_t wanted, off;
	char *text = NULL;

	if (!kymo_parse_time(place, &wanted))
		return NULL;
	off = event->t_ns > wanted ? event->t_ns - wanted : wanted - event->t_ns;
	if (off <= NEAR_NS || (uint64_t)off <= event->t_err_ns)
		return NULL;
	if (asprintf(&text, event->t_ns > wanted ? "this thread's first event comes later, at %.6f s" : "this thread's last event up to then, at %.6f s",
		     (double)event->t_ns / 1e9) < 0)
		return NULL;
	return text;
}
