// SPDX-License-Identifier: Apache-2.0
#include "cli/slice_options.h"

#include "cli/command.h"
#include "replay/moves/named_places.h"

static bool parse_time(char *const *argv, const char *option, int64_t *ns)
{
	if (kymo_parse_time(optarg, ns))
		return true;
	kymo_usage_error(argv, "%s: '%s' is no time; write 1.5, 12ms, 30us or 5ns", option, optarg);
	return false;
}

bool kymo_slice_option(char *const *argv, int option, struct kymo_slice *slice)
{
	switch (option) {
	case KYMO_SLICE_FROM:
		return parse_time(argv, "--from", &slice->from_ns);
	case KYMO_SLICE_TO:
		return parse_time(argv, "--to", &slice->to_ns);
	case KYMO_SLICE_PROCESS:
		slice->has_process = true;
		return kymo_parse_number(argv, "--process", optarg, &slice->process);
	case KYMO_SLICE_THREAD:
		slice->thread = optarg;
		return true;
	case KYMO_SLICE_TEST:
		slice->test = optarg;
		return true;
	case KYMO_SLICE_FUNCTION:
		slice->function = optarg;
		return true;
	case KYMO_SLICE_MIN_DURATION:
		return parse_time(argv, "--min-duration", &slice->min_duration_ns);
	default:
		return false;
	}
}

int kymo_slice_find_contexts(const struct kymo_slice *slice, struct kymo_timeline *timeline, struct kymo_contexts *contexts,
			     struct kymo_error *error)
{
	*contexts = (struct kymo_contexts){0};
	return slice->test ? kymo_contexts_find_test(contexts, timeline, slice->test, error) : 0;
}
