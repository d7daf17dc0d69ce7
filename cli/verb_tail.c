// SPDX-License-Identifier: Apache-2.0
/* `kymo tail`: what every thread did last, and how the process ended. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/event_json.h"
#include "cli/option_table.h"
#include "cli/unrecorded_processes.h"
#include "replay/decode/thread_cursor.h"
#include "replay/moves/named_places.h"
#include "replay/trace/describe.h"
#include "replay/trace/json_writer.h"
#include "replay/trace/shown_files.h"
#include "replay/trace/text.h"
#include "replay/values/event_values.h"

#define DEFAULT_EVENTS 10
#define MAX_EVENTS 1000000
#define ALL_KINDS UINT64_MAX
#define VALUE_COLUMNS 100

/* How many events of a thread are searched if the project's code ran long ago, or never, as in a thread of a library. */
#define MOST_LOOKED_THROUGH 1000000

struct kept {
	struct kymo_event event;
	char *values;	 /* as they are printed; NULL: none */
	uint64_t folded; /* events of other code that come before it */
};

/* What is asked for, and a thread's newest events of that kind. */
struct newest {
	struct kept *kept;
	uint64_t room;
	uint64_t seen; /* events; the last @room of them are kept */
	uint64_t kinds;
	int64_t last_ns, from_ns;
	uint64_t process; /* 0: all */
	const char *mark; /* NULL: up to the end */
	struct kymo_event until; /* that mark; of stream NULL: none */
	bool is_seeking;	 /* the marks themselves are collected */
	bool as_json;
	struct kymo_words omitted;
	/* the last answer to what --omit asks */
	const struct kymo_code *asked;
	bool is_omitted;
	struct kymo_shown_files shown;
	bool folds;	 /* events of code that is not shown are counted; else they are left out */
	bool is_all;	 /* ... or shown, too */
	uint64_t folded; /* since the last one that is kept */
	struct kymo_event last_folded;
	bool is_cut; /* there are more events before those that were searched */
};

static bool is_omitted(struct newest *newest, const struct kymo_code *code)
{
	if (!code || !code->content)
		return false;
	if (code != newest->asked) {
		newest->asked = code;
		newest->is_omitted = false;
		for (size_t i = 0; i < newest->omitted.count; i++)
			newest->is_omitted |= !fnmatch(newest->omitted.words[i], code->content->file, 0);
	}
	return newest->is_omitted;
}

/* Between threads by time, which has its error. */
static bool is_after(const struct kymo_event *event, const struct kymo_event *until)
{
	if (event->stream == until->stream)
		return event->n > until->n || (event->n == until->n && !event->k);
	return event->t_ns - (int64_t)event->t_err_ns > until->t_ns;
}

static bool is_wanted(struct newest *newest, const struct kymo_event *event)
{
	return newest->kinds >> event->kind & 1 && event->t_ns >= newest->from_ns && !is_omitted(newest, event->code);
}

/* True if a wanted event is shown itself, not only counted. */
static bool is_shown(struct newest *newest, const struct kymo_event *event)
{
	return newest->is_all || kymo_shown_files_has(&newest->shown, event->code ? event->code->content : NULL);
}

static bool is_mark(const struct newest *newest, const struct kymo_event *event)
{
	return event->kind == KYMO_EVENT_MARK && event->text && !strcmp(event->text, newest->mark);
}

/* The last chunk that has @room events behind its start. */
static size_t near_end(const struct kymo_index_entry **chunks, size_t count, uint64_t room)
{
	size_t chunk = count - 1;

	/* The number of events in the last chunk is not known while it is open. */
	for (; chunk; chunk--)
		if (chunks[count - 1]->first_ordinal - chunks[chunk]->first_ordinal >= room)
			break;
	return chunk;
}

/* Values lie in the cursor's present chunk, so they are written while it is there. */
static int keep_event(struct newest *newest, const struct kymo_event *event)
{
	struct kept *place = &newest->kept[newest->seen++ % newest->room];
	size_t bytes;
	FILE *out;

	free(place->values);
	*place = (struct kept){.event = *event, .folded = newest->folded};
	place->event.values.payload = NULL; /* that there are some is still known */
	newest->folded = 0;
	if (!event->values.bytes)
		return 0;
	out = open_memstream(&place->values, &bytes);
	if (!out)
		return -ENOMEM;
	if (newest->as_json)
		kymo_event_put_json(out, event);
	else
		kymo_event_put_values(out, event, VALUE_COLUMNS);
	return fclose(out) ? -ENOMEM : 0;
}

