// SPDX-License-Identifier: Apache-2.0
/* Tests in a recording, by the marks that the pytest plugin leaves: see docs/guide/flaky.md. */
#ifndef KYMO_REPLAY_MOVES_TESTS_OF_H
#define KYMO_REPLAY_MOVES_TESTS_OF_H

#include "replay/moves/replay.h"

/*
 * Go to the test @name, its node id or a part of it: to where the exception was raised with which it failed, in its last attempt that
 * did; or, if it did not fail, to where it begins.  Of several tests that have @name in theirs, the one that is it or ends with it, or
 * the only one that failed.  0, or a negative errno: -ENOENT, and @error names some of the tests that it may be.
 */
KYMO_MUST_CHECK
int kymo_replay_goto_test(struct kymo_replay *replay, const char *name, struct kymo_error *error);

/*
 * The same, to the first test that failed, whose node id goes to @name, valid as long as the index.  1; 0: no test did, and nothing has
 * changed; *@count: how many did.
 */
KYMO_MUST_CHECK
int kymo_replay_goto_failed_test(struct kymo_replay *replay, const char **name, size_t *count, struct kymo_error *error);

#endif
