// SPDX-License-Identifier: Apache-2.0
/* Forked children: each joins the session by itself, with a folder and a ring of its own. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/process.h"
#include "tests/support/known_events.h"

enum { PARENT_EVENTS = 100, CHILD_EVENTS = 5000 };

static struct recording r;

static void start(void)
{
	recording_make(&r, KYMO_POLICY_DROP, 64);
	recording_start(&r);
}

static void finish(void)
{
	recording_remove(&r);
}

TestSuite(process_fork, .init = start, .fini = finish, .timeout = 60);

static bool define(uint32_t id)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Text text = KYMO__TEXT__INIT;

	text.id = id;
	definition.kind_case = KYMO__DEFINITION__KIND_TEXT;
	definition.text = &text;
	return kymo_define(&definition);
}

static void put(unsigned events)
{
	for (unsigned i = 0; i < events; i++)
		cr_assert(known_put(&r.host));
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Run @body in a child made by @make; returns its pid when it has ended as it should. */
static pid_t run_child(pid_t (*make)(void), int (*body)(void))
{
	pid_t pid = make();
	int status;

	cr_assert_geq(pid, 0);
	if (pid == 0)
		_exit(body());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "signal %d", WTERMSIG(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	return pid;
}

/* The first definition of process @pid; the caller frees it. */
static Kymo__Definition *process_of(pid_t pid)
{
	int folder = recording_open_folder(&r, pid);
	struct stream_walk walk;
	Kymo__Definition *first;

	cr_assert_geq(folder, 0);
	walk = stream_walk_begin(folder);
	close(folder);
	first = stream_walk_next(&walk);
	free(walk.bytes);
	cr_assert_eq(first->kind_case, KYMO__DEFINITION__KIND_PROCESS);
	return first;
}

/* Hold the one ring of process @pid against @events known ones of thread 1. */
static void expect_events(pid_t pid, uint64_t events)
{
	int folder = recording_open_folder(&r, pid);
	const struct kymo_chunk *found;
	uint64_t next = 1;
	uint32_t count;

	cr_assert_geq(folder, 0);
	found = recording_chunks(folder, 2, &count);
	cr_assert_eq(count, 0, "there is one ring only");
	found = recording_chunks(folder, 1, &count);
	close(folder);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(found[i].thread, 1);
		cr_assert_eq(found[i].first_ordinal, next);
		next = known_end(&found[i]);
	}
	cr_assert_eq(next, events + 1);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "child: %s\n", #condition);                                \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static int record_as_child(void)
{
	CHECK(kymo_process_is_orphan());
	CHECK(!kymo_process_is_recording());
	CHECK(kymo_producer->limit == 0);
	for (int i = 0; i < CHILD_EVENTS; i++)
		CHECK(known_put(&r.host));
	CHECK(!kymo_process_is_orphan());
	CHECK(kymo_process_is_recording());
	CHECK(kymo_process_generation() == 1);
	CHECK(kymo_next_code_id() == 11);
	CHECK(kymo_next_name_id() == 1);
	CHECK(define(1));
	return 0;
}

static void expect_a_process_of_its_own(pid_t (*make)(void))
{
	Kymo__Definition *parent, *child;
	uint64_t forked_at;
	pid_t pid;

	for (uint32_t id = 1; id <= 10; id++) {
		cr_assert_eq(kymo_next_code_id(), id);
		cr_assert(define(id));
	}
	put(PARENT_EVENTS);
	forked_at = kymo_current_process->meta.page->committed;
	pid = run_child(make, record_as_child);
	put(PARENT_EVENTS);
	cr_assert(define(11));
	parent = process_of(getpid());
	child = process_of(pid);
	cr_assert_eq(child->process->pid, (uint32_t)pid);
	cr_assert_eq(child->process->parent_pid, (uint32_t)getpid());
	cr_assert_str_eq(child->process->forked_from, parent->process->folder);
	cr_assert_eq(child->process->forked_at, forked_at);
	cr_assert_str_neq(child->process->folder, parent->process->folder);
	cr_assert_eq(child->process->generation, 1);
	kymo__definition__free_unpacked(parent, NULL);
	kymo__definition__free_unpacked(child, NULL);
	expect_events(getpid(), 2 * PARENT_EVENTS);
	expect_events(pid, CHILD_EVENTS);
}

Test(process_fork, a_child_has_a_folder_of_its_own_and_goes_on_with_the_ids)
{
	expect_a_process_of_its_own(fork);
}

Test(process_fork, so_has_a_child_of_a_raw_clone)
{
	expect_a_process_of_its_own(raw_fork);
}

static int fork_again(void)
{
	Kymo__Definition *child, *grandchild;
	pid_t pid;
	int status;

	CHECK(known_put(&r.host));
	pid = fork();
	if (pid == 0)
		_exit(known_put(&r.host) ? 0 : 1);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	child = process_of(getpid());
	grandchild = process_of(pid);
	CHECK(strcmp(grandchild->process->forked_from, child->process->folder) == 0);
	return 0;
}

Test(process_fork, a_grandchild_inherits_from_the_child)
{
	put(1);
	run_child(fork, fork_again);
}

static int be_forgotten(void)
{
	return 0;
}

Test(process_fork, a_child_that_records_nothing_leaves_nothing)
{
	put(1);
	cr_assert_eq(recording_open_folder(&r, run_child(fork, be_forgotten)), -1);
	cr_assert_eq(r.page->processes_unrecorded, 0);
}

static int adopt_and_define(void)
{
	CHECK(!define(1));
	kymo_process_adopt();
	CHECK(define(1));
	return 0;
}

Test(process_fork, a_child_may_join_before_its_first_event)
{
	put(1);
	kymo__definition__free_unpacked(process_of(run_child(fork, adopt_and_define)), NULL);
}

static int lose_everything(void)
{
	for (int i = 0; i < 10; i++)
		CHECK(!known_put(&r.host));
	CHECK(!kymo_process_is_recording());
	return 0;
}

Test(process_fork, a_child_without_room_for_a_folder_is_counted_and_lives)
{
	char elsewhere[KYMO_DIR_BYTES + 8];

	put(1);
	snprintf(elsewhere, sizeof elsewhere, "%s-moved", r.dir);
	cr_assert_eq(rename(r.dir, elsewhere), 0);
	run_child(fork, lose_everything);
	cr_assert_eq(rename(elsewhere, r.dir), 0);
	cr_assert_eq(r.page->processes_unrecorded, 1);
}

/* Another thread holds the lock at the fork, and is not there to give it back. */
static _Atomic uint32_t is_held, may_go;

static void *hold_the_lock(void *unused)
{
	pthread_mutex_lock(&kymo_process_lock);
	kymo_store_release_u32(&is_held, 1);
	while (!kymo_load_acquire_u32(&may_go))
		sched_yield();
	pthread_mutex_unlock(&kymo_process_lock);
	return unused;
}

static void run_child_while_locked(int (*body)(void))
{
	pthread_t thread;

	put(1);
	pthread_create(&thread, NULL, hold_the_lock, NULL);
	while (!kymo_load_acquire_u32(&is_held))
		sched_yield();
	run_child(fork, body);
	kymo_store_release_u32(&may_go, 1);
	pthread_join(thread, NULL);
}

static int record_one(void)
{
	alarm(20); /* a lock that nobody gives back */
	CHECK(known_put(&r.host));
	return 0;
}

Test(process_fork, a_lock_held_at_the_fork_does_not_hold_the_child)
{
	run_child_while_locked(record_one);
}

static int start_anew(void)
{
	alarm(20);
	kymo_process_stop(&r.gil);
	CHECK(!kymo_process_is_orphan());
	CHECK(!known_put(&r.host));
	recording_start(&r);
	CHECK(kymo_process_generation() == 2);
	CHECK(known_put(&r.host));
	return 0;
}

Test(process_fork, a_child_may_stop_and_start_a_recording_of_its_own)
{
	run_child_while_locked(start_anew);
}

static void exit_now(void *unused)
{
	(void)unused;
	_exit(0);
}

static int end_the_thread(void)
{
	pthread_key_t key; /* made after the recorder's, so that it is looked at after it */

	alarm(20);
	pthread_key_create(&key, exit_now);
	pthread_setspecific(key, &key);
	pthread_exit(NULL);
}

Test(process_fork, a_thread_that_ends_in_a_child_before_its_first_event_touches_nothing)
{
	run_child_while_locked(end_the_thread);
}

static void *put_one(void *unused)
{
	known_put(&r.host);
	return unused;
}

static int end_threads(void)
{
	pthread_t thread;

	alarm(20);
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, put_one, NULL);
		pthread_join(thread, NULL);
	}
	CHECK(kymo_current_process->meta.page->rings == 1);
	CHECK(kymo_current_process->meta.page->threads == 3);
	return 0;
}

Test(process_fork, threads_of_a_child_use_its_pool)
{
	run_child_while_locked(end_threads);
}
