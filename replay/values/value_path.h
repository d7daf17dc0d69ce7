// SPDX-License-Identifier: Apache-2.0
/* Paths into a recorded value: `.x`, `[0]`, `[-1]`, `["tea"]`, one behind the other. */
#ifndef KYMO_REPLAY_VALUES_VALUE_PATH_H
#define KYMO_REPLAY_VALUES_VALUE_PATH_H

#include "replay/values/values.h"

/* The length of the name at the beginning of @text; 0: none. */
size_t kymo_name_bytes(const char *text);

/*
 * Follow @path from @node of @tree to *@found. Messages name @node by the part of @whole before @path. 0; -EINVAL: not a path;
 * -ENODATA: nothing was recorded there.
 */
KYMO_MUST_CHECK
int kymo_value_path(const struct kymo_value_tree *tree, uint32_t node, const char *whole, const char *path, uint32_t *found,
		    struct kymo_error *error);
/* The same without a value: 0 or -EINVAL. */
KYMO_MUST_CHECK
int kymo_value_path_check(const char *whole, const char *path, struct kymo_error *error);

#define KYMO_UNREAD_BYTES 256

/* "rows" or "columns" of a Series or DataFrame whose labels were not read, so that items were left out, and @why; NULL: none. */
const char *kymo_value_unread_labels(const struct kymo_value_tree *tree, const struct kymo_value *value, char why[KYMO_UNREAD_BYTES]);

/* A hash of a value as it was recorded, practically without collisions; not 0. */
uint64_t kymo_value_hash(const struct kymo_value_tree *tree, uint32_t node);

#endif
