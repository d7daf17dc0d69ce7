// SPDX-License-Identifier: Apache-2.0
/* `kymo source`: the source files of a trace, as they were when they were recorded, and text of code that is in no file. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "replay/trace/describe.h"
#include "replay/trace/sources.h"
#include "replay/trace/text.h"

static const struct kymo_traced_process *process_of(const struct kymo_timeline *timeline, uint64_t pid)
{
	for (size_t i = 0; i < timeline->definitions.process_count; i++)
		if (timeline->definitions.processes[i].pid == pid)
			return &timeline->definitions.processes[i];
	return NULL;
}

/* Count the places of the name at @first, and those of them that are texts that processes kept. */
static size_t count_of_name(const struct kymo_definitions *definitions, const struct kymo_source_place *first, size_t *kept)
{
	const struct kymo_source_place *place = first, *end = definitions->sources + definitions->source_count;

	for (*kept = 0; place < end && !strcmp(place->file, first->file); place++)
		*kept += place->id != 0;
	return (size_t)(place - first);
}

/* @text: its number, if there are several texts of its name; or 0. */
static void print_place(const struct kymo_timeline *timeline, const struct kymo_source_place *place, size_t text)
{
	const struct kymo_traced_process *process = kymo_traced_find(&timeline->definitions, place->process);
	char count[KYMO_TEXT_BYTES];

	if (place->missing)
		printf("%-10s  %10s  ", "missing", "-");
	else
		printf("%-10s  %10s  ", place->is_verified ? "verified" : "unverified", kymo_text_count(place->bytes, count));
	kymo_text_put(stdout, place->file);
	if (place->process)
		printf(", of process %" PRIu32, process ? process->pid : 0);
	if (text)
		printf(", text %zu", text);
	if (place->missing) {
		fputs(": ", stdout);
		kymo_text_put(stdout, place->missing);
	}
	putchar('\n');
}

static void print_list(const struct kymo_timeline *timeline)
{
	const struct kymo_definitions *definitions = &timeline->definitions;
	size_t kept, text;

	for (size_t i = 0, count; i < definitions->source_count; i += count) {
		count = count_of_name(definitions, &definitions->sources[i], &kept);
		text = 0;
		for (size_t k = i; k < i + count; k++) {
			text += definitions->sources[k].id != 0;
			print_place(timeline, &definitions->sources[k], kept > 1 && definitions->sources[k].id ? text : 0);
		}
	}
}

static bool is_end_of(const char *end, const char *name)
{
	size_t end_bytes = strlen(end), bytes = strlen(name);

	return end_bytes < bytes && name[bytes - end_bytes - 1] == '/' && !strcmp(name + bytes - end_bytes, end);
}

/* The first place of the one file that is called @name, or whose name ends so. */
static int find_source(const struct kymo_definitions *definitions, const char *name, const struct kymo_source_place **found,
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

/* Choose among the places of the name at *@place: text @number or, for 0, the first one of a file, or the only one that was kept. */
static int choose_text(const struct kymo_definitions *definitions, uint64_t number, const struct kymo_source_place **place,
		  struct kymo_error *error)
{
	const struct kymo_source_place *first = *place;
	size_t kept, count = count_of_name(definitions, first, &kept);

	if (number > kept)
		return kymo_fail(error, -ENOENT, "%s: no text %" PRIu64, first->file, number);
	if (!number && (!kept || (!first->id && !first->missing)))
		return 0;
	if (!number && kept > 1)
		return kymo_fail(error, -ENOTUNIQ, "%s: %zu texts have this name; --text=1 to --text=%zu print one", first->file, kept,
				 kept);
	for (size_t i = 0; i < count; i++) {
		number -= number && first[i].id;
		*place = &first[i];
		if (first[i].id && !number)
			break;
	}
	return 0;
}

static int print_source(struct kymo_timeline *timeline, const struct kymo_traced_process *process, uint64_t number, const char *name,
		 struct kymo_error *error)
{
	const struct kymo_source_place *place;
	struct kymo_source source;
	int result = find_source(&timeline->definitions, name, &place, error);

	if (!result && !process)
		result = choose_text(&timeline->definitions, number, &place, error);
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

struct wanted {
	uint64_t pid, text;
};

static const struct kymo_option options[] = {
	{"pid", 0, KYMO_OPTION_COUNT, .place = offsetof(struct wanted, pid), .value = "PID",
	 .help = "print FILE as this process had it, instead of the first one that had it"},
	{"text", 0, KYMO_OPTION_COUNT, .place = offsetof(struct wanted, text), .value = "NUMBER",
	 .help = "print this one of several texts with one name, which the list numbers"},
	{0},
};

static int run_source(int argc, char **argv)
{
	const struct kymo_traced_process *process = NULL;
	struct kymo_timeline timeline;
	struct kymo_error error;
	struct wanted wanted = {0};
	int result = 0, status = kymo_options_parse(&kymo_verb_source, argc, argv, &wanted, NULL);

	if (status >= 0)
		return status;
	if (wanted.pid && wanted.text)
		return kymo_usage_error(argv, "--text is a number in the list of all processes: leave out --pid");
	if (kymo_timeline_open(&timeline, argv[optind], 0, &error))
		return kymo_report(&error);
	if (wanted.pid)
		process = process_of(&timeline, wanted.pid);
	if (wanted.pid && !process)
		result = kymo_fail(&error, -ESRCH, "the trace has no process %" PRIu64, wanted.pid);
	else if (argc - optind == 2)
		result = print_source(&timeline, process, wanted.text, argv[optind + 1], &error);
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
		"it is known to be what ran.\n"
		"Code that is in no file, such as a cell of a notebook, has the text that its process kept.",
	.tables = {{options}},
	.run = run_source,
};
