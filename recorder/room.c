// SPDX-License-Identifier: Apache-2.0
#include "recorder/room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/chunk.h"

#define MAX_BUDGET (UINT64_C(256) << 20)

/* Read a small file of /proc or /sys into @text; false if it cannot be read. */
static int read_text(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, bytes - 1);

	if (fd >= 0)
		close(fd);
	if (length < 0)
		return 0;
	text[length] = 0;
	return 1;
}

static uint64_t read_limit(const char *path)
{
	char text[64];
	uint64_t limit = read_text(path, text, sizeof text) ? strtoull(text, NULL, 10) : 0;

	return limit ? limit : UINT64_MAX; /* "max" and a missing file read as 0 */
}

/* The smallest limit on the way from the group at @group up to the root of the hierarchy. */
static uint64_t limit_upwards(const char *mount, char *group, const char *file)
{
	uint64_t smallest = UINT64_MAX;
	char path[4096];

	for (;;) {
		uint64_t limit;
		char *slash;

		snprintf(path, sizeof path, "%s%s/%s", mount, group, file);
		limit = read_limit(path);
		if (limit < smallest)
			smallest = limit;
		slash = strrchr(group, '/');
		if (!slash)
			return smallest;
		*slash = 0;
	}
}

/* Memory limit of this process's control group, version 1 or 2; UINT64_MAX without one. */
static uint64_t cgroup_limit(void)
{
	uint64_t smallest = UINT64_MAX;
	char text[4096], *state = NULL;

	if (!read_text("/proc/self/cgroup", text, sizeof text))
		return smallest;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		uint64_t limit = UINT64_MAX;

		if (!group)
			continue;
		*group++ = 0;
		controllers++;
		if (!*controllers)
			limit = limit_upwards("/sys/fs/cgroup", group, "memory.max");
		else if (strcmp(controllers, "memory") == 0)
			limit = limit_upwards("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
		if (limit < smallest)
			smallest = limit;
	}
	return smallest;
}

uint64_t kymo_room_budget(const char *dir)
{
	uint64_t budget = MAX_BUDGET;
	uint64_t group = cgroup_limit() / 8;
	struct statvfs fs;

	if (statvfs(dir, &fs) == 0 && fs.f_blocks > 0 && fs.f_bavail * fs.f_frsize / 2 < budget)
		budget = fs.f_bavail * fs.f_frsize / 2;
	return group < budget ? group : budget;
}

uint32_t kymo_room_counter(void)
{
#if defined(__x86_64__)
	/* The kernel uses the time-stamp counter itself only where it is invariant and in
	 * step on all processors. */
	char source[32];

	if (read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		      sizeof source) && strncmp(source, "tsc", 3) == 0)
		return KYMO_COUNTER_TSC;
#elif defined(__aarch64__)
	return KYMO_COUNTER_CNTVCT;
#endif
	return KYMO_COUNTER_MONOTONIC;
}