static int take_event(struct newest *newest, const struct kymo_event *event)
{
	if (newest->is_seeking)
		return is_mark(newest, event) ? keep_event(newest, event) : 0;
	if (!is_wanted(newest, event))
		return 0;
	if (is_shown(newest, event))
		return keep_event(newest, event);
	newest->folded++;
	newest->last_folded = *event;
	return 0;
}

static int collect_from_chunk(struct kymo_timeline *timeline, const struct kymo_stream *stream, size_t chunk,
			struct newest *newest, struct kymo_error *error)
{
	struct kymo_cursor cursor;
	struct kymo_event event;
	int result;

	newest->seen = newest->folded = 0;
	if (newest->is_seeking)
		kymo_cursor_init_recorded(&cursor, timeline, stream);
	else
		kymo_cursor_init(&cursor, timeline, stream);
	if (chunk)
		kymo_cursor_seek_chunk(&cursor, chunk);
	while ((result = kymo_cursor_next(&cursor, &event, error)) > 0) {
		if (!newest->is_seeking && newest->until.stream && is_after(&event, &newest->until)) {
			result = 0;
			break;
		}
		if (take_event(newest, &event)) {
			result = kymo_fail(error, -ENOMEM, "out of memory");
			break;
		}
	}
	kymo_cursor_release(&cursor);
	return result;
}

static bool is_far_back(const struct newest *newest, const struct kymo_index_entry **chunks, size_t count, size_t chunk)
{
	return newest->folds && !newest->is_seeking &&
	       chunks[count - 1]->first_ordinal - chunks[chunk]->first_ordinal >= MOST_LOOKED_THROUGH;
}

/* The number of the stream's chunks that begin before that. */
static size_t count_until(struct kymo_timeline *timeline, const struct kymo_stream *stream, const struct kymo_event *until)
{
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;
	size_t count = stream->chunk_count;

	if (!until->stream)
		return count;
	while (count && (stream == until->stream
				 ? chunks[count - 1]->first_ordinal > until->n
				 : kymo_clock_ns(&timeline->clock, chunks[count - 1]->open_clock) > until->t_ns))
		count--;
	return count;
}

static int collect_stream(struct kymo_timeline *timeline, const struct kymo_stream *stream,
		   struct newest *newest, struct kymo_error *error)
{
	const struct kymo_index_entry **chunks = timeline->chunks + stream->first_chunk;
	size_t count = newest->is_seeking ? stream->chunk_count : count_until(timeline, stream, &newest->until);
	size_t chunk = count ? near_end(chunks, count, newest->room) : 0;

	/* If few of the events are wanted, go back further. */
	for (;;) {
		int result = collect_from_chunk(timeline, stream, chunk, newest, error);
		size_t back = 2 * (count - chunk);

		newest->is_cut = chunk && is_far_back(newest, chunks, count, chunk);
		if (result || !chunk || newest->seen >= newest->room || newest->is_cut ||
		    kymo_clock_ns(&timeline->clock, chunks[chunk]->open_clock) < newest->from_ns)
			return result;
		chunk = back < count ? count - back : 0;
	}
}

static uint64_t first_kept(const struct newest *newest)
{
	return newest->seen > newest->room ? newest->seen - newest->room : 0;
}

/* Between events that are shown, or at the end of the thread. */
static void print_folded(const struct newest *newest, uint64_t count, bool is_at_end)
{
	char text[KYMO_TEXT_BYTES];

	if (!count || !newest->folds)
		return;
	printf("    %14s  %s%s of other code (--all)", "…", newest->is_cut && is_at_end && !newest->seen ? "more than " : "",
	       kymo_text_counted(count, "event", text));
	if (is_at_end) {
		printf(", the last: %s ", kymo_event_kind_name(newest->last_folded.kind));
		kymo_event_put_place(stdout, &newest->last_folded);
	}
	putchar('\n');
}

static void print_stream(const struct kymo_stream *stream, const struct newest *newest)
{
	fputs("  ", stdout);
	kymo_stream_put_name(stdout, stream);
	if (stream->thread && stream->thread->native_id)
		printf(", id %" PRIu64, stream->thread->native_id);
	putchar('\n');
	for (uint64_t i = first_kept(newest); i < newest->seen; i++) {
		const struct kept *kept = &newest->kept[i % newest->room];
		const struct kymo_event *event = &kept->event;

		/* Events before the first one are those that -n leaves out. */
		print_folded(newest, i > first_kept(newest) ? kept->folded : 0, false);
		printf("    %14.6f  %-17s ", (double)event->t_ns / 1e9,
		       kymo_event_kind_name(event->kind));
		kymo_event_put_place(stdout, event);
		if (kept->values)
			fputs(kept->values, stdout);
		putchar('\n');
	}
	print_folded(newest, newest->folded, true);
}

