// SPDX-License-Identifier: Apache-2.0
#include "reader/output_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode)  ? "a folder" :
	       S_ISLNK(mode)  ? "a symbolic link" :
	       S_ISFIFO(mode) ? "a pipe" :
	       S_ISSOCK(mode) ? "a socket" :
				"a device";
}

int kymo_output_check(const char *path, bool may_replace, struct kymo_error *error)
{
	struct stat status;

	if (lstat(path, &status)) /* other errors show when the file is made */
		return 0;
	if (!S_ISREG(status.st_mode))
		return kymo_fail(error, -EINVAL, "refusing to replace %s: it is %s, not a regular file", path,
				 kind_of(status.st_mode));
	return may_replace ? 0 : kymo_fail(error, -EEXIST, "%s already exists; use -f to replace it", path);
}

static bool has_name(int fd, const char *path)
{
	struct stat file, named;

	return !fstat(fd, &file) && !lstat(path, &named) && file.st_dev == named.st_dev &&
	       file.st_ino == named.st_ino;
}

int kymo_output_lock(int fd, const char *incomplete, struct kymo_error *error)
{
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return kymo_fail(error, -EBUSY, "%s is being written by another process", incomplete);
	return 0;
}

static int create(const char *incomplete)
{
	return open(incomplete, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Remove a file that nobody writes any more.  0 if it is gone. */
static int remove_left(const char *incomplete, struct kymo_error *error)
{
	/* Do not wait for the other end of a pipe. */
	int fd = open(incomplete, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return errno == ENOENT ? 0 : kymo_output_check(incomplete, true, error);
	err = kymo_output_check(incomplete, true, error);
	if (!err)
		err = kymo_output_lock(fd, incomplete, error);
	/* Between the open and the lock another process may have put its own file there. */
	if (!err && has_name(fd, incomplete))
		unlink(incomplete);
	close(fd);
	return err;
}

int kymo_output_claim(const char *incomplete, bool may_replace, struct kymo_error *error)
{
	int fd, err;

	if (may_replace) {
		err = remove_left(incomplete, error);
		if (err)
			return err;
	}
	fd = create(incomplete);
	if (fd < 0 && errno == EEXIST)
		return kymo_fail(error, -EEXIST, "%s already exists: a recording is writing it, or its reader was "
						 "killed; use kymo salvage to recover it, or -f to replace it", incomplete);
	if (fd < 0)
		return kymo_fail(error, -errno, "cannot create %s: %s", incomplete, strerror(errno));
	err = kymo_output_lock(fd, incomplete, error);
	/* Between the two another process may have removed it as a leftover. */
	if (!err && !has_name(fd, incomplete))
		err = kymo_fail(error, -EBUSY, "%s is being written by another process", incomplete);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

static int rename_without_replacing(const char *from, const char *to)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without RENAME_NOREPLACE: link() does not replace a file either. */
	if (link(from, to))
		return -errno;
	unlink(from);
	return 0;
}

int kymo_output_rename(int fd, const char *incomplete, const char *output, bool may_replace, struct kymo_error *error)
{
	int err;

	if (fd >= 0 && !has_name(fd, incomplete))
		return kymo_fail(error, -ENOENT, "%s was removed or replaced while it was being written", incomplete);
	if (may_replace) {
		err = kymo_output_check(output, true, error);
		if (err)
			return err;
		err = rename(incomplete, output) ? -errno : 0;
	} else {
		err = rename_without_replacing(incomplete, output);
	}
	return err ? kymo_fail(error, err, "cannot rename %s to %s: %s", incomplete, output, strerror(-err)) : 0;
}
