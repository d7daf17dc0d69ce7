// SPDX-License-Identifier: Apache-2.0
#include "recorder/redact.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool looks_secret(const char *option)
{
	static const char *const words[] = {"password", "passwd", "secret", "token", "api-key",
					    "api_key",	"apikey", "credential"};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strcasestr(option, words[i]))
			return true;
	}
	return false;
}

char **kymo_redact(char *const *argv, size_t count)
{
	char **copy = calloc(count + 1, sizeof *copy);
	bool is_value = false;

	for (size_t i = 0; copy && i < count; i++) {
		const char *arg = argv[i];
		const char *equals = arg[0] == '-' ? strchr(arg, '=') : NULL;
		bool is_secret = arg[0] == '-' && looks_secret(arg);

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
