// SPDX-License-Identifier: Apache-2.0
#include "recorder/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"

enum {
	WAIT_NS = 100000000,      /* block: one futex wait */
	WAIT_IN_ALL_NS = 1000000000, /* block: before the ring degrades to drop */
};

/* Take @bytes from the session's budget, or leave it as it was and return false. */
static bool budget_take(struct kymo_session_page *session, uint64_t bytes)
{
	if (kymo_add_u64(&session->budget_used, bytes) + bytes <= session->budget_bytes)
		return true;
	kymo_add_u64(&session->budget_used, -bytes);
	return false;
}

/* Relaxed: budget_take() fails if others take it meanwhile. */
static bool budget_has(const struct kymo_session_page *session, uint64_t bytes)
{
	return kymo_load_relaxed_u64(&session->budget_used) + bytes <= session->budget_bytes;
}

/*
 * Allocate and fault in @bytes of @ring's file at @offset, so that a full file system
 * is an error here and never a SIGBUS in a callback.
 */
static int allocate(struct kymo_ring *ring, struct kymo_session_page *session, int fd, size_t offset,
		    size_t bytes)
{
	int error;

	if (!budget_take(session, bytes))
		return -ENOSPC;
	do /* tmpfs gives up when a signal of the program's comes in */
		error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
	while (error == EINTR);
	if (error) {
		kymo_add_u64(&session->budget_used, -(uint64_t)bytes);
		return -error;
	}
	memset((uint8_t *)ring->page + offset, 0, bytes);
	return 0;
}

static size_t slot_offset(const struct kymo_ring *ring, uint32_t slot)
{
	return kymo_ring_slots_offset(ring->max_slots) + (size_t)slot * ring->slot_bytes;
}

static int add_slot(struct kymo_ring *ring, struct kymo_session_page *session, int fd)
{
	int result = allocate(ring, session, fd, slot_offset(ring, ring->made), ring->slot_bytes);

	if (result == 0) {
		ring->made++;
		/* Relaxed: for the reader's statistics; chunk states say what is where. */
		kymo_store_relaxed_u32(&ring->page->slots, ring->made);
	}
	return result;
}

/* Asked at each chunk that finds no other slot: growing costs system calls, so it is not tried where it cannot succeed, nor soon
 * after it failed. */
static bool may_grow(const struct kymo_ring *ring, const struct kymo_session_page *session)
{
	return !ring->cannot_grow && ring->opened >= ring->grows_at && ring->made < ring->max_slots &&
	       budget_has(session, ring->slot_bytes);
}

/* The file is opened by name each time: the program could see and close a descriptor kept
 * open, and use its number for something else. */
static int grow(struct kymo_ring *ring, struct kymo_session_page *session)
{
	int fd = open(ring->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int result = fd < 0 ? -errno : add_slot(ring, session, fd);

	if (fd >= 0)
		close(fd);
	/* With other policies, growing is tried again as soon as a slot has been free. */
	if (result < 0 && session->policy == KYMO_POLICY_OVERWRITE)
		ring->grows_at = ring->opened + ring->max_slots;
	return result;
}

int kymo_ring_make(struct kymo_session_page *session, const char *dir, uint32_t number,
		   struct kymo_ring **out)
{
	uint32_t max_slots = session->max_slots;
	uint32_t slots_offset = kymo_ring_slots_offset(max_slots);
	struct kymo_ring *ring = calloc(1, sizeof *ring + max_slots * sizeof ring->slot_of[0]);
	int fd = -1, result = -ENOMEM;

	if (!ring || asprintf(&ring->path, "%s/ring-%u", dir, number) < 0)
		goto out;
	ring->number = number;
	ring->slot_bytes = session->slot_bytes;
	ring->max_slots = max_slots;
	ring->oldest = 1;
	ring->map_bytes = slots_offset + (size_t)max_slots * ring->slot_bytes;
	fd = open(ring->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)ring->map_bytes) < 0) {
		result = -errno;
		goto out;
	}
	ring->page = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring->page == MAP_FAILED) {
		result = -errno;
		ring->page = NULL;
		goto out;
	}
	/* Two processes must never share a producer: a child has no mapping at all. */
	if (madvise(ring->page, ring->map_bytes, MADV_DONTFORK) < 0) {
		result = -errno;
		goto out;
	}
	if ((result = allocate(ring, session, fd, 0, slots_offset)) < 0)
		goto out;
	if ((result = add_slot(ring, session, fd)) < 0) {
		kymo_add_u64(&session->budget_used, -(uint64_t)slots_offset);
		goto out;
	}
	ring->consumer = (void *)((uint8_t *)ring->page + KYMO_RING_CONSUMER_OFFSET);
	ring->headers = (void *)((uint8_t *)ring->page + KYMO_RING_HEADERS_OFFSET);
	ring->slots = (uint8_t *)ring->page + slots_offset;
	ring->page->abi_version = KYMO_ABI_VERSION;
	ring->page->ring = number;
	ring->page->slot_bytes = ring->slot_bytes;
	ring->page->max_slots = max_slots;
	ring->page->slots_offset = slots_offset;
	memcpy(ring->page->magic, KYMO_RING_MAGIC, sizeof ring->page->magic);
