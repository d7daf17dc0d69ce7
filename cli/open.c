// SPDX-License-Identifier: Apache-2.0
#include "cli/open.h"

#include <errno.h>
#include <signal.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "replay/trace/describe.h"

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int number)
{
	(void)number;
	is_interrupted = true;
}

int kymo_open_trace(struct kymo_indexed *indexed, const char *verb, const char *path, bool keeps)
{
	/* A second Ctrl-C ends it without waiting. */
	struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART | (int)SA_RESETHAND}, before;
	struct kymo_progress progress;
	struct kymo_error error;
	int result;

	indexed->timeline = (struct kymo_timeline){0};
	sigaction(SIGINT, NULL, &before);
	if (before.sa_handler != SIG_IGN)
		sigaction(SIGINT, &action, NULL);
	kymo_progress_begin(&progress, verb, &indexed->timeline.trace.watch);
	result = kymo_indexed_open(indexed, path, keeps, &is_interrupted, &error);
	kymo_progress_end(&progress);
	sigaction(SIGINT, &before, NULL);
	if (!result) {
		kymo_report_damage(&indexed->timeline.trace);
		return KYMO_EXIT_OK;
	}
	kymo_report(&error);
	if (result == -EINTR)
		raise(SIGINT); /* so that a shell sees why it ended */
	return KYMO_EXIT_FAILURE;
}
