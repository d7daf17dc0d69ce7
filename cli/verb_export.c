// SPDX-License-Identifier: Apache-2.0
/* `kymo export`: a trace in the formats of other tools; formats that the Python package writes are handed over to it. */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/slice_options.h"
#include "replay/profile/export/export.h"
#include "replay/trace/describe.h"

static const struct format {
	const char *name, *help;
	const char *module; /* module of the Python package that writes it; NULL: @write does */
	kymo_exporter write;
	bool is_binary;
	const char *title; /* of those that follow */
} formats[] = {
	{"perfetto", "protobuf for ui.perfetto.dev and Perfetto's trace processor", NULL, kymo_export_perfetto, true,
	 "Timelines, with every call"},
	{"chrome", "JSON for chrome://tracing and others", NULL, kymo_export_chrome, false, NULL},
	{"speedscope", "JSON for speedscope.app", NULL, kymo_export_speedscope, false, NULL},
	{"gecko", "JSON for profiler.firefox.com", NULL, kymo_export_gecko, false, NULL},
	{"pprof", "protobuf for go tool pprof", "kymo.profile.export", NULL, true, "Profiles, added up"},
	{"callgrind", "for KCachegrind and callgrind_annotate, with lines", "kymo.profile.export", NULL, false, NULL},
	{"gprof", "flat profile and call graph as text", "kymo.profile.export", NULL, false, NULL},
	{"pstats", "for python -m pstats, snakeviz and others", "kymo.profile.export", NULL, true, NULL},
	{"collapsed", "stacks for flamegraph.pl and others", "kymo.profile.export", NULL, false, NULL},
	{"flamegraph", "a page that needs nothing else", "kymo.profile.export", NULL, false, NULL},
	{"arrow", "Arrow's IPC file, for pyarrow, polars and others", "kymo.arrow.export", NULL, true, "Tables, with every event"},
	{"parquet", "Parquet", "kymo.arrow.export", NULL, true, NULL},
};
#define FORMATS "perfetto chrome speedscope gecko pprof callgrind gprof pstats collapsed flamegraph arrow parquet"
#define FORMAT_COUNT (sizeof formats / sizeof *formats)

struct wanted {
	const struct format *format;
	const char *name; /* of the format */
	const char *output;
	bool is_forced;
	struct kymo_slice slice;
	uint64_t kinds;
};

static const struct kymo_option options[] = {
	{"format", 0, KYMO_OPTION_CHOICE, true, offsetof(struct wanted, name), "FORMAT", FORMATS, "write one of the formats below", NULL},
	{"output", 'o', KYMO_OPTION_WORD, .place = offsetof(struct wanted, output), .value = "FILE",
	 .help = "write to FILE; without it, or for -, to standard output", .more = "The file is there when it is complete, or not at all."},
	{"force", 'f', KYMO_OPTION_FLAG, .place = offsetof(struct wanted, is_forced), .help = "replace FILE if it exists"},
	{"kind", 0, KYMO_OPTION_KINDS, .place = offsetof(struct wanted, kinds), .value = "KIND,…",
	 .help = "in tables, only events of these kinds, such as LINE,RAISE,GAP,MARK"},
	{0},
};

static int write_timeline(const struct wanted *wanted, struct kymo_timeline *timeline, struct kymo_error *error)
{
	struct kymo_contexts contexts;
	struct kymo_export export = {
		.timeline = timeline,
		.slice = &wanted->slice,
		.contexts = wanted->slice.test ? &contexts : NULL,
	};
	struct kymo_output_file file;
	int result = kymo_slice_find_contexts(&wanted->slice, timeline, &contexts, error);

	if (!result)
		result = kymo_output_file_open(&file, wanted->output, wanted->is_forced, error);
	if (!result) {
		export.out = file.out;
		result = wanted->format->write(&export, error);
		if (ferror(file.out))
			result = kymo_output_file_check(&file, error);
		result = kymo_output_file_close(&file, result, error);
	}
	kymo_contexts_release(&contexts);
	return result;
}

static int write_trace(char *const *argv, const struct wanted *wanted, const char *path)
{
	struct kymo_progress progress;
	struct kymo_timeline timeline;
	struct kymo_error error;
	int result = kymo_timeline_open(&timeline, path, 0, &error);

	if (result)
		return kymo_report(&error);
	kymo_progress_begin(&progress, argv[0], &timeline.trace.watch);
	result = write_timeline(wanted, &timeline, &error);
	kymo_progress_end(&progress);
	/* Errors of stdout are reported for all verbs in one place. */
	if (result && !ferror(stdout))
		kymo_report(&error);
	kymo_report_damage(&timeline.trace);
	kymo_timeline_close(&timeline);
	return result ? KYMO_EXIT_FAILURE : KYMO_EXIT_OK;
}

static void put_formats(FILE *out)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (formats[i].title)
			fprintf(out, "%s:\n", formats[i].title);
		fprintf(out, "  %-11s %s\n", formats[i].name, formats[i].help);
	}
}

static int run_export(int argc, char **argv)
{
	struct wanted wanted = {.slice = KYMO_SLICE_ALL, .format = formats};
	struct kymo_words words = {0};
	int status = kymo_options_parse(&kymo_verb_export, argc, argv, &wanted, &words);

	if (status >= 0)
		return status;
	while (strcmp(wanted.format->name, wanted.name) != 0)
		wanted.format++;
	if (wanted.format->is_binary && isatty(STDOUT_FILENO) && (!wanted.output || !strcmp(wanted.output, "-")))
		return kymo_usage_error(argv, "refusing to write %s to a terminal; use -o FILE", wanted.name);
	if (wanted.format->module)
		return kymo_hand_over("export", wanted.format->module, &words, argv + optind);
	if (wanted.kinds)
		return kymo_usage_error(argv, "--kind: %s has calls, not events; use --format=arrow or parquet", wanted.name);
	return write_trace(argv, &wanted, argv[optind]);
}

const struct kymo_verb kymo_verb_export = {
	.name = "export",
	.summary = "write the calls of a trace in formats of profilers and trace viewers",
	.usage = "[options] --format=FORMAT TRACE",
	.operands = "TRACE",
	.text = "Write the calls of a trace in a format that other tools open.",
	.tables = {{options},
		   {kymo_part_options, offsetof(struct wanted, slice)},
		   {kymo_call_options, offsetof(struct wanted, slice)},
		   {kymo_python_option}},
	.put_epilog = put_formats,
	.run = run_export,
};
