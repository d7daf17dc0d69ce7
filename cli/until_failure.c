// SPDX-License-Identifier: Apache-2.0
#include "cli/until_failure.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/launch.h"
#include "reader/output_name.h"
#include "replay/trace/text.h"

static void name_passed(const char *output, char passed[PATH_MAX + 8])
{
	const char *slash = strrchr(output, '/'), *suffix = strrchr(output, '.');
	size_t stem = suffix > slash + 1 ? (size_t)(suffix - output) : strlen(output);

	snprintf(passed, PATH_MAX + 8, "%.*s-passed%s", (int)stem, output, output + stem);
}

static void print_attempt(const struct kymo_attempts *attempts, uint64_t number, int status, const char *passed)
{
	fprintf(stderr, "kymo: attempt %" PRIu64 " ", number);
	if (WIFSIGNALED(status))
		fprintf(stderr, "was killed by signal %d", WTERMSIG(status));
	else
		fprintf(stderr, "failed with status %d", WEXITSTATUS(status));
	fputs(": ", stderr);
	kymo_text_put(stderr, kymo_shown_path(attempts->output, attempts->directory));
	if (number > 1) {
		fprintf(stderr, "; attempt %" PRIu64 " passed: ", number - 1);
		kymo_text_put(stderr, kymo_shown_path(passed, attempts->directory));
	} else {
		fputs("; none passed before it", stderr);
	}
	fputc('\n', stderr);
}

/* Run `kymo diff`, with its output to stderr. */
static void show_difference(const char *passed, const char *failed)
{
	struct kymo_error error;
	pid_t pid;
	int result = kymo_launch_fork(&pid, &error);

	if (result > 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl("/proc/self/exe", "kymo", "diff", passed, failed, (char *)NULL);
		_exit(KYMO_EXIT_CANNOT_RUN);
	}
	if (result < 0)
		kymo_report(&error);
	else
		kymo_launch_wait(pid, NULL, NULL, NULL);
}

/* True if the user has ended it, which says nothing of the command. */
static bool is_interrupted(int status)
{
	return status < 0 || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM ||
						       WTERMSIG(status) == SIGHUP));
}

int kymo_record_until_failure(const struct kymo_attempts *attempts, void *context)
{
	char passed[PATH_MAX + 8];
	struct kymo_error error;

	name_passed(attempts->output, passed);
	if (kymo_output_check(kymo_shown_path(passed, attempts->directory), attempts->may_replace, &error))
		return kymo_report(&error);
	unlink(passed);
	for (uint64_t number = 1; number <= attempts->limit; number++) {
		pid_t pid;
		int status, result = kymo_launch_fork(&pid, &error);

		if (result > 0)
			return attempts->record(context);
		if (result < 0)
			return kymo_report(&error);
		status = kymo_launch_wait(pid, NULL, NULL, NULL);
		/* An error of recording has been reported. */
		if (is_interrupted(status) || access(attempts->output, F_OK))
			return kymo_launch_end(status);
		if (status) {
			print_attempt(attempts, number, status, passed);
			if (number > 1)
				show_difference(passed, attempts->output);
			return kymo_launch_end(status);
		}
		if (rename(attempts->output, passed)) {
			kymo_fail(&error, -errno, "%s: %s", passed, strerror(errno));
			return kymo_report(&error);
		}
	}
	fprintf(stderr, "kymo: %" PRIu64 " %s passed, the last one is ", attempts->limit,
		attempts->limit == 1 ? "attempt" : "attempts");
	kymo_text_put(stderr, kymo_shown_path(passed, attempts->directory));
	fputc('\n', stderr);
	return KYMO_EXIT_OK;
}
