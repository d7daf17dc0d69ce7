// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
static const char *volatile unfinished; /* NULL: none */

static void remove_unfinished(int number)
{
	if (unfinished)
		unlink(unfinished);
	signal(number, SIG_DFL);
	raise(number);
}

static void watch_signals(void)
{
	struct sigaction action = {.sa_handler = remove_unfinished, .sa_flags = SA_RESTART}, before;

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (!sigaction(endings[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(endings[i], &action, NULL);
}

int kymo_output_file_open(struct kymo_output_file *file, const char *path, bool is_forced, struct kymo_error *error)
{
	struct stat status;
	bool exists, is_in_place;
	int fd;

	if (!path || !strcmp(path, "-")) {
		*file = (struct kymo_output_file){.out = stdout, .path = "output"};
		return 0;
	}
	*file = (struct kymo_output_file){.path = path, .is_forced = is_forced};
	exists = !stat(path, &status);
	is_in_place = !strncmp(path, "/dev/", 5) || (exists && !S_ISREG(status.st_mode));
	if (exists && S_ISDIR(status.st_mode))
		return kymo_fail(error, -EISDIR, "cannot write %s: it is a folder", path);
	if (exists && !is_in_place && !is_forced)
		return kymo_fail(error, -EEXIST, "%s already exists; use -f to replace it", path);
	/* If it is a link, its target is replaced. */
	if (!exists || !realpath(path, file->name))
		snprintf(file->name, sizeof file->name, "%s", path);
	if (!is_in_place && snprintf(file->temporary, sizeof file->temporary, "%s.%ld.incomplete", file->name,
				     (long)getpid()) >= (int)sizeof file->temporary)
		return kymo_fail(error, -ENAMETOOLONG, "cannot write %s: %s", path, strerror(ENAMETOOLONG));
	fd = *file->temporary ? open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
			      : open(path, O_WRONLY | O_CLOEXEC);
	file->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file->out)
		return kymo_fail(error, -errno, "cannot write %s: %s", path, strerror(errno));
	if (*file->temporary) {
		unfinished = file->temporary;
		watch_signals();
	}
	return 0;
}

int kymo_output_file_check(struct kymo_output_file *file, struct kymo_error *error)
{
	/* stdio drops what it could not write, and the cause; writing again shows the cause. */
	if (!ferror_unlocked(file->out))
		return 0;
	return kymo_fail(error, errno ? -errno : -EIO, "cannot write %s: %s", file->path, strerror(errno ? errno : EIO));
}

static int give_name(const struct kymo_output_file *file)
{
	if (file->is_forced)
		return rename(file->temporary, file->name) ? -errno : 0;
	/* Another process may have made it meanwhile. */
	if (!renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return link(file->temporary, file->name) || unlink(file->temporary) ? -errno : 0;
}

int kymo_output_file_close(struct kymo_output_file *file, int result, struct kymo_error *error)
{
	bool is_stdout = file->out == stdout;

	if (!result && fflush(file->out))
		result = kymo_fail(error, -errno, "cannot write %s: %s", file->path, strerror(errno));
	if (!is_stdout && fclose(file->out) && !result)
		result = kymo_fail(error, -errno, "cannot write %s: %s", file->path, strerror(errno));
	if (!*file->temporary)
		return result;
	if (!result && (result = give_name(file)))
		result = kymo_fail(error, result, "cannot write %s: %s", file->path, strerror(-result));
	if (result)
		unlink(file->temporary);
	unfinished = NULL;
	return result;
}
