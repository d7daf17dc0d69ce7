// SPDX-License-Identifier: Apache-2.0
/*
 * A ring, the cold half: its file, its slots, opening and sealing chunks.
 *
 * One thread uses a ring at a time; process.c keeps the pool of rings between threads.
 */
#ifndef KYMO_RECORDER_RING_H
#define KYMO_RECORDER_RING_H

#include "format/chunk.h"
#include "format/record.h"

struct kymo_ring {
	struct kymo_ring_page *page;
	struct kymo_ring_consumer *consumer;
	struct kymo_chunk_header *headers;
	uint8_t *slots;
	size_t map_bytes;
	uint32_t number;
	uint32_t slot_bytes;
	uint32_t max_slots;
	uint32_t made;     /* slots that exist */
	uint64_t opened;   /* newest chunk */
	uint64_t oldest;   /* oldest chunk that has a slot */
	uint64_t degraded; /* block: 1 + consumed_seq when the waiting was given up; 0: not degraded */
	bool cannot_grow;  /* growing failed, and no slot has become free after that */
	uint64_t grows_at; /* overwrite: growing failed, and is not tried again before this many chunks were opened */
	char *path;
	struct kymo_ring *next;
	uint32_t slot_of[]; /* [seq % max_slots] */
};

/*
 * Make ring number @number in the process folder @dir, with one slot, its pages faulted in.
 * The bytes count against the session's budget.  Returns 0, -ENOSPC, or another negative errno.
 */
int kymo_ring_make(struct kymo_session_page *session, const char *dir, uint32_t number,
		   struct kymo_ring **ring);

/* Unmap and free; the reader removes the file. */
void kymo_ring_free(struct kymo_ring *ring);

/*
 * Find the slot for the next chunk, by the session's policy: one that the reader has
 * freed, else a new one, else wait, give up, or take the oldest.
 * Returns the slot, or -1 with the cause in @reason (enum kymo_loss).
 */
int kymo_ring_next_slot(struct kymo_ring *ring, struct kymo_session_page *session, uint32_t *reason);

/* True if waiting for the reader is useless: it is gone, or was found to be stopped. */
bool kymo_reader_is_stalled(const struct kymo_session_page *session);

/* Another session has another reader. */
void kymo_reader_forget_stall(void);

/* What a chunk's header says, apart from the words that change. */
struct kymo_chunk_facts {
	uint64_t open_clock;
	uint64_t first_ordinal;
	uint64_t lost_before;
	uint64_t meta_position;
	uint64_t switch_base;
	uint64_t thread_chunk;
	uint32_t lost_reasons;
	uint32_t thread;
	uint32_t interpreter;
	uint64_t segment;
};

/* Open the next chunk in @slot; returns its header.  Its payload begins with @sync. */
struct kymo_chunk_header *kymo_ring_open(struct kymo_ring *ring, int slot,
					 const struct kymo_chunk_facts *facts,
					 const struct kymo_sync *sync);

/* Seal the open chunk.  Its commit word is final already. */
void kymo_ring_seal(struct kymo_ring *ring, uint64_t close_clock, uint64_t last_ordinal);

static inline struct kymo_chunk_header *kymo_ring_newest(struct kymo_ring *ring)
{
	return &ring->headers[ring->slot_of[ring->opened % ring->max_slots]];
}

static inline uint8_t *kymo_ring_payload(struct kymo_ring *ring, const struct kymo_chunk_header *header)
{
	return ring->slots + (size_t)(header - ring->headers) * ring->slot_bytes;
}

#endif
