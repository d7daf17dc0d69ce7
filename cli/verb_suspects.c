// SPDX-License-Identifier: Apache-2.0
/* `kymo suspects`: handed over to the package. */
#include "cli/command.h"
#include "cli/hand_over.h"

static const struct kymo_option options[] = {
	{"pass", 0, KYMO_OPTION_OPERANDS, .is_required = true, .value = "TRACE…", .help = "attempts that passed, at least one"},
	{"fail", 0, KYMO_OPTION_OPERANDS, .is_required = true, .value = "TRACE…", .help = "attempts that failed, at least one"},
	{"test", 0, KYMO_OPTION_WORD, .value = "ID", .help = "compare only what ran in this test, or in this context"},
	{"measure", 0, KYMO_OPTION_CHOICE, .value = "NAME", .choices = "ochiai tarantula dstar",
	 .help = "rank by ochiai (default), tarantula or dstar"},
	{"limit", 0, KYMO_OPTION_COUNT, .value = "N", .help = "print at most N suspects (default: 10)"},
	{"json", 0, KYMO_OPTION_FLAG, .help = "print one JSON object", .more = "A score that is infinite is null."},
	{0},
};

static int run_suspects(int argc, char **argv)
{
	return kymo_hand_over_all(&kymo_verb_suspects, "kymo.suspects.command", argc, argv);
}

const struct kymo_verb kymo_verb_suspects = {
	.name = "suspects",
	.summary = "rank what runs that failed have in common, over many attempts",
	.usage = "[options] --pass TRACE… --fail TRACE…",
	.operands = "",
	.text = "Rank what attempts that failed have in common, and those that passed do not: lines, branches, calls, exceptions, orders "
		"and, where they were recorded, values.",
	.tables = {{options}, {kymo_scope_options}, {kymo_python_option}},
	.run = run_suspects,
};
