// SPDX-License-Identifier: Apache-2.0
/*
 * The text of code that is in no file, as the program keeps it for its own tracebacks: cells of notebooks, what was typed, examples
 * of doctest, code that libraries make.  It is read where it lies, and only what is of the built-in types; nothing is called.
 *
 * All functions: GIL held.
 */
#ifndef KYMO_PYEXT_KEPT_SOURCES_H
#define KYMO_PYEXT_KEPT_SOURCES_H

#include "pyext/python.h"

/*
 * Begin a recording.  @meta_bytes: of unread definitions, that the session allows.  @has_command: the program was given behind -c,
 * which the reader knows, without what is redacted.
 */
void kymo_kept_sources_begin(const Kymo__Config *config, uint64_t meta_bytes, bool has_command);

/*
 * The id of the Source with the text that the program has now for @code, of file @file, written if nothing equal is known; 0: it has
 * none, or the text is a file's, or it could not be written.
 */
uint64_t kymo_kept_source(struct kymo_python *python, const PyCodeObject *code, const char *file);

#endif
