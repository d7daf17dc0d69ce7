// SPDX-License-Identifier: Apache-2.0
/* The reader as a process that the recorded program cannot wait for, signal or notice. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/reader.h"
#include "reader/terminate.h"

static void set_up_signals(void)
{
	/* SIGXFSZ and SIGPIPE become errors of the calls; the rest is meant for the program. */
	static const int ignored[] = {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2,
				      SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU};
	struct sigaction action = {.sa_handler = kymo_terminate};
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Close all files of the program: the other end of a pipe would wait for us. */
static int set_up_files(int status_fd)
{
	/* First move it away from the low numbers: the program may have closed its own there. */
	int status = fcntl(status_fd, F_DUPFD, 4);
	int null = open("/dev/null", O_RDWR);
	int kept = 3;

	for (int fd = 0; fd < kept && null >= 0; fd++)
		dup2(null, fd);
	dup2(status, kept);
	if (syscall(SYS_close_range, kept + 1, ~0U, 0)) {
		struct rlimit files;

		if (getrlimit(RLIMIT_NOFILE, &files))
			files.rlim_cur = 1024;
		for (int fd = kept + 1; (rlim_t)fd < files.rlim_cur; fd++)
			close(fd);
	}
	fcntl(kept, F_SETFD, FD_CLOEXEC);
	return kept;
}

static void set_up_limits(void)
{
	struct rlimit files;

	/* A descriptor for each ring and two for each process. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	umask(077);
	prctl(PR_SET_NAME, "kymo-reader");
}

_Noreturn static void become_reader(const char *session_dir, struct kymo_reader_options options)
{
	int err;

	set_up_signals();
	options.status_fd = set_up_files(options.status_fd);
	set_up_limits();
	/* Do not keep the program's directory busy; the session's path is absolute. */
	if (chdir("/"))
		err = -errno;
	err = kymo_reader_run(session_dir, &options, NULL);
	/* Not exit(): it would run exit handlers of the program that was forked. */
	_exit(err ? 1 : 0);
}

static int wait_for_start(int fd, struct kymo_error *error)
{
	char text[sizeof(int32_t) + sizeof error->message];
	size_t used = 0;
	int32_t code;

	while (used < sizeof text) {
		ssize_t got = read(fd, text + used, sizeof text - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return kymo_fail(error, -ECHILD, "cannot start the reader: it exited during start-up");
		used += (size_t)got;
	}
	memcpy(&code, text, sizeof code);
	text[sizeof text - 1] = 0;
	return code ? kymo_fail(error, code, "%s", text + sizeof code) : 0;
}

int kymo_reader_spawn(const char *session_dir, const struct kymo_reader_options *options,
		      struct kymo_error *error)
{
	struct kymo_reader_options own = *options;
	int pipe_fds[2], err;
	pid_t child;

	if (session_dir[0] != '/')
		return kymo_fail(error, -EINVAL, "session directory is not an absolute path: %s", session_dir);
	if (pipe2(pipe_fds, O_CLOEXEC))
		return kymo_fail(error, -errno, "cannot create a pipe: %s", strerror(errno));
	own.status_fd = pipe_fds[1];
	if (!own.owner_pid)
		own.owner_pid = (uint32_t)getpid();
	child = fork();
	if (!child) {
		/* The second fork makes init the reader's parent. */
		setsid();
		child = fork();
		if (!child)
			become_reader(session_dir, own);
		_exit(child < 0);
	}
	err = errno;
	close(pipe_fds[1]);
	if (child < 0) {
		close(pipe_fds[0]);
		return kymo_fail(error, -err, "cannot start the reader: %s", strerror(err));
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	err = wait_for_start(pipe_fds[0], error);
	close(pipe_fds[0]);
	return err;
}
