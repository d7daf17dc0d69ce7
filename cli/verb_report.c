// SPDX-License-Identifier: Apache-2.0
/* `kymo report`: handed over to the package. */
#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/slice_options.h"

static const struct kymo_option options[] = {
	{"output", 'o', KYMO_OPTION_WORD, .is_required = true, .value = "FILE", .help = "write to FILE"},
	{"force", 'f', KYMO_OPTION_FLAG, .help = "replace FILE if it exists"},
	{0},
};

static int run_report(int argc, char **argv)
{
	return kymo_hand_over_all(&kymo_verb_report, "kymo.profile.report", argc, argv);
}

const struct kymo_verb kymo_verb_report = {
	.name = "report",
	.summary = "make one page of a recorded run, for a browser",
	.usage = "[options] -o FILE TRACE",
	.operands = "TRACE",
	.text = "Make one page of a recorded run, which opens from disk in a browser: functions with their callers and callees, call graph, "
		"timeline of threads, sources with hit counts and times, losses.",
	.tables = {{options}, {kymo_part_options}, {kymo_call_options}, {kymo_profile_options}, {kymo_python_option}},
	.run = run_report,
};
