// SPDX-License-Identifier: Apache-2.0
/*
 * Structures of callers, which may have been compiled with an older or a newer header: each begins with a size_t, its size for the
 * caller. They only grow at the end (docs/decisions/0014-library-abi.md).
 */
#ifndef KYMO_REPLAY_LIBRARY_SIZED_H
#define KYMO_REPLAY_LIBRARY_SIZED_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "format/error.h"

/* How many of the @bytes of our structure the caller's @given has; 0: its size is missing or impossible. */
static inline size_t kymo_sized_bytes(const void *given, size_t bytes)
{
	size_t size;

	memcpy(&size, given, sizeof size);
	if (size < 2 * sizeof size || size > 4096)
		return 0;
	return size < bytes ? size : bytes;
}

/* Copy @given to @own of @bytes, which holds the defaults for fields that the caller's lacks; 0 or a negative errno. */
KYMO_MUST_CHECK
static inline int kymo_sized_take(void *own, const void *given, size_t bytes, struct kymo_error *error)
{
	size_t taken = kymo_sized_bytes(given, bytes), size = 0;

	if (!taken)
		return kymo_fail(error, -EINVAL, "the size of a structure is not set: its first field is its sizeof");
	memcpy(&size, given, sizeof size);
	for (size_t at = taken; at < size; at++)
		if (((const unsigned char *)given)[at])
			return kymo_fail(error, -E2BIG, "a structure has fields that this version of libkymo-replay does not know");
	memcpy(own, given, taken);
	return 0;
}

/* Copy @own of @bytes to place @index of the caller's array @given, whose elements have the size that the first one says. */
static inline void kymo_sized_put(void *given, size_t index, const void *own, size_t bytes, size_t stride)
{
	char *at = (char *)given + index * stride;
	size_t put = stride < bytes ? stride : bytes;

	memcpy(at, own, put);
	memset(at + put, 0, stride - put);
	memcpy(at, &stride, sizeof stride);
}

#endif
