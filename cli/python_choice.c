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

extern char **environ;

#define OLDEST_MINOR 12

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

/* Beside the program in a build folder, or where an installation has it. */
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
	return kymo_fail(error, -ENOENT, "the Python package of this kymo is missing near %s", program);
}

static bool is_program(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

int kymo_program_find(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/')) {
		if (strlen(name) >= PATH_MAX || !is_program(name))
			return -ENOENT;
		strcpy(path, name);
		return 0;
	}
	if (!folders)
		folders = "/usr/local/bin:/usr/bin:/bin";
	while (*name) {
		size_t length = strcspn(folders, ":");

		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, folders, length ? "/" : "", name) <
			    PATH_MAX &&
		    is_program(path))
			return 0;
		if (!folders[length])
			break;
		folders += length + 1;
	}
	return -ENOENT;
}

static bool is_shell_script(const char *path)
{
	FILE *file = fopen(path, "re");
	bool is_script = file && getc(file) == '#' && getc(file) == '!';

	if (file)
		fclose(file);
	return is_script;
}

/* The minor version of the Python 3 at @path by its real name, or -1 where that does not say. */
static int minor_version(const char *path)
{
	char real[PATH_MAX];
	const char *name;
	int minor;

	if (!realpath(path, real) || is_shell_script(real))
		return -1;
	name = strrchr(real, '/') + 1;
	return sscanf(name, "python3.%d", &minor) == 1 ? minor : -1;
}

/* The same of what hides its version, a script that chooses an interpreter for one, by asking it. */
static int ask_minor_version(const char *path)
{
	char code[] = "import sys; print(*sys.version_info[:2])", isolated[] = "-IS", flag[] = "-c";
	char *argv[] = {(char *)(uintptr_t)path, isolated, flag, code, NULL};
	posix_spawn_file_actions_t actions;
	int fds[2], major = 0, minor = -1;
	FILE *output;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, path, &actions, NULL, argv, environ))
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	output = fdopen(fds[0], "r");
	if (!output)
		close(fds[0]);
	if (output && fscanf(output, "%d %d", &major, &minor) != 2)
		minor = -1;
	if (output)
		fclose(output);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return major == 3 ? minor : -1;
}

static int check_version(const struct kymo_package *package, const char *path,
			 struct kymo_error *error)
{
	char pattern[PATH_MAX + 64];
	int minor = minor_version(path);
	glob_t found;

	if (minor < 0)
		minor = ask_minor_version(path);
	if (minor < 0)
		return kymo_fail(error, -ENOEXEC, "%s does not run as Python 3", path);
	if (minor < OLDEST_MINOR)
		return kymo_fail(error, -ENOTSUP,
				 "%s is Python 3.%d, which has no sys.monitoring; 3.%d or later is "
				 "needed (KYMO_PYTHON names one)",
				 path, minor, OLDEST_MINOR);
	snprintf(pattern, sizeof pattern, "%s/_kymo.cpython-3%d*.so", package->folder, minor);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return kymo_fail(error, -ENOENT,
				 "this kymo has no extension for Python 3.%d (%s); install kymo "
				 "for that Python",
				 minor, path);
	globfree(&found);
	return 0;
}

int kymo_python_choose(const struct kymo_package *package, char path[PATH_MAX],
		       struct kymo_error *error)
{
	static const char *const names[] = {
		"python3", "python", "python3.15", "python3.14", "python3.13", "python3.12",
	};
	const char *asked = getenv("KYMO_PYTHON"), *environment = getenv("VIRTUAL_ENV");
	struct kymo_error later;
	int result = 0;

	if (asked && *asked) {
		if (kymo_program_find(asked, path))
			return kymo_fail(error, -ENOENT, "KYMO_PYTHON: there is no program '%s'", asked);
		return check_version(package, path, error);
	}
	if (environment && *environment &&
	    snprintf(path, PATH_MAX, "%s/bin/python", environment) < PATH_MAX && is_program(path))
		return check_version(package, path, error);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (kymo_program_find(names[i], path))
			continue;
		/* What is wrong with the one that `python3` means is the best explanation. */
		if (!check_version(package, path, result ? &later : error))
			return 0;
		result = -ENOTSUP;
	}
	return result ? result
		      : kymo_fail(error, -ENOENT,
				  "there is no python3 on PATH; KYMO_PYTHON names one elsewhere");
}
