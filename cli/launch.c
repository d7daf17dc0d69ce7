// SPDX-License-Identifier: Apache-2.0
#include "cli/launch.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"

#define SECOND_NS 1000000000U
#define PATIENCE_NS (2ULL * SECOND_NS) /* after a second SIGTERM */

/* Signals that a caller sends to us but means for the program. */
static const int passed_on[] = {SIGINT,	SIGQUIT, SIGTERM,  SIGHUP, SIGUSR1,
				SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};

static void fill_waited(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGCHLD);
	for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
		sigaddset(signals, passed_on[i]);
}

int kymo_launch(const char *path, char *const argv[], pid_t *pid, struct kymo_error *error)
{
	posix_spawnattr_t attributes;
	sigset_t blocked, before;
	int result;

	/* Blocked before the program starts, so that none is missed. */
	fill_waited(&blocked);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &before);
	result = posix_spawn(pid, path, NULL, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	if (result) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return kymo_fail(error, -result, "cannot run %s: %s", path, strerror(result));
	}
	return 0;
}

int kymo_launch_fork(pid_t *pid, struct kymo_error *error)
{
	sigset_t blocked, before;

	fill_waited(&blocked);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	fflush(NULL);
	*pid = fork();
	if (*pid <= 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	return *pid < 0 ? kymo_fail(error, -errno, "cannot fork: %s", strerror(errno)) : !*pid;
}

static bool has_ended(pid_t pid, int *status, const struct kymo_watcher *watcher)
{
	return watcher && watcher->session_dir ? kymo_watcher_serve(watcher, pid, status) : waitpid(pid, status, WNOHANG) == pid;
}

int kymo_launch_wait(pid_t pid, void (*look)(void *context), void *context, const struct kymo_watcher *watcher)
{
	const struct timespec step = {.tv_nsec = 100000000}, second = {.tv_sec = 1};
	uint64_t deadline_ns = 0;
	unsigned terminations = 0;
	sigset_t signals;

	fill_waited(&signals);
	for (;;) {
		siginfo_t info;
		int status, number;

		if (has_ended(pid, &status, watcher))
			return status;
		if (deadline_ns && kymo_monotonic_ns() >= deadline_ns)
			return -1;
		number = sigtimedwait(&signals, &info, deadline_ns ? &step : look ? &second : NULL);
		if (number < 0 && errno == EAGAIN && look)
			look(context);
		if (number <= 0 || number == SIGCHLD)
			continue;
		/* From the kernel, that is from the terminal: the program got it, too. */
		if (info.si_code != SI_KERNEL)
			kill(pid, number);
		if (number == SIGTERM && ++terminations == 2)
			deadline_ns = kymo_monotonic_ns() + PATIENCE_NS;
	}
}

/* True if process @pid is gone; nobody may have reaped it yet. */
static bool is_gone(pid_t pid)
{
	char path[64], line[512];
	const char *state = NULL;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof line, file))
		state = strrchr(line, ')');
	if (file)
		fclose(file);
	return !state || state[2] == 'Z' || state[2] == 'X';
}

static bool has_reader(const struct kymo_session_page *page)
{
	return !is_gone((pid_t)kymo_load_relaxed_u32(&page->reader_pid));
}

int kymo_launch_wait_for_reader(struct kymo_session_page *page, const char *session_dir, const struct kymo_watcher *watcher)
{
	struct timespec step = {.tv_sec = 0, .tv_nsec = 200000};
	uint64_t look_ns = 0;
	sigset_t signals;

	/* The program has ended: the signals that kymo_launch() blocked are for us now. */
	fill_waited(&signals);
	/* Acquire: the file has its name when the state says so.  Pairs with the reader's release. */
	while (kymo_load_acquire_u32(&page->reader_state) != KYMO_READER_CLOSED) {
		int number = sigtimedwait(&signals, NULL, &step), status;

		/* Processes that the program left behind may still be watched. */
		if (watcher && watcher->session_dir)
			(void)kymo_watcher_serve(watcher, 0, &status);
		if (number == SIGINT || number == SIGTERM || number == SIGHUP)
			kymo_store_release_u32(&page->stop_wanted, KYMO_STOP_SEAL);
		if (step.tv_nsec < 10000000)
			step.tv_nsec += step.tv_nsec / 4;
		if (kymo_monotonic_ns() < look_ns)
			continue;
		look_ns = kymo_monotonic_ns() + SECOND_NS / 4;
		if (!has_reader(page) &&
		    kymo_load_acquire_u32(&page->reader_state) != KYMO_READER_CLOSED)
			return -1;
	}
	while (!access(session_dir, F_OK) && has_reader(page))
		nanosleep(&step, NULL);
	return 0;
}

int kymo_launch_end(int status)
{
	const struct rlimit no_core = {0, 0};
	sigset_t signals;
	int number;

	if (status < 0)
		return 128 + SIGTERM;
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	number = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, number);
	fflush(NULL);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	return 128 + number;
}
