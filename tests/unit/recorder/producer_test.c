// SPDX-License-Identifier: Apache-2.0
/* Threads that record: ordinals, losses, names, threads without a ring. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "recorder/process.h"
#include "tests/support/known_events.h"
#include "tests/support/recording.h"
#include "tests/unit/recorder/fake_calls.h"

enum { SECOND = 1000000000, RETRY_EVENTS = 1 << 16 };

static struct recording r;
static _Thread_local uint64_t n; /* newest event of this thread, lost or not */

static void finish(void)
{
	if (r.session)
		recording_remove(&r);
}

TestSuite(producer, .fini = finish, .timeout = 60);

/* One event; true if it is recorded. */
static bool put(void)
{
	n++;
	return known_put(&r.host);
}

/* Events until one is lost. */
static void put_until_full(void)
{
	while (put())
		continue;
}

/* Chunks up to @seq of ring 1 were copied. */
static void release(uint64_t seq)
{
	struct kymo_ring *ring = kymo_producer->ring;
	struct kymo_ring_view view = {.page = ring->page, .consumer = ring->consumer};

	kymo_ring_view_release(&view, seq);
}

static const struct kymo_chunk *chunks(uint32_t *count)
{
	return known_chunks(&r, 1, count);
}

Test(producer, what_is_recorded_is_there_at_once)
{
	const struct kymo_chunk *found;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	recording_start(&r);
	for (int i = 0; i < 100; i++) {
		cr_assert(put());
		found = chunks(&count);
		cr_assert_eq(count, 1);
		cr_assert(found->is_open);
		cr_assert_eq(found->first_ordinal, 1);
		cr_assert_eq(known_end(found), n + 1);
	}
	cr_assert_eq(found->thread, 1);
	cr_assert_eq(found->thread_chunk, 1);
}

Test(producer, drop_counts_what_is_lost_at_its_place)
{
	const struct kymo_chunk *found;
	uint64_t lost_from;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	recording_start(&r);
	put_until_full();
	lost_from = n;
	for (int i = 0; i < 499; i++)
		cr_assert_not(put());
	cr_assert_eq(kymo_producer->ring->page->lost_ordinal, n);
	cr_assert_eq(kymo_producer->ring->page->lost_reasons, KYMO_LOSS_FULL);
	release(1);
	cr_assert(put());
	found = chunks(&count);
	cr_assert_eq(count, 2);
	cr_assert_eq(found[0].seq, 2);
	cr_assert_eq(known_end(&found[0]), lost_from);
	cr_assert_eq(found[0].lost_before, 0);
	cr_assert_eq(found[1].seq, 3);
	cr_assert_eq(found[1].first_ordinal, lost_from + 500);
	cr_assert_eq(found[1].lost_before, 500);
	cr_assert_eq(found[1].lost_reasons, KYMO_LOSS_FULL);
	cr_assert_eq(known_end(&found[1]), n + 1);
	/* It was told once. */
	release(2);
	while (kymo_producer->ring->opened == 3)
		cr_assert(put());
	found = chunks(&count);
	cr_assert_eq(found[count - 1].lost_before, 0);
	cr_assert_eq(found[count - 1].lost_reasons, 0);
}

Test(producer, overwrite_keeps_the_newest_without_a_gap)
{
	const struct kymo_chunk *found;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_OVERWRITE, 4);
	recording_start(&r);
	for (int i = 0; i < 50000; i++)
		cr_assert(put());
	found = chunks(&count);
	cr_assert_eq(count, 4);
	cr_assert_gt(found[0].first_ordinal, 1);
	for (uint32_t i = 1; i < count; i++)
		cr_assert_eq(found[i].first_ordinal, known_end(&found[i - 1]));
	cr_assert_eq(known_end(&found[3]), 50001);
}

Test(producer, block_without_a_reader_drops_and_says_why)
{
	const struct kymo_chunk *found;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_BLOCK, 2);
	recording_start(&r);
	put_until_full();
	for (int i = 0; i < 99; i++)
		cr_assert_not(put());
	cr_assert_eq(futex_waits, 0);
	release(2);
	cr_assert(put());
	found = chunks(&count);
	cr_assert_eq(found[count - 1].lost_before, 100);
	cr_assert_eq(found[count - 1].lost_reasons, KYMO_LOSS_STALLED);
}

