// SPDX-License-Identifier: Apache-2.0
#include "reader/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct pidfd_info of Linux 6.15 in its first size; headers of older systems lack it. */
struct exit_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
#define EXIT_INFO_MASK (UINT64_C(1) << 3)
#define EXIT_INFO_IOCTL _IOWR(0xFF, 11, struct exit_info)

struct proc_stat {
	char state;
	pid_t parent;
	uint64_t start_ticks;
	int exit_code;
};

/* Field @number of a stat line whose field 3 begins at @at. */
static const char *stat_field(const char *at, int number)
{
	for (int i = 3; at && i < number; i++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at;
}

static bool read_stat(pid_t pid, struct proc_stat *result)
{
	char path[64], line[2048];
	const char *at, *ticks, *code;
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, line, sizeof line - 1);
	close(fd);
	if (got <= 0)
		return false;
	line[got] = 0;
	/* The command's name, field 2, may hold anything, so count from its end. */
	at = strrchr(line, ')');
	if (!at || !at[1])
		return false;
	at += 2;
	ticks = stat_field(at, 22);
	code = stat_field(at, 52);
	if (!ticks)
		return false;
	result->state = *at;
	result->parent = (pid_t)strtol(at + 1, NULL, 10);
	result->start_ticks = strtoull(ticks, NULL, 10);
	result->exit_code = code ? (int)strtol(code, NULL, 10) : 0;
	return true;
}

uint64_t kymo_life_start_ticks(pid_t pid)
{
	struct proc_stat now;

	return read_stat(pid, &now) ? now.start_ticks : 0;
}

pid_t kymo_life_parent(pid_t pid)
{
	struct proc_stat now;

	return read_stat(pid, &now) ? now.parent : 0;
}

pid_t kymo_life_inner_pid(pid_t pid)
{
	char path[64], line[256];
	pid_t inner = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && !inner && fgets(line, sizeof line, file)) {
		/* Process ids in each namespace from ours on, the innermost last. */
		const char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');

		if (last)
			inner = (pid_t)strtol(last, NULL, 10);
	}
	if (file)
		fclose(file);
	return inner;
}

pid_t kymo_life_find(pid_t inner_pid, uint64_t pid_namespace)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	struct stat status;
	char path[64];
	pid_t found = 0;

	while (processes && !found && (entry = readdir(processes))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
		if (pid > 0 && !stat(path, &status) && status.st_ino == pid_namespace &&
		    kymo_life_inner_pid(pid) == inner_pid)
			found = pid;
	}
	if (processes)
		closedir(processes);
	return found;
}

static bool is_over_by_proc(const struct kymo_life *life)
{
	struct proc_stat now;

	if (read_stat(life->pid, &now))
		return now.start_ticks != life->start_ticks || now.state == 'Z' || now.state == 'X';
	return kill(life->pid, 0) && errno == ESRCH;
}

bool kymo_life_runs(pid_t pid)
{
	struct kymo_life life = {.pid = pid, .start_ticks = kymo_life_start_ticks(pid)};

	return !is_over_by_proc(&life);
}

void kymo_life_watch(struct kymo_life *life, pid_t pid, uint64_t start_ticks)
{
	*life = (struct kymo_life){.pid = pid, .start_ticks = start_ticks, .pid_fd = -1};
	if (pid <= 0) {
		life->is_over = true;
		return;
	}
	life->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* The process id may have been reused: compare after the open. */
	if (life->pid_fd < 0) {
		life->is_over = errno == ESRCH || is_over_by_proc(life);
	} else if (kymo_life_start_ticks(pid) != start_ticks) {
		life->is_over = is_over_by_proc(life);
		kymo_life_unwatch(life);
	}
}

void kymo_life_unwatch(struct kymo_life *life)
{
	if (life->pid_fd >= 0)
		close(life->pid_fd);
	life->pid_fd = -1;
}

bool kymo_life_is_over(struct kymo_life *life)
{
	struct pollfd event = {.fd = life->pid_fd, .events = POLLIN};

	if (!life->is_over)
		life->is_over = life->pid_fd >= 0 ? poll(&event, 1, 0) == 1 : is_over_by_proc(life);
	return life->is_over;
}

bool kymo_life_has_left(int fd)
{
	bool has_left;

	/* A write lease is given only to the only process that has the file open.  If another opens it while we hold the
	 * lease, the kernel sends us a signal: choose one that nobody needs to handle. */
	if (fcntl(fd, F_SETSIG, SIGURG))
		return false;
	has_left = !fcntl(fd, F_SETLEASE, F_WRLCK);
	if (has_left)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return has_left;
}

bool kymo_life_status(const struct kymo_life *life, int *wait_status)
{
	struct exit_info info = {.mask = EXIT_INFO_MASK};
	struct proc_stat now;

	/* Not waited for yet: its stat line is still there. */
	if (read_stat(life->pid, &now) && now.start_ticks == life->start_ticks &&
	    now.state == 'Z') {
		*wait_status = now.exit_code;
		return true;
	}
	if (life->pid_fd < 0 || ioctl(life->pid_fd, EXIT_INFO_IOCTL, &info) ||
	    !(info.mask & EXIT_INFO_MASK))
		return false;
	*wait_status = info.exit_code;
	return true;
}
