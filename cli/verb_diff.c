// SPDX-License-Identifier: Apache-2.0
/* `kymo diff`: where two recorded runs diverged. */
#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/python_choice.h"
#include "replay/diff/diff.h"
#include "replay/trace/describe.h"

/* Exit statuses as in diff(1). */
enum {
	SAME = 0,
	DIFFERENT = 1,
	FAILURE = 2,
};

struct wanted {
	struct kymo_diff_options options;
	struct kymo_words ignored, ignored_values, sources;
	bool without_defaults;
	const char *test;
	bool has_json;
	const char *html; /* NULL: no page */
	const char *verb;
};

static int report_trouble(const struct kymo_error *error)
{
	/* The script that makes the page reports its errors itself. */
	if (*error->message)
		kymo_report(error);
	return FAILURE;
}

/* Give @report to the script that makes the page, which writes it to @output. */
static int make_page(const json_t *report, FILE *output, struct kymo_error *error)
{
	static const char name[] = "_diff_page.py";
	char script[PATH_MAX + sizeof name + 1], python[PATH_MAX], options[] = "-IS";
	char *argv[] = {python, options, script, NULL};
	struct kymo_package package;
	posix_spawn_file_actions_t actions;
	FILE *input = tmpfile();
	int status = 0, result;
	pid_t pid;

	if (!input || json_dumpf(report, input, JSON_COMPACT) || fflush(input) || lseek(fileno(input), 0, SEEK_SET)) {
		if (input)
			fclose(input);
		return kymo_fail(error, -EIO, "cannot write a temporary file: %s", strerror(errno));
	}
	result = kymo_package_find(&package, error);
	/* Any Python will do, if there is none that can be recorded. */
	if (!result && kymo_python_choose(&package, python, error))
		result = kymo_program_find("python3", python);
	if (result) {
		fclose(input);
		return result;
	}
	snprintf(script, sizeof script, "%s/%s", package.folder, name);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
	if (output != stdout)
		posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
	result = -posix_spawn(&pid, python, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	fclose(input);
	if (result)
		return kymo_fail(error, result, "cannot run %s: %s", python, strerror(-result));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return kymo_fail(error, -EIO, "%s", "");
	return status ? kymo_fail(error, -EIO, "the page was not written: %s failed", python) : 0;
}

static int write_page(const json_t *report, const char *path, struct kymo_error *error)
{
	struct kymo_output_file file;
	int result = kymo_output_file_open(&file, path, true, error);

	return result ? result : kymo_output_file_close(&file, make_page(report, file.out, error), error);
}

static int print_diff(struct kymo_diff *diff, const struct wanted *wanted, struct kymo_error *error)
{
	json_t *report = kymo_diff_describe(diff, error);
	int result = 0;

	if (!report)
		return -EIO;
	if (wanted->html) {
		result = write_page(report, wanted->html, error);
		json_object_del(report, "sources");
	}
	if (wanted->has_json) {
		if (kymo_put_json(report, JSON_INDENT(1)))
			result = kymo_fail(error, -EIO, "the report cannot be written as JSON");
	} else if (!wanted->html) {
		kymo_diff_put_text(stdout, report, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"));
	}
	json_decref(report);
	return result;
}

static int open_side(struct kymo_side *side, const struct wanted *wanted, const char *path, struct kymo_error *error)
{
	struct kymo_progress progress;
	int result = kymo_timeline_open(&side->timeline, path, 0, error);

	if (result)
		return result;
	/* Rebuilt jumps show nothing that lines and branches do not. */
	side->timeline.rebuilt_kinds &= ~(UINT64_C(1) << KYMO_JUMP);
	kymo_progress_begin(&progress, wanted->verb, &side->timeline.trace.watch);
	result = kymo_index_open(&side->index, &side->timeline, path, NULL, error);
	kymo_progress_end(&progress);
	if (result)
		kymo_timeline_close(&side->timeline);
	return result;
}

static void close_side(struct kymo_side *side)
{
	kymo_report_damage(&side->timeline.trace);
	kymo_index_close(&side->index);
	kymo_timeline_close(&side->timeline);
}

static int compare_runs(const struct wanted *wanted)
{
	struct kymo_diff *diff = calloc(1, sizeof *diff);
	struct kymo_progress progress;
	struct kymo_side *sides[2];
	struct kymo_error error;
	size_t open = 0;
	int result = 0, status;

	if (!diff) {
		kymo_fail(&error, -ENOMEM, "out of memory");
		return report_trouble(&error);
	}
	for (; open < 2 && !result; open += !result) {
		sides[open] = &diff->comparison.forests[open].side;
		result = open_side(sides[open], wanted, wanted->options.paths[open], &error);
	}
	if (!result) {
		kymo_progress_begin(&progress, wanted->verb, &sides[1]->timeline.trace.watch);
		result = kymo_diff_run(diff, &wanted->options, &error);
		kymo_progress_end(&progress);
		if (!result)
			result = print_diff(diff, wanted, &error);
	}
	status = result ? report_trouble(&error) : kymo_diff_is_same(diff) ? SAME : DIFFERENT;
	kymo_diff_release(diff);
	while (open)
		close_side(sides[--open]);
	free(diff);
	return status;
}

/* The calls that are left out: those that were named, and the default ones.  NULL: no memory. */
static struct kymo_ignored *list_ignored(const struct wanted *wanted)
{
	size_t count = wanted->ignored.count, more = 0;
	struct kymo_ignored *ignored;

	while (!wanted->without_defaults && kymo_ignored_by_default[more].file)
		more++;
	ignored = calloc(count + more + 1, sizeof *ignored);
	for (size_t i = 0; ignored && i < count; i++)
		ignored[i] = (struct kymo_ignored){wanted->ignored.words[i], NULL, KYMO_LEFT_OUT};
	if (ignored)
		memcpy(ignored + count, kymo_ignored_by_default, more * sizeof *ignored);
	return ignored;
}

#define OPTION(field) offsetof(struct wanted, options.field)
static const struct kymo_option options[] = {
	{"test", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, test), .value = "ID",
	 .help = "compare this test alone: its last attempt in PASS, its first one in FAIL", .more = "Tests are found by the marks around them."},
	{"pass-test", 0, KYMO_OPTION_WORD, .place = OPTION(tests[0]), .value = "ID", .help = "the test in PASS"},
	{"fail-test", 0, KYMO_OPTION_WORD, .place = OPTION(tests[1]), .value = "ID", .help = "the test in FAIL"},
	{"ignore", 0, KYMO_OPTION_LIST, .place = offsetof(struct wanted, ignored), .value = "GLOB",
	 .help = "leave out calls into files that match GLOB, with all that they call; may be repeated",
	 .more = "GLOB is matched against the path, or the end of it."},
	{"no-default-ignore", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, without_defaults),
	 .help = "compare what is left out by default, too: importlib, threading, linecache, …",
	 .more = "These are also the loop of asyncio, `__del__` methods and callbacks of weak references."},
	{"ignore-value", 0, KYMO_OPTION_LIST, .place = offsetof(struct wanted, ignored_values), .value = "GLOB",
	 .help = "do not compare values of variables, attributes and keys whose names match GLOB; may be repeated"},
	{"values-differ", 0, KYMO_OPTION_FLAG, .place = OPTION(values_differ), .help = "report runs in which only values differ as different"},
	{"no-values", 0, KYMO_OPTION_FLAG, .place = OPTION(without_values), .help = "do not compare values"},
	{"source", 0, KYMO_OPTION_LIST, .place = offsetof(struct wanted, sources), .value = "PLACE",
	 .help = "treat this package, module or folder as the project's, not as a library; may be repeated",
	 .more = "Differences in libraries come last."},
	{"limit", 0, KYMO_OPTION_NUMBER, .place = OPTION(limit), .value = "N", .help = "print at most N differences (default: 10)"},
	{"json", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, has_json), .help = "print one JSON object"},
	{"html", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, html), .value = "FILE",
	 .help = "write a page to FILE, with both sources side by side", .more = "It needs no other file."},
	{0},
};

