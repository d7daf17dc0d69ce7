// SPDX-License-Identifier: Apache-2.0
#include "pyext/secrets.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/redact.h"

/* The number of a name's characters that are compared. */
#define LENGTH 256U

struct kymo_secrets *kymo_secrets_new(void)
{
	return calloc(1, sizeof(struct kymo_secrets));
}

static void free_patterns(char **patterns)
{
	for (char **at = patterns; at && *at; at++)
		free(*at);
	free(patterns);
}

void kymo_secrets_free(struct kymo_secrets *secrets)
{
	if (secrets)
		free_patterns(secrets->patterns);
	free(secrets);
}

/* Letters beyond ASCII are compared as they are. */
static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Make a pattern with wildcards match anywhere, by a * at both ends. */
static char *prepare(const char *pattern)
{
	bool is_glob = strpbrk(pattern, "*?[") != NULL;
	size_t length = strlen(pattern);
	char *made = malloc(length + 3), *to = made;

	if (!made)
		return NULL;
	if (is_glob)
		*to++ = '*';
	for (size_t i = 0; i < length; i++)
		*to++ = lower(pattern[i]);
	if (is_glob)
		*to++ = '*';
	*to = 0;
	return made;
}

bool kymo_secrets_set(struct kymo_secrets *secrets, char *const *patterns, size_t count)
{
	char **made = calloc(count + 1, sizeof(*made));

	if (!made)
		return false;
	for (size_t i = 0; i < count; i++) {
		made[i] = prepare(patterns[i]);
		if (!made[i]) {
			free_patterns(made);
			return false;
		}
	}
	free_patterns(secrets->patterns);
	secrets->patterns = made;
	memset(secrets->answers, 0, sizeof(secrets->answers));
	return true;
}

/* The first characters of @name in UTF-8 and lower case. */
static void spell(PyObject *name, char text[4 * LENGTH + 1])
{
	Py_ssize_t length = PyUnicode_GET_LENGTH(name);
	int kind = PyUnicode_KIND(name);
	const void *data = PyUnicode_DATA(name);

	for (Py_ssize_t i = 0; i < length && i < (Py_ssize_t)LENGTH; i++) {
		Py_UCS4 c = PyUnicode_READ(kind, data, i);

		if (c < 0x80) {
			*text++ = c ? lower((char)c) : ' ';
			continue;
		}
		if (c < 0x800) {
			*text++ = (char)(0xc0 | c >> 6);
		} else {
			if (c < 0x10000) {
				*text++ = (char)(0xe0 | c >> 12);
			} else {
				*text++ = (char)(0xf0 | c >> 18);
				*text++ = (char)(0x80 | (c >> 12 & 0x3f));
			}
			*text++ = (char)(0x80 | (c >> 6 & 0x3f));
		}
		*text++ = (char)(0x80 | (c & 0x3f));
	}
	*text = 0;
}

/* @text is in lower case. */
static bool contains(const struct kymo_secrets *secrets, const char *text)
{
	if (kymo_redact_name(text))
		return true;
	for (char **pattern = secrets->patterns; pattern && *pattern; pattern++)
		if (**pattern == '*' ? !fnmatch(*pattern, text, 0) : strstr(text, *pattern) != NULL)
			return true;
	return false;
}

static bool matches(const struct kymo_secrets *secrets, PyObject *name)
{
	char text[4 * LENGTH + 1];

	spell(name, text);
	return contains(secrets, text);
}

bool kymo_secrets_has_bytes(const struct kymo_secrets *secrets, const char *name, size_t bytes)
{
	char text[4 * LENGTH + 1];
	size_t length = 0;

	for (; length < bytes && length < sizeof(text) - 1; length++)
		text[length] = name[length] ? lower(name[length]) : ' ';
	text[length] = 0;
	return contains(secrets, text);
}

bool kymo_secrets_has_text(const struct kymo_secrets *secrets, const char *name)
{
	return kymo_secrets_has_bytes(secrets, name, strlen(name));
}

bool kymo_secrets_find(struct kymo_secrets *secrets, PyObject *name)
{
	Py_hash_t hash = ((PyASCIIObject *)name)->hash;
	bool is_secret = matches(secrets, name);

	if (hash != -1) {
		struct kymo_secret_answer *two = kymo_secrets_answers(secrets, name);

		if (two[0].name != name)
			two[1] = two[0];
		two[0] = (struct kymo_secret_answer){name, hash, is_secret};
	}
	return is_secret;
}
