// SPDX-License-Identifier: Apache-2.0
/*
 * Calls of a trace, or of a part of it, in the formats of other tools.
 *
 * Threads are written one after the other, as they are read: memory grows with the definitions, not with the events.
 */
#ifndef KYMO_REPLAY_PROFILE_EXPORT_EXPORT_H
#define KYMO_REPLAY_PROFILE_EXPORT_EXPORT_H

#include <stdio.h>

#include "replay/profile/slice.h"

struct kymo_export {
	struct kymo_timeline *timeline;
	const struct kymo_slice *slice;
	const struct kymo_contexts *contexts; /* NULL: slice->test is */
	FILE *out;
};

/*
 * Write all of it. 0, or a negative errno; -EIO with an empty message: @out could not be written; its error flag and errno are set,
 * too.
 */
typedef int (*kymo_exporter)(const struct kymo_export *export, struct kymo_error *error);

KYMO_MUST_CHECK
int kymo_export_perfetto(const struct kymo_export *export, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_export_chrome(const struct kymo_export *export, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_export_speedscope(const struct kymo_export *export, struct kymo_error *error);
KYMO_MUST_CHECK
int kymo_export_gecko(const struct kymo_export *export, struct kymo_error *error);

#endif
