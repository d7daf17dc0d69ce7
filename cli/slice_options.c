// SPDX-License-Identifier: Apache-2.0
#include "cli/slice_options.h"

const struct kymo_option kymo_part_options[] = {
	{"from", 0, KYMO_OPTION_TIME, .place = offsetof(struct kymo_slice, from_ns), .value = "TIME",
	 .help = "skip what happened before: seconds since the start, or 12ms, 30us, 5ns"},
	{"to", 0, KYMO_OPTION_TIME, .place = offsetof(struct kymo_slice, to_ns), .value = "TIME", .help = "skip what happened after"},
	{"process", 0, KYMO_OPTION_COUNT, .place = offsetof(struct kymo_slice, process), .value = "PID", .help = "show this process only"},
	{"thread", 0, KYMO_OPTION_WORD, .place = offsetof(struct kymo_slice, thread), .value = "T",
	 .help = "show this thread only: its native id, its number in its process, or its name"},
	{"test", 0, KYMO_OPTION_WORD, .place = offsetof(struct kymo_slice, test), .value = "ID",
	 .help = "show only what ran in this test, or in this context"},
	{0},
};

const struct kymo_option kymo_call_options[] = {
	{"function", 0, KYMO_OPTION_WORD, .place = offsetof(struct kymo_slice, function), .value = "GLOB",
	 .help = "show only calls of functions whose qualified name matches GLOB, with all that they call"},
	{"min-duration", 0, KYMO_OPTION_DURATION, .place = offsetof(struct kymo_slice, min_duration_ns), .value = "TIME",
	 .help = "skip calls that took less, with all that they called"},
	{0},
};

const struct kymo_option kymo_profile_options[] = {
	{"all", 0, KYMO_OPTION_FLAG, .help = "show code that is not the project's, too"},
	{"file", 0, KYMO_OPTION_WORD, .value = "GLOB",
	 .help = "show only code from files that match GLOB, instead of the project's; without a / it is matched against the last part of "
		 "the name"},
	{"overhead", 0, KYMO_OPTION_DURATION, .value = "TIME", .help = "subtract TIME for each recorded call and return",
	 .more = "It is what recording one event takes, such as 20ns: each call loses that much, and its caller as much again. In the page "
		 "of kymo-report(1), only in the table of functions."},
	{0},
};

int kymo_slice_find_contexts(const struct kymo_slice *slice, struct kymo_timeline *timeline, struct kymo_contexts *contexts,
			     struct kymo_error *error)
{
	*contexts = (struct kymo_contexts){0};
	return slice->test ? kymo_contexts_find_test(contexts, timeline, slice->test, error) : 0;
}
