// SPDX-License-Identifier: Apache-2.0
#include "pyext/code_filter.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pyext/locks.h"

/* Another interpreter may set it meanwhile, so it is guarded by KYMO_LOCK_FILTER. */
static struct {
	const Kymo__Config *config; /* NULL: there is no recording, so nothing is wanted */
	char package[PATH_MAX];
	char stdlib[PATH_MAX];
	struct kymo_project project;
	char here[PATH_MAX]; /* working directory at the start, to which relative names refer */
} filter;

void kymo_filter_set(const Kymo__Config *config, const char *package, const char *stdlib, const struct kymo_project *project)
{
	kymo_lock(KYMO_LOCK_FILTER);
	filter.config = config;
	filter.project = *project;
	snprintf(filter.package, sizeof(filter.package), "%s", package);
	snprintf(filter.stdlib, sizeof(filter.stdlib), "%s", stdlib);
	if (!getcwd(filter.here, sizeof(filter.here)))
		filter.here[0] = 0;
	kymo_unlock(KYMO_LOCK_FILTER);
}

void kymo_filter_clear(void)
{
	kymo_lock(KYMO_LOCK_FILTER);
	filter.config = NULL;
	kymo_unlock(KYMO_LOCK_FILTER);
}

/* True if @file lies below @folder, or is it. */
static bool is_below(const char *file, const char *folder)
{
	size_t length = strlen(folder);

	while (length && folder[length - 1] == '/')
		length--;
	return length && !strncmp(file, folder, length) && (file[length] == '/' || !file[length]);
}

/* True if @file is, or is in, the module called @name. */
static bool is_in_module(const char *file, const char *name)
{
	char path[PATH_MAX];
	const char *found;
	size_t length = (size_t)snprintf(path, sizeof(path), "/%s", name);

	if (length >= sizeof(path))
		return false;
	for (char *c = path; *c; c++)
		*c = *c == '.' ? '/' : *c;
	for (found = strstr(file, path); found; found = strstr(found + 1, path)) {
		if (found[length] == '/' || !strcmp(found + length, ".py"))
			return true;
	}
	return false;
}

static bool is_python_file(const char *name)
{
	size_t length = strlen(name);

	return length > 3 && !strcmp(name + length - 3, ".py");
}

/* A path, if it has a slash, ends in .py or is "."; else the name of a module, or of a folder anywhere. */
static bool is_of_source(const char *file, const char *source)
{
	char folder[2 * PATH_MAX];

	if (source[0] == '/')
		return is_below(file, source);
	while (!strncmp(source, "./", 2))
		source += 2;
	if (!strcmp(source, ".") || !*source)
		return is_below(file, filter.here);
	if (!strchr(source, '/') && !is_python_file(source))
		return is_in_module(file, source);
	snprintf(folder, sizeof(folder), "%s/%s", filter.here, source);
	return is_below(file, folder);
}

/* A pattern that does not begin at the root may begin at any folder. */
static bool matches(const char *file, const char *pattern)
{
	char anywhere[PATH_MAX];
	size_t plain = strcspn(pattern, "*?[\\");

	/* A file, or a folder and a star: fnmatch() takes thousands of instructions for that in UTF-8. */
	if (pattern[0] == '/' && (!pattern[plain] || !strcmp(pattern + plain, "*")))
		return !strncmp(file, pattern, plain) && (pattern[plain] || !file[plain]);
	if (pattern[0] == '/' || pattern[0] == '*')
		return !fnmatch(pattern, file, 0);
	snprintf(anywhere, sizeof(anywhere), "*/%s", pattern);
	return !fnmatch(anywhere, file, 0) || !fnmatch(pattern, file, 0);
}

static bool any(bool (*test)(const char *file, const char *what), const char *file, char **what,
		size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (test(file, what[i]))
			return true;
	}
	return false;
}

static bool is_stdlib(const char *file)
{
	return !strncmp(file, "<frozen ", 8) ||
	       (is_below(file, filter.stdlib) && !strstr(file, "/site-packages/") &&
		!strstr(file, "/dist-packages/"));
}

static bool wants(const Kymo__Config *config, const char *file)
{
	char path[2 * PATH_MAX];

	if (is_below(file, filter.package))
		return false;
	if (file[0] != '/' && file[0] != '<') {
		snprintf(path, sizeof(path), "%s/%s", filter.here, file);
		file = path;
	}
	if (config->no_stdlib && is_stdlib(file))
		return false;
	if (any(matches, file, config->omit, config->n_omit))
		return false;
	if (config->n_source && !any(is_of_source, file, config->source, config->n_source))
		return false;
	return !config->n_include || any(matches, file, config->include, config->n_include);
}

static bool wants_values(const Kymo__Values *values, const char *file, const char *qualname)
{
	for (size_t i = 0; i < values->n_only; i++) {
		if (matches(file, values->only[i]) || !fnmatch(values->only[i], qualname, 0))
			return true;
	}
	return !values->n_only && (!values->project || kymo_project_has(&filter.project, file));
}

bool kymo_filter_wants(const char *file)
{
	bool is_wanted;

	kymo_lock(KYMO_LOCK_FILTER);
	is_wanted = filter.config && wants(filter.config, file);
	kymo_unlock(KYMO_LOCK_FILTER);
	return is_wanted;
}

bool kymo_filter_wants_values(const char *file, const char *qualname)
{
	bool is_wanted;

	kymo_lock(KYMO_LOCK_FILTER);
	is_wanted = filter.config && filter.config->values && wants_values(filter.config->values, file, qualname);
	kymo_unlock(KYMO_LOCK_FILTER);
	return is_wanted;
}
