// SPDX-License-Identifier: Apache-2.0
/* The options that say which part of a trace is wanted: spelled the same on every verb. */
#ifndef KYMO_CLI_SLICE_OPTIONS_H
#define KYMO_CLI_SLICE_OPTIONS_H

#include <getopt.h>

#include "replay/coverage/contexts.h"
#include "replay/profile/slice.h"

/* What getopt_long() returns for them; other options are characters. */
enum kymo_slice_option {
	KYMO_SLICE_FROM = 256,
	KYMO_SLICE_TO,
	KYMO_SLICE_PROCESS,
	KYMO_SLICE_THREAD,
	KYMO_SLICE_TEST,
	KYMO_SLICE_FUNCTION,
	KYMO_SLICE_MIN_DURATION,
};

/* Rows of a struct option table, and lines of --help: for verbs that show events … */
#define KYMO_PART_OPTIONS                                                                                  \
	{"from", required_argument, NULL, KYMO_SLICE_FROM}, {"to", required_argument, NULL, KYMO_SLICE_TO}, \
	{"process", required_argument, NULL, KYMO_SLICE_PROCESS},                                           \
	{"thread", required_argument, NULL, KYMO_SLICE_THREAD},                                             \
	{"test", required_argument, NULL, KYMO_SLICE_TEST}

#define KYMO_PART_HELP                                                                            \
	"  --from=TIME          only from here on: seconds since the start, or 12ms, 30us, 5ns\n"  \
	"  --to=TIME            only up to here\n"                                                 \
	"  --process=PID        only of this process\n"                                            \
	"  --thread=T           only of this thread: its native id, its number or its name\n"      \
	"  --test=ID            only what ran in this test, or context\n"

/* For verbs that fold what is not the project's code. */
#define KYMO_SHOWN_HELP                                                                           \
	"  --all                also what is of other code than the project's\n"                 \
	"  --file=GLOB          only of code from files like this; without a / the last part counts\n"

/* … and for those that show calls. */
#define KYMO_SLICE_OPTIONS                                             \
	KYMO_PART_OPTIONS, {"function", required_argument, NULL, KYMO_SLICE_FUNCTION}, \
		{"min-duration", required_argument, NULL, KYMO_SLICE_MIN_DURATION}

#define KYMO_SLICE_HELP                                                                             \
	KYMO_PART_HELP                                                                              \
	"  --function=GLOB      only calls of functions whose qualified name is like this, with\n" \
	"                       all that they call\n"                                                \
	"  --min-duration=TIME  no calls that took less, nor what they called\n"

/* Take @option with optarg.  False: it is none of these, or its value is wrong, which is reported. */
bool kymo_slice_option(char *const *argv, int option, struct kymo_slice *slice);

/* As kymo_contexts_find(), if a test is asked for; -ENOENT: there is none of that name. */
KYMO_MUST_CHECK
int kymo_slice_find_contexts(const struct kymo_slice *slice, struct kymo_timeline *timeline, struct kymo_contexts *contexts,
			     struct kymo_error *error);

#endif
