// SPDX-License-Identifier: Apache-2.0
/* The recording of a process: start and stop, and the pool of rings. */
#include "recorder/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/atomics.h"
#include "tests/support/known_events.h"
#include "tests/unit/recorder/fake_calls.h"

static struct recording r;

static void finish(void)
{
	recording_remove(&r);
}

TestSuite(process, .fini = finish, .timeout = 60);

static struct kymo_meta_page *meta(void)
{
	return kymo_current_process->meta.page;
}

static void *put_some(void *count)
{
	for (uintptr_t i = 0; i < (uintptr_t)count; i++)
		cr_assert(known_put(&r.host));
	return NULL;
}

static void run_thread(uintptr_t events)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, put_some, (void *)events), 0);
	pthread_join(thread, NULL);
}

Test(process, threads_after_each_other_share_one_ring)
{
	const struct kymo_chunk *found;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_DROP, 64);
	recording_start(&r);
	for (int i = 0; i < 20; i++)
		run_thread(13); /* the last one is a branch, which the end has to flush */
	cr_assert_eq(meta()->rings, 1);
	cr_assert_eq(meta()->threads, 20);
	found = known_chunks(&r, 1, &count);
	cr_assert_eq(count, 20);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_not(found[i].is_open);
		cr_assert_eq(found[i].thread, i + 1);
		cr_assert_eq(found[i].thread_chunk, 1);
		cr_assert_eq(found[i].first_ordinal, 1);
		cr_assert_eq(found[i].last_ordinal, 13);
	}
}

Test(process, a_pooled_ring_belongs_to_no_thread)
{
	recording_make(&r, KYMO_POLICY_DROP, 64);
	recording_start(&r);
	run_thread(10);
	cr_assert_eq(kymo_current_process->free_rings->page->thread, 0);
	known_put(&r.host);
	cr_assert_null(kymo_current_process->free_rings);
	cr_assert_eq(kymo_producer->ring->page->thread, 2);
	cr_assert_eq(kymo_producer->ring->page->lost_ordinal, 0);
}

enum { THREADS = 50 };

static pthread_barrier_t all_have_one;
static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;

static void *put_together(void *unused)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&gil);
		cr_assert(known_put(&r.host));
		pthread_mutex_unlock(&gil);
		pthread_barrier_wait(&all_have_one);
	}
	return unused;
}

Test(process, threads_at_the_same_time_have_a_ring_each)
{
	pthread_t threads[THREADS];

	recording_make(&r, KYMO_POLICY_DROP, 2);
	recording_start(&r);
	pthread_barrier_init(&all_have_one, NULL, THREADS);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, put_together, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		cr_assert_eq(meta()->rings, THREADS, "the second round finds them in the pool");
	}
	for (uint32_t ring = 1; ring <= THREADS; ring++) {
		uint32_t count;

		known_chunks(&r, ring, &count);
		cr_assert_eq(count, 2);
	}
}

static int open_folder(const char *name)
{
	int dir = open(r.dir, O_RDONLY | O_DIRECTORY);
	int folder = openat(dir, name, O_RDONLY | O_DIRECTORY);

	close(dir);
	cr_assert_geq(folder, 0);
	return folder;
}

/* The first definition in folder @name, which the caller frees. */
static Kymo__Definition *first_definition(const char *name)
{
	int folder = open_folder(name);
	struct stream_walk walk = stream_walk_begin(folder);
	Kymo__Definition *first;

	first = stream_walk_next(&walk);
	free(walk.bytes);
	close(folder);
	return first;
}

Test(process, a_second_recording_is_another_generation)
{
	char folders[2][64];
	Kymo__Definition *first;
	uint64_t id;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	for (uint32_t i = 0; i < 2; i++) {
		recording_start(&r);
		cr_assert(kymo_process_is_recording());
		cr_assert_eq(kymo_process_generation(), i + 1);
		strcpy(folders[i], kymo_current_process->folder);
		id = kymo_next_code_id();
		cr_assert_eq(id, i + 1, "no id is given twice");
		for (int event = 0; event < 10; event++)
			cr_assert(known_put(&r.host));
		cr_assert_eq(kymo_producer->thread, 1);
		cr_assert_eq(kymo_producer->ordinal, 10);
		kymo_process_stop(&r.gil);
		cr_assert_not(kymo_process_is_recording());
	}
	cr_assert_str_neq(folders[0], folders[1]);
	for (uint32_t i = 0; i < 2; i++) {
		first = first_definition(folders[i]);
		cr_assert_eq(first->process->generation, i + 1);
		kymo__definition__free_unpacked(first, NULL);
	}
}

