// SPDX-License-Identifier: Apache-2.0
/* What moves a cursor's registers, told or passed over.  For thread_cursor.c and thread_cursor_skip.c alone. */
#ifndef KYMO_REPLAY_THREAD_CURSOR_REGISTERS_H
#define KYMO_REPLAY_THREAD_CURSOR_REGISTERS_H

#include "replay/line_table.h"
#include "replay/thread_cursor.h"

#define LINE_UNKNOWN ((uint64_t)KYMO_LINE_NONE)

/* The clock was read: what follows happened after @counter, and before the next time that it was. */
void kymo_cursor_set_time(struct kymo_cursor *cursor, uint64_t counter);
void kymo_cursor_set_code(struct kymo_cursor *cursor, uint64_t id);
/* A stack is told.  Of a damaged one, what could be read of it is as good as nothing. */
void kymo_cursor_read_stack(struct kymo_cursor *cursor, const uint8_t *block, size_t bytes);

#endif
