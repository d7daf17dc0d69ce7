// SPDX-License-Identifier: Apache-2.0
/* `kymo report`: handed over to the package. */
#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/slice_options.h"

static const char help[] =
	"usage: kymo report [options] -o FILE TRACE\n"
	"\n"
	"Make one page of a recorded run, which opens from disk in a browser: functions with their\n"
	"callers and callees, call graph, timeline of threads, sources with hit counts and times,\n"
	"losses.\n"
	"\n"
	"  -o, --output=FILE    where to write\n"
	"  -f, --force          replace FILE if it exists\n"
	KYMO_SLICE_HELP
	KYMO_SHOWN_HELP
	"  --overhead=TIME      take so much off for each call and return, in the table of functions\n"
	"  --python=PROGRAM     the Python to use; else one of the version that recorded\n"
	"  --help               this text\n";

int kymo_command_report(int argc, char **argv)
{
	return kymo_hand_over("report", "kymo.profile.report", help, argc, argv);
}
