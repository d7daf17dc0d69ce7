// SPDX-License-Identifier: Apache-2.0
/*
 * Which code is the project's own, by the name of its file: the one answer for all that records, shows and counts.
 *
 * Not the project's: the library of an interpreter, all in a folder site-packages or dist-packages, the scripts beside an
 * interpreter (bin/pytest), Kymo itself, and what is in no file. What somebody typed is: <stdin>, cells of notebooks, doctests,
 * and <string> where a program was given by -c.
 */
#ifndef KYMO_FORMAT_PROJECT_PATHS_H
#define KYMO_FORMAT_PROJECT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Where interpreters are; zeroed, no such place is known. */
struct kymo_project {
	char prefixes[4096]; /* each with a NUL behind it; for the scripts of one that has no room this is unknown */
	size_t bytes;
	bool has_command; /* some program was given by -c */
};

/* There is an interpreter at @prefix, as sys.prefix has it. */
void kymo_project_add_prefix(struct kymo_project *project, const char *prefix);

/* Learn from the name of a file that was recorded where an interpreter is. */
void kymo_project_learn(struct kymo_project *project, const char *file);

/* The program that @argv, an interpreter's, gives itself: python -c …; NULL: it gives none. */
const char *kymo_given_code(char *const *argv, size_t count);

/* True if @file, as co_filename has it, is the project's. */
bool kymo_project_has(const struct kymo_project *project, const char *file);

#endif