out:
	if (fd >= 0)
		close(fd);
	if (result < 0 && ring) {
		if (fd >= 0)
			unlink(ring->path);
		kymo_ring_free(ring);
		ring = NULL;
	}
	*out = ring;
	return result;
}

void kymo_ring_free(struct kymo_ring *ring)
{
	if (ring->page)
		munmap(ring->page, ring->map_bytes);
	free(ring->path);
	free(ring);
}

/* True if the oldest chunk's slot may be written again. */
static bool oldest_is_free(const struct kymo_ring *ring)
{
	/* (P4) acquire: the reader's copy is done before its slot is reused.  Pairs with (C4). */
	return kymo_load_acquire_u64(&ring->consumer->consumed_seq) >= ring->oldest;
}

static void count_stall(struct kymo_ring *ring, uint64_t ns)
{
	struct kymo_ring_page *page = ring->page;

	/* Relaxed: statistics with one writer. */
	kymo_store_relaxed_u64(&page->stalls, kymo_load_relaxed_u64(&page->stalls) + 1);
	kymo_store_relaxed_u64(&page->stalled_ns, kymo_load_relaxed_u64(&page->stalled_ns) + ns);
	if (ns > kymo_load_relaxed_u64(&page->longest_stall_ns))
		kymo_store_relaxed_u64(&page->longest_stall_ns, ns);
}

/*
 * 1 + the session's tick at the end of a wait in which the tick did not change: the reader is
 * stopped or dead, and no other ring of this process needs to find that out itself.
 */
static _Atomic uint64_t stalled_tick;

void kymo_reader_forget_stall(void)
{
	kymo_store_relaxed_u64(&stalled_tick, 0);
}

bool kymo_reader_is_stalled(const struct kymo_session_page *session)
{
	/* Relaxed: at worst one more ring waits. */
	return kymo_load_acquire_u32(&session->reader_state) != KYMO_READER_LIVE ||
	       kymo_load_relaxed_u64(&stalled_tick) == 1 + kymo_load_relaxed_u64(&session->tick);
}

/*
 * Wait, holding whatever lock the caller holds, until the oldest slot is free.
 *
 * The GIL is not given up: CPython switches threads at certain points only, and a wait
 * that let others run would make races that the program does not have.  Hence the bound.
 */
static bool wait_for_reader(struct kymo_ring *ring, struct kymo_session_page *session)
{
	const struct timespec once = {.tv_nsec = WAIT_NS};
	uint64_t start = kymo_monotonic_ns(), waited = 0;
	uint64_t tick = kymo_load_relaxed_u64(&session->tick);
	bool is_free = false;

	while (!is_free && waited < WAIT_IN_ALL_NS && !kymo_reader_is_stalled(session)) {
		uint32_t wake = kymo_load_relaxed_u32(&ring->consumer->wake);

		/* (P6) Dekker with (C6): we store sleeping, then look at consumed_seq; the reader
		 * stores consumed_seq, then looks at sleeping.  One of the two sees the other. */
		kymo_store_relaxed_u32(&ring->page->producer_sleeping, 1);
		kymo_fence_seq_cst();
		if (!oldest_is_free(ring))
			syscall(SYS_futex, &ring->consumer->wake, FUTEX_WAIT, wake, &once, NULL, 0);
		kymo_store_relaxed_u32(&ring->page->producer_sleeping, 0);
		is_free = oldest_is_free(ring);
		waited = kymo_monotonic_ns() - start;
	}
	count_stall(ring, waited);
	if (!is_free && kymo_load_relaxed_u64(&session->tick) == tick)
		kymo_store_relaxed_u64(&stalled_tick, 1 + tick);
	return is_free;
}

