// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 1000000000
#define STEP_NS 200000000

/* True if the work was over before @ns had gone by; the lock is held. */
static bool is_over_within(struct kymo_progress *progress, long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!progress->is_over)
		if (pthread_cond_clockwait(&progress->wake, &progress->lock, CLOCK_MONOTONIC,
					   &until) == ETIMEDOUT)
			break;
	return progress->is_over;
}

static void *show_progress(void *context)
{
	struct kymo_progress *progress = context;
	const char *erase = "";

	pthread_mutex_lock(&progress->lock);
	for (long ns = PATIENCE_NS; !is_over_within(progress, ns); ns = STEP_NS) {
		uint64_t done = kymo_load_relaxed_u64(&progress->watch->done);
		uint64_t total = kymo_load_relaxed_u64(&progress->watch->total);

		if (!total)
			continue;
		if (done > total)
			done = total;
		fprintf(stderr, "\r%s: %3.0f %%", progress->what,
			100 * (double)done / (double)total);
		erase = "\r\033[K";
	}
	fputs(erase, stderr);
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

void kymo_progress_begin(struct kymo_progress *progress, const char *what,
			 const struct kymo_watch *watch)
{
	*progress = (struct kymo_progress){
		.what = what,
		.watch = watch,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.wake = PTHREAD_COND_INITIALIZER,
	};
	progress->is_shown = isatty(STDERR_FILENO) &&
			     !pthread_create(&progress->thread, NULL, show_progress, progress);
}

void kymo_progress_end(struct kymo_progress *progress)
{
	if (!progress->is_shown)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->is_over = true;
	pthread_cond_signal(&progress->wake);
	pthread_mutex_unlock(&progress->lock);
	pthread_join(progress->thread, NULL);
}
