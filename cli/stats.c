// SPDX-License-Identifier: Apache-2.0
/* `kymo stats`: counts, for those who look after the recording itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/overview.h"
#include "replay/trace/text.h"

static const char help[] =
	"usage: kymo stats TRACE\n"
	"       kymo stats --callers=GLOB|--callees=GLOB [options] TRACE\n"
	"\n"
	"Print counts of a trace: events per kind and per function, frames and their bytes,\n"
	"values and their bytes, definitions, what stayed undefined, stalls, threads that were\n"
	"not recorded.\n"
	"Or who called functions, or what these called, how often, and the time that it took.\n"
	"\n"
	"  --callers=GLOB       who called the functions whose qualified name is like this\n"
	"  --callees=GLOB       what these called\n"
	"  --help               this text\n"
	"\n"
	"Which calls are meant, with one of these:\n"
	"  --from=TIME          only from here on: seconds since the start, or 12ms, 30us or 5ns\n"
	"  --to=TIME            only up to here\n"
	"  --process=PID        only of this process\n"
	"  --thread=T           only of this thread: its native id, its number or its name\n"
	"  --test=ID            only what ran in this test, or context\n"
	"  --function=GLOB      only calls of such functions, with all that they call\n"
	"  --min-duration=TIME  no calls that took less, nor what they called\n"
	"  --python=PROGRAM     the Python that prints them; else one of the version that recorded\n";

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
	print_row("lost", total->lost);
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

int kymo_command_stats(int argc, char **argv)
{
	struct kymo_error error = {"out of memory"};
	struct kymo_overview overview;
	int status;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--calle", strlen("--calle")))
			return kymo_hand_over("stats", "kymo.profile.stats", help, argc, argv);
	status = kymo_overview_begin(&overview, argc, argv, help, NULL);

	if (status >= 0)
		return status;
	print_kinds(&overview.total);
	print_values(&overview.total);
	print_file(&overview.timeline);
	print_ends(&overview.timeline.definitions);
	status = print_functions(&overview.timeline.definitions) ? KYMO_EXIT_OK
								 : kymo_report(&error);
	kymo_overview_close(&overview);
	return status;
}
