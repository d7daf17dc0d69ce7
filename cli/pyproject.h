// SPDX-License-Identifier: Apache-2.0
/* The table [tool.kymo] of the nearest pyproject.toml. */
#ifndef KYMO_CLI_PYPROJECT_H
#define KYMO_CLI_PYPROJECT_H

#include <jansson.h>
#include <limits.h>

#include "format/error.h"

/*
 * Find the nearest pyproject.toml from @directory upwards, and read its table [tool.kymo]: an
 * object whose values are arrays of strings, whatever type they have in the file.
 *
 * An interpreter reads it, since its standard library has a TOML parser; it is started only if
 * the file contains the text "tool.kymo".  Returns 0, with @table NULL if there is none, and
 * with the path of the file in @path if there is one; or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_pyproject_read(const char *directory, char path[PATH_MAX], json_t **table,
			struct kymo_error *error);

#endif
