// SPDX-License-Identifier: Apache-2.0
/* `kymo snapshot`: have the reader keep what the rings of a recording hold now. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "cli/sessions.h"
#include "recorder/recorder.h"

#define PATIENCE_NS 10000000000U

static int snapshot_process(pid_t pid, struct kymo_error *error)
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
		return kymo_fail(error, result, "cannot take a snapshot: the recording has no reader");
	return result ? kymo_fail(error, result, "cannot take a snapshot: the reader does not answer") : 0;
}

static int run_snapshot(int argc, char **argv)
{
	int status = kymo_options_parse(&kymo_verb_snapshot, argc, argv, NULL, NULL);
	struct kymo_error error;
	uint64_t pid;

	if (status >= 0)
		return status;
	if (!kymo_parse_number(argv, "PID", argv[optind], &pid))
		return KYMO_EXIT_USAGE;
	if (!pid || pid > INT32_MAX)
		return kymo_usage_error(argv, "PID: '%s' is not a process id", argv[optind]);
	return snapshot_process((pid_t)pid, &error) ? kymo_report(&error) : KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_snapshot = {
	.name = "snapshot",
	.summary = "write what the rings of a running process hold now",
	.operands = "PID",
	.text = "Write what the rings of the recording that process PID belongs to hold now to its trace. Needed with "
		"--policy=overwrite, where newer events overwrite older ones.",
	.run = run_snapshot,
};
