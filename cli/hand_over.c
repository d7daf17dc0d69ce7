// SPDX-License-Identifier: Apache-2.0
#include "cli/hand_over.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/python_choice.h"
#include "replay/trace/timeline.h"

/* Of the package's folder, the verb and its words; nothing that the environment says is imported. */
static const char code[] = "import sys\n"
			   "if sys.version_info < (3, 12):\n"
			   "    sys.exit(f'kymo: {sys.executable} is older than Python 3.12; --python names another')\n"
			   "folder, version, module = sys.argv[1:4]\n"
			   "sys.path.insert(0, folder)\n"
			   "from importlib import import_module\n"
			   "sys.exit(import_module(module).main(sys.argv[4:], version))\n";

#define OWN_WORDS 7 /* python -ISc code folder version module verb */

/* The minor version of the Python 3 that made the first trace among the words; -1: not known. */
static int recorded_minor(int argc, char **argv)
{
	struct kymo_timeline timeline;
	struct kymo_error error;
	struct stat status;
	int minor = -1;

	for (int i = 1; i < argc && minor < 0; i++) {
		if (argv[i][0] == '-' || stat(argv[i], &status) || !S_ISREG(status.st_mode) ||
		    kymo_timeline_open(&timeline, argv[i], 0, &error))
			continue;
		for (size_t p = 0; p < timeline.definitions.process_count && minor < 0; p++) {
			const Kymo__Process *process = timeline.definitions.processes[p].definition;

			if (process && process->python_hex >> 24 == 3)
				minor = process->python_hex >> 16 & 0xff;
		}
		kymo_timeline_close(&timeline);
	}
	return minor;
}

/* Take --python out of the words.  Its value, or NULL. */
static char *take_python(int *argc, char **argv)
{
	static const char option[] = "--python";
	const size_t length = sizeof option - 1;
	char *value = NULL;
	int kept = 1;

	for (int i = 1; i < *argc; i++) {
		if (!strncmp(argv[i], option, length) && argv[i][length] == '=')
			value = argv[i] + length + 1;
		else if (!strcmp(argv[i], option) && i + 1 < *argc)
			value = argv[++i];
		else
			argv[kept++] = argv[i];
	}
	*argc = kept;
	argv[kept] = NULL;
	return value;
}

/* Whose statements are asked for: line numbers of statements differ between minor versions. */
static int choose(const struct kymo_package *package, const char *asked, int argc, char **argv, char path[PATH_MAX],
		  struct kymo_error *error)
{
	const char *configured = getenv("KYMO_PYTHON");
	char name[16];
	int minor;

	if (!asked && configured && *configured)
		asked = configured;
	if (asked)
		return kymo_program_find(asked, path) ? kymo_fail(error, -ENOENT, "there is no program '%s'", asked) : 0;
	minor = recorded_minor(argc, argv);
	/* It has the packages that the user has installed. */
	if (minor >= 0 && kymo_python_of_environment(path) && kymo_python_minor(path) == minor)
		return 0;
	snprintf(name, sizeof name, "python3.%d", minor);
	/* What is there by that name may be a script that finds no such Python. */
	if (minor >= 0 && !kymo_program_find(name, path) && kymo_python_minor(path) == minor)
		return 0;
	return kymo_python_choose(package, path, error);
}

int kymo_hand_over(const char *verb, const char *module, const char *help, int argc, char **argv)
{
	static char options[] = "-ISc", version[] = KYMO_VERSION;
	const char *asked = take_python(&argc, argv);
	struct kymo_package package;
	struct kymo_error error;
	char path[PATH_MAX];
	char **words;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		}
	}
	if (kymo_package_find(&package, &error) || choose(&package, asked, argc, argv, path, &error))
		return kymo_report(&error);
	words = calloc((size_t)argc + OWN_WORDS, sizeof *words);
	if (!words) {
		kymo_fail(&error, -ENOMEM, "out of memory");
		return kymo_report(&error);
	}
	/* The folder that the package lies in. */
	*strrchr(package.folder, '/') = '\0';
	words[0] = path;
	words[1] = options;
	words[2] = (char *)(uintptr_t)code;
	words[3] = package.folder;
	words[4] = version;
	words[5] = (char *)(uintptr_t)module;
	words[6] = (char *)(uintptr_t)verb;
	memcpy(words + OWN_WORDS, argv + 1, (size_t)argc * sizeof *words);
	/* The report is none of the program's runs. */
	unsetenv("KYMO");
	unsetenv("KYMO_SESSION");
	execv(path, words);
	kymo_fail(&error, -errno, "cannot run %s: %s", path, strerror(errno));
	free(words);
	return kymo_report(&error);
}
