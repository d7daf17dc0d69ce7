// SPDX-License-Identifier: Apache-2.0
/* Points in time and durations of numpy's, which are numbers of a unit, as text. */
#ifndef KYMO_REPLAY_VALUES_VALUE_TICKS_H
#define KYMO_REPLAY_VALUES_VALUE_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KYMO_TICKS_TEXT_BYTES 64

/*
 * @ticks of an array whose dtype is called so: "datetime64[us]", "timedelta64[15m]"; proleptic Gregorian, without leap seconds, as
 * numpy has it.  False: it is another dtype, or too far away.
 */
bool kymo_ticks_text(const char *dtype, size_t dtype_bytes, int64_t ticks, char text[KYMO_TICKS_TEXT_BYTES]);

#endif
