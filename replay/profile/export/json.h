// SPDX-License-Identifier: Apache-2.0
/* Shared by the JSON formats. */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_JSON_H
#define KYMO_REPLAY_PROFILE_EXPORT_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* @ns in units of 10^@digits nanoseconds, in full and without zeros at the end. */
static inline void kymo_put_units(FILE *out, int64_t ns, unsigned digits)
{
	char text[48];
	size_t at = sizeof text;
	uint64_t rest = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	bool has_fraction = false;

	for (; digits; digits--, rest /= 10) {
		if (rest % 10 || has_fraction)
			text[--at] = (char)('0' + rest % 10);
		has_fraction = has_fraction || rest % 10;
	}
	if (has_fraction)
		text[--at] = '.';
	do
		text[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (ns < 0)
		text[--at] = '-';
	fwrite_unlocked(text + at, 1, sizeof text - at, out);
}

#endif
