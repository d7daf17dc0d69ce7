// SPDX-License-Identifier: Apache-2.0
/* Threads that record: ordinals and losses, clocks, switches, threads without a ring. */
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

static void make(uint32_t policy, uint32_t slots)
{
	recording_make(&r, policy, slots);
}

static void finish(void)
{
	if (r.session)
		recording_remove(&r);
}

TestSuite(producer, .fini = finish, .timeout = 60);

/* One event; true if it is recorded. */
static bool put(void)
{
	struct kymo_producer *p = recording_event(&r.host);

	n++;
	if (p)
		known_append(p, 0, n);
	return p != NULL;
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

/* All chunks of ring @number in this process, each held against what it must contain. */
static const struct kymo_chunk *chunks(uint32_t number, uint32_t *count)
{
	int folder = recording_open_folder(&r, getpid());
	const struct kymo_chunk *found = recording_chunks(folder, number, count);
	uint64_t end;

	close(folder);
	for (uint32_t i = 0; i < *count; i++) {
		const char *problem = known_check(&found[i], 0, &end);

		cr_assert_null(problem, "chunk %lu: %s at event %lu", (unsigned long)found[i].seq,
			       problem, (unsigned long)end);
	}
	return found;
}

static uint64_t end_of(const struct kymo_chunk *chunk)
{
	uint64_t end;

	known_check(chunk, 0, &end);
	return end;
}

Test(producer, what_is_recorded_is_there_at_once)
{
	const struct kymo_chunk *found;
	uint32_t count;

	make(KYMO_POLICY_DROP, 2);
	recording_start(&r);
	for (int i = 0; i < 100; i++) {
		cr_assert(put());
		found = chunks(1, &count);
		cr_assert_eq(count, 1);
		cr_assert(found->is_open);
		cr_assert_eq(found->first_ordinal, 1);
		cr_assert_eq(end_of(found), n + 1);
	}
	cr_assert_eq(found->thread, 1);
	cr_assert_eq(found->thread_chunk, 1);
}

Test(producer, drop_counts_what_is_lost_at_its_place)
{
	const struct kymo_chunk *found;
	uint64_t lost_from;
	uint32_t count;

	make(KYMO_POLICY_DROP, 2);
	recording_start(&r);
	put_until_full();
	lost_from = n;
	for (int i = 0; i < 499; i++)
		cr_assert_not(put());
	cr_assert_eq(kymo_producer->ring->page->lost_ordinal, n);
	cr_assert_eq(kymo_producer->ring->page->lost_reasons, KYMO_LOSS_FULL);
	release(1);
	cr_assert(put());
	found = chunks(1, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(found[0].seq, 2);
	cr_assert_eq(end_of(&found[0]), lost_from);
	cr_assert_eq(found[0].lost_before, 0);
	cr_assert_eq(found[1].seq, 3);
	cr_assert_eq(found[1].first_ordinal, lost_from + 500);
	cr_assert_eq(found[1].lost_before, 500);
	cr_assert_eq(found[1].lost_reasons, KYMO_LOSS_FULL);
	cr_assert_eq(end_of(&found[1]), n + 1);
	/* It was told once. */
	release(2);
	while (kymo_producer->ring->opened == 3)
		cr_assert(put());
	found = chunks(1, &count);
	cr_assert_eq(found[count - 1].lost_before, 0);
	cr_assert_eq(found[count - 1].lost_reasons, 0);
}

Test(producer, overwrite_keeps_the_newest_without_a_gap)
{
	const struct kymo_chunk *found;
	uint32_t count;

	make(KYMO_POLICY_OVERWRITE, 4);
	recording_start(&r);
	for (int i = 0; i < 50000; i++)
		cr_assert(put());
	found = chunks(1, &count);
	cr_assert_eq(count, 4);
	cr_assert_gt(found[0].first_ordinal, 1);
	for (uint32_t i = 1; i < count; i++)
		cr_assert_eq(found[i].first_ordinal, end_of(&found[i - 1]));
	cr_assert_eq(end_of(&found[3]), 50001);
}

Test(producer, block_without_a_reader_drops_and_says_why)
{
	const struct kymo_chunk *found;
	uint32_t count;

	make(KYMO_POLICY_BLOCK, 2);
	recording_start(&r);
	put_until_full();
	for (int i = 0; i < 99; i++)
		cr_assert_not(put());
	cr_assert_eq(futex_waits, 0);
	release(2);
	cr_assert(put());
	found = chunks(1, &count);
	cr_assert_eq(found[count - 1].lost_before, 100);
	cr_assert_eq(found[count - 1].lost_reasons, KYMO_LOSS_STALLED);
}

static void take_the_oldest(void)
{
	release(kymo_producer->ring->oldest);
}

Test(producer, block_with_a_slow_reader_loses_nothing)
{
	make(KYMO_POLICY_BLOCK, 2);
	r.page->reader_state = KYMO_READER_LIVE;
	fake_now = SECOND;
	on_futex_wait = take_the_oldest;
	recording_start(&r);
	for (int i = 0; i < 50000; i++)
		cr_assert(put());
	cr_assert_gt(futex_waits, 10);
	cr_assert_eq(kymo_producer->ring->page->stalls, futex_waits);
}

Test(producer, errno_is_the_programs)
{
	make(KYMO_POLICY_DROP, 2);
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

	make(KYMO_POLICY_DROP, 2);
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
	found = chunks(1, &count);
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

	make(KYMO_POLICY_DROP, 2);
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

	make(KYMO_POLICY_DROP, 2);
	recording_start(&r);
	run_thread(20000);
	end = newest(KYMO__DEFINITION__KIND_THREAD_END, &count);
	cr_assert_eq(end->thread_end->last_ordinal, 20000);
	cr_assert_eq(end->thread_end->lost_reasons, KYMO_LOSS_FULL);
	cr_assert_gt(end->thread_end->lost, 0);
	cr_assert_eq(end_of(&chunks(1, &count)[1]), 20001 - end->thread_end->lost);
	kymo__definition__free_unpacked(end, NULL);
}

Test(producer, nothing_is_recorded_or_counted_before_the_start_and_after_the_stop)
{
	Kymo__Definition *end;
	const struct kymo_chunk *found;
	unsigned count;

	make(KYMO_POLICY_DROP, 2);
	cr_assert_not(put());
	n = 0;
	recording_start(&r);
	for (int i = 0; i < 10; i++)
		cr_assert(put());
	kymo_process_stop(&r.gil);
	for (int i = 0; i < 10; i++)
		cr_assert_not(put());
	found = chunks(1, &count);
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

	make(KYMO_POLICY_OVERWRITE, 4);
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

	make(KYMO_POLICY_OVERWRITE, 4);
	r.host.call_stack = call_stack_that_defines;
	recording_start(&r);
	before = meta()->committed;
	put();
	found = chunks(1, &count);
	cr_assert_gt(found->meta_position, before);
	cr_assert_eq(found->meta_position, meta()->committed);
}

Test(producer, a_code_object_that_goes_away_is_forgotten_by_all)
{
	struct kymo_producer *p;
	int code;

	make(KYMO_POLICY_DROP, 2);
	recording_start(&r);
	put();
	p = kymo_producer;
	kymo_set_code(p, &code, 1);
	kymo_forget_code(&n);
	cr_assert_eq(p->code, &code);
	kymo_forget_code(&code);
	cr_assert_null(p->code);
}

/* The clock. */

/* Event @n takes place at this time. */
static uint64_t time_of(uint64_t event)
{
	return SECOND + 1000 * event;
}

static void make_with_clock(uint32_t clock_mode)
{
	make(KYMO_POLICY_OVERWRITE, 4);
	r.page->clock_mode = clock_mode;
	r.page->counter = KYMO_COUNTER_MONOTONIC;
	fake_now = time_of(0);
	recording_start(&r);
}

static void put_in_time(void)
{
	fake_now = time_of(n + 1);
	put();
}

Test(producer, the_sampled_clock_is_read_about_every_96_bytes)
{
	const struct kymo_chunk *found;
	uint32_t count, times = 0;

	make_with_clock(KYMO_CLOCK_SAMPLED);
	for (int i = 0; i < 10000; i++)
		put_in_time();
	found = chunks(1, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct chunk_walk walk = chunk_walk_begin(&found[i]);
		uint32_t last = walk.at, start = walk.at;

		cr_assert_eq(found[i].open_clock, time_of(found[i].first_ordinal));
		if (!found[i].is_open)
			cr_assert_eq(found[i].close_clock, time_of(found[i].last_ordinal + 1));
		while (chunk_walk_next(&walk)) {
			if (walk.record.kind == KYMO_TIME) {
				cr_assert_eq(walk.clock, time_of(walk.n + 1));
				cr_assert_geq(start - last, 96);
				last = walk.at;
				times++;
			}
			cr_assert_lt(walk.at - last, 96 + 2 * KYMO_MAX_RECORD_BYTES);
			start = walk.at;
		}
	}
	cr_assert_gt(times, 100);
}

Test(producer, the_sampled_clock_is_read_when_the_tick_has_moved)
{
	struct chunk_walk walk;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_SAMPLED);
	for (int i = 0; i < 12; i++) {
		if (n == 4 || n == 8)
			r.page->tick++;
		put_in_time();
	}
	walk = chunk_walk_begin(chunks(1, &count));
	while (chunk_walk_next(&walk) && walk.record.kind != KYMO_TIME)
		continue;
	cr_assert_eq(walk.n, 4);
	cr_assert_eq(walk.clock, time_of(5));
	while (chunk_walk_next(&walk) && walk.record.kind != KYMO_TIME)
		continue;
	cr_assert_eq(walk.n, 8);
	cr_assert_eq(walk.clock, time_of(9));
	while (chunk_walk_next(&walk))
		cr_assert_neq(walk.record.kind, KYMO_TIME);
}

Test(producer, the_exact_clock_is_read_where_the_caller_says)
{
	struct chunk_walk walk;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_EXACT);
	put_in_time();
	for (int i = 0; i < 20; i++) {
		kymo_append_time(kymo_producer);
		put_in_time();
	}
	walk = chunk_walk_begin(chunks(1, &count));
	for (uint64_t event = 1; event <= 20; event++) {
		while (chunk_walk_next(&walk) && walk.record.kind != KYMO_TIME)
			continue;
		cr_assert_eq(walk.n, event);
		cr_assert_eq(walk.clock, time_of(event));
	}
}

