// SPDX-License-Identifier: Apache-2.0
#include "recorder/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Anywhere in a name. */
static const char *const parts[] = {
	"password",    "passwd",     "passphrase", "passcode",	 "pwd",		"secret",	 "token",	  "api_key",
	"api-key",     "apikey",     "access_key", "access-key", "accesskey",	"authorization", "credential",
	"private_key", "private-key", "privatekey", "cookie",	 "session_id",	"session-id",	 "sessionid",
	"csrf",	       "xsrf",
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_letter(char c)
{
	return (lower(c) >= 'a' && lower(c) <= 'z') || c & 0x80;
}

/* The next @word, which is in lower case, in @text, or NULL.  Does not depend on the host's locale. */
static const char *find(const char *text, const char *word)
{
	for (; *text; text++) {
		size_t length = 0;

		while (word[length] && lower(text[length]) == word[length])
			length++;
		if (!word[length])
			return text;
	}
	return NULL;
}

/* True if @name has @word without other letters around it; @is_last: and without another word behind it. */
static bool has_word(const char *name, const char *word, bool is_last)
{
	for (const char *at = name; (at = find(at, word)); at++) {
		const char *next = at + strlen(word);

		if ((at > name && is_letter(at[-1])) || is_letter(*next))
			continue;
		/* An option of a command line may have its value behind it. */
		while (is_last && *next && *next != '=' && !is_letter(*next))
			next++;
		if (!is_last || !*next || *next == '=')
			return true;
	}
	return false;
}

bool kymo_redact_name(const char *name)
{
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (find(name, parts[i]))
			return true;
	/* `pass_` and `db_pass`, but not `passes`, `pass_count` and `bypass`. */
	return has_word(name, "pw", false) || has_word(name, "pass", true);
}

char **kymo_redact(char *const *argv, size_t count)
{
	char **copy = calloc(count + 1, sizeof *copy);
	bool is_value = false;

	for (size_t i = 0; copy && i < count; i++) {
		const char *arg = argv[i];
		const char *equals = arg[0] == '-' ? strchr(arg, '=') : NULL;
		bool is_secret = arg[0] == '-' && kymo_redact_name(arg);

		if (is_value && arg[0] != '-')
			copy[i] = strdup("[redacted]");
		else if (is_secret && equals && asprintf(&copy[i], "%.*s=[redacted]", (int)(equals - arg), arg) < 0)
			copy[i] = NULL;
		else if (!is_secret || !equals)
			copy[i] = strdup(arg);
		is_value = is_secret && !equals;
	}
	return copy;
}

void kymo_redact_free(char **copy, size_t count)
{
	for (size_t i = 0; copy && i < count; i++)
		free(copy[i]);
	free(copy);
}
