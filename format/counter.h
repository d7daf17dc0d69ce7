// SPDX-License-Identifier: Apache-2.0
/*
 * The counter that times are recorded in.  Reading it costs a few nanoseconds where
 * the processor has one that all cores share; the session says which one is used.
 */
#ifndef KYMO_FORMAT_COUNTER_H
#define KYMO_FORMAT_COUNTER_H

#include <stdint.h>
#include <time.h>

#include "format/chunk.h"

static inline uint64_t kymo_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static inline uint64_t kymo_counter_read(uint32_t counter)
{
#if defined(__x86_64__)
	if (counter == KYMO_COUNTER_TSC)
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (counter == KYMO_COUNTER_CNTVCT) {
		uint64_t value;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
		return value;
	}
#endif
	(void)counter;
	return kymo_monotonic_ns();
}

#endif
