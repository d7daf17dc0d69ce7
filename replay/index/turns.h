// SPDX-License-Identifier: Apache-2.0
/*
 * Where the turns of a GIL begin in a thread, from recorded events only; nothing is rebuilt.
 */
#ifndef KYMO_REPLAY_INDEX_TURNS_H
#define KYMO_REPLAY_INDEX_TURNS_H

#include "replay/index/index.h"

struct kymo_turn {
	uint64_t number;
	uint64_t n; /* its first event in the chunk has this ordinal */
};

/* True if the turn of @interpreter's GIL is known for all events of @chunk. */
bool kymo_has_turns(const struct kymo_chunk_summary *chunk, uint32_t interpreter);

/* The first turn of that GIL above @number that has events in @chunk, to @out. 1; 0: there is none. */
KYMO_MUST_CHECK
int kymo_turn_after(const struct kymo_index *index, const struct kymo_chunk_summary *chunk, uint32_t interpreter,
		    uint64_t number, struct kymo_turn *out, struct kymo_error *error);
/* The number of the last one below @number. */
KYMO_MUST_CHECK
int kymo_turn_before(const struct kymo_index *index, const struct kymo_chunk_summary *chunk, uint32_t interpreter,
		     uint64_t number, uint64_t *out, struct kymo_error *error);

#endif
