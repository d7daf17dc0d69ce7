// SPDX-License-Identifier: Apache-2.0
/* SWITCH records: the exact order of events between the threads of one GIL. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "recorder/ring.h"
#include "tests/support/known_events.h"

enum { THREADS = 3, TURNS = 3000 };

static struct recording r;

static void finish(void)
{
	recording_remove(&r);
}

TestSuite(producer_order, .fini = finish, .timeout = 60);

static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_is_over = PTHREAD_COND_INITIALIZER;
static unsigned turn;

/* An event as it took place, or as the rings tell it. */
struct event {
	uint64_t switched;
	uint64_t n;
	uint32_t thread;
};

static struct event happened[TURNS * 32], told[TURNS * 32];
static size_t happened_count, told_count;

static uint32_t random_of(uint32_t x)
{
	x = (x ^ 61) ^ (x >> 16);
	x *= 9;
	x = (x ^ (x >> 4)) * 0x27d4eb2d;
	return x ^ (x >> 15);
}

/* Thread @index records a few events whenever it is its turn. */
static void *take_turns(void *index)
{
	pthread_mutex_lock(&gil);
	for (;;) {
		while (turn < TURNS && random_of(turn) % THREADS != (uintptr_t)index)
			pthread_cond_wait(&turn_is_over, &gil);
		if (turn == TURNS)
			break;
		for (uint32_t left = random_of(~turn) % 32; left > 0; left--) {
			cr_assert(known_put(&r.host));
			happened[happened_count++] =
				(struct event){.thread = kymo_producer->thread, .n = kymo_producer->ordinal};
		}
		turn++;
		pthread_cond_broadcast(&turn_is_over);
	}
	pthread_mutex_unlock(&gil);
	return NULL;
}

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->switched != y->switched)
		return x->switched < y->switched ? -1 : 1;
	return x->n < y->n ? -1 : 1;
}

static void tell(const struct kymo_chunk *chunk)
{
	struct chunk_walk walk = chunk_walk_begin(chunk);
	uint64_t next = chunk->first_ordinal;

	while (chunk_walk_next(&walk)) {
		for (; next <= walk.n; next++)
			told[told_count++] = (struct event){walk.switched, next, chunk->thread};
	}
	for (; next < known_end(chunk); next++)
		told[told_count++] = (struct event){walk.switched, next, chunk->thread};
}

Test(producer_order, switches_tell_the_exact_interleaving)
{
	pthread_t threads[THREADS];

	recording_make(&r, KYMO_POLICY_DROP, 64);
	recording_start(&r);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t ring = 1; ring <= THREADS; ring++) {
		uint32_t count;
		const struct kymo_chunk *found = known_chunks(&r, ring, &count);

		cr_assert_gt(count, 1, "the order must survive chunks");
		for (uint32_t i = 0; i < count; i++)
			tell(&found[i]);
	}
	qsort(told, told_count, sizeof *told, compare_events);
	cr_assert_eq(told_count, happened_count);
	for (size_t i = 0; i < told_count; i++) {
		cr_assert_eq(told[i].thread, happened[i].thread, "event %zu", i);
		cr_assert_eq(told[i].n, happened[i].n, "event %zu", i);
	}
}

Test(producer_order, a_thread_that_runs_alone_switches_once)
{
	struct chunk_walk walk;
	uint32_t count, switches = 0;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	recording_start(&r);
	for (int i = 0; i < 1000; i++)
		known_put(&r.host);
	walk = chunk_walk_begin(known_chunks(&r, 1, &count));
	while (chunk_walk_next(&walk))
		switches += walk.record.kind == KYMO_SWITCH;
	cr_assert_eq(switches, 1);
}

/* Skip to the next record that is an INTERPRETER, and expect a SWITCH behind it. */
static void expect_interpreter(struct chunk_walk *walk, uint64_t after, uint32_t id, uint64_t switched)
{
	do
		cr_assert(chunk_walk_next(walk));
	while (walk->record.kind != KYMO_KIND_SPECIAL || walk->record.special != KYMO_TAG_EXTENDED);
	cr_assert_eq(walk->record.extended, KYMO_EXTENDED_INTERPRETER);
	cr_assert_eq(walk->record.a, id);
	cr_assert_eq(walk->n, after);
	cr_assert(chunk_walk_next(walk));
	cr_assert_eq(walk->record.kind, KYMO_SWITCH);
	cr_assert_eq(walk->switched, switched);
}

Test(producer_order, a_thread_that_changes_the_interpreter_says_so)
{
	struct kymo_gil other_gil = {.owner = 9, .ordinal = 41};
	struct kymo_host main_host, other_host;
	const struct kymo_chunk *found;
	struct chunk_walk walk;
	uint32_t count;

	recording_make(&r, KYMO_POLICY_DROP, 4);
	main_host = other_host = r.host;
	other_host.gil = &other_gil;
	other_host.interpreter = 6;
	recording_start(&r);
	for (int i = 0; i < 4; i++)
		known_put(&r.host);
	r.host = other_host;
	for (int i = 0; i < 4; i++)
		known_put(&r.host);
	r.host = main_host;
	for (int i = 0; i < 4; i++)
		known_put(&r.host);
	walk = chunk_walk_begin(known_chunks(&r, 1, &count));
	expect_interpreter(&walk, 4, 6, 42);
	expect_interpreter(&walk, 8, 0, 2);
	cr_assert_eq(other_gil.owner, KYMO_GIL_NOBODY, "who comes back there must say so");
	/* The next chunk knows where it begins. */
	r.host = other_host;
	while (kymo_producer->ring->opened == 1)
		known_put(&r.host);
	found = known_chunks(&r, 1, &count);
	cr_assert_eq(found[1].interpreter, 6);
	cr_assert_eq(found[1].switch_base, 43);
}
