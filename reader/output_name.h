// SPDX-License-Identifier: Apache-2.0
/*
 * The names of a trace: NAME.incomplete while it is written, NAME when it is complete.
 *
 * The process that writes NAME.incomplete holds a lock on it (flock), so that two recordings
 * with one name cannot take it from each other.  On file systems without such locks there is
 * none.
 */
#ifndef KYMO_READER_OUTPUT_NAME_H
#define KYMO_READER_OUTPUT_NAME_H

#include <stdbool.h>

#include "format/error.h"

/*
 * Whether a file may get the name @path: nothing has that name or, if it @may_replace, a regular
 * file.  Returns 0, -EEXIST: a regular file is there, or -EINVAL: something else is, such as a
 * link.
 */
KYMO_MUST_CHECK int kymo_output_check(const char *path, bool may_replace, struct kymo_error *error);

/*
 * Make @incomplete, an empty file of mode 0600 that this process has locked.  If it @may_replace, a file
 * that a killed reader left is removed.  Returns a descriptor, or -EEXIST, or -EBUSY: it is being
 * written.
 */
KYMO_MUST_CHECK int kymo_output_claim(const char *incomplete, bool may_replace, struct kymo_error *error);

/* Lock the file @fd, called @incomplete.  0, or -EBUSY: another process writes it. */
KYMO_MUST_CHECK int kymo_output_lock(int fd, const char *incomplete, struct kymo_error *error);

/* Give @incomplete, which is the file @fd (-1: any), its name @output. */
KYMO_MUST_CHECK int kymo_output_rename(int fd, const char *incomplete, const char *output, bool may_replace,
				       struct kymo_error *error);

#endif
