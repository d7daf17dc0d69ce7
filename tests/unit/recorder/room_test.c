// SPDX-License-Identifier: Apache-2.0
/*
 * How much memory a session may take.  Control groups are read from a folder of the
 * test's own: the open() that the program is linked with looks there.
 */
#include "recorder/room.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/chunk.h"
#include "tests/support/recording.h"

#define MIB (UINT64_C(1) << 20)

static char root[64];

int open(const char *path, int flags, ...)
{
	char moved[4096];
	unsigned mode = 0;
	va_list list;

	if (flags & O_CREAT) {
		va_start(list, flags);
		mode = va_arg(list, unsigned);
		va_end(list);
	}
	if (!*root || (strncmp(path, "/proc/self/cgroup", 17) && strncmp(path, "/sys/", 5)))
		return openat(AT_FDCWD, path, flags, mode);
	snprintf(moved, sizeof moved, "%s%s", root, path);
	return openat(AT_FDCWD, moved, flags, mode);
}

static void make_root(void)
{
	strcpy(root, "/tmp/kymo-room-test-XXXXXX");
	cr_assert(mkdtemp(root));
}

static void remove_root(void)
{
	recording_delete(root);
}

TestSuite(room, .init = make_root, .fini = remove_root, .timeout = 20);

/* Put @text into file @path below the root, whose folders are made. */
static void write_file(const char *path, const char *text)
{
	char full[4096];
	FILE *file;

	snprintf(full, sizeof full, "%s%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	cr_assert(file, "%s", full);
	fputs(text, file);
	fclose(file);
}

/* A folder on a file system that is large enough not to be what limits. */
static uint64_t budget(void)
{
	struct statvfs fs;

	if (statvfs("/dev/shm", &fs) < 0 || fs.f_bavail * fs.f_frsize < 512 * MIB)
		cr_skip_test("/dev/shm is small");
	return kymo_room_budget("/dev/shm");
}

Test(room, without_limits_it_is_256_mb)
{
	cr_assert_eq(budget(), 256 * MIB);
	write_file("/proc/self/cgroup", "0::/a\n");
	cr_assert_eq(budget(), 256 * MIB);
	write_file("/sys/fs/cgroup/a/memory.max", "max\n");
	cr_assert_eq(budget(), 256 * MIB);
}

Test(room, it_is_an_eighth_of_the_groups_memory)
{
	write_file("/proc/self/cgroup", "0::/a\n");
	write_file("/sys/fs/cgroup/a/memory.max", "209715200\n");
	cr_assert_eq(budget(), 25 * MIB);
}

Test(room, a_group_further_up_limits_as_well)
{
	write_file("/proc/self/cgroup", "0::/a/b/c\n");
	write_file("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
	write_file("/sys/fs/cgroup/a/b/memory.max", "1073741824\n");
	write_file("/sys/fs/cgroup/a/memory.max", "838860800\n");
	cr_assert_eq(budget(), 100 * MIB);
}

Test(room, in_a_container_the_group_is_the_root)
{
	write_file("/proc/self/cgroup", "0::/\n");
	write_file("/sys/fs/cgroup/memory.max", "838860800\n");
	cr_assert_eq(budget(), 100 * MIB);
}

Test(room, version_1_of_groups_limits_too)
{
	write_file("/proc/self/cgroup", "12:cpu,cpuacct:/x\n5:memory:/a/b\n0::/\n");
	write_file("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "419430400\n");
	cr_assert_eq(budget(), 50 * MIB);
}

Test(room, it_is_half_of_what_the_file_system_has_free)
{
	uid_t uid = geteuid();
	char path[4096];
	int fd;

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("small", root, "tmpfs", 0, "size=8m") < 0)
		cr_skip_test("no mounts for this user");
	cr_assert_eq(kymo_room_budget(root), 4 * MIB);
	snprintf(path, sizeof path, "%s/filler", root);
	fd = openat(AT_FDCWD, path, O_RDWR | O_CREAT, 0600);
	cr_assert_eq(posix_fallocate(fd, 0, 6 * MIB), 0);
	close(fd);
	cr_assert_eq(kymo_room_budget(root), 1 * MIB);
	umount2(root, MNT_DETACH);
}

Test(room, the_counter_is_the_processors_where_the_kernel_trusts_it)
{
#if defined(__x86_64__)
	const char *source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

	cr_assert_eq(kymo_room_counter(), KYMO_COUNTER_MONOTONIC);
	write_file(source, "hpet\n");
	cr_assert_eq(kymo_room_counter(), KYMO_COUNTER_MONOTONIC);
	write_file(source, "tsc\n");
	cr_assert_eq(kymo_room_counter(), KYMO_COUNTER_TSC);
#else
	cr_skip_test("only x86-64 has more than one");
#endif
}
