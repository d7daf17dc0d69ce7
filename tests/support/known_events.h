// SPDX-License-Identifier: Apache-2.0
/*
 * Events that are known by their ordinal: event @n of a thread always looks the same,
 * so that whatever a reader takes can be held against it.
 */
#ifndef KYMO_TESTS_SUPPORT_KNOWN_EVENTS_H
#define KYMO_TESTS_SUPPORT_KNOWN_EVENTS_H

#include "tests/support/recording.h"

/* Append event @n of the thread called @seed, in one of all shapes that an append has. */
void known_append(struct kymo_producer *p, uint32_t seed, uint64_t n);

/*
 * Hold every event in @chunk against what it must be, from the chunk's first ordinal on.
 * Returns NULL and the ordinal after the last one in @end, or what is wrong, with @end
 * the ordinal where.
 */
const char *known_check(const struct kymo_chunk *chunk, uint32_t seed, uint64_t *end);

/* Record the next event of this thread, with seed 0; false if it is lost. */
bool known_put(const struct kymo_host *host);

/* The chunks of ring @number of this process; one with wrong events ends the program. */
const struct kymo_chunk *known_chunks(const struct recording *r, uint32_t number, uint32_t *count);

/* Ordinal after the last event in @chunk. */
uint64_t known_end(const struct kymo_chunk *chunk);

#endif
