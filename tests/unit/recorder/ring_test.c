// SPDX-License-Identifier: Apache-2.0
/* Rings by themselves: slots, policies, budget, and file systems without room. */
#include "recorder/ring.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "format/atomics.h"
#include "reader/take.h"
#include "tests/support/recording.h"
#include "tests/unit/recorder/fake_calls.h"

enum { SLOT_BYTES = 4096, MAX_SLOTS = 4, SECOND = 1000000000 };

static char dir[64];
static struct kymo_session_page session;
static struct kymo_ring *ring;
static uint32_t reason;

/* The pages of a ring file before its first slot. */
static uint64_t head_bytes(void)
{
	return kymo_ring_slots_offset(session.max_slots);
}

static void make_session(enum kymo_policy policy)
{
	strcpy(dir, "/dev/shm/kymo-ring-test-XXXXXX");
	cr_assert(mkdtemp(dir));
	session = (struct kymo_session_page){
		.slot_bytes = SLOT_BYTES,
		.max_slots = MAX_SLOTS,
		.policy = policy,
		.budget_bytes = 1 << 30,
		.reader_state = KYMO_READER_LIVE,
	};
}

static void make_ring(enum kymo_policy policy)
{
	make_session(policy);
	cr_assert_eq(kymo_ring_make(&session, dir, 1, &ring), 0);
}

static void remove_ring(void)
{
	if (ring)
		kymo_ring_free(ring);
	recording_delete(dir);
}

TestSuite(ring, .fini = remove_ring, .timeout = 60);

static int next_slot(void)
{
	reason = 0;
	return kymo_ring_next_slot(ring, &session, &reason);
}

static struct kymo_chunk_header *open_chunk(int slot)
{
	static const struct kymo_sync sync = {.depth = 0};
	struct kymo_chunk_facts facts = {.thread = 1, .first_ordinal = 1};

	return kymo_ring_open(ring, slot, &facts, &sync);
}

/* One chunk that is opened and sealed; returns its slot, or -1. */
static int put_chunk(void)
{
	int slot = next_slot();

	if (slot >= 0) {
		open_chunk(slot);
		kymo_ring_seal(ring, 0, 0);
	}
	return slot;
}

static void fill(void)
{
	for (int slot = 0; slot < MAX_SLOTS; slot++)
		cr_assert_eq(put_chunk(), slot);
}

/* As the reader does. */
static void release(uint64_t seq)
{
	struct kymo_ring_view view = {.page = ring->page, .consumer = ring->consumer};

	kymo_ring_view_release(&view, seq);
}

static uint64_t seq_in(int slot)
{
	return KYMO_STATE_SEQ(ring->headers[slot].state);
}

Test(ring, slots_grow_by_one_while_the_reader_is_behind)
{
	make_ring(KYMO_POLICY_DROP);
	for (uint32_t made = 1; made <= MAX_SLOTS; made++) {
		cr_assert_eq(put_chunk(), (int)made - 1);
		cr_assert_eq(ring->made, made);
		cr_assert_eq(ring->page->slots, made);
		cr_assert_eq(session.budget_used, head_bytes() + made * SLOT_BYTES);
	}
}

Test(ring, a_free_slot_is_used_before_a_new_one_is_made)
{
	make_ring(KYMO_POLICY_DROP);
	for (uint64_t seq = 1; seq <= 10; seq++) {
		cr_assert_eq(put_chunk(), 0);
		cr_assert_eq(seq_in(0), seq);
		release(seq);
	}
	cr_assert_eq(ring->made, 1);
}

Test(ring, slots_are_used_again_in_the_order_of_their_chunks)
{
	make_ring(KYMO_POLICY_DROP);
	fill();
	release(2);
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(put_chunk(), 1);
	cr_assert_eq(put_chunk(), -1);
	cr_assert_eq(seq_in(0), 5);
	cr_assert_eq(seq_in(1), 6);
	cr_assert_eq(seq_in(2), 3);
	release(4);
	cr_assert_eq(put_chunk(), 2);
	cr_assert_eq(seq_in(2), 7);
}

