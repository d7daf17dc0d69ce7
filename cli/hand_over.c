// SPDX-License-Identifier: Apache-2.0
#include "cli/hand_over.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/python_choice.h"
#include "replay/trace/timeline.h"

/* Takes the package's folder, its version, the module and the words; imports nothing that the environment names. */
static const char code[] = "import sys\n"
			   "if sys.version_info < (3, 12):\n"
			   "    sys.exit(f'kymo: {sys.executable} is older than Python 3.12; name another with --python=PROGRAM')\n"
			   "folder, version, module = sys.argv[1:4]\n"
			   "sys.path.insert(0, folder)\n"
			   "from importlib import import_module\n"
			   "sys.exit(import_module(module).main(sys.argv[4:], version))\n";

#define OWN_WORDS 9 /* python -ISc code folder version module verb …  --  … NULL */

const struct kymo_option kymo_python_option[] = {
	{"python", 0, KYMO_OPTION_PASSED, .value = "PROGRAM", .help = "run this Python, instead of one of the version that recorded",
	 .more = "It must be 3.12 or newer. Without this option and without $KYMO_PYTHON it is the Python of the recorded version that "
		 "is found on $PATH, or else the one that kymo-record(1) would use."},
	{0},
};

static const char *value_of(const char *word)
{
	return strchr(word, '=') + 1;
}

/* The minor version of the Python 3 that recorded @path; -1: it is not a trace. */
static int minor_of(const char *path)
{
	struct kymo_timeline timeline;
	struct kymo_error error;
	struct stat status;
	int minor = -1;

	if (stat(path, &status) || !S_ISREG(status.st_mode) || kymo_timeline_open(&timeline, path, 0, &error))
		return -1;
	for (size_t p = 0; p < timeline.definitions.process_count && minor < 0; p++) {
		const Kymo__Process *process = timeline.definitions.processes[p].definition;

		if (process && process->python_hex >> 24 == 3)
			minor = process->python_hex >> 16 & 0xff;
	}
	kymo_timeline_close(&timeline);
	return minor;
}

/* The minor version of the first trace among the operands and the values of options; -1: not known. */
static int recorded_minor(const struct kymo_words *words, char **operands)
{
	int minor = -1;

	for (; *operands && minor < 0; operands++)
		minor = minor_of(*operands);
	for (size_t i = 0; i < words->count && minor < 0; i++)
		minor = minor_of(value_of(words->words[i]));
	return minor;
}

/* The value of --python, or NULL. */
static const char *find_python(const struct kymo_words *words)
{
	static const char name[] = "python=";
	const char *python = NULL;

	for (size_t i = 0; i < words->count; i++)
		if (!strncmp(words->words[i], name, sizeof name - 1))
			python = value_of(words->words[i]);
	return python;
}

/* The Python to use: line numbers of statements differ between minor versions. */
static int choose_python(const struct kymo_package *package, const struct kymo_words *given, char **operands, char path[PATH_MAX],
			 struct kymo_error *error)
{
	const char *asked = find_python(given), *configured = getenv("KYMO_PYTHON");
	char name[32];
	int minor;

	if (!asked && configured && *configured)
		asked = configured;
	if (asked)
		return kymo_program_find(asked, path) ? kymo_fail(error, -ENOENT, "cannot find the program '%s'", asked) : 0;
	minor = recorded_minor(given, operands);
	/* It has the packages that the user has installed. */
	if (minor >= 0 && kymo_python_of_environment(path) && kymo_python_minor(path) == minor)
		return 0;
	snprintf(name, sizeof name, "python3.%d", minor);
	/* The program by that name may be a script that finds no such Python. */
	if (minor >= 0 && !kymo_program_find(name, path) && kymo_python_minor(path) == minor)
		return 0;
	return kymo_python_choose(package, path, error);
}

int kymo_hand_over(const char *verb, const char *module, const struct kymo_words *given, char **operands)
{
	static char options[] = "-ISc", version[] = KYMO_VERSION, end[] = "--";
	struct kymo_package package;
	struct kymo_error error;
	char path[PATH_MAX];
	size_t count = 0;
	char **words;

	while (operands[count])
		count++;
	if (kymo_package_find(&package, &error) || choose_python(&package, given, operands, path, &error))
		return kymo_report(&error);
	words = calloc(given->count + count + OWN_WORDS, sizeof *words);
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
	if (given->count)
		memcpy(words + 7, given->words, given->count * sizeof *words);
	words[7 + given->count] = end;
	memcpy(words + 8 + given->count, operands, count * sizeof *words);
	/* This is not a run of the program that may be recorded. */
	unsetenv("KYMO");
	unsetenv("KYMO_SESSION");
	execv(path, words);
	kymo_fail(&error, -errno, "cannot run %s: %s", path, strerror(errno));
	free(words);
	return kymo_report(&error);
}

int kymo_hand_over_all(const struct kymo_verb *verb, const char *module, int argc, char **argv)
{
	struct kymo_words words = {0};
	int status = kymo_options_parse(verb, argc, argv, NULL, &words);

	if (status < 0)
		status = kymo_hand_over(verb->name, module, &words, argv + optind);
	kymo_words_free(&words);
	return status;
}
