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
 * or the first on PATH that is not known to be too old.  No interpreter is started: a version
 * is known by the name that the links lead to, and where it is, the extension must be there.
 */
KYMO_MUST_CHECK
int kymo_python_choose(const struct kymo_package *package, char path[PATH_MAX],
		       struct kymo_error *error);

/* Find program @name as execvp() would.  0 or -ENOENT. */
KYMO_MUST_CHECK
int kymo_program_find(const char *name, char path[PATH_MAX]);

#endif
