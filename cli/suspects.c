// SPDX-License-Identifier: Apache-2.0
/* `kymo suspects`: handed over to the package. */
#include "cli/command.h"
#include "cli/hand_over.h"

static const char help[] =
	"usage: kymo suspects [options] --pass TRACE… --fail TRACE…\n"
	"\n"
	"What goes with failing: lines, branches, calls, exceptions, orders and, where they were\n"
	"recorded, values that attempts which failed have, and those which passed have not, ranked.\n"
	"\n"
	"  --pass=TRACE…      attempts that passed\n"
	"  --fail=TRACE…      attempts that failed\n"
	"  --test=ID          only what ran in this test\n"
	"  --measure=NAME     ochiai, tarantula or dstar\n"
	"  --limit=N          so many suspects; 10 if not given\n"
	"  --json             as JSON\n"
	"  --source=PLACE     files of this folder or package alone\n"
	"  --include=PATTERN  files alone whose name matches\n"
	"  --omit=PATTERN     no files whose name matches\n"
	"  --rcfile=FILE      coverage.py's settings, as of kymo coverage\n"
	"  --python=PROGRAM   the Python to use; else one of the version that recorded\n"
	"  --help             this text\n";

int kymo_command_suspects(int argc, char **argv)
{
	return kymo_hand_over("suspects", "kymo.suspects.command", help, argc, argv);
}