Test(producer, without_a_clock_time_is_told_at_chunks_only)
{
	const struct kymo_chunk *found;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_NONE);
	for (int i = 0; i < 10000; i++) {
		r.page->tick++;
		put_in_time();
	}
	found = chunks(1, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct chunk_walk walk = chunk_walk_begin(&found[i]);

		cr_assert_eq(found[i].open_clock, time_of(found[i].first_ordinal));
		while (chunk_walk_next(&walk))
			cr_assert_neq(walk.record.kind, KYMO_TIME);
	}
}

Test(producer, a_long_pause_is_told_exactly)
{
	struct chunk_walk walk;
	uint32_t count;

	make_with_clock(KYMO_CLOCK_SAMPLED);
	put();
	fake_now += UINT64_C(1) << 40;
	r.page->tick++;
	put();
	walk = chunk_walk_begin(chunks(1, &count));
	while (chunk_walk_next(&walk))
		continue;
	cr_assert_eq(walk.clock, fake_now);
}

/* The order between threads. */

enum { THREADS = 3, TURNS = 3000 };

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
			cr_assert(put());
			happened[happened_count++] =
				(struct event){.thread = kymo_producer->thread, .n = n};
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
	for (; next < end_of(chunk); next++)
		told[told_count++] = (struct event){walk.switched, next, chunk->thread};
}