Test(process, a_second_recording_begins_with_a_switch)
{
	const struct kymo_chunk *found;
	struct chunk_walk walk;
	uint32_t count;
	int folder;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	known_put(&r.host);
	kymo_process_stop(&r.gil);
	recording_start(&r);
	known_put(&r.host);
	folder = open_folder(kymo_current_process->folder);
	found = recording_chunks(folder, 1, &count);
	close(folder);
	walk = chunk_walk_begin(found);
	cr_assert(chunk_walk_next(&walk));
	cr_assert_eq(walk.record.kind, KYMO_SWITCH);
}

static void nothing_happens(void)
{
}

static void take_the_oldest(void)
{
	struct kymo_ring *ring = kymo_producer->ring;
	struct kymo_ring_view view = {.page = ring->page, .consumer = ring->consumer};

	kymo_ring_view_release(&view, ring->oldest);
}

Test(process, a_second_recording_waits_for_a_reader_of_its_own)
{
	fake_now = 1000000000;
	on_futex_wait = nothing_happens;
	for (int i = 0; i < 2; i++) {
		recording_make(&r, KYMO_POLICY_BLOCK, 2);
		r.page->reader_state = KYMO_READER_LIVE;
		recording_start(&r);
		for (int event = 0; event < 10000; event++) {
			if (!known_put(&r.host))
				cr_assert_eq(i, 0, "this reader is awake");
		}
		cr_assert_gt(futex_waits, 0);
		if (i == 0)
			recording_remove(&r);
		on_futex_wait = take_the_oldest;
	}
}

Test(process, one_recording_at_a_time)
{
	Kymo__Process facts = KYMO__PROCESS__INIT;
	struct kymo_error error;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	cr_assert_eq(kymo_process_start(r.session, &facts, &error), -EBUSY);
	cr_assert(known_put(&r.host));
	kymo_process_stop(&r.gil);
	kymo_process_stop(&r.gil);
	cr_assert_not(known_put(&r.host));
}

Test(process, a_start_that_fails_leaves_no_recording)
{
	Kymo__Process facts = KYMO__PROCESS__INIT;
	struct kymo_error error = {0};

	recording_make(&r, KYMO_POLICY_DROP, 4);
	allocation_error = ENOSPC;
	cr_assert_eq(kymo_process_start(r.session, &facts, &error), -ENOSPC);
	cr_assert(strstr(error.message, "No space left"));
	cr_assert_not(kymo_process_is_recording());
	cr_assert_not(known_put(&r.host));
	recording_start(&r);
	cr_assert(known_put(&r.host));
}

/* A thread of another interpreter with a GIL of its own, which goes step by step. */
static struct kymo_gil other_gil;
static _Atomic uint32_t step;

static void wait_for_step(uint32_t wanted)
{
	while (kymo_load_acquire_u32(&step) < wanted)
		sched_yield();
}

static void *record_elsewhere(void *is_recorded)
{
	struct kymo_host host = r.host;

	host.gil = &other_gil;
	host.interpreter = 1;
	for (uint32_t i = 0; i < 4; i += 2) {
		wait_for_step(i + 1);
		*(bool *)is_recorded = known_put(&host);
		kymo_store_release_u32(&step, i + 2);
	}
	wait_for_step(5);
	return NULL;
}

static void run_step(uint32_t number)
{
	kymo_store_release_u32(&step, number);
	wait_for_step(number + 1);
}

