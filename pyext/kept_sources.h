// SPDX-License-Identifier: Apache-2.0
/*
 * The text of code that is in no file, as the program keeps it for its own tracebacks: cells of notebooks, typed input, examples of
 * doctest, code that libraries make.  It is read in place, and only from objects of built-in types; nothing is called.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_KEPT_SOURCES_H
#define KYMO_PYEXT_KEPT_SOURCES_H

#include "pyext/python.h"

/*
 * Begin a recording.  @meta_bytes: limit of unread definitions in the session.  @has_command: the program was given by -c; the
 * reader has its text, except for redacted parts.
 */
void kymo_kept_sources_begin(const Kymo__Config *config, uint64_t meta_bytes, bool has_command);

/*
 * The id of the Source with the text that the program has now for @code, of file @file; written unless an equal one was.  0: it has
 * none, or the text is a file's, or it could not be written.
 */
uint64_t kymo_kept_source(struct kymo_python *python, const PyCodeObject *code, const char *file);

#endif
