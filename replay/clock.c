// SPDX-License-Identifier: Apache-2.0
#include "replay/clock.h"

/* Above the time that a tick may be late: for its store to be seen. */
#define MARGIN_NS 1000000

/* The reader writes a Clock every second.  Without one for longer, it may have been dead. */
#define LONGEST_SEGMENT_NS 1200000000

void kymo_clock_init(struct kymo_clock_line *clock, const struct kymo_definitions *definitions)
{
	const Kymo__Session *session = definitions->session;

	*clock = (struct kymo_clock_line){
		.samples = definitions->clocks,
		.count = definitions->clock_count,
		.stalls = (const Kymo__ClockStall *const *)definitions->stalls,
		.stall_count = definitions->stall_count,
		.has_tick = session && session->config &&
			    session->config->clock_mode != KYMO_CLOCK_NONE,
	};
	clock->is_calibrated =
		clock->count > 1 || !session || session->counter == KYMO_COUNTER_MONOTONIC;
	if (clock->count && session && clock->samples[0]->unix_ns)
		clock->start_ns = (int64_t)(clock->samples[0]->monotonic_ns -
					    (clock->samples[0]->unix_ns - session->started_unix_ns));
	else if (clock->count)
		clock->start_ns = (int64_t)clock->samples[0]->monotonic_ns;
}

/* Find the segment [last, last + 1] that @counter lies in; the outer ones reach to infinity. */
static void find_segment(struct kymo_clock_line *clock, uint64_t counter)
{
	while (clock->last > 0 && counter < clock->samples[clock->last]->counter)
		clock->last--;
	while (clock->last + 2 < clock->count && counter >= clock->samples[clock->last + 1]->counter)
		clock->last++;
}

int64_t kymo_clock_ns(struct kymo_clock_line *clock, uint64_t counter)
{
	const Kymo__Clock *a, *b;
	__int128 ticks, ns, width;

	if (!clock->count)
		return (int64_t)counter;
	find_segment(clock, counter);
	a = clock->samples[clock->last];
	b = clock->count > 1 ? clock->samples[clock->last + 1] : a;
	ticks = (__int128)counter - a->counter;
	width = (__int128)b->counter - a->counter;
	ns = (__int128)b->monotonic_ns - a->monotonic_ns;
	if (width > 0 && ns >= 0 && ns <= INT64_MAX) /* false in a hostile trace only */
		ticks = ticks * ns / width;
	return (int64_t)(ticks + (__int128)a->monotonic_ns - clock->start_ns);
}

/* The first stall that ends after @counter. */
static size_t find_stall(const struct kymo_clock_line *clock, uint64_t counter)
{
	size_t low = 0, high = clock->stall_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (clock->stalls[middle]->to_counter <= counter)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t kymo_clock_latest_ns(struct kymo_clock_line *clock, uint64_t counter)
{
	const int64_t allowance = KYMO_TICK_STALL_NS + MARGIN_NS;
	int64_t latest = kymo_clock_ns(clock, counter) + allowance;
	const Kymo__Clock *a, *b;

	if (!clock->has_tick || clock->count < 2)
		return INT64_MAX;
	a = clock->samples[clock->last];
	b = clock->samples[clock->last + 1];
	if (b->monotonic_ns - a->monotonic_ns > LONGEST_SEGMENT_NS)
		return INT64_MAX;
	for (size_t i = find_stall(clock, counter); i < clock->stall_count; i++) {
		if (kymo_clock_ns(clock, clock->stalls[i]->from_counter) > latest)
			break;
		latest = kymo_clock_ns(clock, clock->stalls[i]->to_counter) + allowance;
	}
	/* After the last sign of the reader's life the tick says nothing. */
	return latest <= kymo_clock_ns(clock, clock->samples[clock->count - 1]->counter) ? latest
											 : INT64_MAX;
}
