// SPDX-License-Identifier: Apache-2.0
/* Which line each instruction belongs to: co_linetable (Objects/locations.md of CPython), read entry by entry. */
#ifndef KYMO_PYEXT_LINE_ENTRIES_H
#define KYMO_PYEXT_LINE_ENTRIES_H

#include "pyext/cpython/cpython.h"

struct kymo_line_entry {
	const uint8_t *at, *end;
	uint32_t unit, units; /* of the entry */
	int64_t line;
};

/* Before the first entry of @code; the code object has to stay. */
struct kymo_line_entry kymo_line_entries(const PyCodeObject *code);

/* Go on to the next entry with a line; false: there is none. */
bool kymo_line_entry_next(struct kymo_line_entry *entry);

/* The line of each code unit, -1: none; to be freed.  NULL: no memory. */
int32_t *kymo_code_lines(const PyCodeObject *code);

#endif
