// SPDX-License-Identifier: Apache-2.0
/*
 * Errors for people: a negative errno for the caller, one line for the user.
 *
 * Every function whose last parameter is a struct kymo_error * fills it whenever
 * it returns a failure; NULL is allowed.  No allocation, so it works when memory is out.
 */
#ifndef KYMO_FORMAT_ERROR_H
#define KYMO_FORMAT_ERROR_H

#include <stddef.h>

#define KYMO_MUST_CHECK __attribute__((warn_unused_result))

struct kymo_error {
	char message[512]; /* what happened, where, and what to do; no newline */
};

/* Fill @error as printf does and return @code, a negative errno. */
int kymo_fail(struct kymo_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Copy the message to @to of @bytes, cut where it does not fit; 0 @bytes: @to may be NULL. */
void kymo_error_copy(const struct kymo_error *error, char *to, size_t bytes);

#endif
