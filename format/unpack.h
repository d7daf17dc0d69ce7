// SPDX-License-Identifier: Apache-2.0
/*
 * Unpacking definitions that may be malicious: an empty field of two bytes becomes a structure of
 * forty, so the memory that a message may take has a limit.
 */
#ifndef KYMO_FORMAT_UNPACK_H
#define KYMO_FORMAT_UNPACK_H

#include "format/error.h"
#include "format/metadata.pb-c.h"

/* What a message may take in memory beside its own length, in bytes. */
#define KYMO_UNPACK_MAX_BYTES ((size_t)64 << 20)

/*
 * Unpack the message @bytes[0 … @length).  0, and the caller frees *@definition with
 * kymo__definition__free_unpacked(); or with *@definition NULL
 *   -EBADMSG  it is malformed
 *   -E2BIG    it would take more than @length + KYMO_UNPACK_MAX_BYTES
 *   -ENOMEM
 * @taken, if not NULL, is set to the number of bytes allocated, including those freed again.
 */
KYMO_MUST_CHECK
int kymo_unpack(const uint8_t *bytes, size_t length, Kymo__Definition **definition, size_t *taken);

#endif
