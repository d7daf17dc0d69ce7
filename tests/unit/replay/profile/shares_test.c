// SPDX-License-Identifier: Apache-2.0
/* Times that are shared out are within their bounds of the true ones, whatever happened between two readings of the clock. */
#include "replay/profile/shares.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

enum { SHARES = 6, DEPTH = 5, RUNS = 100000 };

static int64_t draw(unsigned *seed, int64_t below)
{
	return below > 0 ? rand_r(seed) % below : 0;
}

struct truth {
	int64_t self_ns[SHARES], total_ns[SHARES], begin_ns[SHARES], now_ns;
	uint32_t stack[DEPTH + 1]; /* nobody, and then distinct shares */
	unsigned depth;
};

static void check(const struct kymo_shares *shares, const struct truth *truth, int64_t end_ns, unsigned seed)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < SHARES; i++) {
		const struct kymo_share *share = &shares->items[i];
		int64_t self = llabs(share->self_ns - truth->self_ns[i]), total = llabs(share->total_ns - truth->total_ns[i]);

		sum += share->self_ns;
		cr_assert(self <= (int64_t)share->self_err_ns, "seed %u, share %u: self is %" PRId64 " off", seed, i, self);
		cr_assert(!i || total <= (int64_t)share->total_err_ns, "seed %u, share %u: total is %" PRId64 " off", seed, i,
			  total);
		cr_assert(share->self_ns >= 0 && (!i || share->total_ns >= share->self_ns));
	}
	cr_assert_eq(sum, end_ns);
}

/* A step truly at @at, of which the clock says @low to @high. */
static void step(struct kymo_shares *shares, struct truth *truth, int64_t at, int64_t low, int64_t high, unsigned *seed)
{
	uint32_t top = truth->stack[truth->depth];
	bool is_early = kymo_shares_step(shares, low + draw(seed, high - low + 1), low, high), is_running;

	truth->self_ns[top] += at - truth->now_ns;
	truth->now_ns = at;
	top = 1 + (uint32_t)draw(seed, SHARES - 1);
	is_running = false;
	for (unsigned i = 1; i <= truth->depth; i++)
		is_running |= truth->stack[i] == top;
	if (!is_running && truth->depth < DEPTH && draw(seed, 5) < 3) {
		truth->stack[++truth->depth] = top;
		truth->begin_ns[top] = at;
		kymo_shares_call_begins(shares, top, is_early);
	} else if (truth->depth) {
		top = truth->stack[truth->depth--];
		truth->total_ns[top] += at - truth->begin_ns[top];
		kymo_shares_call_ends(shares, top, is_early);
	}
	kymo_shares_top(shares, truth->stack[truth->depth], is_early);
}

/* @is_rebuilt: some steps may have come in the window before. */
static void share_out(unsigned seed, bool is_rebuilt)
{
	struct kymo_shares shares = {0};
	struct truth truth = {0};
	unsigned random = seed;
	int64_t low = 0, before = 0, end;

	for (unsigned i = 0; i < SHARES; i++)
		cr_assert_eq(kymo_shares_add(&shares), i);
	kymo_shares_begin(&shares, 0);
	/* In few steps errors have no room to cancel out. */
	for (unsigned i = 0; i < 1 + seed % 16; i++) {
		int64_t high = low + 3 + draw(&random, 1000), at = truth.now_ns;
		int64_t count = draw(&random, 4);

		if (is_rebuilt && draw(&random, 3) == 0) { /* before this window's first reading, or after */
			at = at < before ? before : at;
			at += draw(&random, high - at + 1);
			step(&shares, &truth, at, before, high, &random);
		}
		at = at < low ? low : at;
		if (at == low && draw(&random, 2))
			step(&shares, &truth, low, low, low, &random);
		for (int64_t k = 0; k < count; k++) {
			at += draw(&random, high - at + 1);
			step(&shares, &truth, at, low, high, &random);
		}
		before = low;
		low = high + (draw(&random, 4) ? 0 : draw(&random, 500)); /* or nothing happens for a while */
	}
	while (truth.depth) {
		int64_t at = low;

		truth.self_ns[truth.stack[truth.depth]] += at - truth.now_ns;
		truth.now_ns = at;
		kymo_shares_step(&shares, at, at, at);
		truth.total_ns[truth.stack[truth.depth]] += at - truth.begin_ns[truth.stack[truth.depth]];
		kymo_shares_call_ends(&shares, truth.stack[truth.depth], false);
		truth.depth--;
		kymo_shares_top(&shares, truth.stack[truth.depth], false);
	}
	end = kymo_shares_end(&shares);
	truth.self_ns[0] += end - truth.now_ns;
	check(&shares, &truth, end, seed);
	cr_assert(!shares.is_short);
	kymo_shares_release(&shares);
}

Test(shares, recorded_steps)
{
	for (unsigned seed = 1; seed <= RUNS; seed++)
		share_out(seed, false);
}

Test(shares, steps_that_may_have_come_earlier)
{
	for (unsigned seed = 1; seed <= RUNS; seed++)
		share_out(seed, true);
}

/* Many short calls between two readings: the bound is of the readings, not of the calls. */
Test(shares, errors_of_short_calls_do_not_add_up)
{
	struct kymo_shares shares = {0};

	for (unsigned i = 0; i < 3; i++)
		kymo_shares_add(&shares);
	kymo_shares_begin(&shares, 0);
	kymo_shares_step(&shares, 0, 0, 0);
	kymo_shares_call_begins(&shares, 1, false);
	kymo_shares_top(&shares, 1, false);
	for (int64_t i = 0; i < 80; i++) {
		bool is_early = kymo_shares_step(&shares, 10 * (i + 1), 0, 1000);

		if (i % 2)
			kymo_shares_call_ends(&shares, 2, is_early);
		else
			kymo_shares_call_begins(&shares, 2, is_early);
		kymo_shares_top(&shares, i % 2 ? 1 : 2, is_early);
	}
	kymo_shares_step(&shares, 1000, 1000, 1000);
	kymo_shares_call_ends(&shares, 1, false);
	kymo_shares_end(&shares);
	cr_assert_eq(shares.items[2].self_ns, 400);
	cr_assert_eq(shares.items[2].self_err_ns, 600);
	cr_assert_eq(shares.items[1].total_err_ns, 0);
	cr_assert_eq(shares.items[1].total_ns, 1000);
	kymo_shares_release(&shares);
}