static void take_the_oldest(void)
{
	release(kymo_producer->ring->oldest);
}

Test(producer, block_with_a_slow_reader_loses_nothing)
{
	recording_make(&r, KYMO_POLICY_BLOCK, 2);
	r.page->reader_state = KYMO_READER_LIVE;
	fake_now = SECOND;
	on_futex_wait = take_the_oldest;
	recording_start(&r);
	for (int i = 0; i < 50000; i++)
		cr_assert(put());
	cr_assert_gt(futex_waits, 10);
	cr_assert_eq(kymo_producer->ring->page->stalls, futex_waits);
}

static bool fail_to_name(const struct kymo_host *host, char *name, size_t bytes)
{
	(void)host, (void)name, (void)bytes;
	errno = EIO;
	return false;
}

Test(producer, errno_is_the_programs)
{
	recording_make(&r, KYMO_POLICY_DROP, 2);
	r.host.thread_name = fail_to_name;
	recording_start(&r);
	errno = 12345;
	put_until_full();
	cr_assert_eq(errno, 12345);
}

static struct kymo_meta_page *meta(void)
{
	return kymo_current_process->meta.page;
}

Test(producer, a_thread_without_a_ring_is_counted_and_asks_again_later)
{
	const struct kymo_chunk *found;
	uint64_t budget;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	budget = r.page->budget_bytes;
	r.page->budget_bytes = 0;
	recording_start(&r);
	for (int i = 0; i < 1000; i++)
		cr_assert_not(put());
	cr_assert_eq(meta()->threads_unrecorded, 1);
	cr_assert_eq(meta()->events_unrecorded, 1000);
	/* Another try fails, too: the thread is still one. */
	for (int i = 0; i < RETRY_EVENTS + 1000; i++)
		cr_assert_not(put());
	cr_assert_eq(meta()->threads_unrecorded, 1);
	r.page->budget_bytes = budget;
	put_until_full();
	while (!put())
		continue;
	cr_assert_eq(n, 2 * (RETRY_EVENTS + 1) + 1);
	cr_assert_eq(meta()->threads_unrecorded, 0);
	cr_assert_eq(meta()->events_unrecorded, 0);
	found = chunks(&count);
	cr_assert_eq(count, 1);
	cr_assert_eq(found->lost_before, n - 1);
	cr_assert_eq(found->lost_reasons, KYMO_LOSS_NO_RING);
}

static void *put_some(void *count)
{
	for (uintptr_t i = 0; i < (uintptr_t)count; i++)
		put();
	return NULL;
}

static void run_thread(uintptr_t events)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, put_some, (void *)events), 0);
	pthread_join(thread, NULL);
}

/* The newest definition of @kind in this process's stream; the caller frees it. */
static Kymo__Definition *newest(Kymo__Definition__KindCase kind, unsigned *count)
{
	int folder = recording_open_folder(&r, getpid());
	struct stream_walk walk = stream_walk_begin(folder);
	Kymo__Definition *found = NULL, *definition;

	close(folder);
	*count = 0;
	while ((definition = stream_walk_next(&walk))) {
		if (definition->kind_case == kind) {
			Kymo__Definition *older = found;

			found = definition;
			definition = older;
			++*count;
		}
		if (definition)
			kymo__definition__free_unpacked(definition, NULL);
	}
	return found;
}

Test(producer, a_thread_that_never_got_a_ring_says_so_at_its_end)
{
	Kymo__Definition *end;
	unsigned count;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	r.page->budget_bytes = 0;
	recording_start(&r);
	run_thread(321);
	end = newest(KYMO__DEFINITION__KIND_THREAD_END, &count);
	cr_assert_eq(count, 1);
	cr_assert_eq(end->thread_end->thread, 1);
	cr_assert_eq(end->thread_end->last_ordinal, 321);
	cr_assert_eq(end->thread_end->lost, 321);
	cr_assert_eq(end->thread_end->lost_reasons, KYMO_LOSS_NO_RING);
	cr_assert_eq(meta()->events_unrecorded, 0, "they are told by the definition");
	cr_assert_eq(meta()->threads_unrecorded, 1);
	kymo__definition__free_unpacked(end, NULL);
}

