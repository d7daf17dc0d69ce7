// SPDX-License-Identifier: Apache-2.0
/* Runs a fuzz target over the files of a corpus, without a fuzzing engine: an ordinary test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	/* Of its own size, so that AddressSanitizer sees a step too far. */
	uint8_t *data = malloc(size ? size : 1);

	if (!file || !data || fread(data, 1, size, file) != size) {
		perror(path);
		exit(2);
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static size_t run(const char *path)
{
	char below[4096];
	struct dirent *entry;
	struct stat status;
	DIR *directory;
	size_t files = 0;

	if (stat(path, &status)) {
		perror(path);
		exit(2);
	}
	if (!S_ISDIR(status.st_mode)) {
		run_file(path, (size_t)status.st_size);
		return 1;
	}
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		files += run(below);
	}
	if (directory)
		closedir(directory);
	return files;
}

int main(int argc, char **argv)
{
	size_t files = 0;

	for (int i = 1; i < argc; i++)
		files += run(argv[i]);
	printf("%zu inputs\n", files);
	return files ? 0 : 2; /* an empty corpus tests nothing */
}
