// SPDX-License-Identifier: Apache-2.0
/*
 * `kymo _read`: start the reader for a recording that a Python process began by itself.
 * Not for users: it returns when the trace file is open, or prints why it is not.
 */
#include "cli/command.h"
#include "cli/option_table.h"
#include "reader/reader.h"

struct wanted {
	const char *session;
	uint64_t owner;
};

static const struct kymo_option options[] = {
	{"session", 0, KYMO_OPTION_WORD, true, offsetof(struct wanted, session), "DIR", NULL, "session to read", NULL},
	{"owner", 0, KYMO_OPTION_COUNT, true, offsetof(struct wanted, owner), "PID", NULL, "process whose recording it is", NULL},
	{0},
};

static int run_read(int argc, char **argv)
{
	struct kymo_reader_options reader = {.has_no_root = true};
	struct wanted wanted = {0};
	struct kymo_error error;
	int status = kymo_options_parse(&kymo_verb_read, argc, argv, &wanted, NULL);

	if (status >= 0)
		return status;
	if (wanted.owner > INT32_MAX)
		return kymo_usage_error(argv, "--owner: it is not a process id");
	reader.owner_pid = (uint32_t)wanted.owner;
	return kymo_reader_spawn(wanted.session, &reader, &error) < 0 ? kymo_report(&error) : KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_read = {
	.name = "_read",
	.operands = "",
	.text = "Start the reader of a recording that a Python process began by itself.",
	.tables = {{options}},
	.run = run_read,
};
