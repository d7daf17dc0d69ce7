// SPDX-License-Identifier: Apache-2.0
/* Python's strings as C strings for definitions, without leaving a trace in the string object. */
#ifndef KYMO_PYEXT_STRINGS_H
#define KYMO_PYEXT_STRINGS_H

#include "pyext/cpython/cpython.h"

struct kymo_arena_block;

/* Memory that is given back all at once.  Zero it to begin. */
struct kymo_arena {
	struct kymo_arena_block *blocks;
};

/* NULL: no memory. */
void *kymo_arena_take(struct kymo_arena *arena, size_t bytes);
void kymo_arena_free(struct kymo_arena *arena);

/*
 * @string in UTF-8; surrogates and NUL are backslash-escaped.  Valid until the arena is
 * freed or the string dies.  What is no str, and what finds no memory, is "?".
 */
char *kymo_text(struct kymo_arena *arena, PyObject *string);

/* Put @string, which is a str, behind @to, as kymo_text() has it but without the NUL; the end.  It needs kymo_text_room() bytes. */
char *kymo_text_put(char *to, PyObject *string);
size_t kymo_text_room(PyObject *string);

/* kymo_text() of each item of @tuple; the number of them in @count. */
char **kymo_texts(struct kymo_arena *arena, PyObject *tuple, size_t *count);

#endif