static int run_diff(int argc, char **argv)
{
	static const char *const none[] = {NULL};
	struct wanted wanted = {.options = {.limit = 10}, .verb = argv[0]};
	struct kymo_diff_options *diff = &wanted.options;
	int status = kymo_options_parse(&kymo_verb_diff, argc, argv, &wanted, NULL);
	struct kymo_ignored *ignored = status < 0 ? list_ignored(&wanted) : NULL;
	struct kymo_error error;

	if (ignored) {
		diff->paths[0] = argv[optind];
		diff->paths[1] = argv[optind + 1];
		for (size_t i = 0; i < 2 && wanted.test; i++)
			if (!diff->tests[i])
				diff->tests[i] = wanted.test;
		diff->has_sources = wanted.html != NULL;
		diff->ignored = ignored;
		diff->sources = wanted.sources.count ? (const char *const *)wanted.sources.words : none;
		diff->ignored_values = wanted.ignored_values.count ? (const char *const *)wanted.ignored_values.words : none;
		status = compare_runs(&wanted);
	} else if (status < 0) {
		kymo_fail(&error, -ENOMEM, "out of memory");
		status = report_trouble(&error);
	}
	free(ignored);
	kymo_words_free(&wanted.ignored);
	kymo_words_free(&wanted.ignored_values);
	kymo_words_free(&wanted.sources);
	return status;
}

const struct kymo_verb kymo_verb_diff = {
	.name = "diff",
	.summary = "find where two recorded runs diverged, and why",
	.operands = "PASS FAIL",
	.text = "Find where two recorded runs diverged: print the first divergence, and then what else differs, what matters most first. "
		"Both may be the same trace, of which two tests are compared.\n"
		"The exit status is 0 if they are the same, 1 if they differ, 2 if they cannot be compared.",
	.tables = {{options}},
	.run = run_diff,
};
