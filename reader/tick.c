// SPDX-License-Identifier: Apache-2.0
/* The millisecond that producers read their clocks by. */
#include "format/atomics.h"
#include "format/counter.h"
#include "reader/run.h"

#define CLOCK_NS 1000000000U

void kymo_reader_tick(struct kymo_reader *reader)
{
	uint64_t now = kymo_monotonic_ns();
	uint64_t counter;

	if (now - reader->tick_ns < KYMO_TICK_NS || reader->access != KYMO_ACCESS_DRAIN)
		return;
	counter = kymo_counter_read(reader->session.counter);
	if (reader->tick_ns && now - reader->tick_ns > KYMO_TICK_STALL_NS)
		kymo_run_define_stall(&reader->writer, reader->tick_counter, counter);
	reader->tick_ns = now;
	reader->tick_counter = counter;
	/* Relaxed: a producer that sees it late reads its clock late. */
	kymo_store_relaxed_u64(&reader->session.page->tick,
			       kymo_load_relaxed_u64(&reader->session.page->tick) + 1);
	if (now - reader->clock_ns < CLOCK_NS)
		return;
	reader->clock_ns = now;
	kymo_run_define_clock(&reader->writer, reader->session.counter);
	kymo_run_definitions_flush(&reader->writer);
}
