// SPDX-License-Identifier: Apache-2.0
/* `kymo source`: the source files of a trace, as they were when they were recorded. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "replay/trace/describe.h"
#include "replay/trace/text.h"
#include "replay/trace/sources.h"

static const char help[] =
	"usage: kymo source [--pid=PID] TRACE [FILE]\n"
	"\n"
	"Print FILE as it was when it was recorded: a name as in kymo events, or the end of only\n"
	"one of them, as in pkg/module.py. Without FILE: the names of all that were recorded, with\n"
	"the size of their text. It is verified if it is known to be what ran.\n"
	"\n"
	"  --pid=PID   as this process had it; else as the first one had it\n"
	"  --help      this text\n";

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
			return kymo_fail(error, -EINVAL, "%s may be %s or %s", name, (*found)->file,
					 places[i].file);
		if (!*found)
			*found = &places[i];
	}
	return *found ? 0 : kymo_fail(error, -ENOENT, "the trace has no source of %s", name);
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

int kymo_command_source(int argc, char **argv)
{
	static const struct option options[] = {
		{"pid", required_argument, NULL, 'p'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const struct kymo_traced_process *process = NULL;
	struct kymo_timeline timeline;
	struct kymo_error error;
	uint64_t pid = 0;
	int option, result = 0;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		}
		if (option != 'p' || !kymo_parse_number(argv, "--pid", optarg, &pid))
			return KYMO_EXIT_USAGE;
	}
	if (optind == argc || argc - optind > 2)
		return kymo_usage_error(argv, "a trace is needed, and at most one file");
	if (kymo_timeline_open(&timeline, argv[optind], 0, &error))
		return kymo_report(&error);
	if (pid)
		process = process_of(&timeline, pid);
	if (pid && !process)
		result = kymo_fail(&error, -ESRCH, "there is no process %" PRIu64 " in the trace", pid);
	else if (argc - optind == 2)
		result = print(&timeline, process, argv[optind + 1], &error);
	else
		print_list(&timeline);
	kymo_report_damage(&timeline.trace);
	kymo_timeline_close(&timeline);
	return result ? kymo_report(&error) : KYMO_EXIT_OK;
}
