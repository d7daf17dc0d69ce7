// SPDX-License-Identifier: Apache-2.0
/* Tests in a recording, by the marks that the pytest plugin leaves: see docs/guide/flaky.md. */
#ifndef KYMO_REPLAY_MOVES_TESTS_OF_H
#define KYMO_REPLAY_MOVES_TESTS_OF_H

#include "replay/moves/replay.h"

/*
 * Go to the test @name, a node id or a part of one: to where the exception was raised that made its last failed attempt fail; or, if
 * it did not fail, to where it begins. If several node ids contain @name, an equal one is taken, or one that ends with it, or the
 * only one that failed. 0, or a negative errno: -ENOENT, and @error names some tests that may be meant.
 */
KYMO_MUST_CHECK
int kymo_replay_goto_test(struct kymo_replay *replay, const char *name, struct kymo_error *error);

/*
 * The same, to the first test that failed. Its node id goes to @name, valid as long as the index. 1; 0: no test failed, and nothing
 * has changed; *@count: how many failed.
 */
KYMO_MUST_CHECK
int kymo_replay_goto_failed_test(struct kymo_replay *replay, const char **name, size_t *count, struct kymo_error *error);

#endif