static uint32_t take_oldest(struct kymo_ring *ring)
{
	return ring->slot_of[ring->oldest++ % ring->max_slots];
}

int kymo_ring_next_slot(struct kymo_ring *ring, struct kymo_session_page *session, uint32_t *reason)
{
	int saved_errno = errno;
	int slot = -1;

	if (ring->opened == 0)
		slot = 0;
	else if (session->policy != KYMO_POLICY_OVERWRITE && oldest_is_free(ring))
		slot = (int)take_oldest(ring);
	else if (may_grow(ring, session) && grow(ring, session) == 0)
		slot = (int)ring->made - 1;
	else if (session->policy == KYMO_POLICY_OVERWRITE)
		slot = (int)take_oldest(ring);
	else if (session->policy == KYMO_POLICY_DROP)
		*reason = KYMO_LOSS_FULL;
	else if (ring->degraded != 1 + kymo_load_relaxed_u64(&ring->consumer->consumed_seq) &&
		 wait_for_reader(ring, session))
		slot = (int)take_oldest(ring);
	else
		*reason = KYMO_LOSS_STALLED;

	/* Each lost event comes here: do not try to grow again before a slot has been
	 * free. */
	ring->cannot_grow = slot < 0 && session->policy != KYMO_POLICY_OVERWRITE;
	/* Relaxed: only whether it moved matters, and the slot itself is checked with (P4). */
	ring->degraded = slot < 0 ? 1 + kymo_load_relaxed_u64(&ring->consumer->consumed_seq) : 0;
	errno = saved_errno;
	return slot;
}

struct kymo_chunk_header *kymo_ring_open(struct kymo_ring *ring, int slot,
					 const struct kymo_chunk_facts *facts,
					 const struct kymo_sync *sync)
{
	struct kymo_chunk_header *header = &ring->headers[slot];
	uint64_t seq = ring->opened + 1;

	/* (P0) The old chunk stops being readable before any byte of it changes.  The fence
	 * pairs with (C0): a reader that copied new bytes sees the state changed. */
	kymo_store_relaxed_u64(&header->state, KYMO_STATE_UNREADABLE);
	kymo_fence_release();
	/* Relaxed: nobody reads the commit word of an unreadable chunk. */
	kymo_store_relaxed_u64(&header->commit, KYMO_COMMIT(0, KYMO_BRANCHES_NONE));
	header->close_clock = 0;
	header->last_ordinal = 0;
	header->segment = facts->segment;
	header->open_clock = facts->open_clock;
	header->first_ordinal = facts->first_ordinal;
	header->lost_before = facts->lost_before;
	header->lost_reasons = facts->lost_reasons;
	header->meta_position = facts->meta_position;
	header->switch_base = facts->switch_base;
	header->thread = facts->thread;
	header->thread_chunk = facts->thread_chunk;
	header->interpreter = facts->interpreter;
	header->sync_bytes = (uint32_t)kymo_sync_encode(sync, kymo_ring_payload(ring, header));
	kymo_store_relaxed_u64(&header->commit, KYMO_COMMIT(header->sync_bytes, KYMO_BRANCHES_NONE));
	ring->slot_of[seq % ring->max_slots] = (uint32_t)slot;
	ring->opened = seq;
	/* (P1) release: header and sync block before the state.  Pairs with (C1). */
	kymo_store_release_u64(&header->state, KYMO_STATE_OPEN(seq));
	/* Release: who sees the number finds the chunk.  A hint to the reader; (C1) decides. */
	kymo_store_release_u64(&ring->page->opened_seq, seq);
	return header;
}

void kymo_ring_seal(struct kymo_ring *ring, uint64_t close_clock, uint64_t last_ordinal)
{
	struct kymo_chunk_header *header = kymo_ring_newest(ring);

	header->close_clock = close_clock;
	header->last_ordinal = last_ordinal;
	/* (P3) release: everything in the chunk before the state.  Pairs with (C3). */
	kymo_store_release_u64(&header->state, KYMO_STATE_SEALED(ring->opened));
	/* Release: who sees the number finds the chunk sealed.  A hint; (C3) decides. */
	kymo_store_release_u64(&ring->page->sealed_seq, ring->opened);
}
