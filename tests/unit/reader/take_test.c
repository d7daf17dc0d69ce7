// SPDX-License-Identifier: Apache-2.0
/* Rings made by hand, also such as no recorder makes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/atomics.h"
#include "reader/take.h"

enum { SLOT_BYTES = 4096, SLOTS = 4 };

struct fixture {
	int fd;
	struct kymo_ring_page *page;
	struct kymo_chunk_header *headers;
	uint8_t *slots;
	size_t bytes;
	struct kymo_ring_view view;
	struct kymo_chunk chunk;
	uint8_t payload[KYMO_MAX_SLOT_BYTES];
};

static struct fixture f;

static void make_ring(void)
{
	uint32_t offset = kymo_ring_slots_offset(SLOTS);

	f.bytes = offset + SLOTS * SLOT_BYTES;
	f.fd = memfd_create("ring", MFD_CLOEXEC);
	cr_assert(f.fd >= 0 && !ftruncate(f.fd, (off_t)f.bytes));
	f.page = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	cr_assert_neq((void *)f.page, MAP_FAILED);
	memcpy(f.page->magic, KYMO_RING_MAGIC, 8);
	f.page->abi_version = KYMO_ABI_VERSION;
	f.page->ring = 1;
	f.page->slot_bytes = SLOT_BYTES;
	f.page->max_slots = SLOTS;
	f.page->slots_offset = offset;
	kymo_store_relaxed_u32(&f.page->slots, SLOTS);
	f.headers = (void *)((uint8_t *)f.page + KYMO_RING_HEADERS_OFFSET);
	f.slots = (uint8_t *)f.page + offset;
	f.chunk.payload = f.payload;
}

static int open_view(void)
{
	return kymo_ring_view_open_fd(&f.view, dup(f.fd), 1, KYMO_ACCESS_DRAIN, NULL);
}

static void set_up(void)
{
	make_ring();
	cr_assert_eq(kymo_view_guard(NULL), 0);
	cr_assert_eq(open_view(), 0);
}

static void put_chunk(unsigned slot, uint64_t state, uint32_t bytes, uint32_t branches)
{
	struct kymo_chunk_header *header = &f.headers[slot];

	memset(f.slots + slot * SLOT_BYTES, (int)(0x40 + slot), SLOT_BYTES);
	header->sync_bytes = 2;
	header->first_ordinal = 10 * KYMO_STATE_SEQ(state);
	header->last_ordinal = header->first_ordinal + 9;
	header->thread = 7;
	kymo_store_relaxed_u64(&header->commit, KYMO_COMMIT(bytes, branches));
	kymo_store_release_u64(&header->state, state);
}

TestSuite(take, .init = set_up, .timeout = 20);

Test(take, a_sealed_chunk_is_taken_whole)
{
	put_chunk(2, KYMO_STATE_SEALED(5), 100, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_chunk_take(&f.view, 5, &f.chunk), 0);
	cr_assert(!f.chunk.is_open);
	cr_assert_eq(f.chunk.bytes, 100);
	cr_assert_eq(f.chunk.first_ordinal, 50);
	cr_assert_eq(f.chunk.last_ordinal, 59);
	cr_assert_eq(f.chunk.thread, 7);
	cr_assert_eq(f.payload[99], 0x42);
	cr_assert_eq(f.payload[100], 0, "bytes beyond the commit word are never copied");
}

Test(take, an_open_chunk_is_not_sealed_but_has_a_tail)
{
	put_chunk(0, KYMO_STATE_OPEN(1), 33, 0xd);
	cr_assert_eq(kymo_chunk_take(&f.view, 1, &f.chunk), -EAGAIN);
	cr_assert_eq(kymo_chunk_take_tail(&f.view, 1, &f.chunk), 0);
	cr_assert(f.chunk.is_open);
	cr_assert_eq(f.chunk.bytes, 33);
	cr_assert_eq(f.chunk.branches, 0xd);
	cr_assert_eq(f.chunk.last_ordinal, 0);
}

Test(take, a_chunk_that_is_not_there_is_not_found)
{
	put_chunk(0, KYMO_STATE_SEALED(5), 100, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_chunk_take(&f.view, 1, &f.chunk), -EAGAIN);
	cr_assert_eq(kymo_chunk_take_tail(&f.view, 6, &f.chunk), -EAGAIN);
	put_chunk(0, KYMO_STATE_UNREADABLE, 100, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_chunk_take_tail(&f.view, 5, &f.chunk), -EAGAIN);
}

Test(take, lengths_that_cannot_be_are_refused)
{
	put_chunk(0, KYMO_STATE_SEALED(1), SLOT_BYTES + 1, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_chunk_take(&f.view, 1, &f.chunk), -EBADMSG);
	put_chunk(0, KYMO_STATE_SEALED(1), UINT32_MAX, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_chunk_take(&f.view, 1, &f.chunk), -EBADMSG);
	put_chunk(0, KYMO_STATE_SEALED(1), 1, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_chunk_take(&f.view, 1, &f.chunk), -EBADMSG, "sync block beyond the end");
	put_chunk(0, KYMO_STATE_SEALED(1), 100, 0);
	cr_assert_eq(kymo_chunk_take(&f.view, 1, &f.chunk), -EBADMSG, "no stop bit");
}

Test(take, a_number_of_slots_beyond_the_file_is_not_believed)
{
	uint64_t seqs[SLOTS];

	for (unsigned i = 0; i < SLOTS; i++)
		put_chunk(i, KYMO_STATE_SEALED(i + 1), 100, KYMO_BRANCHES_NONE);
	kymo_store_relaxed_u32(&f.page->slots, UINT32_MAX);
	cr_assert_eq(kymo_chunk_take(&f.view, 99, &f.chunk), -EAGAIN);
	cr_assert_eq(kymo_ring_view_list(&f.view, 0, seqs), SLOTS);
}

Test(take, chunks_are_listed_in_order_wherever_they_lie)
{
	uint64_t seqs[SLOTS];

	put_chunk(0, KYMO_STATE_SEALED(9), 100, KYMO_BRANCHES_NONE);
	put_chunk(1, KYMO_STATE_OPEN(10), 100, KYMO_BRANCHES_NONE);
	put_chunk(3, KYMO_STATE_SEALED(8), 100, KYMO_BRANCHES_NONE);
	cr_assert_eq(kymo_ring_view_list(&f.view, 0, seqs), 3);
	cr_assert(seqs[0] == 8 && seqs[1] == 9 && seqs[2] == 10);
	cr_assert_eq(kymo_ring_view_list(&f.view, 8, seqs), 2);
	cr_assert_eq(kymo_ring_view_next_sealed(&f.view, 0, 9), 8);
	cr_assert_eq(kymo_ring_view_next_sealed(&f.view, 8, 9), 9);
	cr_assert_eq(kymo_ring_view_next_sealed(&f.view, 9, UINT64_MAX), 0);
}

Test(take, a_file_that_was_cut_breaks_the_view_and_nothing_else)
{
	put_chunk(0, KYMO_STATE_SEALED(1), 100, KYMO_BRANCHES_NONE);
	cr_assert_eq(ftruncate(f.fd, f.page->slots_offset), 0);
	cr_assert_neq(kymo_chunk_take(&f.view, 1, &f.chunk), 0);
	cr_assert_eq(ftruncate(f.fd, 0), 0);
	cr_assert_neq(kymo_chunk_take(&f.view, 1, &f.chunk), 0);
	kymo_ring_view_release(&f.view, 1);
	cr_assert(f.view.map.is_broken);
}

Test(take, a_ring_page_with_hostile_numbers_is_refused)
{
	struct kymo_ring_page good = *f.page;

	kymo_ring_view_close(&f.view);
	f.page->slot_bytes = SLOT_BYTES + 1;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->slot_bytes = KYMO_MAX_SLOT_BYTES * 2;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->slot_bytes = 0;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->slot_bytes = good.slot_bytes;
	f.page->max_slots = KYMO_MAX_SLOTS + 1;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->max_slots = 0;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->max_slots = good.max_slots;
	f.page->slots_offset += KYMO_PAGE_BYTES;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->slots_offset = good.slots_offset;
	f.page->ring = 2;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->ring = 1;
	f.page->abi_version++;
	cr_assert_eq(open_view(), -EBADMSG);
	f.page->abi_version--;
	memset(f.page->magic, 0, 8);
	cr_assert_eq(open_view(), -EAGAIN, "a file that is being made");
	memcpy(f.page->magic, KYMO_RING_MAGIC, 8);
	cr_assert_eq(open_view(), 0);
}

/* A producer that reuses one slot as fast as it can, each chunk filled with its number. */
static void *lap(void *stop)
{
	struct kymo_chunk_header *header = &f.headers[0];

	for (uint64_t seq = 1; !kymo_load_relaxed_u32(stop); seq++) {
		kymo_store_relaxed_u64(&header->state, KYMO_STATE_UNREADABLE);
		kymo_fence_release();
		kymo_store_relaxed_u64(&header->commit, KYMO_COMMIT(SLOT_BYTES, 1));
		header->first_ordinal = seq;
		memset(f.slots, (int)(seq & 0xff), SLOT_BYTES);
		kymo_store_release_u64(&header->state, KYMO_STATE_SEALED(seq));
		/* Leave it readable for about as long as a copy takes. */
		for (volatile int i = 0; i < 500; i++)
			;
	}
	return NULL;
}

Test(take, a_chunk_that_is_lapped_during_the_copy_is_never_taken_torn)
{
	_Atomic uint32_t stop = 0;
	unsigned taken = 0, lapped = 0;
	pthread_t producer;

	cr_assert_eq(pthread_create(&producer, NULL, lap, &stop), 0);
	while (taken < 100 || lapped < 10) {
		uint64_t seqs[SLOTS];
		int err;

		if (!kymo_ring_view_list(&f.view, 0, seqs))
			continue;
		err = kymo_chunk_take(&f.view, seqs[0], &f.chunk);
		lapped += err == -EOVERFLOW;
		if (err)
			continue;
		taken++;
		cr_assert_eq(f.chunk.first_ordinal, seqs[0]);
		cr_assert_eq(f.payload[0], seqs[0] & 0xff);
		cr_assert(!memcmp(f.payload, f.payload + 1, SLOT_BYTES - 1));
	}
	kymo_store_relaxed_u32(&stop, 1);
	pthread_join(producer, NULL);
}