static void print_stream_json(struct kymo_json *json, const struct kymo_stream *stream, const struct newest *newest)
{
	kymo_json_begin(json, NULL, '{');
	kymo_json_u64(json, "thread", stream->number);
	kymo_json_u64(json, "tid", stream->thread ? stream->thread->native_id : 0);
	kymo_json_string(json, "name", stream->thread ? stream->thread->name : NULL);
	kymo_json_begin(json, "events", '[');
	for (uint64_t i = first_kept(newest); i < newest->seen; i++) {
		const struct kept *kept = &newest->kept[i % newest->room];

		if (kept->values)
			fputs(kept->values, kymo_json_next(json, NULL));
		else
			kymo_event_put_json(kymo_json_next(json, NULL), &kept->event);
	}
	kymo_json_end(json, "]}");
}

static void print_process(const struct kymo_timeline *timeline, const struct kymo_traced_process *process)
{
	char text[KYMO_DESCRIBE_BYTES];

	printf("process %" PRIu32 "  ", process->pid);
	kymo_process_put_command(stdout, process);
	printf("\n  %s\n", kymo_describe_end(timeline, process, text));
}

static void begin_process_json(struct kymo_json *json, const struct kymo_timeline *timeline, const struct kymo_traced_process *process)
{
	char text[KYMO_DESCRIBE_BYTES];

	kymo_json_begin(json, NULL, '{');
	kymo_json_u64(json, "pid", process->pid);
	kymo_json_string(json, "end", kymo_describe_end(timeline, process, text));
	kymo_json_begin(json, "threads", '[');
}

static void end_json(struct kymo_json *json, const struct kymo_definitions *definitions, uint64_t pid, bool has_processes)
{
	json_t *unrecorded = kymo_unrecorded_json(definitions, pid);

	kymo_json_end(json, has_processes ? "]}]" : "]");
	json_dumpf(unrecorded, kymo_json_next(json, "unrecorded"), JSON_COMPACT);
	kymo_json_end(json, "}");
	putchar('\n');
	json_decref(unrecorded);
}

static int print_trace(struct kymo_timeline *timeline, struct newest *newest, struct kymo_error *error)
{
	const struct kymo_traced_process *process = NULL;
	struct kymo_json json = {.out = stdout};

	if (newest->as_json) {
		kymo_json_begin(&json, NULL, '{');
		kymo_json_begin(&json, "processes", '[');
	}
	for (size_t i = 0; i < timeline->stream_count && !ferror(stdout); i++) {
		const struct kymo_stream *stream = &timeline->streams[i];
		bool is_first = stream->process != process;
		int result;

		if (newest->process && stream->process->pid != newest->process)
			continue;
		if (is_first && newest->as_json) {
			if (process)
				kymo_json_end(&json, "]}");
			begin_process_json(&json, timeline, stream->process);
		} else if (is_first) {
			print_process(timeline, stream->process);
		}
		process = stream->process;
		result = collect_stream(timeline, stream, newest, error);
		if (result)
			return result;
		if (newest->as_json)
			print_stream_json(&json, stream, newest);
		else
			print_stream(stream, newest);
	}
	if (newest->as_json)
		end_json(&json, &timeline->definitions, newest->process, process != NULL);
	else
		kymo_unrecorded_print(&timeline->definitions, newest->process);
	return 0;
}

/* The last mark with the text, in whatever thread. */
static int find_mark(struct kymo_timeline *timeline, struct newest *newest, struct kymo_error *error)
{
	uint64_t room = newest->room;

	newest->is_seeking = true;
	newest->room = 1;
	newest->from_ns = INT64_MIN;
	for (size_t i = 0; i < timeline->stream_count; i++) {
		const struct kymo_stream *stream = &timeline->streams[i];
		int result;

		if (newest->process && stream->process->pid != newest->process)
			continue;
		result = collect_stream(timeline, stream, newest, error);
		if (result)
			return result;
		if (newest->seen && (!newest->until.stream || newest->kept[0].event.t_ns > newest->until.t_ns))
			newest->until = newest->kept[0].event;
		/* Do not search further back than the mark found. */
		if (newest->until.stream)
			newest->from_ns = newest->until.t_ns;
	}
	newest->room = room;
	newest->is_seeking = false;
	if (newest->until.stream)
		return 0;
	return kymo_fail(error, -ENOENT, "no mark '%s'", newest->mark);
}

/* When the shown part begins: that long before the mark, or before the end of the trace. */
static int64_t start_of_last(struct kymo_timeline *timeline, const struct newest *newest)
{
	int64_t end_ns = newest->mark ? newest->until.t_ns : INT64_MIN;

	if (newest->last_ns < 0)
		return INT64_MIN;
	for (size_t i = 0; i < timeline->chunk_count && !newest->mark; i++) {
		int64_t ns = kymo_clock_ns(&timeline->clock, timeline->chunks[i]->close_clock);

		end_ns = ns > end_ns ? ns : end_ns;
	}
	return end_ns < INT64_MIN + newest->last_ns ? INT64_MIN : end_ns - newest->last_ns;
}