Test(producer, losses_after_the_last_chunk_are_told_at_the_end)
{
	Kymo__Definition *end;
	unsigned count;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	recording_start(&r);
	run_thread(20000);
	end = newest(KYMO__DEFINITION__KIND_THREAD_END, &count);
	cr_assert_eq(end->thread_end->last_ordinal, 20000);
	cr_assert_eq(end->thread_end->lost_reasons, KYMO_LOSS_FULL);
	cr_assert_gt(end->thread_end->lost, 0);
	cr_assert_eq(known_end(&chunks(&count)[1]), 20001 - end->thread_end->lost);
	kymo__definition__free_unpacked(end, NULL);
}

Test(producer, nothing_is_recorded_or_counted_before_the_start_and_after_the_stop)
{
	Kymo__Definition *end;
	const struct kymo_chunk *found;
	unsigned count;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	cr_assert_not(put());
	n = 0;
	recording_start(&r);
	for (int i = 0; i < 10; i++)
		cr_assert(put());
	kymo_process_stop(&r.gil);
	for (int i = 0; i < 10; i++)
		cr_assert_not(put());
	found = chunks(&count);
	cr_assert_not(found->is_open);
	cr_assert_eq(found->last_ordinal, 10);
	end = newest(KYMO__DEFINITION__KIND_THREAD_END, &count);
	cr_assert_eq(end->thread_end->last_ordinal, 10);
	cr_assert_eq(end->thread_end->lost, 0);
	kymo__definition__free_unpacked(end, NULL);
}

static const char *current_name;

static bool thread_name(const struct kymo_host *host, char *name, size_t bytes)
{
	(void)host;
	if (current_name)
		snprintf(name, bytes, "%s", current_name);
	return current_name != NULL;
}

Test(producer, a_threads_name_is_told_when_it_is_known_and_when_it_changes)
{
	static const char *const names[] = {NULL, "worker", "worker", "writer"};
	static const unsigned tellings[] = {1, 2, 2, 3};
	Kymo__Definition *told;
	unsigned count;

	recording_make(&r, KYMO_POLICY_OVERWRITE, 4);
	r.host.thread_name = thread_name;
	recording_start(&r);
	for (int i = 0; i < 4; i++) {
		uint64_t opened = i ? kymo_producer->ring->opened : 0;

		current_name = names[i];
		do
			put();
		while (kymo_producer->ring->opened == opened);
		told = newest(KYMO__DEFINITION__KIND_THREAD, &count);
		cr_assert_eq(count, tellings[i], "after %d: %u", i, count);
		cr_assert_str_eq(told->thread->name, names[i] ? names[i] : "");
		cr_assert_eq(told->thread->thread, 1);
		cr_assert_eq(told->thread->native_id, (uint64_t)gettid());
		kymo__definition__free_unpacked(told, NULL);
	}
}

static void call_stack_that_defines(const struct kymo_host *host, struct kymo_sync *sync)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Text text = KYMO__TEXT__INIT;

	(void)host;
	text.text = "a frame's code";
	definition.kind_case = KYMO__DEFINITION__KIND_TEXT;
	definition.text = &text;
	cr_assert(kymo_define(&definition));
	sync->depth = sync->listed = 1;
	sync->frames[0] = (struct kymo_sync_frame){.code = 7};
}

Test(producer, a_chunk_names_the_definitions_that_its_stack_needs)
{
	const struct kymo_chunk *found;
	uint32_t count;
	uint64_t before;

	recording_make(&r, KYMO_POLICY_OVERWRITE, 4);
	r.host.call_stack = call_stack_that_defines;
	recording_start(&r);
	before = meta()->committed;
	put();
	found = chunks(&count);
	cr_assert_gt(found->meta_position, before);
	cr_assert_eq(found->meta_position, meta()->committed);
}

Test(producer, a_code_object_that_goes_away_is_forgotten_by_all)
{
	struct kymo_producer *p;
	int code;

	recording_make(&r, KYMO_POLICY_DROP, 2);
	recording_start(&r);
	put();
	p = kymo_producer;
	kymo_set_code(p, &code, 1);
	kymo_forget_code(&n);
	cr_assert_eq(p->code, &code);
	kymo_forget_code(&code);
	cr_assert_null(p->code);
}
