// SPDX-License-Identifier: Apache-2.0
/* `kymo replay`: the debugger in the terminal. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "debugger/console.h"
#include "replay/describe.h"
#include "replay/places.h"

static const char help[] =
	"usage: kymo replay [options] TRACE\n"
	"\n"
	"Step through a recorded run, forwards and backwards: from its end, or where it died.\n"
	"Commands come from the terminal, or from a pipe; an empty line repeats the last one.\n"
	"\n"
	"  --at=WHERE   begin at a time (12.5s, 30ms), an event (#123), N%, start, end or a mark\n"
	"  --help       this text\n"
	"\n";

static int run(struct kymo_replay *replay, const char *path, const char *at)
{
	struct kymo_error error;

	if (at ? kymo_replay_goto(replay, at, &error) : kymo_replay_goto_end(replay, &error))
		return kymo_report(&error);
	return kymo_console_run(replay, path) ? KYMO_EXIT_FAILURE : KYMO_EXIT_OK;
}

int kymo_command_replay(int argc, char **argv)
{
	static const struct option options[] = {
		{"at", required_argument, NULL, 'a'}, {"help", no_argument, NULL, 'h'}, {0}};
	struct kymo_replay replay;
	struct kymo_progress progress;
	struct kymo_error error;
	const char *path, *at = NULL;
	int option, result;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			kymo_console_put_help(stdout);
			return KYMO_EXIT_OK;
		}
		if (option != 'a')
			return KYMO_EXIT_USAGE;
		at = optarg;
	}
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	kymo_progress_begin(&progress, argv[0], &replay.timeline.trace.watch);
	result = kymo_replay_open(&replay, path, &error);
	kymo_progress_end(&progress);
	if (result)
		return kymo_report(&error);
	kymo_report_damage(&replay.timeline.trace);
	result = run(&replay, path, at);
	kymo_replay_close(&replay);
	return result;
}