static const struct kymo_option options[] = {
	{NULL, 'n', KYMO_OPTION_COUNT, .place = offsetof(struct newest, room), .value = "N", .help = "print N events of each thread (default: 10)"},
	{"all", 0, KYMO_OPTION_FLAG, .place = offsetof(struct newest, is_all), .help = "print events of code that is not the project's, too"},
	{"file", 0, KYMO_OPTION_WORD, .place = offsetof(struct newest, shown.file), .value = "GLOB",
	 .help = "print only events of code from files that match GLOB; without a / it is matched against the last part of the name"},
	{"kind", 0, KYMO_OPTION_KINDS, .place = offsetof(struct newest, kinds), .value = "KIND,…",
	 .help = "print only events of these kinds, such as LINE,RAISE"},
	{"omit", 0, KYMO_OPTION_LIST, .place = offsetof(struct newest, omitted), .value = "GLOB",
	 .help = "skip events of code from files that match GLOB; may be repeated"},
	{"last", 0, KYMO_OPTION_DURATION, .place = offsetof(struct newest, last_ns), .value = "TIME",
	 .help = "print only what happened in the last seconds before the end: 1.5, or 12ms, 30us, 5ns"},
	{"until-mark", 0, KYMO_OPTION_WORD, .place = offsetof(struct newest, mark), .value = "TEXT",
	 .help = "end at the last mark with this text, as if the trace did"},
	{"process", 0, KYMO_OPTION_COUNT, .place = offsetof(struct newest, process), .value = "PID", .help = "show this process only"},
	{"json", 0, KYMO_OPTION_FLAG, .place = offsetof(struct newest, as_json), .help = "print one JSON object, of all code",
	 .more = "It has `processes`, each with its `pid`, its `end` and its `threads`, each with its `events`, which are as "
		 "kymo-events(1) has them. With --file, events are those of the files that match."},
	{0},
};

static int tail_trace(const char *path, struct newest *newest)
{
	struct kymo_timeline timeline;
	struct kymo_error error;
	int status;

	if (kymo_timeline_open(&timeline, path, 0, &error))
		return kymo_report(&error);
	/* Kinds that are not asked for need not be rebuilt. */
	if (newest->kinds)
		timeline.rebuilt_kinds = newest->kinds;
	else
		newest->kinds = ALL_KINDS;
	kymo_shown_files_read(&newest->shown, &timeline.definitions);
	newest->kept = calloc(newest->room, sizeof(*newest->kept));
	if (!newest->kept)
		kymo_fail(&error, -ENOMEM, "out of memory");
	status = KYMO_EXIT_OK;
	if (!newest->kept || (newest->mark && find_mark(&timeline, newest, &error))) {
		status = kymo_report(&error);
	} else {
		newest->from_ns = start_of_last(&timeline, newest);
		if (print_trace(&timeline, newest, &error))
			status = kymo_report(&error);
	}
	kymo_report_damage(&timeline.trace);
	for (uint64_t i = 0; newest->kept && i < newest->room; i++)
		free(newest->kept[i].values);
	free(newest->kept);
	kymo_timeline_close(&timeline);
	return status;
}

static int run_tail(int argc, char **argv)
{
	struct newest newest = {.room = DEFAULT_EVENTS, .last_ns = -1};
	int status = kymo_options_parse(&kymo_verb_tail, argc, argv, &newest, NULL);

	if (status < 0 && newest.room > MAX_EVENTS)
		status = kymo_usage_error(argv, "-n: %" PRIu64 " is too many; at most %d events are kept", newest.room, MAX_EVENTS);
	else if (status < 0 && newest.is_all && newest.shown.file)
		status = kymo_usage_error(argv, "--all and --file exclude each other");
	/* JSON has all of it, unless the options say otherwise. */
	newest.is_all |= newest.as_json && !newest.shown.file;
	newest.folds = !newest.is_all && !newest.shown.file;
	if (status < 0)
		status = tail_trace(argv[optind], &newest);
	kymo_words_free(&newest.omitted);
	return status;
}

const struct kymo_verb kymo_verb_tail = {
	.name = "tail",
	.summary = "print the last events of every thread, and how the process ended",
	.operands = "TRACE",
	.text = "Print the last events of every thread, the newest last, and how each process ended; then those that were not recorded, "
		"and why. Events of code that is not the project's, such as that of libraries, are only counted.",
	.tables = {{options}},
	.run = run_tail,
};
