// SPDX-License-Identifier: Apache-2.0
/* numpy's points in time and durations, which are numbers of a unit, as text. */
#ifndef KYMO_REPLAY_VALUES_VALUE_TICKS_H
#define KYMO_REPLAY_VALUES_VALUE_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KYMO_TICKS_TEXT_BYTES 64

/*
 * @ticks of an array with the given dtype, "datetime64[us]" or "timedelta64[15m]"; proleptic Gregorian, without leap seconds, as in
 * numpy. False: another dtype, or out of range.
 */
bool kymo_ticks_text(const char *dtype, size_t dtype_bytes, int64_t ticks, char text[KYMO_TICKS_TEXT_BYTES]);

#endif
