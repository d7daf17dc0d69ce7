// SPDX-License-Identifier: Apache-2.0
/* `kymo coverage` and `kymo combine`: find a Python and hand over to the package. */
#include "cli/command.h"
#include "cli/hand_over.h"

const struct kymo_option kymo_scope_options[] = {
	{"source", 0, KYMO_OPTION_LIST, .value = "PLACE", .help = "only files of this folder or package; may be repeated",
	 .more = "kymo-coverage(1) reports files in the folder that never ran, too."},
	{"include", 0, KYMO_OPTION_LIST, .value = "PATTERN", .help = "only files whose name matches PATTERN; may be repeated",
	 .more = "`*` stands for anything but a slash, `**` for any folders; a pattern without a slash matches in any folder."},
	{"omit", 0, KYMO_OPTION_LIST, .value = "PATTERN", .help = "skip files whose name matches PATTERN; may be repeated"},
	{"rcfile", 0, KYMO_OPTION_WORD, .value = "FILE",
	 .help = "read coverage.py's settings from FILE, instead of .coveragerc, setup.cfg, tox.ini or pyproject.toml"},
	{0},
};

static const struct kymo_option coverage_options[] = {
	{"format", 0, KYMO_OPTION_CHOICE, .value = "FORMAT", .choices = "text markdown total lcov cobertura json coverage-db html",
	 .help = "text (default), markdown, total, lcov, cobertura, json, coverage-db, html",
	 .more = "text is a table, and total the percentage alone; json is coverage.py's format 3 with hits, and coverage-db a data file "
		 "of coverage.py."},
	{"output", 'o', KYMO_OPTION_WORD, .value = "FILE", .help = "write to FILE, for html a folder; - is standard output",
	 .more = "Without it, what the settings name; else `htmlcov`, `.coverage`, and standard output for the other formats."},
	{"force", 'f', KYMO_OPTION_FLAG, .help = "accepted for symmetry: FILE is replaced without it, too"},
	{"branch", 0, KYMO_OPTION_FLAG, .help = "report branches, too"},
	{"show-missing", 'm', KYMO_OPTION_FLAG, .help = "list the lines that did not run in the table",
	 .more = "With --branch, the branches that were not taken, too."},
	{"skip-covered", 0, KYMO_OPTION_FLAG, .help = "leave out files of which everything ran"},
	{"no-skip-covered", 0, KYMO_OPTION_FLAG, .help = "override skip_covered in the settings"},
	{"skip-empty", 0, KYMO_OPTION_FLAG, .help = "leave out files without statements"},
	{"sort", 0, KYMO_OPTION_WORD, .value = "COLUMN", .choices = "name stmts miss branch brpart cover",
	 .help = "sort by name, stmts, miss, branch, brpart or cover; in descending order with a - in front"},
	{"precision", 0, KYMO_OPTION_NUMBER, .value = "N", .help = "number of decimal places of percentages, from 0 to 15"},
	{"fail-under", 0, KYMO_OPTION_WORD, .value = "PERCENT", .help = "exit with status 2 if less is covered",
	 .more = "Also if a file is incomplete."},
	{"allow-gaps", 0, KYMO_OPTION_FLAG, .help = "let --fail-under pass even if some of what ran was not recorded"},
	{"contexts", 0, KYMO_OPTION_LIST, .value = "REGEX", .help = "only what ran in contexts that match REGEX; may be repeated",
	 .more = "A context, such as a test, matches if the regular expression is found in its name."},
	{"context", 0, KYMO_OPTION_LIST, .value = "TEST", .help = "only what ran in this test, or in this context; may be repeated",
	 .more = "A test is all its phases."},
	{"show-contexts", 0, KYMO_OPTION_FLAG, .help = "show in which contexts each line ran: html, json, coverage-db"},
	{"ran-by", 0, KYMO_OPTION_WORD, .value = "FILE:LINE", .help = "print the contexts in which this line ran, and nothing else"},
	{"statements-from", 0, KYMO_OPTION_CHOICE, .value = "WHO", .choices = "kymo coverage",
	 .help = "find statements with kymo (default) or coverage, which is coverage.py, if it is installed",
	 .more = "It must be installed for the Python that analyses."},
	{"ignore-errors", 'i', KYMO_OPTION_FLAG, .help = "leave out files that cannot be analysed"},
	{0},
};

static const struct kymo_option combine_options[] = {
	{"output", 'o', KYMO_OPTION_WORD, .is_required = true, .value = "FILE", .help = "write to FILE", .more = "It is there when it is complete."},
	{"force", 'f', KYMO_OPTION_FLAG, .help = "replace FILE if it exists"},
	{0},
};

static int run_coverage(int argc, char **argv)
{
	return kymo_hand_over_all(&kymo_verb_coverage, "kymo.coverage.command", argc, argv);
}

static int run_combine(int argc, char **argv)
{
	return kymo_hand_over_all(&kymo_verb_combine, "kymo.coverage.command", argc, argv);
}

const struct kymo_verb kymo_verb_coverage = {
	.name = "coverage",
	.summary = "report which lines and branches ran, and how often, in formats of coverage tools",
	.operands = "TRACE…",
	.text = "Report which lines and branches ran, and how often, in formats of coverage tools. TRACE is a trace, or a file that kymo "
		"combine made; several are added up.",
	.tables = {{coverage_options}, {kymo_scope_options}, {kymo_python_option}},
	.run = run_coverage,
};

const struct kymo_verb kymo_verb_combine = {
	.name = "combine",
	.summary = "make one small file of the counts of several recordings",
	.usage = "[options] -o FILE TRACE…",
	.operands = "TRACE…",
	.text = "Make one small file of the counts of several recordings, which kymo coverage reads like a trace. TRACE is a trace, or a "
		"file that kymo combine made.",
	.tables = {{combine_options}, {kymo_scope_options}, {kymo_python_option}},
	.run = run_combine,
};
