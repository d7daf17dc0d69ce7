// SPDX-License-Identifier: Apache-2.0
/* `kymo events`: the events of a trace, as text or as JSON lines. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/event_json.h"
#include "cli/option_table.h"
#include "cli/slice_options.h"
#include "replay/decode/merge.h"
#include "replay/trace/describe.h"
#include "replay/trace/shown_files.h"
#include "replay/trace/text.h"
#include "replay/values/event_values.h"

struct wanted {
	bool as_json, has_no_values;
	struct kymo_slice slice;
	uint64_t kinds;
	const char *file, *function;
	uint64_t limit;
	struct kymo_contexts contexts;
	struct kymo_context_walk *walks; /* of each stream, if a test is wanted */
	/* the last answer to what --file and --function ask */
	const struct kymo_code *asked;
	bool is_wanted;
};

static bool wants_stream(const struct kymo_stream *stream, void *context)
{
	const struct wanted *wanted = context;

	return kymo_slice_wants_stream(&wanted->slice, stream);
}

static bool wants_code(struct wanted *wanted, const struct kymo_code *code)
{
	if (!wanted->file && !wanted->function)
		return true;
	if (!code)
		return false;
	if (code != wanted->asked) {
		wanted->asked = code;
		wanted->is_wanted = (!wanted->file || kymo_file_is_like(code->content->file, wanted->file)) &&
				    (!wanted->function || !fnmatch(wanted->function, code->content->function, 0));
	}
	return wanted->is_wanted;
}

static bool is_in_test(struct wanted *wanted, const struct kymo_event *event)
{
	return !wanted->walks || kymo_context_walk_to(&wanted->walks[event->stream - wanted->contexts.timeline->streams],
						      &wanted->contexts, event, wanted->slice.test);
}

static bool wants_event(struct wanted *wanted, const struct kymo_event *event)
{
	return is_in_test(wanted, event) && event->t_ns >= wanted->slice.from_ns &&
	       event->t_ns <= wanted->slice.to_ns && wanted->kinds >> event->kind & 1 && wants_code(wanted, event->code);
}

static void put_text(FILE *out, const struct kymo_event *event)
{
	const struct kymo_traced_thread *thread = event->stream->thread;
	char error[KYMO_TEXT_BYTES];

	fprintf(out, "%15.9f ±%-8s %7" PRIu32 " %7" PRIu64 " %9" PRIu64 "  %-17s ",
		(double)event->t_ns / 1e9, kymo_text_duration((double)event->t_err_ns, error),
		event->stream->process->pid, thread ? thread->native_id : 0, event->n,
		kymo_event_kind_name(event->kind));
	kymo_event_put_place(out, event);
	kymo_event_put_values(out, event, 0);
	putc_unlocked('\n', out);
}

static int print_events(struct kymo_timeline *timeline, struct wanted *wanted, struct kymo_error *error)
{
	/* In which test a thread is depends on what it did before. */
	int64_t from_ns = wanted->walks ? INT64_MIN : wanted->slice.from_ns;
	struct kymo_merge *merge;
	struct kymo_event event;
	uint64_t printed = 0;
	int result = kymo_merge_open(&merge, timeline, from_ns, wants_stream, wanted, error);

	if (result)
		return result;
	while (printed < wanted->limit && !ferror(stdout) && (result = kymo_merge_next(merge, &event, error)) > 0) {
		/* All that follows happened after this event's lower bound. */
		if (event.t_ns - (int64_t)event.t_err_ns > wanted->slice.to_ns)
			break;
		if (!wants_event(wanted, &event))
			continue;
		if (wanted->has_no_values)
			event.values.bytes = 0;
		if (wanted->as_json) {
			kymo_event_put_json(stdout, &event);
			putc_unlocked('\n', stdout);
		} else {
			put_text(stdout, &event);
		}
		printed++;
	}
	kymo_merge_close(merge);
	return result < 0 ? result : 0;
}

static int find_test(struct kymo_timeline *timeline, struct wanted *wanted, struct kymo_error *error)
{
	int result = kymo_slice_find_contexts(&wanted->slice, timeline, &wanted->contexts, error);

	if (result || !wanted->slice.test)
		return result;
	wanted->walks = calloc(timeline->stream_count + 1, sizeof *wanted->walks);
	return wanted->walks ? 0 : kymo_fail(error, -ENOMEM, "out of memory");
}

static const struct kymo_option options[] = {
	{"jsonl", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, as_json), .help = "print one JSON object per line"},
	{"kind", 0, KYMO_OPTION_KINDS, .place = offsetof(struct wanted, kinds), .value = "KIND,…",
	 .help = "print only events of these kinds, such as LINE,RAISE,GAP,MARK"},
	{"file", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, file), .value = "GLOB",
	 .help = "print only events of code from files that match GLOB; without a / it is matched against the last part of the name"},
	{"function", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, function), .value = "GLOB",
	 .help = "print only events of functions whose qualified name matches GLOB"},
	{"limit", 0, KYMO_OPTION_NUMBER, .place = offsetof(struct wanted, limit), .value = "N", .help = "stop after N events"},
	{"no-values", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, has_no_values), .help = "leave out the values of variables"},
	{0},
};

static int run_events(int argc, char **argv)
{
	struct wanted wanted = {.slice = KYMO_SLICE_ALL, .limit = UINT64_MAX};
	struct kymo_timeline timeline;
	struct kymo_error error;
	int status = kymo_options_parse(&kymo_verb_events, argc, argv, &wanted, NULL);

	if (status >= 0)
		return status;
	if (!wanted.kinds)
		wanted.kinds = UINT64_MAX;
	if (kymo_timeline_open(&timeline, argv[optind], 0, &error))
		return kymo_report(&error);
	/* Kinds that are not asked for need not be rebuilt. */
	if (wanted.kinds != UINT64_MAX)
		timeline.rebuilt_kinds = wanted.kinds;
	status = find_test(&timeline, &wanted, &error) || print_events(&timeline, &wanted, &error) ? kymo_report(&error) : KYMO_EXIT_OK;
	free(wanted.walks);
	kymo_contexts_release(&wanted.contexts);
	kymo_report_damage(&timeline.trace);
	kymo_timeline_close(&timeline);
	return status;
}

const struct kymo_verb kymo_verb_events = {
	.name = "events",
	.summary = "print the events of a trace, as text or JSON lines",
	.operands = "TRACE",
	.text = "Print the events of a trace: within a thread in recorded order, between threads in the order in which they ran.",
	.tables = {{options}, {kymo_part_options, offsetof(struct wanted, slice)}},
	.run = run_events,
};
