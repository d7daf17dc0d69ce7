// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/export/columns.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int fail(struct kymo_error *error)
{
	return kymo_fail(error, -errno, "cannot write a temporary file: %s", strerror(errno));
}

int kymo_columns_open(struct kymo_columns *columns, size_t count, struct kymo_error *error)
{
	*columns = (struct kymo_columns){.count = count};
	for (size_t i = 0; i < count; i++) {
		columns->files[i] = tmpfile();
		if (!columns->files[i])
			return fail(error);
	}
	return 0;
}

void kymo_columns_release(struct kymo_columns *columns)
{
	for (size_t i = 0; i < columns->count; i++)
		if (columns->files[i])
			fclose(columns->files[i]);
	*columns = (struct kymo_columns){0};
}

int kymo_columns_copy(struct kymo_columns *columns, size_t number, FILE *out, struct kymo_error *error)
{
	FILE *file = columns->files[number];
	char block[1 << 16];
	size_t length;

	if (fflush(file) || ferror(file) || fseek(file, 0, SEEK_SET))
		return fail(error);
	while ((length = fread(block, 1, sizeof block, file)) > 0)
		fwrite(block, 1, length, out);
	return ferror(file) ? fail(error) : 0;
}

int kymo_columns_clear(struct kymo_columns *columns, struct kymo_error *error)
{
	columns->rows = 0;
	for (size_t i = 0; i < columns->count; i++)
		if (fseek(columns->files[i], 0, SEEK_SET) || ftruncate(fileno(columns->files[i]), 0))
			return fail(error);
	return 0;
}
