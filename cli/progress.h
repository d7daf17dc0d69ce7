// SPDX-License-Identifier: Apache-2.0
/* Progress of long work on a trace, on a terminal. */
#ifndef KYMO_CLI_PROGRESS_H
#define KYMO_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>

#include "format/frame_scan.h"

struct kymo_progress {
	const char *what; /* "kymo verify" */
	const struct kymo_watch *watch;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_shown; /* the thread was started */
	bool is_over;
};

/*
 * If stderr is a terminal and the work is not over within a second, show @watch's progress
 * there from then on.  Nothing else may be printed before kymo_progress_end().
 */
void kymo_progress_begin(struct kymo_progress *progress, const char *what,
			 const struct kymo_watch *watch);
void kymo_progress_end(struct kymo_progress *progress);

#endif
