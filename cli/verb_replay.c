// SPDX-License-Identifier: Apache-2.0
/* `kymo replay`: the debugger in the terminal. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/open.h"
#include "cli/option_table.h"
#include "replay/debugger/console.h"
#include "replay/moves/named_places.h"
#include "replay/moves/tests_of.h"
#include "replay/trace/text.h"

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

static int run_console(struct kymo_index *index, const char *path, const struct wanted *wanted)
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
	status = run_console(&indexed.index, path, wanted);
	kymo_indexed_close(&indexed);
	return status;
}

static const struct kymo_option options[] = {
	{"at", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, at), .value = "WHERE",
	 .help = "begin at a time (12.5s, 30ms), an event (#123), N%, start, end, test NAME or a mark"},
	{"test", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, test), .value = "NAME",
	 .help = "begin where this test failed; a part of its name is enough",
	 .more = "Tests are found by the marks of Kymo's plugin for pytest. The place is where the exception was raised, in the last "
		 "attempt that failed. The part of the name must be that of one test alone, or of one that failed. A test that did "
		 "not fail: where it begins. Without this and --at, a trace in which tests failed is opened where the first one did."},
	{"follow", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, follows),
	 .help = "the trace is still being written: look for more of it before each command",
	 .more = "The place stays the same; `goto end` goes to what was written last of the first thread. A recording is called "
		 "NAME`.incomplete` until it is over, and is found under its final name then. Each time that it has grown, it is read "
		 "from its beginning to its end."},
	{0},
};

static int run_replay(int argc, char **argv)
{
	struct wanted wanted = {0};
	int status = kymo_options_parse(&kymo_verb_replay, argc, argv, &wanted, NULL);

	return status < 0 ? open_and_run(argv[0], argv[optind], &wanted) : status;
}

const struct kymo_verb kymo_verb_replay = {
	.name = "replay",
	.summary = "step through a recorded run, forwards and backwards",
	.operands = "TRACE",
	.text = "Step through a recorded run, forwards and backwards: from its end, or where it died, or where the first test failed.\n"
		"Commands come from the terminal, or from a pipe; an empty line repeats the last one that moves or lists, and Ctrl-C "
		"ends a long move.",
	.tables = {{options}},
	.put_epilog = kymo_console_put_help,
	.run = run_replay,
};
