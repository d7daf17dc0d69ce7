// SPDX-License-Identifier: Apache-2.0
/* Verbs that the Python package does. */
#ifndef KYMO_CLI_HAND_OVER_H
#define KYMO_CLI_HAND_OVER_H

/*
 * Find a Python, of the version that recorded the first trace among the words if there is one, and let main() of @module go on with
 * @verb and the words; --help is answered here, and --python taken out.  Returns an exit status, if at all.
 */
int kymo_hand_over(const char *verb, const char *module, const char *help, int argc, char **argv);

#endif
