// SPDX-License-Identifier: Apache-2.0
/* `kymo salvage`: a trace from what a killed reader left. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "cli/progress.h"
#include "cli/sessions.h"
#include "reader/reader.h"
#include "replay/trace/text.h"

/* Where the trace @path was meant to go: an absolute path without ".incomplete". */
static bool find_output(const char *path, char output[PATH_MAX])
{
	static const char suffix[] = ".incomplete";
	size_t length;

	if (!realpath(path, output))
		return false;
	length = strlen(output);
	if (length <= sizeof suffix || strcmp(output + length - (sizeof suffix - 1), suffix))
		return false;
	output[length - (sizeof suffix - 1)] = '\0';
	return true;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISDIR(status.st_mode);
}

static int salvage_path(char **argv, const char *path, const char *output)
{
	char meant[PATH_MAX], dir[PATH_MAX], incomplete[PATH_MAX];
	const char *named = NULL;
	struct kymo_progress progress;
	struct kymo_watch watch = {0};
	struct kymo_error error;
	bool has_session = is_folder(path) && realpath(path, dir), has_end = true;
	int result;

	if (!has_session && find_output(path, meant)) {
		has_session = !kymo_session_of_trace(path, dir);
		if (has_session)
			named = realpath(path, incomplete);
		if (!output)
			output = meant;
	}
	if (!has_session && !output)
		return kymo_usage_error(argv, "%s is neither a session folder nor a .incomplete file; "
					      "name the new trace with -o FILE", path);
	kymo_progress_begin(&progress, argv[0], &watch);
	if (has_session)
		result = kymo_salvage(dir, named, output, &watch, &error);
	else
		result = kymo_salvage_trace(path, output, &has_end, &watch, &error);
	kymo_progress_end(&progress);
	if (!result && !has_end) {
		fputs("kymo: the session of ", stderr);
		kymo_text_put(stderr, path);
		fputs(" no longer exists: the last events of each thread, which were not written yet, are missing\n", stderr);
	}
	return result ? kymo_report(&error) : KYMO_EXIT_OK;
}

static const struct kymo_option options[] = {
	{"output", 'o', KYMO_OPTION_WORD, .value = "FILE", .help = "write the trace to FILE instead of where the recording would have"},
	{0},
};

static int run_salvage(int argc, char **argv)
{
	const char *output = NULL;
	int status = kymo_options_parse(&kymo_verb_salvage, argc, argv, &output, NULL);

	return status < 0 ? salvage_path(argv, argv[optind], output) : status;
}

const struct kymo_verb kymo_verb_salvage = {
	.name = "salvage",
	.summary = "make a trace of what a killed reader left",
	.usage = "[options] SESSION\n[options] TRACE",
	.operands = "SESSION",
	.text = "Make a complete trace of what is left of a recording whose reader was killed: of its session folder, or of its "
		"NAME.incomplete, whose session is used if it still exists, wherever it lies. A cut or damaged trace is written "
		"again without the damage.",
	.tables = {{options}},
	.run = run_salvage,
};
