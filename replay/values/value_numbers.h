// SPDX-License-Identifier: Apache-2.0
/* Numbers of a recorded program, in Python's notation. */
#ifndef KYMO_REPLAY_VALUES_VALUE_NUMBERS_H
#define KYMO_REPLAY_VALUES_VALUE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for any number, including the NUL. */
#define KYMO_FLOAT_TEXT_BYTES 32

/* A float as in repr(): the fewest digits that give it back. @is_part: as a part of a complex number, without ".0". */
void kymo_float_text(double number, bool is_part, char text[KYMO_FLOAT_TEXT_BYTES]);

/* An int of more bytes may have more than the 4300 digits that CPython itself converts. */
#define KYMO_LONG_MAX_BYTES 1785U
#define KYMO_LONG_TEXT_BYTES 4304

/* The int whose magnitude is @bytes, at most KYMO_LONG_MAX_BYTES, little-endian, in decimal. */
void kymo_long_text(const uint8_t *magnitude, uint32_t bytes, bool is_negative, char text[KYMO_LONG_TEXT_BYTES]);

#endif
