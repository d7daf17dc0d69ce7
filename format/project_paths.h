// SPDX-License-Identifier: Apache-2.0
/*
 * Which code is the project's own, by the name of its file.  All that records, shows and counts uses this answer.
 *
 * Not the project's: an interpreter's library, everything in a folder site-packages or dist-packages, the scripts beside an
 * interpreter (bin/pytest), Kymo itself, and code that is in no file.  Code that the user typed is the project's: <stdin>,
 * cells of notebooks, doctests, and <string> if a program was given by -c.
 */
#ifndef KYMO_FORMAT_PROJECT_PATHS_H
#define KYMO_FORMAT_PROJECT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* The known prefixes of interpreters; all zero: none. */
struct kymo_project {
	char prefixes[4096]; /* each with a NUL behind it; of one for which there is no room, scripts are not recognized */
	size_t bytes;
	bool has_command; /* a program was given by -c */
};

/* Add an interpreter's @prefix, as in sys.prefix. */
void kymo_project_add_prefix(struct kymo_project *project, const char *prefix);

/* Derive an interpreter's prefix from the name of a recorded file. */
void kymo_project_learn(struct kymo_project *project, const char *file);

/* The program text in @argv, an interpreter's: python -c TEXT; NULL if there is none. */
const char *kymo_given_code(char *const *argv, size_t count);

/* True if @file, as in co_filename, is the project's. */
bool kymo_project_has(const struct kymo_project *project, const char *file);

#endif