Test(ring, a_chunk_says_what_it_was_opened_with)
{
	struct kymo_sync sync = {.depth = 9, .listed = 1, .frames = {{.code = 300, .offset_plus_1 = 2}}};
	struct kymo_chunk_facts facts = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct kymo_chunk_header *header;
	struct kymo_sync read;

	make_ring(KYMO_POLICY_DROP);
	header = kymo_ring_open(ring, next_slot(), &facts, &sync);
	cr_assert_eq(header->state, KYMO_STATE_OPEN(1));
	cr_assert_eq(header->commit, KYMO_COMMIT(header->sync_bytes, KYMO_BRANCHES_NONE));
	cr_assert_eq(header->open_clock, 1);
	cr_assert_eq(header->first_ordinal, 2);
	cr_assert_eq(header->lost_before, 3);
	cr_assert_eq(header->meta_position, 4);
	cr_assert_eq(header->switch_base, 5);
	cr_assert_eq(header->thread_chunk, 6);
	cr_assert_eq(header->lost_reasons, 7);
	cr_assert_eq(header->thread, 8);
	cr_assert_eq(header->interpreter, 9);
	cr_assert_eq(header->segment, 10);
	cr_assert_eq(kymo_sync_decode(kymo_ring_payload(ring, header), header->sync_bytes, &read),
		     KYMO_DECODE_OK);
	cr_assert_eq(read.depth, 9);
	cr_assert_eq(read.frames[0].code, 300);
	cr_assert_eq(header->close_clock, 0);
	cr_assert_eq(ring->page->opened_seq, 1);
	cr_assert_eq(ring->page->sealed_seq, 0);
	kymo_ring_seal(ring, 77, 88);
	cr_assert_eq(header->state, KYMO_STATE_SEALED(1));
	cr_assert_eq(header->close_clock, 77);
	cr_assert_eq(header->last_ordinal, 88);
	cr_assert_eq(ring->page->sealed_seq, 1);
}

Test(ring, drop_gives_up_when_the_ring_is_full_and_goes_on_when_a_slot_is_free)
{
	unsigned before;

	make_ring(KYMO_POLICY_DROP);
	put_chunk();
	put_chunk();
	before = allocations;
	allocation_error = ENOSPC;
	/* Every lost event comes here: only the first may ask the file system. */
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(next_slot(), -1);
		cr_assert_eq(reason, KYMO_LOSS_FULL);
	}
	cr_assert_eq(allocations, before + 1);
	cr_assert_eq(ring->page->stalls, 0);
	release(1);
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(put_chunk(), 2, "it may grow again");
}

Test(ring, overwrite_takes_the_oldest_and_never_looks_at_the_reader)
{
	make_ring(KYMO_POLICY_OVERWRITE);
	cr_assert_eq(mprotect(ring->consumer, KYMO_PAGE_BYTES, PROT_NONE), 0);
	for (int i = 0; i < 3 * MAX_SLOTS; i++)
		cr_assert_eq(put_chunk(), i % MAX_SLOTS);
	cr_assert_eq(seq_in(0), 2 * MAX_SLOTS + 1);
	cr_assert_eq(seq_in(MAX_SLOTS - 1), 3 * MAX_SLOTS);
}

static void release_the_first(void)
{
	cr_assert_eq(ring->page->producer_sleeping, 1);
	release(1);
}

Test(ring, block_waits_until_the_reader_has_freed_a_slot)
{
	make_ring(KYMO_POLICY_BLOCK);
	fill();
	fake_now = SECOND;
	on_futex_wait = release_the_first;
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(futex_waits, 1);
	cr_assert_eq(futex_wakes, 1);
	cr_assert_eq(ring->page->producer_sleeping, 0);
	cr_assert_eq(ring->page->stalls, 1);
	cr_assert_eq(ring->page->stalled_ns, SECOND / 10);
	cr_assert_eq(ring->page->longest_stall_ns, SECOND / 10);
}

Test(ring, the_reader_wakes_nobody_who_does_not_sleep)
{
	make_ring(KYMO_POLICY_BLOCK);
	fill();
	release(1);
	cr_assert_eq(futex_wakes, 0);
	cr_assert_eq(ring->consumer->wake, 1);
}

static void nothing_happens(void)
{
}

Test(ring, block_waits_a_second_in_all_and_then_drops_until_the_reader_moves)
{
	make_ring(KYMO_POLICY_BLOCK);
	fill();
	fake_now = SECOND;
	on_futex_wait = nothing_happens;
	cr_assert_eq(next_slot(), -1);
	cr_assert_eq(reason, KYMO_LOSS_STALLED);
	cr_assert_eq(futex_waits, 10);
	cr_assert_eq(ring->page->stalled_ns, SECOND);
	for (int i = 0; i < 1000; i++) {
		cr_assert_eq(next_slot(), -1);
		cr_assert_eq(reason, KYMO_LOSS_STALLED);
	}
	cr_assert_eq(futex_waits, 10);
	cr_assert_eq(ring->page->stalls, 1);
	/* The reader is back: chunks go on, and a full ring is waited for again. */
	session.tick++;
	release(1);
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(next_slot(), -1);
	cr_assert_eq(futex_waits, 20);
	cr_assert_eq(ring->page->stalls, 2);
	cr_assert_eq(ring->page->longest_stall_ns, SECOND);
}

