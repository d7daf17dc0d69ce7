// SPDX-License-Identifier: Apache-2.0
/* Which interpreter runs a script, and where the files that make it record lie. */
#ifndef KYMO_CLI_PYTHON_CHOICE_H
#define KYMO_CLI_PYTHON_CHOICE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "format/error.h"

struct kymo_package {
	char folder[PATH_MAX];	   /* of the Python package: the extensions lie in it */
	char inject[PATH_MAX + 8]; /* holds sitecustomize.py and nothing else */
};

/* Find the package that belongs to this program. */
KYMO_MUST_CHECK
int kymo_package_find(struct kymo_package *package, struct kymo_error *error);

/*
 * The interpreter of the active virtual environment, else of the virtual or Conda environment
 * from which this program was run by path.  False: there is neither.
 */
KYMO_MUST_CHECK
bool kymo_python_of_environment(char path[PATH_MAX]);

/*
 * Choose the interpreter for a script: $KYMO_PYTHON, that of kymo_python_of_environment(),
 * `python3` on PATH if it can be recorded, else the newest python3.X there that can.
 */
KYMO_MUST_CHECK
int kymo_python_choose(const struct kymo_package *package, char path[PATH_MAX],
		       struct kymo_error *error);

/* The minor version of the Python 3 at @path; -1: it is not a Python 3 that runs. */
KYMO_MUST_CHECK
int kymo_python_minor(const char *path);

/*
 * Run @code with @argument (NULL: none) in the interpreter @python, alone with its standard
 * library, and put what it prints into @answer.  0 or a negative errno.
 */
KYMO_MUST_CHECK
int kymo_python_ask(const char *python, const char *code, const char *argument, char *answer,
		    size_t bytes);

/* Find program @name as execvp() would.  0, -ENOENT, or -EACCES: it cannot be executed. */
KYMO_MUST_CHECK
int kymo_program_find(const char *name, char path[PATH_MAX]);

#endif
