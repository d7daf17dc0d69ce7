// SPDX-License-Identifier: Apache-2.0
/*
 * The memory that producers live in: pages that a child process finds zeroed
 * (MADV_WIPEONFORK, Linux 4.14), however it was made, by a raw clone() included.
 */
#ifndef KYMO_RECORDER_CELLS_H
#define KYMO_RECORDER_CELLS_H

#include "recorder/producer.h"

/* Make the first block.  Returns 0 or a negative errno.  Lock held. */
int kymo_cells_init(void);

/* False in a child process that has not called kymo_cells_init() itself. */
bool kymo_cells_are_live(void);

/* A zeroed cell with in_use set, or NULL without memory.  Lock held. */
struct kymo_producer *kymo_cell_take(void);
void kymo_cell_return(struct kymo_producer *cell);

/* The cell after @cell that is in use, the first for NULL; NULL at the end.  Lock held. */
struct kymo_producer *kymo_cell_next(const struct kymo_producer *cell);

#endif
