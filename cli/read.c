// SPDX-License-Identifier: Apache-2.0
/*
 * `kymo _read`: start the reader for a recording that a Python process began by itself.
 * Not for people: it returns when the trace file is open, or says why it is not.
 */
#include <getopt.h>
#include <string.h>

#include "cli/command.h"
#include "reader/reader.h"

int kymo_command_read(int argc, char **argv)
{
	static const struct option options[] = {
		{"session", required_argument, NULL, 's'},
		{"owner", required_argument, NULL, 'o'},
		{0},
	};
	struct kymo_reader_options reader = {.has_no_root = true};
	const char *session = NULL;
	struct kymo_error error;
	uint64_t owner = 0;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			session = optarg;
		else if (option != 'o' || !kymo_parse_number(argv, "--owner", optarg, &owner))
			return KYMO_EXIT_USAGE;
	}
	if (!session || !owner || owner > INT32_MAX || optind < argc)
		return kymo_usage_error(argv, "needs --session DIR --owner PID");
	reader.owner_pid = (uint32_t)owner;
	if (kymo_reader_spawn(session, &reader, &error) < 0)
		return kymo_report(&error);
	return KYMO_EXIT_OK;
}
