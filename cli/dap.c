// SPDX-License-Identifier: Apache-2.0
/* `kymo dap`: a trace for debuggers of editors. */
#include <getopt.h>
#include <stdio.h>

#include "cli/command.h"
#include "replay/debugger/dap.h"

static const char help[] =
	"usage: kymo dap [options] [TRACE]\n"
	"\n"
	"Serve the Debug Adapter Protocol, so that an editor goes through a recorded run as through a\n"
	"program that it debugs: forwards and backwards. TRACE is for clients that name none.\n"
	"\n"
	"  --stdio             the client is at standard input and output; the default\n"
	"  --port=N            listen at this TCP port, for one client after the other; 0: any free one\n"
	"  --host=ADDRESS      listen there instead of at 127.0.0.1\n"
	"  --once              end when the first client leaves\n"
	"  --source-root=DIR   the source files are below this folder, and may be opened there\n"
	"  --help              this text\n";

enum option_key { STDIO = 256, PORT, HOST, ONCE, SOURCE_ROOT };

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct kymo_dap_options *dap)
{
	static const struct option options[] = {
		{"stdio", no_argument, NULL, STDIO},
		{"port", required_argument, NULL, PORT},
		{"host", required_argument, NULL, HOST},
		{"once", no_argument, NULL, ONCE},
		{"source-root", required_argument, NULL, SOURCE_ROOT},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool is_stdio = false;
	uint64_t port;
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case STDIO:
			is_stdio = true;
			break;
		case PORT:
			if (!kymo_parse_number(argv, "--port", optarg, &port))
				return KYMO_EXIT_USAGE;
			if (port > UINT16_MAX)
				return kymo_usage_error(argv, "--port: there is no port %s", optarg);
			dap->port = optarg;
			break;
		case HOST:
			dap->host = optarg;
			break;
		case ONCE:
			dap->serves_one = true;
			break;
		case SOURCE_ROOT:
			dap->source_root = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		default:
			return KYMO_EXIT_USAGE;
		}
	}
	if (is_stdio && dap->port)
		return kymo_usage_error(argv, "either --stdio or --port");
	if (!dap->port && (dap->host || dap->serves_one))
		return kymo_usage_error(argv, "%s needs --port", dap->host ? "--host" : "--once");
	if (!dap->host)
		dap->host = "127.0.0.1";
	return -1;
}

int kymo_command_dap(int argc, char **argv)
{
	struct kymo_dap_options dap = {0};
	struct kymo_error error;
	int status = parse(argc, argv, &dap);

	if (status >= 0)
		return status;
	if (optind < argc) {
		dap.trace = kymo_single_operand(argc, argv, "trace");
		if (!dap.trace)
			return KYMO_EXIT_USAGE;
	}
	return kymo_dap_serve(&dap, &error) ? kymo_report(&error) : KYMO_EXIT_OK;
}
