// SPDX-License-Identifier: Apache-2.0
#include "pyext/session_start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/counter.h"
#include "pyext/recording.h"

/* Run @argv to its end, its stderr into @stderr_fd; its status as from waitpid(), or -errno. */
static int run(char *const argv[], int stderr_fd)
{
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;
	int code;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, stderr_fd, STDERR_FILENO);
	code = -posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (code)
		return code;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		/* The program ignores SIGCHLD, or waits for any child: the reader has ended, its
		 * status is not known, and its messages decide. */
		return errno == ECHILD ? 0 : -errno;
	}
	return status;
}

/* Start the reader, which then detaches itself from this process. */
static int start_reader(const char *program, char *dir, struct kymo_error *error)
{
	char pid[16];
	char *argv[] = {(char *)(uintptr_t)program, "_read", "--session", dir, "--owner", pid, NULL};
	int fds[2];
	ssize_t length;
	int status;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return kymo_fail(error, -errno, "cannot create a pipe: %s", strerror(errno));
	status = run(argv, fds[1]);
	length = read(fds[0], error->message, sizeof(error->message) - 1);
	close(fds[0]);
	close(fds[1]);
	if (status < 0)
		return kymo_fail(error, status, "cannot run %s: %s", program, strerror(-status));
	if (length <= 0)
		return status ? kymo_fail(error, -EIO, "cannot start the reader: %s exited with status %d", program, status) : 0;
	error->message[length] = 0;
	error->message[strcspn(error->message, "\n")] = 0;
	return status ? -EIO : 0;
}

/* The command as the program sees it.  Returns what keeps the strings alive while others may change the list, or NULL. */
static PyObject *set_argv(struct kymo_arena *arena, Kymo__Session *run)
{
	PyObject *argv = PySys_GetObject("orig_argv");
	PyObject *items = argv ? PySequence_Tuple(argv) : NULL;

	if (items)
		run->argv = kymo_texts(arena, items, &run->n_argv);
	else
		PyErr_Clear();
	return items;
}

bool kymo_session_start(const Kymo__Config *config, const char *program, char dir[KYMO_DIR_BYTES])
{
	struct kymo_arena arena = {0};
	struct kymo_error error = {0};
	Kymo__Session session = KYMO__SESSION__INIT;
	char here[PATH_MAX];
	PyObject *items;
	int code;

	items = set_argv(&arena, &session);
	session.working_directory = getcwd(here, sizeof(here)) ? here : "";
	Py_BEGIN_ALLOW_THREADS
	code = kymo_session_create(config, &session, dir, &error);
	if (code >= 0) {
		code = start_reader(program, dir, &error);
		if (code < 0)
			kymo_session_remove(dir);
	}
	Py_END_ALLOW_THREADS
	kymo_arena_free(&arena);
	Py_XDECREF(items);
	if (code < 0)
		kymo_raise(code, &error);
	return code >= 0;
}

/* False only if the reader is certainly gone. */
static bool reader_may_live(const struct kymo_session_page *page)
{
	uint32_t pid = kymo_load_relaxed_u32(&page->reader_pid);

	return !pid || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

int kymo_session_finish(struct kymo_session *session, enum kymo_stop_wanted how, uint64_t timeout_ns,
			struct kymo_error *error)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct kymo_session_page *page = kymo_session_page(session);
	uint64_t end = kymo_monotonic_ns() + timeout_ns;
	int code = 0;

	Py_BEGIN_ALLOW_THREADS
	/* Release: the process is stopped before the word that says so. */
	kymo_store_release_u32(&page->stop_wanted, how);
	while (!code && kymo_load_acquire_u32(&page->reader_state) != KYMO_READER_CLOSED) {
		if (!reader_may_live(page))
			code = kymo_fail(error, -EOWNERDEAD, "the trace is incomplete: the reader was killed; use kymo salvage to recover it");
		else if (kymo_monotonic_ns() > end)
			code = kymo_fail(error, -ETIMEDOUT, "the trace is still being written");
		else
			nanosleep(&pause, NULL);
	}
	if (!code) {
		code = kymo_session_failure(kymo_session_dir(session), error);
		/* It holds nothing that the reader has not taken. */
		if (code)
			kymo_session_remove(kymo_session_dir(session));
	}
	Py_END_ALLOW_THREADS
	return code;
}
