// SPDX-License-Identifier: Apache-2.0
/* `kymo export`: a trace in the formats of other tools; what the Python package writes is handed over to it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/slice_options.h"
#include "replay/profile/export/export.h"
#include "replay/trace/describe.h"

static const char help[] =
	"usage: kymo export [options] --format=FORMAT TRACE\n"
	"\n"
	"Write the calls of a trace in a format that other tools open.\n"
	"\n"
	"  --format=FORMAT      one of those below\n"
	"  -o, --output=FILE    where to write; else, or for -, stdout\n"
	"  -f, --force          replace FILE if it exists\n"
	KYMO_SLICE_HELP
	"  --kind=K[,K…]        in tables, only these events, e.g. LINE,RAISE,GAP,MARK\n"
	"  --python=PROGRAM     the Python that writes the formats that are marked with *; else one\n"
	"                       of the version that recorded\n"
	"  --help               this text\n"
	"\n"
	"Timelines, with every call:\n"
	"  perfetto    protobuf for ui.perfetto.dev and Perfetto's trace processor\n"
	"  chrome      JSON for chrome://tracing and others\n"
	"  speedscope  JSON for speedscope.app\n"
	"  gecko       JSON for profiler.firefox.com\n"
	"Profiles, added up:\n"
	"  pprof*      protobuf for go tool pprof\n"
	"  callgrind*  for KCachegrind and callgrind_annotate, with lines\n"
	"  gprof*      flat profile and call graph as text\n"
	"  pstats*     for python -m pstats, snakeviz and others\n"
	"  collapsed*  stacks for flamegraph.pl and others\n"
	"  flamegraph* a page that needs nothing else\n"
	"Tables, with every event:\n"
	"  arrow*      Arrow's IPC file, for pyarrow, polars and others\n"
	"  parquet*    Parquet\n";

static const struct format {
	const char *name;
	const char *module; /* of the Python package, which writes it; NULL: @write does */
	kymo_exporter write;
	bool is_binary;
} formats[] = {
	{"perfetto", NULL, kymo_export_perfetto, true},
	{"chrome", NULL, kymo_export_chrome, false},
	{"speedscope", NULL, kymo_export_speedscope, false},
	{"gecko", NULL, kymo_export_gecko, false},
	{"pprof", "kymo.profile.export", NULL, true},
	{"callgrind", "kymo.profile.export", NULL, false},
	{"gprof", "kymo.profile.export", NULL, false},
	{"pstats", "kymo.profile.export", NULL, true},
	{"collapsed", "kymo.profile.export", NULL, false},
	{"flamegraph", "kymo.profile.export", NULL, false},
	{"arrow", "kymo.arrow.export", NULL, true},
	{"parquet", "kymo.arrow.export", NULL, true},
};
#define FORMAT_COUNT (sizeof formats / sizeof *formats)

struct wanted {
	const struct format *format;
	const char *output;
	bool is_forced;
	struct kymo_slice slice;
};

/* NULL: there is none of that name (NULL: none was asked for), which is reported. */
static const struct format *find_format(char *const *argv, const char *name)
{
	char known[256] = "";

	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (name && !strcmp(name, formats[i].name))
			return &formats[i];
		strcat(strcat(known, i ? ", " : ""), formats[i].name);
	}
	if (name)
		kymo_usage_error(argv, "--format: there is no '%s'; there are %s", name, known);
	else
		kymo_usage_error(argv, "--format is missing; there are %s", known);
	return NULL;
}

/* What stands behind --format, before anything else is looked at: the package has options of its own. */
static const char *format_name(int argc, char **argv)
{
	static const char option[] = "--format";
	const size_t length = sizeof option - 1;
	const char *name = NULL;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], option, length) && argv[i][length] == '=')
			name = argv[i] + length + 1;
		else if (!strcmp(argv[i], option) && i + 1 < argc)
			name = argv[++i];
	}
	return name;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct wanted *wanted)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, 'F'},
		{"output", required_argument, NULL, 'o'},
		{"force", no_argument, NULL, 'f'},
		{"python", required_argument, NULL, 'p'},
		KYMO_SLICE_OPTIONS,
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "o:fh", options, NULL)) != -1) {
		switch (option) {
		case 'F':
		case 'p':
			break;
		case 'o':
			wanted->output = optarg;
			break;
		case 'f':
			wanted->is_forced = true;
			break;
		case 'h':
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		default:
			if (!kymo_slice_option(argv, option, &wanted->slice))
				return KYMO_EXIT_USAGE;
		}
	}
	return -1;
}

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
	/* What is wrong with stdout is told for all verbs in one place. */
	if (result && !ferror(stdout))
		kymo_report(&error);
	kymo_report_damage(&timeline.trace);
	kymo_timeline_close(&timeline);
	return result ? KYMO_EXIT_FAILURE : KYMO_EXIT_OK;
}

int kymo_command_export(int argc, char **argv)
{
	struct wanted wanted = {.slice = KYMO_SLICE_ALL};
	const char *name = format_name(argc, argv), *path;
	bool goes_to_terminal;
	int status;

	if (name && !(wanted.format = find_format(argv, name)))
		return KYMO_EXIT_USAGE;
	if (name && wanted.format->module)
		return kymo_hand_over("export", wanted.format->module, help, argc, argv);
	status = parse(argc, argv, &wanted);
	if (status >= 0)
		return status;
	if (!name && !(wanted.format = find_format(argv, NULL)))
		return KYMO_EXIT_USAGE;
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	goes_to_terminal = isatty(STDOUT_FILENO) && (!wanted.output || !strcmp(wanted.output, "-"));
	if (wanted.format->is_binary && goes_to_terminal)
		return kymo_usage_error(argv, "%s is nothing for a terminal; -o names a file", name);
	return write_trace(argv, &wanted, path);
}
