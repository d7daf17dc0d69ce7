// SPDX-License-Identifier: Apache-2.0
/* Delete what a session leaves: folders of plain files, two levels and no more. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "reader/run.h"

static void remove_entries(int fd, bool with_folders)
{
	DIR *directory = fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		close(fd);
		return;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		if (unlinkat(fd, entry->d_name, 0) && with_folders)
			kymo_folder_remove(fd, entry->d_name);
	}
	closedir(directory);
}

bool kymo_folder_remove(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		remove_entries(fd, false);
	return !unlinkat(parent_fd, name, AT_REMOVEDIR);
}

void kymo_reader_remove_session(struct kymo_reader *reader, const char *session_dir)
{
	int fd = openat(reader->session.dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		remove_entries(fd, true);
	rmdir(session_dir);
}
