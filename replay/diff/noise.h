// SPDX-License-Identifier: Apache-2.0
/*
 * What differs in values from run to run by nature: times at which a clock was read, ids of processes, threads and objects, and in texts
 * addresses, names of temporary files and the folder in which the recording began.
 */
#ifndef KYMO_REPLAY_DIFF_NOISE_H
#define KYMO_REPLAY_DIFF_NOISE_H

#include "replay/diff/side.h"
#include "replay/values/values.h"

/* Whose values they are; begin with kymo_owner_of(). */
struct kymo_owner {
	const struct kymo_timeline *timeline;
	const struct kymo_stream *stream;
	const char *const *ignored; /* globs of names: attributes and keys that are passed over; ends with NULL */
	const char *folder; /* "": not known */
	int64_t unix_ns[2], monotonic_ns[2]; /* from when to when it ran */
	bool saw_time; /* a value that was hashed is, or holds, a time at which a clock was read */
	struct kymo_type_hash {
		uint64_t id, hash;
	} types[256]; /* those that were asked for last */
};

void kymo_owner_of(struct kymo_owner *owner, const struct kymo_timeline *timeline, const struct kymo_stream *stream,
		   const char *const *ignored);

enum kymo_noise {
	KYMO_NO_NOISE,
	KYMO_NOISE_TIME,
	KYMO_NOISE_ID,
};

enum kymo_noise kymo_noise_of(const struct kymo_owner *owner, const struct kymo_value *value);

/* The hash of a text without what differs by nature; @has_noise: there was some. */
uint64_t kymo_noise_hash(const struct kymo_owner *owner, const struct kymo_value *value, bool *has_noise);

#endif
