// SPDX-License-Identifier: Apache-2.0
#include "reader/unrecorded.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/image.h"

#define LOOK_NS 200000000U
/* A Python that records has its folder by then. */
#define GRACE_NS 1000000000U
#define MAX_ENVIRONMENT_BYTES (256U << 10)

/* File @name of process @pid, from malloc and with a zero behind it, or NULL. */
static char *read_proc(pid_t pid, const char *name, size_t limit, size_t *bytes)
{
	char path[64];
	char *text = NULL;
	size_t used = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = malloc(limit + 1);
	while (text && used < limit && (got = read(fd, text + used, limit - used)) > 0)
		used += (size_t)got;
	close(fd);
	if (text)
		text[used] = 0;
	*bytes = used;
	return text;
}

static bool is_python(pid_t pid, char name[64])
{
	char path[64], target[PATH_MAX];
	const char *base;
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	length = readlink(path, target, sizeof target - 1);
	if (length <= 0)
		return false;
	target[length] = 0;
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	snprintf(name, 64, "%.63s", base);
	return !strncmp(base, "python", 6);
}

static bool is_of_session(pid_t pid, const char *session_dir)
{
	size_t bytes, length = strlen(session_dir);
	char *environment = read_proc(pid, "environ", MAX_ENVIRONMENT_BYTES, &bytes);
	bool is_found = false;

	for (char *at = environment; at && at < environment + bytes; at += strlen(at) + 1)
		is_found |= !strncmp(at, "KYMO_SESSION=", 13) &&
			    !strncmp(at + 13, session_dir, length) && !at[13 + length];
	free(environment);
	return is_found;
}

static bool is_recorded(const struct kymo_reader *reader, pid_t pid, uint64_t start_ticks)
{
	for (const struct kymo_image *image = reader->images; image; image = image->next)
		if (image->life.pid == pid && image->life.start_ticks == start_ticks)
			return true;
	return false;
}

/* Whether the interpreter's own options, before the program's, hold @letter. */
static bool has_option(const char *command, size_t bytes, char letter)
{
	const char *at = command + strlen(command) + 1;

	while (at < command + bytes && at[0] == '-' && at[1] && at[1] != '-') {
		const char *end = at + strcspn(at, "cmWX");

		if (memchr(at, letter, (size_t)(end - at)))
			return true;
		if (*end == 'c' || *end == 'm')
			return false;
		at += strlen(at) + 1;
		/* -W and -X may have their argument in the next word. */
		if (*end && !end[1] && at < command + bytes)
			at += strlen(at) + 1;
	}
	return false;
}

static const char *find_reason(const char *name, const char *command, size_t bytes)
{
	int minor;

	if (sscanf(name, "python3.%d", &minor) == 1 && minor < 12)
		return "a Python below 3.12: it has no sys.monitoring";
	if (!strncmp(name, "python2", 7))
		return "a Python below 3.12: it has no sys.monitoring";
	if (!command)
		return "unknown";
	if (has_option(command, bytes, 'S'))
		return "option -S: no site module, so nothing starts the recording";
	if (has_option(command, bytes, 'I'))
		return "option -I: the environment is ignored and Kymo is not installed there";
	if (has_option(command, bytes, 'E'))
		return "option -E: the environment is ignored and Kymo is not installed there";
	return "unknown; perhaps Kymo has no extension for this Python";
}

static void report(struct kymo_reader *reader, pid_t pid, const char *name)
{
	size_t bytes = 0;
	char *command = read_proc(pid, "cmdline", 4096, &bytes);
	const char *reason = find_reason(name, command, bytes);

	/* Words are separated by zeros; what is not plain text is not repeated. */
	for (size_t i = 0; command && i + 1 < bytes; i++)
		if (!isprint((unsigned char)command[i]))
			command[i] = command[i] ? '?' : ' ';
	kymo_run_define_unrecorded(&reader->writer, (uint32_t)pid, command ? command : name,
				   reason);
	free(command);
}

static struct kymo_suspect *find_suspect(struct kymo_unrecorded_scan *scan, pid_t pid,
					 uint64_t start_ticks, uint64_t now_ns)
{
	struct kymo_suspect *suspect;

	for (uint32_t i = 0; i < scan->count; i++)
		if (scan->suspects[i].pid == pid && scan->suspects[i].start_ticks == start_ticks)
			return &scan->suspects[i];
	if (scan->count == KYMO_MAX_SUSPECTS)
		return NULL;
	suspect = &scan->suspects[scan->count++];
	*suspect = (struct kymo_suspect){
		.pid = pid, .start_ticks = start_ticks, .seen_ns = now_ns};
	return suspect;
}

static void look_at(struct kymo_reader *reader, const char *session_dir, pid_t pid, uint64_t now_ns)
{
	struct kymo_suspect *suspect;
	uint64_t start_ticks;
	char name[64];

	if (!is_python(pid, name))
		return;
	start_ticks = kymo_life_start_ticks(pid);
	suspect = start_ticks ? find_suspect(&reader->unrecorded, pid, start_ticks, now_ns) : NULL;
	if (!suspect)
		return;
	suspect->is_present = true;
	if (suspect->is_settled)
		return;
	if (is_recorded(reader, pid, start_ticks)) {
		suspect->is_settled = true;
	} else if (now_ns - suspect->seen_ns >= GRACE_NS) {
		suspect->is_settled = true;
		if (is_of_session(pid, session_dir))
			report(reader, pid, name);
	}
}

/* Forget those that have gone, so that the table has room for those to come. */
static void forget_gone(struct kymo_unrecorded_scan *scan)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < scan->count; i++) {
		if (!scan->suspects[i].is_present)
			continue;
		scan->suspects[kept] = scan->suspects[i];
		scan->suspects[kept++].is_present = false;
	}
	scan->count = kept;
}

void kymo_unrecorded_look(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns)
{
	struct kymo_unrecorded_scan *scan = &reader->unrecorded;
	struct dirent *entry;
	struct stat status;
	DIR *directory;

	if (!scan->last_ns)
		scan->last_ns = now_ns;
	if (now_ns - scan->last_ns < LOOK_NS)
		return;
	scan->last_ns = now_ns;
	directory = opendir("/proc");
	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    !fstatat(dirfd(directory), entry->d_name, &status, 0) &&
		    status.st_uid == geteuid())
			look_at(reader, session_dir, (pid_t)atoi(entry->d_name), now_ns);
	closedir(directory);
	forget_gone(scan);
}
