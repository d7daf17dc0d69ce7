// SPDX-License-Identifier: Apache-2.0
/* Python's strings as C strings for definitions, without leaving a trace in the string object. */
#ifndef KYMO_PYEXT_STRINGS_H
#define KYMO_PYEXT_STRINGS_H

#include "pyext/cpython/cpython.h"

struct kymo_arena_block;

/* Memory that is freed all at once.  Zero it to begin. */
struct kymo_arena {
	struct kymo_arena_block *blocks;
};

/* NULL: no memory. */
void *kymo_arena_take(struct kymo_arena *arena, size_t bytes);
void kymo_arena_free(struct kymo_arena *arena);

/*
 * @string in UTF-8; surrogates and NUL are backslash-escaped.  Valid until the arena is
 * freed or the string dies.  "?" for other types, and if there is no memory.
 */
char *kymo_text(struct kymo_arena *arena, PyObject *string);

/* Write @string, which is a str, to @to as kymo_text() does, but without the NUL; returns the end.  It needs kymo_text_room() bytes. */
char *kymo_text_put(char *to, PyObject *string);
size_t kymo_text_room(PyObject *string);

/* kymo_text() of each item of @tuple; the number of them in @count. */
char **kymo_texts(struct kymo_arena *arena, PyObject *tuple, size_t *count);

#endif
