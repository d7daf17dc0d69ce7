// SPDX-License-Identifier: Apache-2.0
/* The options that say which part of a trace is wanted: spelled the same on every verb. */
#ifndef KYMO_CLI_SLICE_OPTIONS_H
#define KYMO_CLI_SLICE_OPTIONS_H

#include "cli/option_table.h"
#include "replay/coverage/contexts.h"
#include "replay/profile/slice.h"

/* These fill a struct kymo_slice: for verbs that show events … */
extern const struct kymo_option kymo_part_options[];
/* … and, beside those, for verbs that show calls. */
extern const struct kymo_option kymo_call_options[];

/* For verbs that fold code that is not the project's; what they fill is in the Python package. */
extern const struct kymo_option kymo_profile_options[];

/* As kymo_contexts_find(), if a test is given; -ENOENT: there is none of that name. */
KYMO_MUST_CHECK
int kymo_slice_find_contexts(const struct kymo_slice *slice, struct kymo_timeline *timeline, struct kymo_contexts *contexts,
			     struct kymo_error *error);

#endif
