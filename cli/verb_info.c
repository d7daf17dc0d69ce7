// SPDX-License-Identifier: Apache-2.0
/* `kymo info`: what a trace holds. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "cli/overview.h"
#include "cli/unrecorded_processes.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"

#define THREADS_SHOWN 20 /* of each process, as text */
#define LARGE (64U << 20) /* for traces with values: as in kymo record */

static const char *scope_name(const Kymo__Values *values)
{
	static const char *const names[] = {"none", "args", "locals", "globals"};
	unsigned scope = (unsigned)values->scope;

	return names[scope < 4 ? scope : 0];
}

static const char *policy_name(uint32_t policy)
{
	static const char *const names[] = {"?", "block", "drop", "overwrite"};

	return names[policy < 4 ? policy : 0];
}

static const char *clock_name(uint32_t mode)
{
	static const char *const names[] = {"?", "sampled", "exact", "none"};

	return names[mode < 4 ? mode : 0];
}

static const char *ending_of(const struct kymo_timeline *timeline)
{
	if (timeline->definitions.ending)
		return timeline->definitions.ending->reason;
	return timeline->trace.is_complete ? "complete" : "not closed by its writer";
}

static double bytes_per_event(const struct kymo_overview *overview)
{
	uint64_t events = overview->total.events;

	return events ? (double)overview->timeline.trace.size / (double)events : 0;
}

static double mean_error(const struct kymo_summary *summary)
{
	return summary->events ? summary->sum_t_err_ns / (double)summary->events : 0;
}

static void print_values(const Kymo__Values *values)
{
	printf("\nvalues     %s: this trace holds what variables held", scope_name(values));
	for (size_t i = 0; i < values->n_only; i++) {
		fputs(i ? ", " : " in ", stdout);
		kymo_text_put(stdout, values->only[i]);
	}
	if (!values->n_only && values->project)
		fputs(" in files of the project", stdout);
	for (size_t i = 0; i < values->n_redact; i++) {
		fputs(i ? ", " : "; redacted too: ", stdout);
		kymo_text_put(stdout, values->redact[i]);
	}
}

static void print_session(const struct kymo_overview *overview)
{
	const Kymo__Session *session = overview->timeline.definitions.session;
	time_t started;
	struct tm when;
	char text[64];

	if (!session)
		return;
	fputs("command   ", stdout);
	for (size_t i = 0; i < session->n_argv; i++) {
		putchar(' ');
		kymo_text_put(stdout, session->argv[i]);
	}
	fputs("\ndirectory  ", stdout);
	kymo_text_put(stdout, session->working_directory);
	started = (time_t)(session->started_unix_ns / 1000000000U);
	if (gmtime_r(&started, &when) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &when))
		printf("\nrecorded   %s on ", text);
	kymo_text_put(stdout, session->host);
	fputs(" by kymo ", stdout);
	kymo_text_put(stdout, session->kymo_version);
	if (session->config) {
		fputs("\nrecording  events ", stdout);
		kymo_text_put(stdout, session->config->profile);
		printf(", policy %s, clock %s", policy_name(session->config->policy),
		       clock_name(session->config->clock_mode));
		if (session->config->values)
			print_values(session->config->values);
	}
	putchar('\n');
}

static void print_lost(const struct kymo_summary *summary)
{
	char why[KYMO_LOSS_TEXT_BYTES], count[KYMO_TEXT_BYTES];
	bool has_storage = false;

	for (uint32_t mask = 0; mask < KYMO_LOSS_MASKS; mask++) {
		bool is_least = summary->lost_is_least && mask == KYMO_LOSS_STORAGE;

		has_storage |= is_least && summary->lost_by_reasons[mask];
		if (summary->lost_by_reasons[mask])
			printf(", %s%s lost: %s", is_least ? "at least " : "", kymo_text_count(summary->lost_by_reasons[mask], count),
			       kymo_loss_text(mask, why));
	}
	if (summary->lost_is_least && !has_storage)
		printf(", and perhaps more: %s", kymo_loss_text(KYMO_LOSS_STORAGE, why));
	putchar('\n');
}

