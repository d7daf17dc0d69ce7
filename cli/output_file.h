// SPDX-License-Identifier: Apache-2.0
/*
 * A file that a verb writes: it is there under its name when it is whole, or not at all.  It is for the eyes of its
 * user alone, as traces are: it may hold source, values and names of a program.
 */
#ifndef KYMO_CLI_OUTPUT_FILE_H
#define KYMO_CLI_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "format/error.h"

struct kymo_output_file {
	FILE *out;
	const char *path; /* as it was asked for; for messages */
	char name[PATH_MAX]; /* where it goes: @path, or what that leads to */
	char temporary[PATH_MAX]; /* "": none; it is written in place */
	bool is_forced;
};

/*
 * Begin to write @path; NULL or "-": stdout.  A file of that name is refused unless @is_forced.  Devices and pipes are written
 * in place, and so is /dev/stdout, whatever it is.  Until it is finished a signal that ends the program takes what was written along; there is one such file at a time.
 */
KYMO_MUST_CHECK
int kymo_output_file_open(struct kymo_output_file *file, const char *path, bool is_forced, struct kymo_error *error);

/* What is wrong with what was written so far, in @error; 0: nothing. */
KYMO_MUST_CHECK
int kymo_output_file_check(struct kymo_output_file *file, struct kymo_error *error);

/* Give it its name if @result is 0, else remove it.  Returns @result, or what else went wrong, in @error. */
KYMO_MUST_CHECK
int kymo_output_file_close(struct kymo_output_file *file, int result, struct kymo_error *error);

#endif
