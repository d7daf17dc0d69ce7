// SPDX-License-Identifier: Apache-2.0
/* `kymo replay`: the debugger in the terminal. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/open.h"
#include "debugger/console.h"
#include "replay/places.h"

static const char help[] =
	"usage: kymo replay [options] TRACE\n"
	"\n"
	"Step through a recorded run, forwards and backwards: from its end, or where it died.\n"
	"Commands come from the terminal, or from a pipe; an empty line repeats the last one\n"
	"that moves or lists, and Ctrl-C ends a long move.\n"
	"\n"
	"  --at=WHERE   begin at a time (12.5s, 30ms), an event (#123), N%, start, end or a mark\n"
	"  --follow     the trace is still written: look before each command whether there is more\n"
	"  --help       this text\n"
	"\n";

struct wanted {
	const char *at; /* NULL: where it ended */
	bool follows;
};

static int run(struct kymo_index *index, const char *path, const struct wanted *wanted)
{
	struct kymo_replay replay;
	struct kymo_error error;
	int status;

	if (kymo_replay_open(&replay, index, &error))
		return kymo_report(&error);
	if (wanted->at ? kymo_replay_goto(&replay, wanted->at, &error) : kymo_replay_goto_end(&replay, &error))
		status = kymo_report(&error);
	else
		status = kymo_console_run(&replay, path, wanted->follows) ? KYMO_EXIT_FAILURE : KYMO_EXIT_OK;
	kymo_replay_close(&replay);
	return status;
}

static int open_and_run(const char *verb, const char *path, const struct wanted *wanted)
{
	struct kymo_indexed indexed;
	int status = kymo_open_trace(&indexed, verb, path, !wanted->follows);

	if (status)
		return status;
	status = run(&indexed.index, path, wanted);
	kymo_indexed_close(&indexed);
	return status;
}

int kymo_command_replay(int argc, char **argv)
{
	static const struct option options[] = {
		{"at", required_argument, NULL, 'a'}, {"follow", no_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {0}};
	struct wanted wanted = {0};
	const char *path;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			kymo_console_put_help(stdout);
			return KYMO_EXIT_OK;
		}
		if (option == 'a')
			wanted.at = optarg;
		else if (option == 'f')
			wanted.follows = true;
		else
			return KYMO_EXIT_USAGE;
	}
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	return open_and_run(argv[0], path, &wanted);
}
