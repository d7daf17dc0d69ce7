// SPDX-License-Identifier: Apache-2.0
#include "format/kinds.h"

#include <criterion/criterion.h>
#include <string.h>

/* The numbers are part of the format: this table is docs/format.md's, not the header's. */
static const struct {
	unsigned kind;
	const char *name;
} events[] = {
	{2, "PY_START"}, {4, "PY_RESUME"}, {5, "PY_RETURN"},
	{6, "PY_YIELD"}, {7, "LINE"}, {8, "INSTRUCTION"},
	{9, "PY_THROW"}, {10, "PY_UNWIND"}, {11, "RAISE"},
	{12, "RERAISE"}, {13, "EXCEPTION_HANDLED"}, {14, "STOP_ITERATION"},
	{15, "CALL"}, {16, "C_RETURN"}, {17, "C_RAISE"},
	{18, "JUMP"}, {19, "BRANCH"}, {20, "BRANCH_LEFT"},
	{21, "BRANCH_RIGHT"},
};

static enum kymo_kind find(const char *name)
{
	return kymo_kind_find(name, strlen(name));
}

Test(kinds, an_event_is_called_as_in_sys_monitoring_and_found_by_that_name)
{
	for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
		cr_assert_str_eq(kymo_kind_name(events[i].kind), events[i].name);
		cr_assert_eq(find(events[i].name), events[i].kind, "%s", events[i].name);
		cr_assert(kymo_kind_is_event(events[i].kind), "%s", events[i].name);
	}
}

Test(kinds, a_start_elsewhere_is_a_start)
{
	cr_assert_str_eq(kymo_kind_name(KYMO_PY_START_AT), "PY_START");
	cr_assert(kymo_kind_is_event(KYMO_PY_START_AT));
}

Test(kinds, what_is_no_event_has_no_name)
{
	const unsigned others[] = {0, 1, 22, 23, 24, 1000};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		cr_assert_null(kymo_kind_name(others[i]), "%u", others[i]);
		cr_assert_not(kymo_kind_is_event(others[i]), "%u", others[i]);
	}
}

Test(kinds, any_case_finds_an_event)
{
	cr_assert_eq(find("line"), KYMO_LINE);
	cr_assert_eq(find("Py_Start"), KYMO_PY_START);
}

Test(kinds, only_the_whole_name_finds_an_event)
{
	cr_assert_eq(find(""), KYMO_KIND_SPECIAL);
	cr_assert_eq(find("LIN"), KYMO_KIND_SPECIAL);
	cr_assert_eq(find("LINES"), KYMO_KIND_SPECIAL);
	cr_assert_eq(find("PY_START_AT"), KYMO_KIND_SPECIAL);
	cr_assert_eq(find("TIME"), KYMO_KIND_SPECIAL);
	cr_assert_eq(kymo_kind_find("LINE,CALL", 4), KYMO_LINE, "the length counts, not a NUL");
}

Test(kinds, two_fields_from_throw_to_branch_right)
{
	for (unsigned kind = 1; kind <= KYMO_SWITCH; kind++)
		cr_assert_eq(kymo_kind_has_two_fields(kind), kind >= 9 && kind <= 21, "%u", kind);
}