/* Ring @number, full. */
static struct kymo_ring *another_full_ring(uint32_t number)
{
	struct kymo_ring *first = ring, *other;

	cr_assert_eq(kymo_ring_make(&session, dir, number, &other), 0);
	ring = other;
	fill();
	ring = first;
	return other;
}

Test(ring, that_the_reader_stands_still_is_found_out_once_for_all_rings)
{
	struct kymo_ring *second, *third;

	make_ring(KYMO_POLICY_BLOCK);
	fill();
	second = another_full_ring(2);
	third = another_full_ring(3);
	fake_now = SECOND;
	on_futex_wait = nothing_happens;
	cr_assert_eq(next_slot(), -1);
	cr_assert_eq(kymo_ring_next_slot(second, &session, &reason), -1);
	cr_assert_eq(reason, KYMO_LOSS_STALLED);
	cr_assert_eq(futex_waits, 10, "the second ring must not wait");
	session.tick++;
	cr_assert_eq(kymo_ring_next_slot(third, &session, &reason), -1);
	cr_assert_eq(futex_waits, 20, "it moves again");
	kymo_ring_free(second);
	kymo_ring_free(third);
}

static void the_reader_ticks(void)
{
	session.tick++;
}

Test(ring, a_reader_that_is_busy_elsewhere_is_waited_for_by_each_ring)
{
	struct kymo_ring *second;

	make_ring(KYMO_POLICY_BLOCK);
	fill();
	second = another_full_ring(2);
	fake_now = SECOND;
	on_futex_wait = the_reader_ticks;
	cr_assert_eq(next_slot(), -1);
	cr_assert_eq(kymo_ring_next_slot(second, &session, &reason), -1);
	cr_assert_eq(futex_waits, 20);
	kymo_ring_free(second);
}

Test(ring, block_waits_for_a_live_reader_only)
{
	static const uint32_t states[] = {KYMO_READER_NONE, KYMO_READER_CLOSED};

	make_ring(KYMO_POLICY_BLOCK);
	fill();
	fake_now = SECOND;
	on_futex_wait = nothing_happens;
	for (int i = 0; i < 2; i++) {
		session.reader_state = states[i];
		ring->degraded = 0;
		cr_assert_eq(next_slot(), -1);
		cr_assert_eq(reason, KYMO_LOSS_STALLED);
	}
	cr_assert_eq(futex_waits, 0);
	cr_assert_eq(ring->page->stalled_ns, 0);
}

static void the_reader_ends(void)
{
	session.reader_state = KYMO_READER_CLOSED;
}

Test(ring, block_stops_waiting_when_the_reader_ends)
{
	make_ring(KYMO_POLICY_BLOCK);
	fill();
	fake_now = SECOND;
	on_futex_wait = the_reader_ends;
	cr_assert_eq(next_slot(), -1);
	cr_assert_eq(futex_waits, 1);
}

/* Frees each chunk when, and only when, the producer sleeps for it. */
static void *consume(void *count)
{
	for (uint64_t seq = 1; seq <= *(uint64_t *)count; seq++) {
		while (!kymo_load_acquire_u32(&ring->page->producer_sleeping))
			sched_yield();
		release(seq);
		while (kymo_load_acquire_u64(&ring->page->sealed_seq) < seq + MAX_SLOTS)
			sched_yield();
	}
	return NULL;
}

Test(ring, block_loses_nothing_to_a_reader_that_is_always_late)
{
	uint64_t count = 200;
	pthread_t consumer;

	make_ring(KYMO_POLICY_BLOCK);
	fill();
	pthread_create(&consumer, NULL, consume, &count);
	for (uint64_t i = 0; i < count; i++)
		cr_assert_eq(put_chunk(), (int)(i % MAX_SLOTS));
	pthread_join(consumer, NULL);
	cr_assert_eq(ring->page->stalls, count);
}

Test(ring, a_ring_beyond_the_budget_is_not_made_and_leaves_nothing)
{
	struct kymo_ring *other;
	char path[128];

	make_ring(KYMO_POLICY_DROP);
	session.budget_bytes = session.budget_used + head_bytes() + SLOT_BYTES - 1;
	cr_assert_eq(kymo_ring_make(&session, dir, 2, &other), -ENOSPC);
	cr_assert_eq(other, NULL);
	cr_assert_eq(session.budget_used, head_bytes() + SLOT_BYTES);
	snprintf(path, sizeof path, "%s/ring-2", dir);
	cr_assert_eq(access(path, F_OK), -1);
	session.budget_bytes++;
	cr_assert_eq(kymo_ring_make(&session, dir, 2, &other), 0);
	kymo_ring_free(other);
}

