// SPDX-License-Identifier: Apache-2.0
/* The wanted part of a trace, by the options of `kymo export` and other verbs, and the calls in it. */
#ifndef KYMO_REPLAY_PROFILE_SLICE_H
#define KYMO_REPLAY_PROFILE_SLICE_H

#include "replay/profile/calls.h"

struct kymo_contexts;

/* All of it: KYMO_SLICE_ALL. */
struct kymo_slice {
	int64_t from_ns, to_ns;
	uint64_t process;     /* its pid; 0: all */
	const char *thread;   /* native id, number or name; NULL: all */
	const char *function; /* glob of qualified names: only calls of these functions, with all that they call; NULL: all */
	const char *test;     /* what ran in this context or its phases; NULL: all */
	int64_t min_duration_ns; /* shorter calls are left out, with all that they called */
};
#define KYMO_SLICE_ALL ((struct kymo_slice){.from_ns = INT64_MIN, .to_ns = INT64_MAX})

/* True if @stream may have something that is wanted. */
bool kymo_slice_wants_stream(const struct kymo_slice *slice, const struct kymo_stream *stream);

/*
 * The wanted calls of one thread, with the guarantees of calls.h except one: with min_duration_ns, MARK may come before the BEGIN of
 * a call that began earlier.
 */
struct kymo_sliced_calls;

/* @contexts: of @timeline, if slice->test is set; else NULL. -ENOMEM: no memory. */
KYMO_MUST_CHECK
int kymo_sliced_calls_open(struct kymo_sliced_calls **calls, struct kymo_timeline *timeline,
			   const struct kymo_stream *stream, const struct kymo_slice *slice,
			   const struct kymo_contexts *contexts, struct kymo_error *error);
void kymo_sliced_calls_close(struct kymo_sliced_calls *calls);
KYMO_MUST_CHECK
int kymo_sliced_calls_next(struct kymo_sliced_calls *calls, struct kymo_call *call, struct kymo_error *error);

#endif
