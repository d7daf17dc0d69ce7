// SPDX-License-Identifier: Apache-2.0
/* `kymo snapshot`: have the reader keep what the rings of a recording hold now. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/sessions.h"
#include "recorder/recorder.h"

static const char help[] =
	"usage: kymo snapshot PID\n"
	"\n"
	"Keep what the rings of the recording that process PID belongs to hold now. Needed with\n"
	"--policy=overwrite, where older events make room for newer ones.\n"
	"\n"
	"  --help   this text\n";

#define PATIENCE_NS 10000000000U

static int snapshot(pid_t pid, struct kymo_error *error)
{
	struct kymo_session *session;
	char dir[PATH_MAX];
	int result = kymo_session_of_process(pid, dir, error);

	if (!result)
		result = kymo_session_open(dir, &session, error);
	if (result)
		return result;
	result = kymo_snapshot(session, "kymo snapshot", PATIENCE_NS);
	kymo_session_close(session);
	if (result == -ENOTCONN)
		return kymo_fail(error, result, "the recording has no reader");
	return result ? kymo_fail(error, result, "the reader does not answer") : 0;
}

int kymo_command_snapshot(int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct kymo_error error;
	const char *text;
	uint64_t pid;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option != 'h')
			return KYMO_EXIT_USAGE;
		fputs(help, stdout);
		return KYMO_EXIT_OK;
	}
	text = kymo_single_operand(argc, argv, "process id");
	if (!text || !kymo_parse_number(argv, "PID", text, &pid))
		return KYMO_EXIT_USAGE;
	if (!pid || pid > INT32_MAX)
		return kymo_usage_error(argv, "PID: '%s' is no process id", text);
	return snapshot((pid_t)pid, &error) ? kymo_report(&error) : KYMO_EXIT_OK;
}
