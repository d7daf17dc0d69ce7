// SPDX-License-Identifier: Apache-2.0
/* `kymo dap`: a trace for debuggers of editors. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/option_table.h"
#include "replay/debugger/dap.h"

struct wanted {
	struct kymo_dap_options dap;
	bool is_stdio;
};

static const struct kymo_option options[] = {
	{"stdio", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, is_stdio), .help = "talk to the client on standard input and output (default)",
	 .more = "This is how editors start debug adapters."},
	{"port", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, dap.port), .value = "N",
	 .help = "listen on this TCP port, for one client after the other; 0: any free one",
	 .more = "Where it listens is printed on standard error. Whoever can connect can read the user's traces."},
	{"host", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, dap.host), .value = "ADDRESS", .help = "listen on ADDRESS instead of 127.0.0.1"},
	{"once", 0, KYMO_OPTION_FLAG, .place = offsetof(struct wanted, dap.serves_one), .help = "exit when the first client leaves"},
	{"source-root", 0, KYMO_OPTION_WORD, .place = offsetof(struct wanted, dap.source_root), .value = "DIR",
	 .help = "find source files in DIR, and let the editor open them there",
	 .more = "A file is taken at its recorded path if that is in DIR, or else where the end of that path names a file with the "
		 "recorded bytes."},
	{0},
};

static int run_dap(int argc, char **argv)
{
	struct wanted wanted = {0};
	struct kymo_dap_options *dap = &wanted.dap;
	struct kymo_error error;
	uint64_t port = 0;
	int status = kymo_options_parse(&kymo_verb_dap, argc, argv, &wanted, NULL);

	if (status >= 0)
		return status;
	if (dap->port && !kymo_parse_number(argv, "--port", dap->port, &port))
		return KYMO_EXIT_USAGE;
	if (port > UINT16_MAX)
		return kymo_usage_error(argv, "--port: %s is not a TCP port; they go up to 65535", dap->port);
	if (wanted.is_stdio && dap->port)
		return kymo_usage_error(argv, "--stdio and --port exclude each other");
	if (!dap->port && (dap->host || dap->serves_one))
		return kymo_usage_error(argv, "%s needs --port", dap->host ? "--host" : "--once");
	if (!dap->host)
		dap->host = "127.0.0.1";
	dap->trace = argv[optind];
	return kymo_dap_serve(dap, &error) ? kymo_report(&error) : KYMO_EXIT_OK;
}

const struct kymo_verb kymo_verb_dap = {
	.name = "dap",
	.summary = "let an editor's debugger step through a trace, forwards and backwards",
	.operands = "[TRACE]",
	.text = "Serve the Debug Adapter Protocol, so that an editor steps through a recorded run as through a program that it debugs, "
		"forwards and backwards. TRACE is for clients that do not name one.",
	.tables = {{options}},
	.run = run_dap,
};
