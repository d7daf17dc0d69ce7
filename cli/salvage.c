// SPDX-License-Identifier: Apache-2.0
/* `kymo salvage`: a trace from what a killed reader left. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/sessions.h"
#include "reader/reader.h"
#include "replay/trace/text.h"

static const char help[] =
	"usage: kymo salvage [-o FILE] SESSION | TRACE\n"
	"\n"
	"Make a complete trace of what is left of a recording whose reader was killed: of its\n"
	"session folder, or of its NAME.incomplete, to which the session is found if it is still\n"
	"there, wherever it lies; else that is said. A cut or damaged trace is written again without\n"
	"the damage.\n"
	"\n"
	"  -o, --output=FILE   the trace (default: where the recording meant it to go)\n"
	"  --help              this text\n";

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

static int salvage(char **argv, const char *path, const char *output)
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
		return kymo_usage_error(argv, "%s is no folder and no .incomplete file; -o must name "
					      "the new trace", path);
	kymo_progress_begin(&progress, argv[0], &watch);
	if (has_session)
		result = kymo_salvage(dir, named, output, &watch, &error);
	else
		result = kymo_salvage_trace(path, output, &has_end, &watch, &error);
	kymo_progress_end(&progress);
	if (!result && !has_end) {
		fputs("kymo: the session of ", stderr);
		kymo_text_put(stderr, path);
		fputs(" is not there any more: events that were not written yet are missing at the end of each thread\n", stderr);
	}
	return result ? kymo_report(&error) : KYMO_EXIT_OK;
}

int kymo_command_salvage(int argc, char **argv)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *output = NULL, *path;
	int option;

	while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		}
		if (option != 'o')
			return KYMO_EXIT_USAGE;
		output = optarg;
	}
	path = kymo_single_operand(argc, argv, "session or trace");
	return path ? salvage(argv, path, output) : KYMO_EXIT_USAGE;
}