static void print_process(const struct kymo_overview *overview,
			  const struct kymo_traced_process *process)
{
	const struct kymo_timeline *timeline = &overview->timeline;
	char text[KYMO_DESCRIBE_BYTES], count[KYMO_TEXT_BYTES];
	uint64_t others = 0, events = 0, lost = 0;
	unsigned shown = 0;

	printf("process %" PRIu32 "  ", process->pid);
	kymo_process_put_command(stdout, process);
	printf("\n  %s", kymo_describe_end(timeline, process, text));
	if (process->definition) {
		fputs("; Python ", stdout);
		kymo_text_put(stdout, process->definition->python_version);
	}
	putchar('\n');
	for (size_t i = 0; i < timeline->stream_count; i++) {
		const struct kymo_stream *stream = &timeline->streams[i];

		if (stream->process != process)
			continue;
		if (shown++ >= THREADS_SHOWN) {
			others++;
			events += overview->streams[i].events;
			lost += overview->streams[i].lost;
			continue;
		}
		fputs("  ", stdout);
		kymo_stream_put_name(stdout, stream);
		printf(": %s", kymo_text_counted(overview->streams[i].events, "event", count));
		print_lost(&overview->streams[i]);
	}
	if (others) {
		printf("  %s: ", kymo_text_counted(others, "more thread", count));
		printf("%s, ", kymo_text_counted(events, "event", count));
		printf("%s lost; --json names them\n", kymo_text_count(lost, count));
	}
	if (process->end && process->end->threads_unrecorded) {
		printf("  %s not recorded, ",
		       kymo_text_counted(process->end->threads_unrecorded, "thread", count));
		printf("%s\n", kymo_text_counted(process->end->events_unrecorded, "event", count));
	}
}

/* kymo.start() and KYMO=1 have no place to print this. */
static void print_growth(const struct kymo_overview *overview)
{
	const Kymo__Session *session = overview->timeline.definitions.session;
	const struct kymo_trace *trace = &overview->timeline.trace;
	double ns = overview->total.last_ns > 1000000000 ? (double)overview->total.last_ns : 1e9;
	char rate[KYMO_TEXT_BYTES];

	if (trace->size >= LARGE && session && session->config && session->config->values && session->config->values->scope)
		printf("           values make it large, %s a minute: --values-for limits them to files or functions, --values-limits to less of each\n",
		       kymo_text_size((uint64_t)((double)trace->size * 6e10 / ns), rate));
}

static void print_totals(const struct kymo_overview *overview)
{
	const struct kymo_summary *total = &overview->total;
	const struct kymo_trace *trace = &overview->timeline.trace;
	char count[KYMO_TEXT_BYTES], size[KYMO_TEXT_BYTES], mean[KYMO_TEXT_BYTES];

	printf("total      %s", kymo_text_counted(total->events, "event", count));
	if (total->rebuilt)
		printf(" recorded, %s rebuilt", kymo_text_count(total->rebuilt, count));
	print_lost(total);
	if (total->untold)
		printf("  %s%s of those lost were of threads that the trace does not tell of\n",
		       total->lost_is_least ? "at least " : "", kymo_text_count(total->untold, count));
	if (total->rebuilt)
		printf("  recorded and rebuilt, by kind\n");
	for (unsigned kind = 0; kind < KYMO_EVENT_KINDS; kind++)
		if (total->by_kind[kind] && kind != KYMO_EVENT_GAP)
			printf("  %-18s %15s\n", kymo_event_kind_name(kind),
			       kymo_text_count(total->by_kind[kind], count));
	printf("size       %s, %.2f bytes per event\n", kymo_text_size(trace->size, size),
	       bytes_per_event(overview));
	print_growth(overview);
	printf("time       %s; an event's time is known to ±%s on average, ±%s at worst%s\n",
	       kymo_text_duration((double)total->last_ns, size),
	       kymo_text_duration(mean_error(total), mean),
	       kymo_text_duration((double)total->largest_t_err_ns, count),
	       overview->timeline.clock.is_calibrated ? "" : " (clock not calibrated)");
}

struct source_counts {
	uint64_t held, verified, missing;
};

static struct source_counts count_sources(const struct kymo_definitions *definitions)
{
	struct source_counts counts = {0};

