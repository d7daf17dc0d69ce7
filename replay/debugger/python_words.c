// SPDX-License-Identifier: Apache-2.0
#include "replay/debugger/python_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* keyword.kwlist of CPython 3.12 to 3.15, and those that are keywords in some places */
static bool is_keyword(const char *word, size_t length)
{
	static const char *const keywords[] = {
		"False", "None",   "True",  "and",    "as",   "assert", "async",  "await", "break",	"class",  "continue", "def",
		"del",	 "elif",   "else",  "except", "finally", "for", "from",   "global", "if",	"import", "in",	      "is",
		"lambda", "nonlocal", "not", "or",    "pass", "raise",  "return", "try",   "while",	"with",	  "yield",    "match",
		"case",
	};

	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (strlen(keywords[i]) == length && !memcmp(keywords[i], word, length))
			return true;
	return false;
}

/* Where the string that goes on at @at ends: behind its quotes, or the line's end. */
static size_t string_end(struct kymo_word_state *state, const char *line, size_t bytes, size_t at)
{
	for (; at < bytes; at++) {
		if (line[at] == '\\')
			at++;
		else if (line[at] == state->quote && bytes - at >= 3 && line[at + 1] == state->quote && line[at + 2] == state->quote) {
			state->quote = 0;
			return at + 3;
		}
	}
	return bytes;
}

static size_t string_length(struct kymo_word_state *state, const char *line, size_t bytes, size_t at)
{
	char quote = line[at];
	size_t end = at + 1;

	if (bytes - at >= 3 && line[at + 1] == quote && line[at + 2] == quote) {
		state->quote = quote;
		return string_end(state, line, bytes, at + 3) - at;
	}
	while (end < bytes && line[end] != quote)
		end += line[end] == '\\' ? 2 : 1;
	return (end < bytes ? end + 1 : bytes) - at;
}

enum kymo_word_kind kymo_word_at(struct kymo_word_state *state, const char *line, size_t bytes, size_t at, size_t *length)
{
	size_t end = at + 1;

	*length = 1;
	if (state->quote) {
		*length = string_end(state, line, bytes, at) - at;
		return KYMO_WORD_STRING;
	}
	if (line[at] == '#') {
		*length = bytes - at;
		return KYMO_WORD_COMMENT;
	}
	if (line[at] == '"' || line[at] == '\'') {
		*length = string_length(state, line, bytes, at);
		return KYMO_WORD_STRING;
	}
	if (!is_of_name(line[at]))
		return KYMO_WORD_OTHER;
	while (end < bytes && (is_of_name(line[end]) || (isdigit((unsigned char)line[at]) && line[end] == '.')))
		end++;
	*length = end - at;
	if (isdigit((unsigned char)line[at]))
		return KYMO_WORD_NUMBER;
	return is_keyword(line + at, *length) ? KYMO_WORD_KEYWORD : KYMO_WORD_OTHER;
}
