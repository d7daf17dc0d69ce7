// SPDX-License-Identifier: Apache-2.0
#include "cli/python_choice.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLDEST_MINOR 12
#define NEWEST_MINOR 29 /* that is looked for */

static bool is_package(struct kymo_package *package, const char *folder)
{
	char file[PATH_MAX + 32];

	if (strlen(folder) >= sizeof package->folder)
		return false;
	strcpy(package->folder, folder);
	snprintf(package->inject, sizeof package->inject, "%s/inject", folder);
	snprintf(file, sizeof file, "%s/sitecustomize.py", package->inject);
	return !access(file, R_OK);
}

/* Beside the program in a build folder, or at its place in an installation. */
int kymo_package_find(struct kymo_package *package, struct kymo_error *error)
{
	static const char *const places[] = {
		"../python/kymo",
		"../lib/python3*/site-packages/kymo",
		"../lib/python3*/dist-packages/kymo",
		"../local/lib/python3*/dist-packages/kymo",
		"../lib/kymo/python/kymo",
		"../lib/*/kymo/python/kymo",
	};
	char program[PATH_MAX], pattern[PATH_MAX + 64], real[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);

	if (length < 0)
		return kymo_fail(error, -errno, "cannot read /proc/self/exe: %s", strerror(errno));
	program[length] = '\0';
	*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		bool is_found = false;
		glob_t found;

		snprintf(pattern, sizeof pattern, "%s/%s", program, places[i]);
		if (glob(pattern, 0, NULL, &found))
			continue;
		for (size_t g = 0; g < found.gl_pathc && !is_found; g++)
			is_found = realpath(found.gl_pathv[g], real) && is_package(package, real);
		globfree(&found);
		if (is_found)
			return 0;
	}
	return kymo_fail(error, -ENOENT, "the Python package of this kymo was not found near %s", program);
}

static bool is_program(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

/* The next program called @name in @folders, a rest of PATH.  False: there is no other. */
static bool next_program(const char **folders, const char *name, char path[PATH_MAX])
{
	while (*folders) {
		size_t length = strcspn(*folders, ":");
		bool fits = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, *folders,
				     length ? "/" : "", name) < PATH_MAX;

		*folders = (*folders)[length] ? *folders + length + 1 : NULL;
		if (fits && is_program(path))
			return true;
	}
	return false;
}

static const char *search_path(void)
{
	const char *folders = getenv("PATH");

	return folders ? folders : "/usr/local/bin:/usr/bin:/bin";
}

int kymo_program_find(const char *name, char path[PATH_MAX])
{
	const char *folders = search_path();

	if (!strchr(name, '/'))
		return *name && next_program(&folders, name, path) ? 0 : -ENOENT;
	if (snprintf(path, PATH_MAX, "%s", name) >= PATH_MAX || access(path, F_OK))
		return -ENOENT;
	return is_program(path) ? 0 : -EACCES;
}

static bool is_shell_script(const char *path)
{
	FILE *file = fopen(path, "re");
	bool is_script = file && getc(file) == '#' && getc(file) == '!';

	if (file)
		fclose(file);
	return is_script;
}

