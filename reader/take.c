// SPDX-License-Identifier: Apache-2.0
#include "reader/take.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/atomics.h"

static bool is_state_of(uint64_t state, uint64_t seq, bool may_be_open)
{
	return state == KYMO_STATE_SEALED(seq) || (may_be_open && state == KYMO_STATE_OPEN(seq));
}

/* Slots made so far, at most the number of headers in the file. */
static uint32_t ring_slots(const struct kymo_ring_view *ring)
{
	/* Relaxed: the number only bounds a search; the state says what a slot holds. */
	uint32_t slots = kymo_load_relaxed_u32(&ring->page->slots);

	return slots < ring->max_slots ? slots : ring->max_slots;
}

/* The slot whose state names @seq, or UINT32_MAX.  Chunks mostly follow each other
 * slot by slot, so the search starts after the last one found. */
static uint32_t find_slot(const struct kymo_ring_view *ring, uint64_t seq, bool may_be_open)
{
	uint32_t slots = ring_slots(ring);
	uint32_t slot = ring->hint;

	for (uint32_t i = 0; i < slots; i++, slot++) {
		if (slot >= slots)
			slot = 0;
		/* Relaxed: the state is read again, with acquire, before anything is copied. */
		uint64_t state = kymo_load_relaxed_u64(&ring->headers[slot].state);

		if (is_state_of(state, seq, may_be_open))
			return slot;
	}
	return UINT32_MAX;
}

/*
 * Copy a header that the producer may be rewriting.  A torn copy is found by (C0) and
 * thrown away, as in the kernel's seqcounts; ThreadSanitizer cannot know that.  The
 * words are volatile so that the loop does not become a call of memcpy, which it checks.
 */
