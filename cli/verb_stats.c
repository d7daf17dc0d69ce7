// SPDX-License-Identifier: Apache-2.0
/* `kymo stats`: counts about the recording itself. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/overview.h"
#include "cli/slice_options.h"
#include "replay/trace/text.h"

#define FUNCTIONS_SHOWN 30

static void print_row(const char *name, uint64_t count)
{
	char text[KYMO_TEXT_BYTES];

	printf("  %-28s %17s\n", name, kymo_text_count(count, text));
}

static void print_kinds(const struct kymo_summary *total)
{
	printf(total->rebuilt ? "events, recorded and rebuilt\n" : "events\n");
	for (unsigned kind = 0; kind < KYMO_EVENT_KINDS; kind++)
		if (total->by_kind[kind])
			print_row(kind == KYMO_PY_START_AT ? "PY_START, elsewhere"
				  : kind == KYMO_EVENT_BRANCH_BIT
					  ? "BRANCH, as a bit"
					  : kymo_event_kind_name(kind),
				  total->by_kind[kind]);
	print_row("all that were recorded", total->events);
	print_row("rebuilt", total->rebuilt);
	print_row(total->lost_is_least ? "lost, at least" : "lost", total->lost);
	print_row("with something undefined", total->undefined);
}

static void print_values(const struct kymo_summary *total)
{
	if (!total->values_events)
		return;
	printf("values\n");
	print_row("events with values", total->values_events);
	print_row("values", total->values);
	print_row("bytes, uncompressed", total->values_bytes);
	if (total->values)
		printf("  %-28s %17.1f\n", "bytes of a value", (double)total->values_bytes / (double)total->values);
	print_row("events with damaged values", total->values_damaged);
}

static void print_codes(const struct kymo_definitions *definitions)
{
	uint64_t codes = 0, with_lines = 0;

	for (size_t i = 0; i < definitions->process_count; i++) {
		const struct kymo_table *table = &definitions->processes[i].codes;

		codes += table->count;
		for (size_t c = 0; c < table->count; c++)
			with_lines += ((const struct kymo_code *)table->items[c].value)->has_lines;
	}
	print_row("code objects", codes);
	if (with_lines)
		print_row("recorded line by line", with_lines);
}

static void print_file(const struct kymo_timeline *timeline)
{
	uint64_t chunks = 0, frames = 0, snapshots = 0, provisional = 0;

	for (size_t i = 0; i < timeline->trace.frame_count; i++) {
		const struct kymo_index_entry *entry = &timeline->trace.frames[i];

		frames += entry->kind == KYMO_FRAME_CHUNK;
		snapshots += !!(entry->flags & KYMO_FRAME_SNAPSHOT);
		provisional += !!(entry->flags & KYMO_FRAME_PROVISIONAL);
	}
	for (size_t i = 0; i < timeline->chunk_count; i++)
		chunks += !i || !kymo_is_same_chunk(timeline->chunks[i - 1], timeline->chunks[i]);
	printf("file\n");
	print_row("bytes", timeline->trace.size);
	print_row("frames", timeline->trace.frame_count);
	print_row("chunk frames", frames);
	print_row("chunks", chunks);
	print_row("of snapshots", snapshots);
	print_row("taken while open", provisional);
	print_row("damaged places", timeline->trace.damage_count + timeline->trace.damage_more);
	printf("definitions\n");
	print_row("messages", timeline->definitions.messages);
	print_row("bytes, uncompressed", timeline->definitions.bytes);
	print_row("damaged", timeline->definitions.damaged);
	print_codes(&timeline->definitions);
}

static void print_ends(const struct kymo_definitions *definitions)
{
	uint64_t undefined = 0, threads = 0, events = 0, stalls = 0, stalled = 0, longest = 0;
	char text[KYMO_TEXT_BYTES], text2[KYMO_TEXT_BYTES];

	for (size_t i = 0; i < definitions->process_count; i++) {
		const Kymo__ProcessEnd *end = definitions->processes[i].end;

		if (!end)
			continue;
		undefined += end->undefined;
		threads += end->threads_unrecorded;
		events += end->events_unrecorded;
		stalls += end->stalls;
		stalled += end->stalled_ns;
		longest = end->longest_stall_ns > longest ? end->longest_stall_ns : longest;
	}
	print_row("not written", undefined);
	printf("processes\n");
	print_row("recorded", definitions->process_count);
	print_row("threads not recorded", threads);
	print_row("events of these", events);
	print_row("waits for the reader", stalls);
	printf("  in all %s, the longest %s\n", kymo_text_duration((double)stalled, text),
	       kymo_text_duration((double)longest, text2));
}

static int compare_contents(const void *left, const void *right)
{
	const struct kymo_content *a = *(struct kymo_content *const *)left;
	const struct kymo_content *b = *(struct kymo_content *const *)right;

	return a->events < b->events ? 1 : a->events > b->events ? -1 : 0;
}

static bool print_functions(const struct kymo_definitions *definitions)
{
	struct kymo_content **contents;
	size_t count = 0;

	for (size_t i = 0; i < definitions->process_count; i++)
		count += definitions->processes[i].contents.count;
	contents = calloc(count + 1, sizeof(struct kymo_content *));
	if (!contents)
		return false;
	count = 0;
	for (size_t i = 0; i < definitions->process_count; i++) {
		const struct kymo_table *table = &definitions->processes[i].contents;

		for (size_t c = 0; c < table->count; c++)
			contents[count++] = table->items[c].value;
	}
	qsort(contents, count, sizeof(struct kymo_content *), compare_contents);
	printf("functions with the most events, recorded and rebuilt, of %zu\n", count);
	for (size_t i = 0; i < count && i < FUNCTIONS_SHOWN && contents[i]->events; i++) {
		char text[KYMO_TEXT_BYTES];

		printf("  %17s  ", kymo_text_count(contents[i]->events, text));
		kymo_text_put(stdout, contents[i]->file);
		printf(":%" PRIu32 " ", contents[i]->first_line);
		kymo_text_put(stdout, contents[i]->function);
		putchar('\n');
	}
	free(contents);
	return true;
}

struct wanted {
	const char *callers, *callees;
	struct kymo_slice slice;
};

static const struct kymo_option options[] = {
	{"callers", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, callers), .value = "GLOB",
	 .help = "show who called the functions whose qualified name matches GLOB"},
	{"callees", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, callees), .value = "GLOB", .help = "show what these functions called"},
	{0},
};

static int print_counts(const struct kymo_overview *overview)
{
	struct kymo_error error = {"out of memory"};

	print_kinds(&overview->total);
	print_values(&overview->total);
	print_file(&overview->timeline);
	print_ends(&overview->timeline.definitions);
	return print_functions(&overview->timeline.definitions) ? KYMO_EXIT_OK : kymo_report(&error);
}

static int run_stats(int argc, char **argv)
{
	struct wanted wanted = {.slice = KYMO_SLICE_ALL};
	struct kymo_overview overview;
	struct kymo_words words = {0};
	int status = kymo_options_parse(&kymo_verb_stats, argc, argv, &wanted, &words);

	if (status >= 0)
		return status;
	if (wanted.callers && wanted.callees)
		return kymo_usage_error(argv, "--callers and --callees exclude each other");
	if (wanted.callers || wanted.callees)
		return kymo_hand_over("stats", "kymo.profile.stats", &words, argv + optind);
	if (words.count)
		return kymo_usage_error(argv, "the other options need --callers or --callees");
	status = kymo_overview_open(&overview, argv[0], argv[optind]);
	if (status)
		return status;
	status = print_counts(&overview);
	kymo_overview_close(&overview);
	return status;
}

const struct kymo_verb kymo_verb_stats = {
	.name = "stats",
	.summary = "count events per kind and function, and show callers and callees",
	.usage = "TRACE\n--callers=GLOB|--callees=GLOB [options] TRACE",
	.operands = "TRACE",
	.text = "Print counts of a trace: events per kind and per function, frames and their bytes, values and their bytes, "
		"definitions, what stayed undefined, stalls, threads that were not recorded.\n"
		"Or print who called functions, or what these called, how often, and the time that it took.",
	.tables = {{options},
		   {kymo_part_options, offsetof(struct wanted, slice), "Which calls --callers and --callees show"},
		   {kymo_call_options, offsetof(struct wanted, slice)},
		   {kymo_python_option}},
	.run = run_stats,
};
