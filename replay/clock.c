// SPDX-License-Identifier: Apache-2.0
#include "replay/clock.h"

void kymo_clock_init(struct kymo_clock_line *clock, const struct kymo_definitions *definitions)
{
	const Kymo__Session *session = definitions->session;

	*clock = (struct kymo_clock_line){
		.samples = definitions->clocks,
		.count = definitions->clock_count,
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