	for (size_t i = 0; i < definitions->source_count; i++) {
		counts.held += !definitions->sources[i].missing;
		counts.verified += definitions->sources[i].is_verified;
		counts.missing += definitions->sources[i].missing != NULL;
	}
	return counts;
}

static void print_sources(const struct kymo_definitions *definitions)
{
	const struct source_counts counts = count_sources(definitions);
	char text[KYMO_TEXT_BYTES];

	printf("sources    %s held", kymo_text_count(counts.held, text));
	printf(", %s of them verified", kymo_text_count(counts.verified, text));
	printf(", %s missing\n", kymo_text_count(counts.missing, text));
}

static void print_text(const struct kymo_overview *overview, const char *path)
{
	const struct kymo_definitions *definitions = &overview->timeline.definitions;

	fputs("trace      ", stdout);
	kymo_text_put(stdout, path);
	fputs(" (", stdout);
	kymo_text_put(stdout, ending_of(&overview->timeline));
	fputs(")\n", stdout);
	print_session(overview);
	for (size_t i = 0; i < definitions->process_count; i++)
		print_process(overview, &definitions->processes[i]);
	kymo_unrecorded_print(definitions, 0);
	print_totals(overview);
	print_sources(definitions);
}

static json_t *json_kinds(const struct kymo_summary *summary)
{
	json_t *object = json_object();

	for (unsigned kind = 0; kind < KYMO_EVENT_KINDS; kind++) {
		const char *name = kymo_event_kind_name(kind);
		json_int_t sum = (json_int_t)summary->by_kind[kind];

		/* Two kinds of record may be one event. */
		if (sum && kind != KYMO_EVENT_GAP)
			json_object_set_new(
				object, name,
				json_integer(sum + json_integer_value(json_object_get(object, name))));
	}
	return object;
}

static json_t *json_lost(const struct kymo_summary *summary)
{
	char why[KYMO_LOSS_TEXT_BYTES];
	json_t *object = json_object();

	for (uint32_t mask = 0; mask < KYMO_LOSS_MASKS; mask++)
		if (summary->lost_by_reasons[mask])
			json_object_set_new(object, kymo_loss_text(mask, why),
					    json_integer((json_int_t)summary->lost_by_reasons[mask]));
	return object;
}

static json_t *json_strings(char **strings, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, kymo_json_text(strings[i]));
	return array;
}

static json_t *json_process(const struct kymo_overview *overview,
			    const struct kymo_traced_process *process)
{
	const struct kymo_timeline *timeline = &overview->timeline;
	const Kymo__Process *definition = process->definition;
	const Kymo__ProcessEnd *end = process->end;
	char text[KYMO_DESCRIBE_BYTES];
	json_t *threads = json_array(), *object;

	for (size_t i = 0; i < timeline->stream_count; i++) {
		const struct kymo_stream *stream = &timeline->streams[i];
		const struct kymo_traced_thread *thread = stream->thread;
		const struct kymo_summary *summary = &overview->streams[i];

		if (stream->process != process)
			continue;
		json_array_append_new(
			threads,
			json_pack("{si, sI, so, sI, sI, so}", "thread", (int)stream->number, "tid",
				  (json_int_t)(thread ? thread->native_id : 0), "name",
				  thread && thread->name ? kymo_json_text(thread->name) : json_null(),
				  "events", (json_int_t)summary->events, "lost",
				  (json_int_t)summary->lost, "lost_why", json_lost(summary)));
	}
	object = json_pack("{si, si, so, so, ss, so}", "process", (int)process->number, "pid",
			   (int)process->pid, "parent",
			   process->parent ? json_integer(process->parent->number) : json_null(),
			   "folder", kymo_json_text(process->folder), "end",
			   kymo_describe_end(timeline, process, text), "threads", threads);
	if (definition)
		json_object_update_new(
			object,
			json_pack("{so, so, so}", "executable", kymo_json_text(definition->executable), "argv",
				  json_strings(definition->argv, definition->n_argv), "python",
				  kymo_json_text(definition->python_version)));
	if (end)
		json_object_update_new(
			object, json_pack("{si, sI, sI, sI, sI}", "status", (int)end->status,
					  "undefined", (json_int_t)end->undefined, "stalled_ns",
					  (json_int_t)end->stalled_ns, "threads_unrecorded",
					  (json_int_t)end->threads_unrecorded, "events_unrecorded",
					  (json_int_t)end->events_unrecorded));
	return object;
}

