// SPDX-License-Identifier: Apache-2.0
/* Times without insignificant digits. */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_MEASURED_H
#define KYMO_REPLAY_PROFILE_EXPORT_MEASURED_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/profile/calls.h"

/* The power of ten of an error's first digit, cached while errors have the same size. Zeroed: not known yet. */
struct kymo_first_digit {
	int64_t unit_ns;
	uint64_t least_err_ns, most_err_ns; /* range of errors for which it is valid */
};

static inline int64_t kymo_first_digit_ns(struct kymo_first_digit *digit, uint64_t err_ns)
{
	if (digit->unit_ns && err_ns >= digit->least_err_ns && err_ns <= digit->most_err_ns)
		return digit->unit_ns;
	digit->unit_ns = 1;
	while (digit->unit_ns < INT64_C(1000000000000000000) && err_ns / 10 >= (uint64_t)digit->unit_ns)
		digit->unit_ns *= 10;
	digit->least_err_ns = digit->unit_ns > 1 ? (uint64_t)digit->unit_ns : 0;
	digit->most_err_ns = (uint64_t)digit->unit_ns * 10 - 1;
	return digit->unit_ns;
}

/* Zeroed: before the first time of a thread. */
struct kymo_measured {
	struct kymo_first_digit digit;
	int64_t last_ns;
};

/*
 * @t_ns, with an error of at most @err_ns, without digits finer than the error's first; never before the run began, or before the
 * last returned time. Times are truncated, not rounded, so that they do not come after the next one, which may be more exact.
 */
static inline int64_t kymo_measured_ns(struct kymo_measured *measured, int64_t t_ns, uint64_t err_ns)
{
	int64_t unit_ns = kymo_first_digit_ns(&measured->digit, err_ns);

	t_ns -= t_ns > 0 ? t_ns % unit_ns : t_ns;
	if (t_ns > measured->last_ns)
		measured->last_ns = t_ns;
	return measured->last_ns;
}

/* @err_ns for display: two digits, rounded up. */
static inline uint64_t kymo_shown_err_ns(struct kymo_first_digit *digit, uint64_t err_ns)
{
	uint64_t unit_ns = (uint64_t)kymo_first_digit_ns(digit, err_ns) / 10, over = unit_ns ? err_ns % unit_ns : 0;

	return over ? err_ns + (unit_ns - over) : err_ns;
}

/* By how much the duration of a call that ends may be wrong. */
static inline uint64_t kymo_duration_err_ns(const struct kymo_call *end)
{
	return end->t_err_ns + end->begin_err_ns;
}

/* True if a call that ends lasted less than that. */
static inline bool kymo_is_uncertain(const struct kymo_call *end)
{
	return (uint64_t)end->t_ns - (uint64_t)end->begin_ns < kymo_duration_err_ns(end);
}

#endif
