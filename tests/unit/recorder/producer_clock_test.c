// SPDX-License-Identifier: Apache-2.0
/* Where a chunk tells the time, by a clock that goes as the test says. */
#include <criterion/criterion.h>

#include "tests/support/known_events.h"
#include "tests/unit/recorder/fake_calls.h"

enum { SECOND = 1000000000 };

static uint64_t n; /* newest event */
static struct recording r;

static void finish(void)
{
	recording_remove(&r);
}

TestSuite(producer_clock, .fini = finish, .timeout = 60);

/* Event @n takes place at this time. */
static uint64_t time_of(uint64_t event)
{
	return SECOND + 1000 * event;
}

static void make_with_clock(uint32_t clock_mode)
{
	recording_make(&r, KYMO_POLICY_OVERWRITE, 4);
	r.page->clock_mode = clock_mode;
	r.page->counter = KYMO_COUNTER_MONOTONIC;
	fake_now = time_of(0);
	recording_start(&r);
}

static void put_in_time(void)
{
	fake_now = time_of(++n);
	known_put(&r.host);
}

Test(producer_clock, the_sampled_clock_is_read_after_256_to_512_bytes_or_a_few)
{
	const struct kymo_chunk *found;
	uint32_t count, times = 0, soon = 0;

	make_with_clock(KYMO_CLOCK_SAMPLED);
	for (int i = 0; i < 10000; i++)
		put_in_time();
	found = known_chunks(&r, 1, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct chunk_walk walk = chunk_walk_begin(&found[i]);
		uint32_t last = walk.at, start = walk.at;

		cr_assert_eq(found[i].open_clock, time_of(found[i].first_ordinal));
		if (!found[i].is_open)
			cr_assert_eq(found[i].close_clock, time_of(found[i].last_ordinal + 1));
		while (chunk_walk_next(&walk)) {
			if (walk.record.kind == KYMO_TIME) {
				cr_assert_eq(walk.clock, time_of(walk.n + 1));
				cr_assert(start - last >= 256 || start - last < 8 + 2 * KYMO_MAX_RECORD_BYTES);
				soon += start - last < 256;
				last = walk.at;
				times++;
			}
			cr_assert_lt(walk.at - last, 512 + 2 * KYMO_MAX_RECORD_BYTES);
			start = walk.at;
		}
	}
	cr_assert_gt(times, 40);
	cr_assert(soon > times / 4 && soon < times * 3 / 4);
}

Test(producer_clock, the_sampled_clock_is_read_when_the_tick_has_moved)
{
	uint32_t count, has_moved = 0;
	struct chunk_walk walk;

	make_with_clock(KYMO_CLOCK_SAMPLED);
	for (int i = 0; i < 12; i++) {
		if (i == 4 || i == 8)
			r.page->tick++;
		put_in_time();
	}
	walk = chunk_walk_begin(known_chunks(&r, 1, &count));
	while (chunk_walk_next(&walk)) {
		if (walk.record.kind != KYMO_TIME)
			continue;
		cr_assert_eq(walk.clock, time_of(walk.n + 1));
		has_moved += walk.n == 4 || walk.n == 8;
	}
	cr_assert_eq(has_moved, 2);
}

Test(producer_clock, the_exact_clock_is_read_where_the_caller_says)
{
	struct chunk_walk walk;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_EXACT);
	put_in_time();
	for (int i = 0; i < 20; i++) {
		kymo_append_time(kymo_producer);
		put_in_time();
	}
	walk = chunk_walk_begin(known_chunks(&r, 1, &count));
	for (uint64_t event = 1; event <= 20; event++) {
		while (chunk_walk_next(&walk) && walk.record.kind != KYMO_TIME)
			continue;
		cr_assert_eq(walk.n, event);
		cr_assert_eq(walk.clock, time_of(event));
	}
}

Test(producer_clock, without_a_clock_time_is_told_at_chunks_only)
{
	const struct kymo_chunk *found;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_NONE);
	for (int i = 0; i < 10000; i++) {
		r.page->tick++;
		put_in_time();
	}
	found = known_chunks(&r, 1, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct chunk_walk walk = chunk_walk_begin(&found[i]);

		cr_assert_eq(found[i].open_clock, time_of(found[i].first_ordinal));
		while (chunk_walk_next(&walk))
			cr_assert_neq(walk.record.kind, KYMO_TIME);
	}
}

Test(producer_clock, a_long_pause_is_told_exactly)
{
	struct chunk_walk walk;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_SAMPLED);
	known_put(&r.host);
	fake_now += UINT64_C(1) << 40;
	r.page->tick++;
	known_put(&r.host);
	walk = chunk_walk_begin(known_chunks(&r, 1, &count));
	while (chunk_walk_next(&walk))
		continue;
	cr_assert_eq(walk.clock, fake_now);
}
