// SPDX-License-Identifier: Apache-2.0
/* Verbs that the Python package implements. */
#ifndef KYMO_CLI_HAND_OVER_H
#define KYMO_CLI_HAND_OVER_H

#include "cli/option_table.h"

/*
 * Find a Python, of the version that recorded the first trace among the operands and values if there is one, and run main() of
 * @module in it with @verb, the words name=value of its options, "--" and the operands.  Returns an exit status, if at all.
 */
int kymo_hand_over(const char *verb, const char *module, const struct kymo_words *words, char **operands);

/* The same for a verb that is implemented entirely in the package. */
int kymo_hand_over_all(const struct kymo_verb *verb, const char *module, int argc, char **argv);

/* Tables of such verbs: --python; and which files count, for those that take coverage.py's settings. */
extern const struct kymo_option kymo_python_option[], kymo_scope_options[];

#endif
