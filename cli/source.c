// SPDX-License-Identifier: Apache-2.0
/* `kymo source`: the source files of a trace, as they were when they were recorded. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"
#include "replay/trace/sources.h"

static const struct kymo_traced_process *process_of(const struct kymo_timeline *timeline, uint64_t pid)
{
	for (size_t i = 0; i < timeline->definitions.process_count; i++)
		if (timeline->definitions.processes[i].pid == pid)
			return &timeline->definitions.processes[i];
	return NULL;
}

static void print_list(const struct kymo_timeline *timeline)
{
	const struct kymo_definitions *definitions = &timeline->definitions;
	char count[KYMO_TEXT_BYTES];

	for (size_t i = 0; i < definitions->source_count; i++) {
		const struct kymo_source_place *place = &definitions->sources[i];
		const struct kymo_traced_process *process = kymo_traced_find(definitions, place->process);

		if (place->missing)
			printf("%-10s  %10s  ", "missing", "-");
		else
			printf("%-10s  %10s  ", place->is_verified ? "verified" : "unverified",
			       kymo_text_count(place->bytes, count));
		kymo_text_put(stdout, place->file);
		if (place->process)
			printf(", of process %" PRIu32, process ? process->pid : 0);
		if (place->missing) {
			fputs(": ", stdout);
			kymo_text_put(stdout, place->missing);
		}
		putchar('\n');
	}
}

static bool is_end_of(const char *end, const char *name)
{
	size_t end_bytes = strlen(end), bytes = strlen(name);

	return end_bytes < bytes && name[bytes - end_bytes - 1] == '/' && !strcmp(name + bytes - end_bytes, end);
}

/* The first place of the one file that is called @name, or whose name ends so. */
static int find(const struct kymo_definitions *definitions, const char *name, const struct kymo_source_place **found,
		struct kymo_error *error)
{
	const struct kymo_source_place *places = definitions->sources;

	*found = NULL;
	for (size_t i = 0; i < definitions->source_count; i++) {
		if (!strcmp(places[i].file, name)) {
			*found = &places[i];
			return 0;
		}
	}
	for (size_t i = 0; i < definitions->source_count; i++) {
		if (!is_end_of(name, places[i].file))
			continue;
		if (*found && strcmp((*found)->file, places[i].file) != 0)
			return kymo_fail(error, -EINVAL, "%s is ambiguous: it may be %s or %s", name, (*found)->file,
					 places[i].file);
		if (!*found)
			*found = &places[i];
	}
	return *found ? 0 : kymo_fail(error, -ENOENT, "the trace has no source file %s", name);
}

static int print(struct kymo_timeline *timeline, const struct kymo_traced_process *process, const char *name,
		 struct kymo_error *error)
{
	const struct kymo_source_place *place;
	struct kymo_source source;
	int result = find(&timeline->definitions, name, &place, error);

	if (result)
		return result;
	result = process ? kymo_traced_source(timeline, process, place->file, &source, error)
			 : kymo_source_load(timeline, place, &source, error);
	if (result)
		return result;
	if (source.missing)
		result = kymo_fail(error, -ENOENT, "%s: %s", place->file, source.missing);
	else if (isatty(STDOUT_FILENO))
		kymo_text_put_lines(stdout, source.text, source.bytes);
	else
		fwrite(source.text, 1, source.bytes, stdout);
	kymo_source_release(&source);
	return result;
}

static const struct kymo_option options[] = {
	{"pid", 0, KYMO_OPTION_COUNT, .value = "PID", .help = "print FILE as this process had it, instead of the first one that had it"},
	{0},
};

static int run_source(int argc, char **argv)
{
	const struct kymo_traced_process *process = NULL;
	struct kymo_timeline timeline;
	struct kymo_error error;
	uint64_t pid = 0;
	int result = 0, status = kymo_options_parse(&kymo_verb_source, argc, argv, &pid, NULL);

	if (status >= 0)
		return status;
	if (kymo_timeline_open(&timeline, argv[optind], 0, &error))
		return kymo_report(&error);
	if (pid)
		process = process_of(&timeline, pid);
	if (pid && !process)
		result = kymo_fail(&error, -ESRCH, "the trace has no process %" PRIu64, pid);
	else if (argc - optind == 2)
		result = print(&timeline, process, argv[optind + 1], &error);
	else
		print_list(&timeline);
	kymo_report_damage(&timeline.trace);
	kymo_timeline_close(&timeline);
	return result ? kymo_report(&error) : KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_source = {
	.name = "source",
	.summary = "print source files as they were when they were recorded",
	.operands = "TRACE [FILE]",
	.text = "Print FILE as it was when it was recorded: a name as in kymo events, or the end of only one of them, as in "
		"pkg/module.py. Without FILE: list the files that were recorded, with the size of their text; one is verified if "
		"it is known to be what ran.",
	.tables = {{options}},
	.run = run_source,
};
