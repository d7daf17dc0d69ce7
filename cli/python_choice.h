// SPDX-License-Identifier: Apache-2.0
/* Which interpreter runs a script, and where the files that make it record lie. */
#ifndef KYMO_CLI_PYTHON_CHOICE_H
#define KYMO_CLI_PYTHON_CHOICE_H

#include <limits.h>

#include "format/error.h"

struct kymo_package {
	char folder[PATH_MAX];	   /* of the Python package: the extensions lie in it */
	char inject[PATH_MAX + 8]; /* holds sitecustomize.py and nothing else */
};

/* Find the package that belongs to this program. */
KYMO_MUST_CHECK
int kymo_package_find(struct kymo_package *package, struct kymo_error *error);

/*
 * Choose the interpreter for a script: $KYMO_PYTHON, that of the active virtual environment,
 * or the first on PATH that is new enough and has its extension here.  An interpreter is started
 * to find out only if the name that its links lead to does not tell its version.
 */
KYMO_MUST_CHECK
int kymo_python_choose(const struct kymo_package *package, char path[PATH_MAX],
		       struct kymo_error *error);

/* Find program @name as execvp() would.  0 or -ENOENT. */
KYMO_MUST_CHECK
int kymo_program_find(const char *name, char path[PATH_MAX]);

#endif
