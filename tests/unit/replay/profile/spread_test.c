// SPDX-License-Identifier: Apache-2.0
/* What a window took is spread over its steps nearly as it was, when the clock was read at few of them. */
#include "replay/profile/spread.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { FUNCTIONS = 3, ROUNDS = 20000, WINDOW = 90 };

/* Of `main`, which calls the others, and of these: what a gap takes. */
static const int64_t usual_ns[FUNCTIONS] = {70, 40, 20000};
static struct kymo_content contents[FUNCTIONS];

struct run {
	struct kymo_spread spread;
	struct kymo_call window[2 * WINDOW + 8]; /* as they are told: their times come with the next reading */
	unsigned count, limit, seed;
	int64_t true_ns[FUNCTIONS], spread_ns[FUNCTIONS], last_ns, now_ns, low_ns;
	uint32_t top, stack[4], depth;
	uint64_t n;
	bool has_short;
};

static void take(struct run *run, const struct kymo_call *next)
{
	cr_assert_eq(kymo_spread_settle(&run->spread, next), 0);
	for (size_t i = 0; i < run->spread.count; i++) {
		const struct kymo_call *step = &run->spread.steps[i];

		cr_assert(step->t_ns >= run->last_ns && step->t_ns >= step->low_ns && step->t_ns <= step->high_ns);
		run->spread_ns[run->top] += step->t_ns - run->last_ns;
		run->last_ns = step->t_ns;
		if (step->step == KYMO_CALL_BEGIN)
			run->stack[++run->depth] = (uint32_t)(step->content - contents);
		else
			run->depth--;
		run->top = run->stack[run->depth];
	}
	run->spread.count = 0;
}

static void put(struct run *run, const struct kymo_call *call)
{
	if (!kymo_spread_has_room(&run->spread, call))
		take(run, call);
	cr_assert_eq(kymo_spread_add(&run->spread, call), 0);
}

/* The clock is read now: what came since the last time is told. */
static void read_clock(struct run *run)
{
	for (unsigned i = 0; i < run->count; i++) {
		struct kymo_call *call = &run->window[i];

		call->window_at = i;
		call->window_events = run->count;
		call->low_ns = run->low_ns;
		call->high_ns = i ? run->now_ns : run->low_ns;
		call->t_ns = run->low_ns + (call->high_ns - run->low_ns) * i / run->count;
		put(run, call);
	}
	run->count = 0;
	run->low_ns = run->now_ns;
	run->limit = run->has_short && rand_r(&run->seed) % 2 ? 1 + (unsigned)rand_r(&run->seed) % 3 : WINDOW;
}

static void happen(struct run *run, enum kymo_call_step step, uint32_t function)
{
	if (run->count >= run->limit)
		read_clock(run);
	run->window[run->count++] = (struct kymo_call){.step = step, .content = &contents[function], .n = ++run->n};
}

static void pass(struct run *run, uint32_t function)
{
	int64_t took = usual_ns[function] / 2 + rand_r(&run->seed) % usual_ns[function];

	run->now_ns += took;
	run->true_ns[function] += took;
}

/* @often calls of the quick function, then one of the slow one, again and again. */
static void go(struct run *run, unsigned often, bool has_short)
{
	*run = (struct run){.seed = often, .limit = 1, .has_short = has_short};
	kymo_spread_begin_thread(&run->spread, false);
	happen(run, KYMO_CALL_BEGIN, 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t called = i % (often + 1) == often ? 2 : 1;

		pass(run, 0);
		happen(run, KYMO_CALL_BEGIN, called);
		pass(run, called);
		happen(run, KYMO_CALL_END, called);
	}
	pass(run, 0);
	run->limit = 1;
	happen(run, KYMO_CALL_END, 0);
	read_clock(run);
	take(run, NULL);
	kymo_spread_release(&run->spread);
}

/* By how much of the whole the shares are wrong. */
static double error_of(const struct run *run)
{
	int64_t wrong = 0, whole = 0, spread = 0;

	for (unsigned i = 0; i < FUNCTIONS; i++) {
		wrong += llabs(run->spread_ns[i] - run->true_ns[i]);
		whole += run->true_ns[i];
		spread += run->spread_ns[i];
	}
	cr_assert_eq(spread, whole);
	return (double)wrong / (double)whole;
}

Test(spread, a_long_call_among_short_ones)
{
	static struct run run;

	go(&run, 80, true);
	cr_assert_lt(error_of(&run), 0.1);
	/* Of the long one, shares in proportion to steps would have less than a tenth. */
	cr_assert_gt(run.spread_ns[2], run.true_ns[2] * 9 / 10);
}

Test(spread, a_loop_that_fits_into_each_window)
{
	static struct run run;

	go(&run, 4, true);
	cr_assert_lt(error_of(&run), 0.1);
	go(&run, 1, true);
	cr_assert_lt(error_of(&run), 0.1);
}

Test(spread, windows_of_one_length_have_the_same_sum)
{
	static struct run run;

	for (unsigned often = 1; often < 50; often += 3) {
		go(&run, often, false);
		error_of(&run);
	}
}

Test(spread, a_thread_that_waits_was_in_its_last_step)
{
	static struct run run;

	run = (struct run){.limit = WINDOW};
	kymo_spread_begin_thread(&run.spread, true);
	happen(&run, KYMO_CALL_BEGIN, 0);
	for (unsigned i = 0; i < 3; i++) {
		pass(&run, 0);
		happen(&run, KYMO_CALL_BEGIN, 1);
		pass(&run, 1);
		happen(&run, KYMO_CALL_END, 1);
	}
	run.now_ns += 50000000;
	run.true_ns[0] += 50000000;
	read_clock(&run);
	happen(&run, KYMO_CALL_END, 0);
	read_clock(&run);
	take(&run, NULL);
	cr_assert_gt(run.spread_ns[0], 49000000);
	kymo_spread_release(&run.spread);
}
