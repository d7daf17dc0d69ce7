// SPDX-License-Identifier: Apache-2.0
/* `kymo coverage` and `kymo combine`: find a Python and hand over to the package. */
#include "cli/command.h"
#include "cli/hand_over.h"

static const char coverage_help[] =
	"usage: kymo coverage [options] TRACE…\n"
	"\n"
	"Which lines and branches ran, and how often, in the formats of coverage tools. TRACE is a\n"
	"trace, or a file that kymo combine has made; several are taken together.\n"
	"\n"
	"  --format=FORMAT       text, markdown, total, lcov, cobertura, json, coverage-db, html\n"
	"  -o, --output=FILE     where to write; for html, a folder; - for stdout\n"
	"  -f, --force           as of other commands; FILE is replaced without it, too\n"
	"  --branch              branches, too\n"
	"  --source=PLACE        files of this folder or package alone, and those that never ran\n"
	"  --include=PATTERN     files alone whose name matches\n"
	"  --omit=PATTERN        no files whose name matches\n"
	"  -m, --show-missing    the lines that did not run, in the table\n"
	"  --skip-covered        leave files out of which everything ran\n"
	"  --no-skip-covered     do not, whatever the settings say\n"
	"  --skip-empty          leave files out that have no statements\n"
	"  --sort=COLUMN         name, stmts, miss, branch, brpart or cover; with a - in front, from\n"
	"                        the greatest on\n"
	"  --precision=N         digits behind the point of percentages\n"
	"  --fail-under=PERCENT  exit with status 2 if less is covered\n"
	"  --allow-gaps          let --fail-under pass though some of what ran was not recorded\n"
	"  --contexts=REGEX      only what ran in contexts that match\n"
	"  --context=TEST        only what ran in this test\n"
	"  --show-contexts       in which contexts each line ran: html, json, coverage-db\n"
	"  --ran-by=FILE:LINE    print the contexts in which this line ran, and nothing else\n"
	"  --statements-from=WHO who says what could run: kymo, or coverage, if it is installed\n"
	"  -i, --ignore-errors   leave files out that cannot be analysed\n"
	"  --rcfile=FILE         coverage.py's settings; else .coveragerc, setup.cfg, tox.ini or\n"
	"                        pyproject.toml\n"
	"  --python=PROGRAM      the Python that analyses the sources; else one of the version that\n"
	"                        recorded\n"
	"  --help                this text\n";

static const char combine_help[] =
	"usage: kymo combine [options] -o FILE TRACE…\n"
	"\n"
	"Make one small file of the counts of several recordings, which kymo coverage takes like a\n"
	"trace. TRACE is a trace, or a file that kymo combine has made.\n"
	"\n"
	"  -o, --output=FILE  where to write\n"
	"  -f, --force        replace FILE if it exists\n"
	"  --source=PLACE     files of this folder or package alone\n"
	"  --include=PATTERN  files alone whose name matches\n"
	"  --omit=PATTERN     no files whose name matches\n"
	"  --rcfile=FILE      coverage.py's settings, as of kymo coverage\n"
	"  --python=PROGRAM   the Python to use; else one of the version that recorded\n"
	"  --help             this text\n";

int kymo_command_coverage(int argc, char **argv)
{
	return kymo_hand_over("coverage", "kymo.coverage.command", coverage_help, argc, argv);
}

int kymo_command_combine(int argc, char **argv)
{
	return kymo_hand_over("combine", "kymo.coverage.command", combine_help, argc, argv);
}
