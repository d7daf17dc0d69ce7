// SPDX-License-Identifier: Apache-2.0
/* Python code that was given on a command line. */
#ifndef KYMO_READER_SOURCE_COMMAND_H
#define KYMO_READER_SOURCE_COMMAND_H

#include <stdbool.h>

#include "format/metadata.pb-c.h"

/* The word after -c in the process's argv, or NULL. */
const char *kymo_source_command(const Kymo__Process *facts);

/* True if a part of the word was left out when argv was recorded. */
bool kymo_source_is_redacted(const char *word);

#endif
