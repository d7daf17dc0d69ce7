// SPDX-License-Identifier: Apache-2.0
/* A growing list of strings: values of an option, a command line. */
#ifndef KYMO_CLI_WORDS_H
#define KYMO_CLI_WORDS_H

#include <stddef.h>

#include "format/error.h"

/* Zeroed: empty. */
struct kymo_words {
	char **words; /* NULL, or @count of them and then a NULL */
	size_t count;
};

/* Add a copy of @word.  0 or -ENOMEM. */
KYMO_MUST_CHECK
int kymo_words_add(struct kymo_words *list, const char *word);

/* Add the parts of @text that are not empty, between them colons. */
KYMO_MUST_CHECK
int kymo_words_split(struct kymo_words *list, const char *text);

void kymo_words_free(struct kymo_words *list);

#endif
