// SPDX-License-Identifier: Apache-2.0
/*
 * A file that a verb writes: it appears under its name when it is complete, or not at all.  Only its user can read
 * it, as with traces: it may hold source, values and names of a program.
 */
#ifndef KYMO_CLI_OUTPUT_FILE_H
#define KYMO_CLI_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "format/error.h"

struct kymo_output_file {
	FILE *out;
	const char *path; /* as the user gave it, for messages */
	char name[PATH_MAX]; /* where it goes: @path, or the target of that link */
	char temporary[PATH_MAX]; /* "": none; it is written in place */
	bool is_forced;
};

/*
 * Begin to write @path; NULL or "-": stdout.  A file of that name is refused unless @is_forced.  Devices and pipes are written in place,
 * and so is /dev/stdout, whatever it is.  Until it is finished, a signal that ends the program also removes it; there is one such file at
 * a time.
 */
KYMO_MUST_CHECK
int kymo_output_file_open(struct kymo_output_file *file, const char *path, bool is_forced, struct kymo_error *error);

/* An error of writing so far, in @error; 0: none. */
KYMO_MUST_CHECK
int kymo_output_file_check(struct kymo_output_file *file, struct kymo_error *error);

/* Give it its name if @result is 0, else remove it.  Returns @result, or a new error, in @error. */
KYMO_MUST_CHECK
int kymo_output_file_close(struct kymo_output_file *file, int result, struct kymo_error *error);

#endif
