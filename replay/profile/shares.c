// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/shares.h"

#include <stdlib.h>

#include "replay/trace/trace.h"

/* How much windows may overlap: half widths are rounded up. */
#define ROUNDING_NS 1

#define NOBODY UINT32_MAX
#define IS_OVER INT64_MAX

uint32_t kymo_shares_add(struct kymo_shares *shares)
{
	if (shares->count >= NOBODY ||
	    kymo_grow(&shares->items, &shares->capacity, shares->count + 1, sizeof(*shares->items)))
		return NOBODY;
	shares->items[shares->count] = (struct kymo_share){.since_ns = IS_OVER};
	return (uint32_t)shares->count++;
}

void kymo_shares_release(struct kymo_shares *shares)
{
	free(shares->items);
	free(shares->touched);
	*shares = (struct kymo_shares){0};
}

void kymo_shares_begin(struct kymo_shares *shares, int64_t t_ns)
{
	shares->top = 0;
	shares->low_ns = shares->now_ns = shares->high_ns = t_ns;
	shares->before_ns = 0;
	shares->before_only = NOBODY;
}

/* Hostile traces have times of centuries in many threads. */
static void add(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = INT64_MAX;
}

static bool is_in_window(const struct kymo_shares *shares)
{
	return shares->high_ns > shares->low_ns;
}

static void touch(struct kymo_shares *shares, uint32_t number)
{
	if (shares->touched_count == shares->touched_capacity &&
	    kymo_grow(&shares->touched, &shares->touched_capacity, shares->touched_count + 1, sizeof(*shares->touched))) {
		shares->is_short = true;
		return;
	}
	shares->touched[shares->touched_count++] = number;
}

/* In the current window, what is on top takes the time up to @t_ns. */
static inline void take(struct kymo_shares *shares, int64_t t_ns)
{
	struct kymo_share *share = &shares->items[shares->top];

	if (share->window != shares->window) {
		share->window = shares->window;
		share->window_self_ns = 0;
		if (share->bounds_window != shares->window)
			touch(shares, shares->top);
	}
	share->window_self_ns += t_ns - shares->now_ns;
	shares->now_ns = t_ns;
}

static uint64_t error_of(int64_t ns, int64_t width)
{
	return (uint64_t)(ns > width - ns ? ns : width - ns);
}

static void end_window(struct kymo_shares *shares)
{
	int64_t width = shares->high_ns - shares->low_ns;

	take(shares, shares->high_ns);
	shares->before_only = shares->touched_count == 1 ? shares->top : NOBODY;
	for (size_t i = 0; i < shares->touched_count; i++) {
		struct kymo_share *share = &shares->items[shares->touched[i]];

		if (share->window == shares->window) {
			add(&share->self_ns, share->window_self_ns);
			if (shares->before_only == NOBODY)
				share->self_err_ns += error_of(share->window_self_ns, width);
		}
		if (share->bounds_window == shares->window) {
			if (share->since_ns != IS_OVER)
				share->window_total_ns += shares->high_ns - share->since_ns;
			share->total_err_ns += error_of(share->window_total_ns, width);
		}
	}
	shares->touched_count = 0;
	shares->before_ns = width;
	shares->low_ns = shares->high_ns;
}

bool kymo_shares_step(struct kymo_shares *shares, int64_t t_ns, int64_t low_ns, int64_t high_ns)
{
	if (high_ns > shares->high_ns + ROUNDING_NS || low_ns >= shares->high_ns - ROUNDING_NS) {
		if (is_in_window(shares))
			end_window(shares);
		if (low_ns > shares->low_ns) { /* nothing happened before */
			add(&shares->items[shares->top].self_ns, low_ns - shares->low_ns);
			shares->low_ns = shares->now_ns = shares->high_ns = low_ns;
			shares->before_ns = 0;
		}
		if (high_ns > shares->low_ns + ROUNDING_NS) {
			shares->high_ns = high_ns;
			shares->window++;
		}
	}
	if (is_in_window(shares))
		take(shares, t_ns < shares->now_ns ? shares->now_ns : t_ns > shares->high_ns ? shares->high_ns : t_ns);
	return shares->before_ns && low_ns < shares->low_ns - ROUNDING_NS;
}

void kymo_shares_top(struct kymo_shares *shares, uint32_t number, bool is_early)
{
	if (is_early) {
		struct kymo_share *share = &shares->items[number];
		uint32_t before = shares->window - is_in_window(shares);

		if (share->window != before && share->window != shares->window)
			share->self_err_ns += (uint64_t)shares->before_ns;
		if (shares->before_only != NOBODY && shares->before_only != number) {
			shares->items[shares->before_only].self_err_ns += (uint64_t)shares->before_ns;
			shares->before_only = NOBODY;
		}
	}
	shares->top = number;
}

/* @number begins or ends in the current window. */
static void bound(struct kymo_shares *shares, uint32_t number)
{
	struct kymo_share *share = &shares->items[number];

	share->bounds_window = shares->window;
	share->window_total_ns = 0;
	if (share->window != shares->window)
		touch(shares, number);
}

void kymo_shares_call_begins(struct kymo_shares *shares, uint32_t number, bool is_early)
{
	struct kymo_share *share = &shares->items[number];

	if (is_early)
		share->total_err_ns += (uint64_t)shares->before_ns;
	if (is_in_window(shares) && share->bounds_window != shares->window)
		bound(shares, number);
	share->begin_ns = share->since_ns = shares->now_ns;
}

void kymo_shares_call_ends(struct kymo_shares *shares, uint32_t number, bool is_early)
{
	struct kymo_share *share = &shares->items[number];

	if (is_early)
		share->total_err_ns += (uint64_t)shares->before_ns;
	if (is_in_window(shares)) {
		if (share->bounds_window != shares->window)
			bound(shares, number);
		share->window_total_ns += shares->now_ns - (share->since_ns > shares->low_ns ? share->since_ns : shares->low_ns);
	}
	add(&share->total_ns, shares->now_ns - share->begin_ns);
	share->since_ns = IS_OVER;
}

int64_t kymo_shares_end(struct kymo_shares *shares)
{
	if (is_in_window(shares))
		end_window(shares);
	return shares->high_ns;
}
