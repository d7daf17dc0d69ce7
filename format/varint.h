// SPDX-License-Identifier: Apache-2.0
/* LEB128: seven bits a byte, lowest first, the high bit set on all but the last. */
#ifndef KYMO_FORMAT_VARINT_H
#define KYMO_FORMAT_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define KYMO_VARINT_MAX_BYTES 10U

/* Write @value to @out, which has room for KYMO_VARINT_MAX_BYTES; return the length. */
static inline size_t kymo_varint_put(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	while (value >= 0x80) {
		out[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[n++] = (uint8_t)value;
	return n;
}

/* Read a number from @in[0 … @bytes) to @value; return its length, or 0 if it is cut or too long. */
static inline size_t kymo_varint_get(const uint8_t *in, size_t bytes, uint64_t *value)
{
	uint64_t result = 0;

	for (size_t n = 0; n < bytes && n < KYMO_VARINT_MAX_BYTES; n++) {
		if (n == 9 && in[n] > 1)
			return 0;
		result |= (uint64_t)(in[n] & 0x7f) << (7 * n);
		if (!(in[n] & 0x80)) {
			*value = result;
			return n + 1;
		}
	}
	return 0;
}

#endif