__attribute__((no_sanitize("thread"))) static void
copy_header(struct kymo_chunk_header *to, const struct kymo_chunk_header *from)
{
	const volatile uint64_t *source = (const volatile uint64_t *)from;
	uint64_t words[sizeof *to / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		words[i] = source[i];
	memcpy((void *)to, words, sizeof *to);
}

static int take(struct kymo_ring_view *ring, uint64_t seq, bool may_be_open,
		struct kymo_chunk *chunk)
{
	uint32_t slot = find_slot(ring, seq, may_be_open);
	const struct kymo_chunk_header *shared;
	struct kymo_chunk_header header;
	uint64_t state, commit;
	uint32_t bytes;
	ssize_t got;
	off_t at;

	if (slot == UINT32_MAX)
		return -EAGAIN;
	shared = &ring->headers[slot];
	/* (C1) acquire, open: line 1 and the sync block.  Pairs with (P1) in kymo_ring_open().
	 * (C3) acquire, sealed: the whole chunk.  Pairs with (P3) in kymo_ring_seal(). */
	state = kymo_load_acquire_u64(&shared->state);
	if (!is_state_of(state, seq, may_be_open))
		return state == KYMO_STATE_OPEN(seq) ? -EAGAIN : -EOVERFLOW;
	/* (C2) acquire: payload below the length.  Pairs with (P2) in kymo_commit(). */
	commit = kymo_load_acquire_u64(&shared->commit);
	bytes = KYMO_COMMIT_BYTES(commit);
	if (bytes > ring->slot_bytes)
		bytes = ring->slot_bytes;
	copy_header(&header, shared);
	at = (off_t)ring->slots_offset + (off_t)slot * ring->slot_bytes;
	got = pread(ring->fd, chunk->payload, bytes, at);
	/* (C0) the copies before the second look.  Pairs with (P0) in kymo_ring_open(): if
	 * any of them saw a byte of the slot's next chunk, this sees state 0 or later. */
	kymo_fence_acquire();
	if (KYMO_STATE_SEQ(kymo_load_relaxed_u64(&shared->state)) != seq)
		return -EOVERFLOW;
	ring->hint = slot + 1;
	if (got != (ssize_t)bytes || bytes != KYMO_COMMIT_BYTES(commit) ||
	    header.sync_bytes > bytes || KYMO_COMMIT_BRANCHES(commit) == 0 || ring->map.is_broken)
		return -EBADMSG;

	chunk->seq = seq;
	chunk->is_open = state == KYMO_STATE_OPEN(seq);
	chunk->bytes = bytes;
	chunk->branches = KYMO_COMMIT_BRANCHES(commit);
	chunk->open_clock = header.open_clock;
	/* An open chunk may be sealed while it is copied: its end is not part of this take. */
	chunk->close_clock = chunk->is_open ? 0 : header.close_clock;
	chunk->last_ordinal = chunk->is_open ? 0 : header.last_ordinal;
	chunk->first_ordinal = header.first_ordinal;
	chunk->lost_before = header.lost_before;
	chunk->meta_position = header.meta_position;
	chunk->switch_base = header.switch_base;
	chunk->thread_chunk = header.thread_chunk;
	chunk->lost_reasons = header.lost_reasons;
	chunk->thread = header.thread;
	chunk->interpreter = header.interpreter;
	chunk->sync_bytes = header.sync_bytes;
	chunk->segment = chunk->is_open ? 0 : header.segment;
	return 0;
}

int kymo_chunk_take(struct kymo_ring_view *ring, uint64_t seq, struct kymo_chunk *chunk)
{
	return take(ring, seq, false, chunk);
}

int kymo_chunk_take_tail(struct kymo_ring_view *ring, uint64_t seq, struct kymo_chunk *chunk)
{
	return take(ring, seq, true, chunk);
}

uint64_t kymo_ring_view_next_sealed(struct kymo_ring_view *ring, uint64_t after, uint64_t limit)
{
	uint32_t slots = ring_slots(ring);
	uint64_t lowest = 0;

	if (find_slot(ring, after + 1, false) != UINT32_MAX)
		return after + 1;
	for (uint32_t slot = 0; slot < slots; slot++) {
		/* Relaxed: kymo_chunk_take() looks again. */
		uint64_t state = kymo_load_relaxed_u64(&ring->headers[slot].state);
		uint64_t seq = KYMO_STATE_SEQ(state);

		if (state == KYMO_STATE_SEALED(seq) && seq > after && seq <= limit &&
		    (!lowest || seq < lowest))
			lowest = seq;
	}
	return lowest;
}

static int compare_seqs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint32_t kymo_ring_view_list(const struct kymo_ring_view *ring, uint64_t after, uint64_t *seqs)
{
	uint32_t slots = ring_slots(ring);
	uint32_t listed = 0;

	for (uint32_t slot = 0; slot < slots; slot++) {
		/* Relaxed: taking them looks again. */
		uint64_t seq = KYMO_STATE_SEQ(kymo_load_relaxed_u64(&ring->headers[slot].state));

		if (seq > after)
			seqs[listed++] = seq;
	}
	qsort(seqs, listed, sizeof *seqs, compare_seqs);
	return listed;
}

void kymo_ring_view_release(struct kymo_ring_view *ring, uint64_t seq)
{
	struct kymo_ring_consumer *consumer = ring->consumer;

	/* (C4) release: all reads of the slot before it is free.  Pairs with (P4) in
	 * kymo_ring_open(). */
	kymo_store_release_u64(&consumer->consumed_seq, seq);
	/* Relaxed: a futex word only has to change; only the reader writes it. */
	kymo_store_relaxed_u32(&consumer->wake, kymo_load_relaxed_u32(&consumer->wake) + 1);
	/* (C6) Dekker: consumed_seq before producer_sleeping.  Pairs with (P6), where the
	 * producer says that it sleeps before it looks at consumed_seq again: one of the
	 * two sees the other. */
	kymo_fence_seq_cst();
	if (kymo_load_relaxed_u32(&ring->page->producer_sleeping))
		syscall(SYS_futex, &consumer->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
