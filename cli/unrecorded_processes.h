// SPDX-License-Identifier: Apache-2.0
/* What verbs say about processes that a trace names but that are not recorded. */
#ifndef KYMO_CLI_UNRECORDED_PROCESSES_H
#define KYMO_CLI_UNRECORDED_PROCESSES_H

#include <jansson.h>
#include <stdint.h>

#include "replay/trace/definitions.h"

/* The next one from kept[*@at] on, which is advanced behind it; NULL: there are no more. */
const Kymo__Unrecorded *kymo_unrecorded_next(const struct kymo_definitions *definitions, size_t *at);

/* Print its command line, or its parent if it is a fork, or how many there are, escaped, to stdout. */
void kymo_unrecorded_put_command(const struct kymo_definitions *definitions, const Kymo__Unrecorded *unrecorded);

/* Print each in two lines, or only that with this @pid; 0: all. */
void kymo_unrecorded_print(const struct kymo_definitions *definitions, uint64_t pid);

/* The same as a new array of objects. */
json_t *kymo_unrecorded_json(const struct kymo_definitions *definitions, uint64_t pid);

#endif
