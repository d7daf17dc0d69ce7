// SPDX-License-Identifier: Apache-2.0
/*
 * co_linetable: where each instruction stands in the source, as CPython 3.11 and later
 * encode it (Objects/locations.md there).
 */
#ifndef KYMO_REPLAY_TRACE_LINE_TABLE_H
#define KYMO_REPLAY_TRACE_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define KYMO_LINE_NONE (-1) /* an instruction that belongs to no line */

/*
 * Write the line of each code unit to @lines, which has room for @units of them, and return how many the table covers, which may be
 * more. Safe on any bytes: it stops at the first truncated entry.
 */
size_t kymo_line_table_decode(const uint8_t *table, size_t bytes, uint32_t first_line,
			      int32_t *lines, size_t units);

#endif
