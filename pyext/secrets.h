// SPDX-License-Identifier: Apache-2.0
/*
 * Names whose values are not recorded: those that contain one of a list of words, whatever the case.
 *
 * There is a built-in list; a recording may add words of its own, or patterns of fnmatch(3).
 */
#ifndef KYMO_PYEXT_SECRETS_H
#define KYMO_PYEXT_SECRETS_H

#include "pyext/cpython.h"

/* One interpreter's: answers are remembered in it.  GIL held. */
struct kymo_secrets;

/* NULL: no memory. */
struct kymo_secrets *kymo_secrets_new(void);
void kymo_secrets_free(struct kymo_secrets *secrets);

/* From now on the built-in list and @patterns, in UTF-8, count; false: no memory, and the list is as before. */
bool kymo_secrets_set(struct kymo_secrets *secrets, char *const *patterns, size_t count);

/* @name is a str or is derived from it. */
bool kymo_secrets_has(struct kymo_secrets *secrets, PyObject *name);
/* The same of a name in UTF-8. */
bool kymo_secrets_has_text(const struct kymo_secrets *secrets, const char *name);

#endif
