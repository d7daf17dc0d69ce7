// SPDX-License-Identifier: Apache-2.0
/* `kymo diff`: where two recorded runs parted. */
#include <errno.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/python_choice.h"
#include "replay/diff/diff.h"
#include "replay/trace/describe.h"

/* As diff(1) has them. */
enum {
	SAME = 0,
	DIFFERENT = 1,
	FAILURE = 2,
};

static const char help[] =
	"usage: kymo diff [options] PASS FAIL\n"
	"\n"
	"Where two recorded runs parted: the first divergence, and then what else differs, what matters\n"
	"most first. Both may be the same trace, of which two tests are compared.\n"
	"\n"
	"  --test=ID             compare this test alone: the last attempt of PASS, the first of FAIL\n"
	"  --pass-test=ID        the test of PASS\n"
	"  --fail-test=ID        the test of FAIL\n"
	"  --ignore=GLOB         leave out calls into these files, and what they call; repeatable\n"
	"  --no-default-ignore   leave out nothing by default: importlib, linecache, threading, …\n"
	"  --ignore-value=GLOB   do not compare values of variables, attributes and keys of such names; repeatable\n"
	"  --values-differ       runs in which values alone differ are different\n"
	"  --no-values           do not compare values\n"
	"  --source=NAME         this package, module or folder is no library; repeatable\n"
	"  --limit=N             tell at most N differences (default 10)\n"
	"  --json                as one JSON object\n"
	"  --html=FILE           as a page, with both sources side by side\n"
	"  --help                this text\n"
	"\n"
	"Exit status: 0 the same, 1 different, 2 trouble.\n";

struct wanted {
	struct kymo_diff_options options;
	bool has_json;
	const char *html; /* NULL: no page */
	const char *verb;
};

static int trouble(const struct kymo_error *error)
{
	/* The script that makes the page says itself what is wrong. */
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

static int tell(struct kymo_diff *diff, const struct wanted *wanted, struct kymo_error *error)
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
	/* Of what is rebuilt, jumps tell nothing that lines and branches do not. */
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

static int run(const struct wanted *wanted)
{
	struct kymo_diff *diff = calloc(1, sizeof *diff);
	struct kymo_progress progress;
	struct kymo_side *sides[2];
	struct kymo_error error;
	size_t open = 0;
	int result = 0, status;

	if (!diff) {
		kymo_fail(&error, -ENOMEM, "out of memory");
		return trouble(&error);
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
			result = tell(diff, wanted, &error);
	}
	status = result ? trouble(&error) : kymo_diff_is_same(diff) ? SAME : DIFFERENT;
	kymo_diff_release(diff);
	while (open)
		close_side(sides[--open]);
	free(diff);
	return status;
}

static int add_ignored(struct kymo_ignored **ignored, size_t *count, const char *glob)
{
	struct kymo_ignored *grown = reallocarray(*ignored, *count + 2, sizeof *grown);

	if (!grown)
		return -ENOMEM;
	grown[(*count)++] = (struct kymo_ignored){glob, NULL, KYMO_LEFT_OUT};
	grown[*count] = (struct kymo_ignored){0};
	*ignored = grown;
	return 0;
}

static int add_defaults(struct kymo_ignored **ignored, size_t count)
{
	size_t more = 1;
	struct kymo_ignored *grown;

	while (kymo_ignored_by_default[more - 1].file)
		more++;
	grown = reallocarray(*ignored, count + more, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + count, kymo_ignored_by_default, more * sizeof *grown);
	*ignored = grown;
	return 0;
}

static const struct option options[] = {
	{"test", required_argument, NULL, 't'},	  {"pass-test", required_argument, NULL, 'p'},
	{"fail-test", required_argument, NULL, 'f'}, {"ignore", required_argument, NULL, 'i'},
	{"no-default-ignore", no_argument, NULL, 'd'}, {"limit", required_argument, NULL, 'l'},
	{"source", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},	  {"html", required_argument, NULL, 'o'},
	{"ignore-value", required_argument, NULL, 'v'}, {"values-differ", no_argument, NULL, 'V'}, {"no-values", no_argument, NULL, 'n'},
	{"help", no_argument, NULL, 'h'},	  {0},
};

int kymo_command_diff(int argc, char **argv)
{
	struct wanted wanted = {.options = {.limit = 10}, .verb = argv[0]};
	struct kymo_ignored *ignored = NULL;
	const char **sources = calloc(2 * ((size_t)argc + 1), sizeof *sources), **values = sources ? sources + argc + 1 : NULL;
	size_t source_count = 0, value_count = 0;
	bool has_defaults = true;
	size_t ignored_count = 0;
	uint64_t limit;
	int option, result = sources ? 0 : -ENOMEM, status;

	while (!result && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 't')
			wanted.options.tests[0] = wanted.options.tests[1] = optarg;
		else if (option == 'p')
			wanted.options.tests[0] = optarg;
		else if (option == 'f')
			wanted.options.tests[1] = optarg;
		else if (option == 'i')
			result = add_ignored(&ignored, &ignored_count, optarg);
		else if (option == 's')
			sources[source_count++] = optarg;
		else if (option == 'v')
			values[value_count++] = optarg;
		else if (option == 'V')
			wanted.options.values_differ = true;
		else if (option == 'n')
			wanted.options.without_values = true;
		else if (option == 'd')
			has_defaults = false;
		else if (option == 'j')
			wanted.has_json = true;
		else if (option == 'o')
			wanted.html = optarg;
		else if (option == 'l' && kymo_parse_number(argv, "--limit", optarg, &limit))
			wanted.options.limit = (size_t)limit;
		else {
			if (option == 'h')
				fputs(help, stdout);
			free(ignored);
			free(sources);
			return option == 'h' ? SAME : FAILURE;
		}
	}
	if (argc - optind != 2) {
		free(ignored);
		free(sources);
		kymo_usage_error(argv, "two traces are needed: one of a run that passed, one of a run that failed");
		return FAILURE;
	}
	wanted.options.paths[0] = argv[optind];
	wanted.options.paths[1] = argv[optind + 1];
	wanted.options.has_sources = wanted.html != NULL;
	if (!result && has_defaults)
		result = add_defaults(&ignored, ignored_count);
	else if (!result && !ignored)
		result = add_ignored(&ignored, &ignored_count, "");
	if (result) {
		struct kymo_error error;

		kymo_fail(&error, result, "out of memory");
		status = trouble(&error);
	} else {
		wanted.options.ignored = ignored;
		wanted.options.sources = sources;
		wanted.options.ignored_values = values;
		status = run(&wanted);
	}
	free(ignored);
	free(sources);
	return status;
}
