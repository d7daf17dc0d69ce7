// SPDX-License-Identifier: Apache-2.0
/* `kymo replay`: the debugger in the terminal. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/open.h"
#include "replay/debugger/console.h"
#include "replay/moves/named_places.h"
#include "replay/moves/tests_of.h"
#include "replay/trace/text.h"

static const char help[] =
	"usage: kymo replay [options] TRACE\n"
	"\n"
	"Step through a recorded run, forwards and backwards: from its end, or where it died, or\n"
	"where the first test failed.\n"
	"Commands come from the terminal, or from a pipe; an empty line repeats the last one\n"
	"that moves or lists, and Ctrl-C ends a long move.\n"
	"\n"
	"  --at=WHERE   begin at a time (12.5s, 30ms), an event (#123), N%, start, end, test NAME or a\n"
	"               mark\n"
	"  --test=NAME  begin where this test failed; a part of its name is enough\n"
	"  --follow     the trace is still written: look before each command whether there is more\n"
	"  --help       this text\n"
	"\n";

struct wanted {
	const char *at; /* NULL: where it ended, or a test failed */
	const char *test; /* NULL: none in particular */
	bool follows;
};

static int go_to_start(struct kymo_replay *replay, const struct wanted *wanted, struct kymo_error *error)
{
	const char *name;
	size_t count;
	int result;

	if (wanted->test)
		return kymo_replay_goto_test(replay, wanted->test, error);
	if (wanted->at)
		return kymo_replay_goto(replay, wanted->at, error);
	result = kymo_replay_goto_failed_test(replay, &name, &count, error);
	if (result <= 0)
		return result ? result : kymo_replay_goto_end(replay, error);
	fputs("--Failed-- ", stdout);
	kymo_text_put(stdout, name);
	if (count > 1)
		printf("; %zu tests failed, goto test NAME leads to another one", count);
	putchar('\n');
	return 0;
}

static int run(struct kymo_index *index, const char *path, const struct wanted *wanted)
{
	struct kymo_replay replay;
	struct kymo_error error;
	int status;

	if (kymo_replay_open(&replay, index, &error))
		return kymo_report(&error);
	if (go_to_start(&replay, wanted, &error))
		status = kymo_report(&error);
	else
		status = kymo_console_run(&replay, path, wanted->follows, wanted->at) ? KYMO_EXIT_FAILURE : KYMO_EXIT_OK;
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
		{"at", required_argument, NULL, 'a'}, {"test", required_argument, NULL, 't'}, {"follow", no_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {0}};
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
		else if (option == 't')
			wanted.test = optarg;
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