int kymo_python_ask(const char *python, const char *code, const char *argument, char *answer,
		    size_t bytes)
{
	char options[] = "-ISc";
	char *argv[] = {(char *)(uintptr_t)python, options, (char *)(uintptr_t)code,
			(char *)(uintptr_t)argument, NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], status = 0, result;
	size_t used = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	result = -posix_spawn(&pid, python, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	while (!result && used < bytes - 1 &&
	       (got = read(fds[0], answer + used, bytes - 1 - used)) > 0)
		used += (size_t)got;
	close(fds[0]);
	answer[used] = '\0';
	while (!result && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return result ? result : status ? -ENOEXEC : 0;
}

/*
 * The minor version of the Python 3 at @path, and how the names of its extensions begin.
 * Found from its real name or, if that says nothing or it is a script that chooses an
 * interpreter, by running it.
 */
static int find_version(const char *path, char suffix[64])
{
	static const char code[] = "import _imp, sys\n"
				   "print(*sys.version_info[:2], _imp.extension_suffixes()[0])";
	char real[PATH_MAX], answer[128];
	int minor, length = 0, major = 0;
	const char *name;

	if (!realpath(path, real))
		return -1;
	name = strrchr(real, '/') + 1;
	if (sscanf(name, "python3.%d%n", &minor, &length) == 1 && !name[length] &&
	    !is_shell_script(real)) {
		snprintf(suffix, 64, ".cpython-3%d-", minor);
		return minor;
	}
	if (kymo_python_ask(path, code, NULL, answer, sizeof answer) ||
	    sscanf(answer, "%d %d %63s", &major, &minor, suffix) != 3 || major != 3)
		return -1;
	return minor;
}

int kymo_python_minor(const char *path)
{
	char suffix[64];

	return find_version(path, suffix);
}

/* 0 if the Python at @path can be recorded, or why it cannot in @error. */
static int check_version(const struct kymo_package *package, const char *path,
			 struct kymo_error *error)
{
	char suffix[64], pattern[PATH_MAX + 96];
	int minor = find_version(path, suffix);
	glob_t found;

	if (minor < 0)
		return kymo_fail(error, -ENOEXEC, "%s is not a Python 3 interpreter", path);
	if (minor < OLDEST_MINOR)
		return kymo_fail(error, -ENOTSUP, "%s is Python 3.%d, and Kymo needs 3.12 or newer",
				 path, minor);
	snprintf(pattern, sizeof pattern, "%s/_kymo%s*", package->folder, suffix);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return kymo_fail(error, -ENOENT,
				 "%s is Python 3.%d, and this kymo has no extension for it (_kymo%s* in %s)", path,
				 minor, suffix, package->folder);
	globfree(&found);
	return 0;
}

/* The first of at most @limit programs called @name on PATH that can be recorded; else adds to @error. */
static bool find_recordable(const struct kymo_package *package, const char *name, unsigned limit,
			    char path[PATH_MAX], struct kymo_error *error)
{
	const char *folders = search_path();
	struct kymo_error why;

	for (; limit && next_program(&folders, name, path); limit--) {
		size_t used = strlen(error->message);

		if (!check_version(package, path, &why))
			return true;
		snprintf(error->message + used, sizeof error->message - used, "%s %s",
			 error->message[used - 1] == ')' ? ":" : ";", why.message);
	}
	return false;
}

/* The Python of the environment from which this program was run by path; if it was found on PATH, its place says nothing. */
static bool find_beside(char path[PATH_MAX])
{
	static const char *const marks[] = {"pyvenv.cfg", "conda-meta"};
	const char *self = program_invocation_name, *slash = strrchr(self, '/');
	char folder[PATH_MAX], real[PATH_MAX], mark[PATH_MAX + 32];

	if (!slash || snprintf(folder, sizeof folder, "%.*s/", (int)(slash - self), self) >= PATH_MAX ||
	    !realpath(folder, real) || snprintf(path, PATH_MAX, "%s/python", real) >= PATH_MAX || !is_program(path))
		return false;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		snprintf(mark, sizeof mark, "%s/../%s", real, marks[i]);
		if (!access(mark, F_OK))
			return true;
	}
	return false;
}

bool kymo_python_of_environment(char path[PATH_MAX])
{
	const char *environment = getenv("VIRTUAL_ENV");

	return (environment && *environment && snprintf(path, PATH_MAX, "%s/bin/python", environment) < PATH_MAX &&
		is_program(path)) ||
	       find_beside(path);
}

int kymo_python_choose(const struct kymo_package *package, char path[PATH_MAX],
		       struct kymo_error *error)
{
	const char *asked = getenv("KYMO_PYTHON");
	char name[16];

	if (asked && *asked) {
		if (kymo_program_find(asked, path))
			return kymo_fail(error, -ENOENT, "KYMO_PYTHON: cannot find the program '%s'", asked);
		return check_version(package, path, error);
	}
	if (kymo_python_of_environment(path))
		return check_version(package, path, error);
	kymo_fail(error, 0, "no Python on PATH that Kymo can record (set KYMO_PYTHON to use another)");
	if (find_recordable(package, "python3", 1, path, error))
		return 0;
	for (int minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--) {
		snprintf(name, sizeof name, "python3.%d", minor);
		if (find_recordable(package, name, UINT_MAX, path, error))
			return 0;
	}
	return -ENOTSUP;
}