Test(producer, switches_tell_the_exact_interleaving)
{
	pthread_t threads[THREADS];

	make(KYMO_POLICY_DROP, 64);
	recording_start(&r);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t ring = 1; ring <= THREADS; ring++) {
		uint32_t count;
		const struct kymo_chunk *found = chunks(ring, &count);

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

Test(producer, a_thread_that_runs_alone_switches_once)
{
	struct chunk_walk walk;
	uint32_t count, switches = 0;

	make(KYMO_POLICY_DROP, 4);
	recording_start(&r);
	for (int i = 0; i < 1000; i++)
		put();
	walk = chunk_walk_begin(chunks(1, &count));
	while (chunk_walk_next(&walk))
		switches += walk.record.kind == KYMO_SWITCH;
	cr_assert_eq(switches, 1);
}

/* Skip to the next record that is an INTERPRETER, and expect a SWITCH behind it. */
static void expect_interpreter(struct chunk_walk *walk, uint64_t after, uint32_t id, uint64_t switched)
{
	while (chunk_walk_next(walk) && walk->record.kind != KYMO_KIND_SPECIAL)
		continue;
	while (walk->record.special == KYMO_TAG_BITS)
		cr_assert(chunk_walk_next(walk));
	cr_assert_eq(walk->record.extended, KYMO_EXTENDED_INTERPRETER);
	cr_assert_eq(walk->record.a, id);
	cr_assert_eq(walk->n, after);
	cr_assert(chunk_walk_next(walk));
	cr_assert_eq(walk->record.kind, KYMO_SWITCH);
	cr_assert_eq(walk->switched, switched);
}

Test(producer, a_thread_that_changes_the_interpreter_says_so)
{
	struct kymo_gil other_gil = {.owner = 9, .ordinal = 41};
	struct kymo_host main_host, other_host;
	const struct kymo_chunk *found;
	struct chunk_walk walk;
	uint32_t count;

	make(KYMO_POLICY_DROP, 4);
	main_host = other_host = r.host;
	other_host.gil = &other_gil;
	other_host.interpreter = 6;
	recording_start(&r);
	for (int i = 0; i < 4; i++)
		put();
	r.host = other_host;
	for (int i = 0; i < 4; i++)
		put();
	r.host = main_host;
	for (int i = 0; i < 4; i++)
		put();
	walk = chunk_walk_begin(chunks(1, &count));
	expect_interpreter(&walk, 4, 6, 42);
	expect_interpreter(&walk, 8, 0, 2);
	cr_assert_eq(other_gil.owner, 0, "who comes back there must say so");
	/* The next chunk knows where it begins. */
	r.host = other_host;
	while (kymo_producer->ring->opened == 1)
		put();
	found = chunks(1, &count);
	cr_assert_eq(found[1].interpreter, 6);
	cr_assert_eq(found[1].switch_base, 43);
}
