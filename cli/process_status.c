// SPDX-License-Identifier: Apache-2.0
#include "cli/process_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pid_t kymo_process_number(pid_t pid, const char *field)
{
	char path[64], line[256];
	size_t length = strlen(field);
	long number = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && !number && fgets(line, sizeof line, file))
		if (!strncmp(line, field, length))
			number = strtol(line + length, NULL, 10);
	if (file)
		fclose(file);
	return (pid_t)number;
}
