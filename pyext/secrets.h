// SPDX-License-Identifier: Apache-2.0
/*
 * Names whose values are not recorded: those that contain one of a list of words, in upper or lower case.
 *
 * There is a built-in list; a recording may add words of its own, or patterns of fnmatch(3).
 */
#ifndef KYMO_PYEXT_SECRETS_H
#define KYMO_PYEXT_SECRETS_H

#include "pyext/cpython/cpython.h"

#define KYMO_SECRET_BITS 11

/* One interpreter's.  GIL held. */
struct kymo_secrets {
	char **patterns; /* NULL at the end */
	/* by address, two in a place, the later one first; see kymo_secrets_has() */
	struct kymo_secret_answer {
		const PyObject *name;
		Py_hash_t hash;
		bool is_secret;
	} answers[1 << KYMO_SECRET_BITS][2];
};

/* NULL: no memory. */
struct kymo_secrets *kymo_secrets_new(void);
void kymo_secrets_free(struct kymo_secrets *secrets);

/* Use the built-in list and @patterns, in UTF-8, from now on; false: no memory, and the list is as before. */
bool kymo_secrets_set(struct kymo_secrets *secrets, char *const *patterns, size_t count);

/* The two places of @name. */
static inline struct kymo_secret_answer *kymo_secrets_answers(struct kymo_secrets *secrets, const PyObject *name)
{
	return secrets->answers[((uintptr_t)name >> 4) * 0x9e3779b97f4a7c15U >> (64 - KYMO_SECRET_BITS)];
}

/* As kymo_secrets_has(), for a name that was not looked up lately. */
bool kymo_secrets_find(struct kymo_secrets *secrets, PyObject *name);

/* True if @name, a str or of a derived type, is secret. */
static inline bool kymo_secrets_has(struct kymo_secrets *secrets, PyObject *name)
{
	const struct kymo_secret_answer *answer = kymo_secrets_answers(secrets, name);
	/* Another str at the same address has another hash; one that was never hashed has none yet. */
	Py_hash_t hash = ((PyASCIIObject *)name)->hash;

	answer += answer->name != name;
	if (answer->name == name && answer->hash == hash && hash != -1)
		return answer->is_secret;
	return kymo_secrets_find(secrets, name);
}

/* The same for a name in UTF-8. */
bool kymo_secrets_has_text(const struct kymo_secrets *secrets, const char *name);
bool kymo_secrets_has_bytes(const struct kymo_secrets *secrets, const char *name, size_t bytes);

#endif
