// SPDX-License-Identifier: Apache-2.0
/* What the parts of a line of Python are, for its colours: no more than a reader's eye looks for. */
#ifndef KYMO_REPLAY_DEBUGGER_PYTHON_WORDS_H
#define KYMO_REPLAY_DEBUGGER_PYTHON_WORDS_H

#include <stddef.h>

enum kymo_word_kind {
	KYMO_WORD_OTHER,
	KYMO_WORD_KEYWORD,
	KYMO_WORD_STRING,
	KYMO_WORD_NUMBER,
	KYMO_WORD_COMMENT,
};

/* Where a string in triple quotes goes on: its quote, or 0.  Zero it before a file's first line. */
struct kymo_word_state {
	char quote;
};

/* The kind of what begins at @line[@at], which is before @bytes, and its length, at least 1, in *@length. */
enum kymo_word_kind kymo_word_at(struct kymo_word_state *state, const char *line, size_t bytes, size_t at, size_t *length);

#endif
