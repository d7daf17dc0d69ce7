// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/export/measured.h"

#include <criterion/criterion.h>
#include <stdio.h>

static int64_t unit_of(uint64_t err_ns)
{
	char digits[24];
	int64_t unit = 1;

	for (int left = snprintf(digits, sizeof digits, "%llu", (unsigned long long)err_ns); left > 1; left--)
		unit *= 10;
	return unit;
}

static uint64_t draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

Test(measured, cuts_to_the_first_digit_of_the_error)
{
	struct kymo_measured measured = {0};

	cr_assert_eq(kymo_measured_ns(&measured, 12345, 0), 12345);
	cr_assert_eq(kymo_measured_ns(&measured, 123456, 9), 123456);
	cr_assert_eq(kymo_measured_ns(&measured, 1234567, 10), 1234560);
	cr_assert_eq(kymo_measured_ns(&measured, 2345678, 99), 2345670);
	cr_assert_eq(kymo_measured_ns(&measured, 3456789, 3300), 3456000);
	cr_assert_eq(kymo_measured_ns(&measured, 99999999, 12345678), 90000000);
}

Test(measured, never_goes_back_nor_ahead)
{
	struct kymo_measured measured = {0};
	uint64_t state = 1;
	int64_t t_ns = 0, last_ns = 0;

	for (int i = 0; i < 100000; i++) {
		uint64_t err_ns = draw(&state) >> draw(&state) % 31;
		int64_t unit = unit_of(err_ns), shown;

		t_ns += (int64_t)(draw(&state) >> (8 + draw(&state) % 22));
		shown = kymo_measured_ns(&measured, t_ns, err_ns);
		cr_assert_geq(shown, last_ns);
		cr_assert_leq(shown, t_ns);
		cr_assert_lt(t_ns - shown, unit);
		cr_assert(shown % unit == 0 || shown == last_ns, "%lld of unit %lld", (long long)shown, (long long)unit);
		last_ns = shown;
	}
}

Test(measured, before_the_start_is_the_start)
{
	struct kymo_measured measured = {0};

	cr_assert_eq(kymo_measured_ns(&measured, -5000, 3), 0);
	cr_assert_eq(kymo_measured_ns(&measured, 7, 3), 7);
}

Test(measured, short_calls_are_uncertain)
{
	struct kymo_call end = {.t_ns = 100, .begin_ns = 90, .t_err_ns = 5, .begin_err_ns = 6};

	cr_assert(kymo_is_uncertain(&end));
	end.begin_err_ns = 5;
	cr_assert_not(kymo_is_uncertain(&end));
	end = (struct kymo_call){.t_ns = 100, .begin_ns = 100};
	cr_assert_not(kymo_is_uncertain(&end));
}

Test(measured, errors_are_rounded_up_to_two_digits)
{
	struct kymo_first_digit digit = {0};
	uint64_t state = 1;

	cr_assert_eq(kymo_shown_err_ns(&digit, 3186563), 3200000);
	cr_assert_eq(kymo_shown_err_ns(&digit, 995), 1000);
	cr_assert_eq(kymo_shown_err_ns(&digit, 990), 990);
	cr_assert_eq(kymo_shown_err_ns(&digit, 7), 7);
	cr_assert_eq(kymo_shown_err_ns(&digit, 0), 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t err_ns = draw(&state) >> draw(&state) % 31, shown = kymo_shown_err_ns(&digit, err_ns);
		uint64_t unit = unit_of(err_ns) > 1 ? (uint64_t)unit_of(err_ns) / 10 : 1;

		cr_assert(shown >= err_ns && shown < err_ns + unit && shown % unit == 0);
	}
}
