// SPDX-License-Identifier: Apache-2.0
/* Command lines go into traces, and traces are passed on: keep secrets out. */
#ifndef KYMO_RECORDER_REDACT_H
#define KYMO_RECORDER_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if @name, in UTF-8, looks like that of a secret, whatever the case of its letters: it contains one of a list of words;
 * `pw` and `pass`, which are part of other words, must be a word of it, or the last one.
 */
bool kymo_redact_name(const char *name);

/*
 * Copy @count words of @argv, with "[redacted]" for the values of options whose names look
 * secret.  Returns NULL without memory; else give it to kymo_redact_free().
 */
char **kymo_redact(char *const *argv, size_t count);
void kymo_redact_free(char **copy, size_t count);

#endif
