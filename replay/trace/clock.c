// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/clock.h"

/* How late a tick may be without a stall, including the time until its store is visible. */
#define ALLOWANCE_NS ((int64_t)KYMO_TICK_STALL_NS + 1000000)

/* Only hostile traces have times beyond this; sums and differences of two can be represented. */
#define FARTHEST_NS (INT64_MAX / 4)

/* The reader writes a Clock every second. After a longer time without one, it may have been dead. */
#define LONGEST_SEGMENT_NS 1200000000

/* An event in a stall may be as late as the stall's end, and the tick of that end later still. */
static void find_reaches(struct kymo_clock_line *clock, struct kymo_clock_stall *stalls)
{
	for (size_t i = clock->stall_count; i-- > 0;) {
		struct kymo_clock_stall *stall = &stalls[i];

		stall->reach_ns = kymo_clock_ns(clock, stall->to_counter) + ALLOWANCE_NS;
		if (i + 1 < clock->stall_count &&
		    kymo_clock_ns(clock, stall[1].from_counter) <= stall->reach_ns)
			stall->reach_ns = stall[1].reach_ns;
	}
}

void kymo_clock_init(struct kymo_clock_line *clock, struct kymo_definitions *definitions)
{
	const Kymo__Session *session = definitions->session;

	*clock = (struct kymo_clock_line){
		.samples = definitions->clocks,
		.count = definitions->clock_count,
		.stalls = definitions->stalls,
		.stall_count = definitions->stall_count,
		.has_tick = session && session->config &&
			    session->config->clock_mode != KYMO_CLOCK_NONE,
	};
	clock->is_calibrated =
		clock->count > 1 || !session || session->counter == KYMO_COUNTER_MONOTONIC;
	if (clock->count && session && clock->samples[0].unix_ns)
		clock->start_ns = (int64_t)(clock->samples[0].monotonic_ns -
					    (clock->samples[0].unix_ns - session->started_unix_ns));
	else if (clock->count)
		clock->start_ns = (int64_t)clock->samples[0].monotonic_ns;
	find_reaches(clock, definitions->stalls);
}

/* Find the segment [last, last + 1] that @counter lies in; the outer ones reach to infinity. */
static void find_segment(struct kymo_clock_line *clock, uint64_t counter)
{
	while (clock->last > 0 && counter < clock->samples[clock->last].counter)
		clock->last--;
	while (clock->last + 2 < clock->count && counter >= clock->samples[clock->last + 1].counter)
		clock->last++;
}

int64_t kymo_clock_ns(struct kymo_clock_line *clock, uint64_t counter)
{
	const struct kymo_clock_sample *a, *b;
	__int128 ticks, ns, width;

	if (!clock->count)
		return counter < FARTHEST_NS ? (int64_t)counter : FARTHEST_NS;
	find_segment(clock, counter);
	a = &clock->samples[clock->last];
	b = clock->count > 1 ? a + 1 : a;
	ticks = (__int128)counter - a->counter;
	width = (__int128)b->counter - a->counter;
	ns = (__int128)b->monotonic_ns - a->monotonic_ns;
	if (width > 0 && ns >= 0 && ns <= INT64_MAX) /* false in a hostile trace only */
		ticks = ticks * ns / width;
	ticks += (__int128)a->monotonic_ns - clock->start_ns;
	return ticks < -FARTHEST_NS ? -FARTHEST_NS : ticks > FARTHEST_NS ? FARTHEST_NS : (int64_t)ticks;
}

/* The first stall that ends after @counter. */
static size_t find_stall(const struct kymo_clock_line *clock, uint64_t counter)
{
	size_t low = 0, high = clock->stall_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (clock->stalls[middle].to_counter <= counter)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t kymo_clock_latest_ns(struct kymo_clock_line *clock, uint64_t counter)
{
	int64_t latest = kymo_clock_ns(clock, counter) + ALLOWANCE_NS;
	const struct kymo_clock_sample *a, *b;
	size_t stall;

	if (!clock->has_tick || clock->count < 2)
		return INT64_MAX;
	a = &clock->samples[clock->last];
	b = a + 1;
	if (b->monotonic_ns - a->monotonic_ns > LONGEST_SEGMENT_NS)
		return INT64_MAX;
	stall = find_stall(clock, counter);
	if (stall < clock->stall_count &&
	    kymo_clock_ns(clock, clock->stalls[stall].from_counter) <= latest)
		latest = clock->stalls[stall].reach_ns;
	/* After the last sign of life of the reader, the tick means nothing. */
	return latest <= kymo_clock_ns(clock, clock->samples[clock->count - 1].counter) ? latest
											 : INT64_MAX;
}
