// SPDX-License-Identifier: Apache-2.0
#include "format/error.h"

#include <stdarg.h>
#include <stdio.h>

int kymo_fail(struct kymo_error *error, int code, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error->message, sizeof error->message, format, args);
		va_end(args);
	}
	return code;
}

void kymo_error_copy(const struct kymo_error *error, char *to, size_t bytes)
{
	if (bytes)
		snprintf(to, bytes, "%s", error->message);
}
