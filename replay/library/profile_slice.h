// SPDX-License-Identifier: Apache-2.0
/* Converts the slice of a profile or timeline to that of the reader of calls. */
#ifndef KYMO_REPLAY_LIBRARY_PROFILE_SLICE_H
#define KYMO_REPLAY_LIBRARY_PROFILE_SLICE_H

#include "replay/library/profile.h"
#include "replay/profile/slice.h"

static inline struct kymo_slice kymo_profile_slice_of(const struct kymo_profile_slice *wanted)
{
	return (struct kymo_slice){
		.from_ns = wanted->from_ns,
		.to_ns = wanted->to_ns,
		.process = (uint64_t)wanted->process,
		.thread = wanted->thread,
		.function = wanted->function,
		.test = wanted->test,
		.min_duration_ns = wanted->min_duration_ns,
	};
}

#endif
