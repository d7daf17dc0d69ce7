// SPDX-License-Identifier: Apache-2.0
/* Words of the command line: events, sizes, policies, clocks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "format/chunk.h"
#include "format/record.h"
#include "recorder/session_create.h"

#define EVENT(kind) (UINT64_C(1) << KYMO_##kind)

static Kymo__Config config = KYMO__CONFIG__INIT;
static struct kymo_error error;

static int set_events(const char *text)
{
	static char kept[256];

	strcpy(kept, text);
	return kymo_config_set_events(&config, kept, &error);
}

static uint64_t events_of(const char *text)
{
	cr_assert_eq(set_events(text), 0, "%s: %s", text, error.message);
	return config.events;
}

Test(config, profiles_are_sets_of_events)
{
	uint64_t calls = EVENT(PY_START) | EVENT(PY_RESUME) | EVENT(PY_THROW) | EVENT(PY_RETURN) |
			 EVENT(PY_YIELD) | EVENT(PY_UNWIND) | EVENT(RAISE) | EVENT(RERAISE);
	uint64_t branches = EVENT(BRANCH) | EVENT(BRANCH_LEFT) | EVENT(BRANCH_RIGHT);

	cr_assert_eq(events_of("calls"), calls);
	cr_assert_not(config.once);
	cr_assert_not(config.branch_bits);
	cr_assert_str_eq(config.profile, "calls");
	cr_assert_eq(events_of("coverage"), EVENT(PY_START) | EVENT(LINE) | branches);
	cr_assert(config.once);
	cr_assert_eq(events_of("branch-bits"), calls | branches);
	cr_assert(config.branch_bits);
	cr_assert_not(config.once, "nothing is left of the profile before");
}

Test(config, full_is_every_event_that_an_interpreter_has)
{
	uint64_t every = 0;

	for (unsigned kind = 0; kind <= KYMO_SWITCH; kind++) {
		if (kymo_kind_is_event(kind) && kind != KYMO_PY_START_AT)
			every |= UINT64_C(1) << kind;
	}
	cr_assert_eq(events_of("full"), every);
}

Test(config, names_are_those_of_sys_monitoring_in_any_case)
{
	cr_assert_eq(events_of("LINE"), EVENT(LINE));
	cr_assert_eq(events_of("line,Py_Start,C_RAISE"), EVENT(LINE) | EVENT(PY_START) | EVENT(C_RAISE));
	cr_assert_str_eq(config.profile, "line,Py_Start,C_RAISE");
	cr_assert_not(config.once);
}

Test(config, profiles_and_names_add_up)
{
	uint64_t calls = events_of("calls");

	cr_assert_eq(events_of("calls,LINE"), calls | EVENT(LINE));
	cr_assert_eq(events_of("LINE,Calls"), calls | EVENT(LINE));
}

Test(config, c_calls_are_added)
{
	uint64_t calls = events_of("calls");

	kymo_config_add_c_calls(&config);
	cr_assert_eq(config.events, calls | EVENT(CALL) | EVENT(C_RETURN) | EVENT(C_RAISE));
}

Test(config, unknown_events_are_named)
{
	static const char *const wrong[] = {"LINES", "", "calls,", ",calls", "LINE, CALL", "calls,nonsense"};
	static const char *const named[] = {"'LINES'", "''", "''", "''", "' CALL'", "'nonsense'"};

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(set_events(wrong[i]), -EINVAL, "%s", wrong[i]);
		cr_assert(strstr(error.message, named[i]), "%s", error.message);
	}
}

Test(config, sizes_are_powers_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{"0", 0},
		{"1", 1},
		{"4096", 4096},
		{"64K", 64 << 10},
		{"64k", 64 << 10},
		{"3M", 3 << 20},
		{"3m", 3 << 20},
		{"2G", UINT64_C(2) << 30},
		{"18446744073709551615", UINT64_MAX},
		{"17179869183G", UINT64_C(17179869183) << 30},
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		cr_assert_eq(kymo_parse_size(sizes[i].text, &bytes, &error), 0, "%s", sizes[i].text);
		cr_assert_eq(bytes, sizes[i].bytes, "%s", sizes[i].text);
	}
}

Test(config, what_is_no_size_is_refused_by_name)
{
	static const char *const wrong[] = {"",	     "K",   "-1", "+1",	 " 1",	"1 ",  "1KB",
					    "1Kib",  "1T",  "0x10", "1.5M", "many", "18446744073709551616",
					    "17179869184G"};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(kymo_parse_size(wrong[i], &bytes, &error), -EINVAL, "%s", wrong[i]);
		cr_assert(strstr(error.message, wrong[i]), "%s", error.message);
	}
}

Test(config, policies_and_clocks_have_names)
{
	uint32_t value;

	cr_assert_eq(kymo_parse_policy("block", &value, &error), 0);
	cr_assert_eq(value, KYMO_POLICY_BLOCK);
	cr_assert_eq(kymo_parse_policy("drop", &value, &error), 0);
	cr_assert_eq(value, KYMO_POLICY_DROP);
	cr_assert_eq(kymo_parse_policy("overwrite", &value, &error), 0);
	cr_assert_eq(value, KYMO_POLICY_OVERWRITE);
	cr_assert_eq(kymo_parse_clock("sampled", &value, &error), 0);
	cr_assert_eq(value, KYMO_CLOCK_SAMPLED);
	cr_assert_eq(kymo_parse_clock("exact", &value, &error), 0);
	cr_assert_eq(value, KYMO_CLOCK_EXACT);
	cr_assert_eq(kymo_parse_clock("none", &value, &error), 0);
	cr_assert_eq(value, KYMO_CLOCK_NONE);
}

Test(config, other_policies_and_clocks_are_refused_by_name)
{
	static const char *const wrong[] = {"", "Block", "dropped", "drop ", "fast"};
	uint32_t value = 77;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cr_assert_eq(kymo_parse_policy(wrong[i], &value, &error), -EINVAL);
		cr_assert(strstr(error.message, wrong[i]));
		cr_assert_eq(kymo_parse_clock(wrong[i], &value, &error), -EINVAL);
		cr_assert(strstr(error.message, wrong[i]));
	}
	cr_assert_eq(value, 77);
}