Test(process, a_thread_under_another_gil_notices_the_stop_itself)
{
	const struct kymo_chunk *found;
	bool is_recorded;
	pthread_t thread;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	pthread_create(&thread, NULL, record_elsewhere, &is_recorded);
	run_step(1);
	cr_assert(is_recorded);
	cr_assert(known_put(&r.host));
	kymo_process_stop(&r.gil);
	/* The session may be closed meanwhile: it stays mapped as long as it may be touched. */
	kymo_session_close(r.session);
	r.session = NULL;
	run_step(3);
	cr_assert(is_recorded, "its chunk has room, and it has not noticed yet");
	kymo_store_release_u32(&step, 5);
	pthread_join(thread, NULL);
	found = known_chunks(&r, 1, &count);
	cr_assert_eq(count, 1);
	cr_assert_not(found->is_open);
	cr_assert_eq(found->last_ordinal, 2);
}

Test(process, a_thread_without_a_ring_under_another_gil_survives_the_stop)
{
	bool is_recorded;
	pthread_t thread;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	r.page->budget_bytes = 0;
	recording_start(&r);
	pthread_create(&thread, NULL, record_elsewhere, &is_recorded);
	run_step(1);
	cr_assert_not(is_recorded);
	kymo_process_stop(&r.gil);
	kymo_session_close(r.session);
	r.session = NULL;
	run_step(3);
	cr_assert_not(is_recorded);
	kymo_store_release_u32(&step, 5);
	pthread_join(thread, NULL);
}

/* Whether a file of the session is mapped. */
static bool is_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[8192];
	bool is_found = false;

	while (fgets(line, sizeof line, maps))
		is_found |= strstr(line, r.dir) != NULL;
	fclose(maps);
	return is_found;
}

Test(process, the_last_thread_that_notices_frees_what_was_stopped_under_another_gil)
{
	bool is_recorded;
	pthread_t thread;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	pthread_create(&thread, NULL, record_elsewhere, &is_recorded);
	run_step(1);
	cr_assert(known_put(&r.host));
	kymo_process_stop(&r.gil);
	kymo_session_close(r.session);
	r.session = NULL;
	cr_assert(is_mapped());
	run_step(3);
	kymo_store_release_u32(&step, 5);
	pthread_join(thread, NULL);
	cr_assert_not(is_mapped());
}

Test(process, threads_under_another_gil_are_made_to_leave_before_the_next_recording)
{
	bool is_recorded;
	pthread_t thread;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	pthread_create(&thread, NULL, record_elsewhere, &is_recorded);
	run_step(1);
	kymo_process_stop(&r.gil);
	recording_start(&r);
	kymo_process_renew(&other_gil);
	run_step(3);
	cr_assert(is_recorded);
	cr_assert_eq(kymo_load_relaxed_u32(&meta()->threads), 1,
		     "it has room in its old chunk, and still is in the new recording");
	kymo_store_release_u32(&step, 5);
	pthread_join(thread, NULL);
}

Test(process, a_thread_that_goes_on_under_another_gil_is_no_longer_stopped_under_the_first)
{
	struct kymo_gil another = {0};
	struct kymo_host host;
	uint32_t ticket;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	cr_assert(known_put(&r.host));
	ticket = kymo_producer->ticket;
	host = r.host;
	host.gil = &another;
	host.interpreter = 1;
	kymo_claim(kymo_producer, &host);
	cr_assert_eq(kymo_load_relaxed_u32(&r.gil.owner), KYMO_GIL_NOBODY);
	pthread_mutex_lock(&kymo_process_lock);
	kymo_process_seal(kymo_current_process, &r.gil);
	pthread_mutex_unlock(&kymo_process_lock);
	cr_assert(kymo_producer->payload, "only its own thread touches it now");
	kymo_process_stop(&another);
	recording_start(&r);
	cr_assert(known_put(&r.host));
	cr_assert_neq(kymo_producer->ticket, ticket);
}

static void stop_meanwhile(void)
{
	kymo_process_stop(&r.gil);
}

Test(process, a_stop_while_a_definition_waits_for_the_reader_is_survived)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Text text = KYMO__TEXT__INIT;
	bool is_defined = true;

	recording_make(&r, KYMO_POLICY_BLOCK, 4);
	r.page->reader_state = KYMO_READER_LIVE;
	r.page->meta_bytes = 4096;
	recording_start(&r);
	text.text = "a text";
	definition.kind_case = KYMO__DEFINITION__KIND_TEXT;
	definition.text = &text;
	on_futex_wait = stop_meanwhile;
	while (is_defined)
		is_defined = kymo_define(&definition);
	cr_assert_not(kymo_process_is_recording());
}
