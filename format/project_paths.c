// SPDX-License-Identifier: Apache-2.0
#include "format/project_paths.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

/* The end of PREFIX in PREFIX/lib/python3.13/…, which is the place of an interpreter's library on Linux; NULL: @file does not lie
   there. */
static const char *find_library(const char *file)
{
	for (const char *at = strstr(file, "/lib"); at; at = strstr(at + 1, "/lib")) {
		const char *rest = at + 4;

		rest += strncmp(rest, "64", 2) ? 0 : 2;
		if (strncmp(rest, "/python3", 8))
			continue;
		rest += 8;
		if (*rest == '.' && digits(rest + 1)) {
			rest += 1 + digits(rest + 1);
			rest += *rest == 't';
		}
		if (*rest == '/')
			return at;
	}
	return NULL;
}

/* …/python313.zip/… */
static bool is_in_zip(const char *file)
{
	for (const char *at = strstr(file, "/python3"); at; at = strstr(at + 1, "/python3")) {
		size_t version = digits(at + 8);

		if (version && !strncmp(at + 8 + version, ".zip/", 5))
			return true;
	}
	return false;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), count = strlen(end);

	return length >= count && !strcmp(text + length - count, end);
}

void kymo_project_add_prefix(struct kymo_project *project, const char *prefix)
{
	size_t length = strlen(prefix);

	for (size_t at = 0; at < project->bytes; at += strlen(project->prefixes + at) + 1)
		if (!strcmp(project->prefixes + at, prefix))
			return;
	if (!length || length >= sizeof(project->prefixes) - project->bytes)
		return;
	memcpy(project->prefixes + project->bytes, prefix, length + 1);
	project->bytes += length + 1;
}

void kymo_project_learn(struct kymo_project *project, const char *file)
{
	const char *end = find_library(file);
	char prefix[sizeof(project->prefixes)];

	if (!end || (size_t)(end - file) >= sizeof(prefix))
		return;
	memcpy(prefix, file, (size_t)(end - file));
	prefix[end - file] = '\0';
	kymo_project_add_prefix(project, prefix);
}

/* PREFIX/bin/NAME of a known interpreter. */
static bool is_script(const struct kymo_project *project, const char *file)
{
	for (size_t at = 0; at < project->bytes;) {
		const char *prefix = project->prefixes + at;
		size_t length = strlen(prefix);

		if (!strncmp(file, prefix, length) && !strncmp(file + length, "/bin/", 5) && !strchr(file + length + 5, '/'))
			return true;
		at += length + 1;
	}
	return false;
}

const char *kymo_given_code(char *const *argv, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const char *letter = argv[i];
		const char *next = i + 1 < count ? argv[i + 1] : NULL;

		if (letter[0] != '-' || !letter[1])
			return NULL;
		if (letter[1] == '-') {
			i += !strcmp(letter, "--check-hash-based-pycs");
			continue;
		}
		while (*++letter && !strchr("cmWX", *letter))
			;
		if (*letter == 'c')
			return letter[1] ? letter + 1 : next;
		if (*letter == 'm')
			return NULL;
		i += *letter && !letter[1];
	}
	return NULL;
}

/* Code that is in no file, but that the user typed. */
static bool is_typed(const struct kymo_project *project, const char *name)
{
	static const char *const begins[] = {"<stdin>", "<stdin-", "<python-input-", "<ipython-input-", "<doctest "};

	for (size_t i = 0; i < COUNT_OF(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return project->has_command && !strcmp(name, "<string>");
}

bool kymo_project_has(const struct kymo_project *project, const char *file)
{
	if (*file == '<' || !*file)
		return is_typed(project, file);
	return !find_library(file) && !is_in_zip(file) && !strstr(file, "/site-packages/") && !strstr(file, "/dist-packages/") &&
	       !ends_with(file, "/kymo/inject/sitecustomize.py") && !is_script(project, file);
}
