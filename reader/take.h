// SPDX-License-Identifier: Apache-2.0
/*
 * Take one chunk out of a ring: the consumer half of the protocol of format/chunk.h.
 *
 * Everything is copied first and checked afterwards, so the producer is never
 * delayed, and may be alive, stopped, or dead between any two instructions.
 */
#ifndef KYMO_READER_TAKE_H
#define KYMO_READER_TAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/view.h"

/* A chunk, private and consistent. */
struct kymo_chunk {
	uint64_t seq;
	bool is_open; /* taken before it was sealed: its beginning only */
	uint32_t bytes;
	uint32_t branches; /* open branch word; KYMO_BRANCHES_NONE when sealed */
	uint64_t open_clock;
	uint64_t close_clock;  /* 0 while open */
	uint64_t last_ordinal; /* 0 while open */
	uint64_t first_ordinal;
	uint64_t lost_before;
	uint64_t meta_position;
	uint64_t switch_base;
	uint64_t thread_chunk;
	uint32_t lost_reasons;
	uint32_t thread;
	uint32_t interpreter;
	uint32_t sync_bytes;
	uint64_t segment; /* segment that all of it lies in; 0: none, or not known while it is open */
	uint8_t *payload; /* the caller's buffer of KYMO_MAX_SLOT_BYTES */
};

/*
 * Take the sealed chunk @seq into @chunk, whose @payload the caller has set.
 *
 *   0            taken
 *   -EAGAIN      no slot holds it sealed
 *   -EOVERFLOW   the producer reused the slot meanwhile: the chunk is gone
 * -EBADMSG its header has impossible lengths, or its file is cut
 */
KYMO_MUST_CHECK int kymo_chunk_take(struct kymo_ring_view *ring, uint64_t seq,
				   struct kymo_chunk *chunk);

/* The same for a chunk that may still be open: takes what is committed now. */
KYMO_MUST_CHECK int kymo_chunk_take_tail(struct kymo_ring_view *ring, uint64_t seq,
					struct kymo_chunk *chunk);

/* The lowest chunk above @after and not above @limit that is sealed; 0: none. */
uint64_t kymo_ring_view_next_sealed(struct kymo_ring_view *ring, uint64_t after, uint64_t limit);

/* The numbers above @after of all chunks that the ring holds, sealed or open, lowest
 * first, in @seqs, which has room for ring->max_slots.  Returns how many. */
uint32_t kymo_ring_view_list(const struct kymo_ring_view *ring, uint64_t after, uint64_t *seqs);

/* Chunks up to @seq were copied: give their slots back to the producer. */
void kymo_ring_view_release(struct kymo_ring_view *ring, uint64_t seq);

#endif