Test(ring, growth_ends_at_the_budget_and_goes_on_when_there_is_more)
{
	make_ring(KYMO_POLICY_DROP);
	session.budget_bytes = session.budget_used + SLOT_BYTES;
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(put_chunk(), 1);
	cr_assert_eq(put_chunk(), -1);
	cr_assert_eq(session.budget_used, session.budget_bytes);
	session.budget_bytes += SLOT_BYTES;
	cr_assert_eq(put_chunk(), -1, "each lost event would try");
	release(1);
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(put_chunk(), 2);
}

Test(ring, overwrite_goes_round_in_what_the_budget_allows)
{
	unsigned opened;

	make_ring(KYMO_POLICY_OVERWRITE);
	session.budget_bytes = session.budget_used + SLOT_BYTES;
	for (int i = 0; i < 2; i++)
		cr_assert_eq(put_chunk(), i);
	opened = files_opened;
	for (int i = 2; i < 10; i++)
		cr_assert_eq(put_chunk(), i % 2);
	cr_assert_eq(files_opened, opened, "the budget alone says that there is no room");
	/* What others have given back it takes at once. */
	session.budget_bytes += SLOT_BYTES;
	cr_assert_eq(put_chunk(), 2);
}

Test(ring, overwrite_seldom_asks_a_file_system_without_room)
{
	unsigned opened;

	make_ring(KYMO_POLICY_OVERWRITE);
	cr_assert_eq(put_chunk(), 0);
	cr_assert_eq(put_chunk(), 1);
	opened = files_opened;
	allocation_error = ENOSPC;
	for (int i = 0; i < MAX_SLOTS; i++)
		cr_assert_eq(put_chunk(), i % 2);
	cr_assert_eq(files_opened, opened + 1);
	cr_assert_eq(put_chunk(), 2, "there is room again");
}

/* A file system of @bytes that this process alone sees; false where that is not allowed. */
static bool mount_small(uint64_t bytes)
{
	char options[64];
	uid_t uid = geteuid();

	snprintf(options, sizeof options, "size=%llu", (unsigned long long)bytes);
	return unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("small", dir, "tmpfs", 0, options) == 0;
}

Test(ring, a_full_file_system_ends_the_growth_and_is_never_a_signal)
{
	struct kymo_ring *other;
	uint64_t used;

	make_session(KYMO_POLICY_DROP);
	session.max_slots = 64;
	if (!mount_small(head_bytes() + 5 * SLOT_BYTES))
		cr_skip_test("no mounts for this user");
	cr_assert_eq(kymo_ring_make(&session, dir, 1, &ring), 0);
	for (int slot = 0; slot < 5; slot++) {
		cr_assert_eq(put_chunk(), slot);
		memset(ring->slots + slot * SLOT_BYTES, 0xff, SLOT_BYTES);
	}
	used = session.budget_used;
	cr_assert_eq(put_chunk(), -1);
	cr_assert_eq(session.budget_used, used);
	cr_assert_eq(kymo_ring_make(&session, dir, 2, &other), -ENOSPC);
	cr_assert_eq(session.budget_used, used);
	release(1);
	cr_assert_eq(put_chunk(), 0);
	umount2(dir, MNT_DETACH);
}

Test(ring, a_limit_on_file_sizes_is_an_error)
{
	struct rlimit limit = {.rlim_cur = SLOT_BYTES, .rlim_max = RLIM_INFINITY};

	make_session(KYMO_POLICY_DROP);
	signal(SIGXFSZ, SIG_IGN); /* as CPython does */
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(kymo_ring_make(&session, dir, 1, &ring), -EFBIG);
	cr_assert_eq(session.budget_used, 0);
}

Test(ring, a_signal_during_an_allocation_loses_nothing)
{
	make_session(KYMO_POLICY_DROP);
	allocation_error = EINTR;
	cr_assert_eq(kymo_ring_make(&session, dir, 1, &ring), 0);
	cr_assert_eq(put_chunk(), 0);
	allocation_error = EINTR;
	cr_assert_eq(put_chunk(), 1);
	cr_assert_eq(session.budget_used, head_bytes() + 2 * SLOT_BYTES);
}

Test(ring, a_child_process_has_no_mapping_of_it)
{
	unsigned char resident;
	int status;

	make_ring(KYMO_POLICY_DROP);
	cr_assert_eq(mincore(ring->page, KYMO_PAGE_BYTES, &resident), 0);
	if (fork() == 0)
		_exit(mincore(ring->page, KYMO_PAGE_BYTES, &resident) == 0);
	wait(&status);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

Test(ring, errno_is_the_programs)
{
	make_ring(KYMO_POLICY_DROP);
	put_chunk();
	cr_assert_eq(unlink(ring->path), 0);
	errno = 12345;
	cr_assert_eq(next_slot(), -1);
	cr_assert_eq(errno, 12345);
}