static json_t *json_values(const Kymo__Values *values)
{
	if (!values)
		return json_null();
	return json_pack("{ss, so, sb, so, si, si, si, si}", "scope", scope_name(values), "for",
			 json_strings(values->only, values->n_only), "project", !values->n_only && values->project, "redact", json_strings(values->redact, values->n_redact),
			 "depth", (int)values->max_depth, "items", (int)values->max_items, "text", (int)values->max_text_bytes,
			 "bytes", (int)values->max_bytes);
}

static json_t *json_session(const Kymo__Session *session)
{
	const Kymo__Config *config = session->config;
	json_t *object = json_pack(
		"{so, so, sI, so, so}", "argv", json_strings(session->argv, session->n_argv),
		"directory", kymo_json_text(session->working_directory), "started_unix_ns",
		(json_int_t)session->started_unix_ns, "host", kymo_json_text(session->host),
		"kymo", kymo_json_text(session->kymo_version));

	if (config)
		json_object_update_new(
			object, json_pack("{so, ss, ss, sb, sb, so}", "events", kymo_json_text(config->profile),
					  "policy", policy_name(config->policy), "clock",
					  clock_name(config->clock_mode), "branch_bits",
					  config->branch_bits, "once", config->once, "values", json_values(config->values)));
	return object;
}

static void print_json(const struct kymo_overview *overview)
{
	const struct kymo_timeline *timeline = &overview->timeline;
	const struct kymo_definitions *definitions = &timeline->definitions;
	const struct kymo_summary *total = &overview->total;
	const struct source_counts sources = count_sources(definitions);
	json_t *processes = json_array(), *object;

	for (size_t i = 0; i < definitions->process_count; i++)
		json_array_append_new(processes,
				      json_process(overview, &definitions->processes[i]));
	object = json_pack("{so, sb, so, so, sI, sI, so, sI, so, sI, sI, sf, sf, sI, sI}", "ending",
			   kymo_json_text(ending_of(timeline)), "complete", timeline->trace.is_complete,
			   "session",
			   definitions->session ? json_session(definitions->session) : json_null(),
			   "processes", processes, "events", (json_int_t)total->events,
			   "rebuilt", (json_int_t)total->rebuilt, "kinds",
			   json_kinds(total), "lost", (json_int_t)total->lost, "lost_why",
			   json_lost(total), "undefined", (json_int_t)total->undefined, "bytes",
			   (json_int_t)timeline->trace.size, "bytes_per_event",
			   bytes_per_event(overview), "mean_t_err_ns", mean_error(total),
			   "largest_t_err_ns", (json_int_t)total->largest_t_err_ns, "damaged",
			   (json_int_t)(timeline->trace.damage_count + timeline->trace.damage_more));
	json_object_set_new(object, "lost_is_least", json_boolean(total->lost_is_least));
	json_object_set_new(object, "unrecorded", kymo_unrecorded_json(definitions, 0));
	json_object_set_new(object, "sources",
			    json_pack("{sI, sI, sI}", "held", (json_int_t)sources.held, "verified",
				      (json_int_t)sources.verified, "missing", (json_int_t)sources.missing));
	kymo_put_json(object, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(object);
}

static const struct kymo_option options[] = {
	{"json", 0, KYMO_OPTION_FLAG, .help = "print one JSON object"},
	{0},
};

static int run_info(int argc, char **argv)
{
	struct kymo_overview overview;
	bool as_json = false;
	int status = kymo_options_parse(&kymo_verb_info, argc, argv, &as_json, NULL);

	if (status >= 0)
		return status;
	status = kymo_overview_open(&overview, argv[0], argv[optind]);
	if (status)
		return status;
	if (as_json)
		print_json(&overview);
	else
		print_text(&overview, argv[optind]);
	kymo_overview_close(&overview);
	return KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_info = {
	.name = "info",
	.summary = "show what a trace holds",
	.operands = "TRACE",
	.text = "Print what a trace holds: the command and its configuration, processes and threads, those that were not recorded and "
		"why, counts of events, what was lost and why, size, how precise times are, and how many source files it has.",
	.tables = {{options}},
	.run = run_info,
};
