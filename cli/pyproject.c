// SPDX-License-Identifier: Apache-2.0
#include "cli/pyproject.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/python_choice.h"

/* Prints the table, without that of the pytest plugin, or a string that says what is wrong with the file. */
static const char reading_code[] =
	"import json, sys, tomllib\n"
	"def text(value):\n"
	"    return value if isinstance(value, str) else json.dumps(value, default=str)\n"
	"try:\n"
	"    with open(sys.argv[1], 'rb') as file:\n"
	"        table = tomllib.load(file).get('tool', {}).get('kymo', {})\n"
	"    table.pop('pytest', None)\n"
	"    lists = {key: value if isinstance(value, list) else [value] for key, value in table.items()}\n"
	"    print(json.dumps({key: list(map(text, value)) for key, value in lists.items()}))\n"
	"except Exception as error:\n"
	"    print(json.dumps(f'{type(error).__name__}: {error}'))\n";

/* True if the file may have the table. */
static bool names_us(const char *path)
{
	static const char name[] = "tool.kymo";
	char window[4096 + sizeof name];
	size_t kept = 0, got;
	bool is_found = false;
	FILE *file = fopen(path, "re");

	while (file && !is_found && (got = fread(window + kept, 1, 4096, file))) {
		size_t bytes = kept + got;

		is_found = memmem(window, bytes, name, sizeof name - 1);
		/* The text may lie across two windows. */
		kept = bytes < sizeof name ? bytes : sizeof name;
		memmove(window, window + bytes - kept, kept);
	}
	if (file)
		fclose(file);
	return is_found;
}

/* Others, such as a FIFO, would keep us waiting, or never end. */
static bool is_file(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, R_OK);
}

static bool find_pyproject(const char *directory, char path[PATH_MAX])
{
	size_t length = strlen(directory);

	for (;;) {
		if (snprintf(path, PATH_MAX, "%.*s/pyproject.toml", (int)length, directory) <
			    PATH_MAX &&
		    is_file(path))
			return true;
		while (length && directory[length - 1] != '/')
			length--;
		if (!length)
			return false;
		length--;
	}
}

int kymo_pyproject_read(const char *directory, char path[PATH_MAX], json_t **table,
			struct kymo_error *error)
{
	char python[PATH_MAX], answer[65536];
	struct kymo_package package;
	struct kymo_error why;
	json_t *root;
	int result;

	*table = NULL;
	if (!find_pyproject(directory, path) || !names_us(path))
		return 0;
	result = kymo_package_find(&package, &why);
	if (!result)
		result = kymo_python_choose(&package, python, &why);
	if (result)
		return kymo_fail(error, result, "%s: its [tool.kymo] needs a Python to read it: %s",
				 path, why.message);
	result = kymo_python_ask(python, reading_code, path, answer, sizeof answer);
	root = result ? NULL : json_loads(answer, JSON_DECODE_ANY, NULL);
	if (json_is_object(root)) {
		*table = root;
		return 0;
	}
	result = kymo_fail(error, -EINVAL, "%s: %s", path,
			   json_is_string(root) ? json_string_value(root) : "cannot be read");
	json_decref(root);
	return result;
}
