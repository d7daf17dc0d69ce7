// SPDX-License-Identifier: Apache-2.0
#include "reader/unrecorded.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "reader/image.h"

#define LOOK_NS 200000000U
#define AWAIT_NS 5000000U /* the same while the trace waits for it */
/* After this time, a Python that records has its folder. */
#define GRACE_NS 1000000000U
#define MAX_ENVIRONMENT_BYTES (256U << 10)
#define MAX_COMMAND_BYTES 4096U
#define MAX_ANCESTORS 64
/* The end of what `kymo record` puts into PYTHONPATH. */
#define INJECT "/kymo/inject"

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
	return !strncmp(base, "python", 6) || !strncmp(base, "pypy", 4);
}

static bool is_recorded(const struct kymo_reader *reader, pid_t pid, uint64_t start_ticks)
{
	for (const struct kymo_image *image = reader->images; image; image = image->next)
		if (image->life.start_ticks == start_ticks &&
		    image->life.pid == (image->is_foreign ? kymo_life_inner_pid(pid) : pid))
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

/* What is looked at to say why a Python is not recorded. */
struct facts {
	char name[64]; /* of its program */
	char *command; /* words with a zero behind each; NULL: not readable */
	size_t command_bytes;
	char *environment; /* the same */
	size_t environment_bytes;
};

static const char *variable(const struct facts *facts, const char *name)
{
	const char *end = facts->environment + facts->environment_bytes;
	size_t length = strlen(name);

	for (const char *at = facts->environment; at && at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* Is there an extension for Python 3.@minor where `kymo record` has the process look? */
static bool has_extension(const char *path, int minor)
{
	const char *end = strstr(path, INJECT), *start = end;
	char pattern[PATH_MAX];
	glob_t found;

	while (start > path && start[-1] != ':')
		start--;
	snprintf(pattern, sizeof pattern, "%.*s/kymo/_kymo.cpython-3%d-*", (int)(end - start), start,
		 minor);
	if (glob(pattern, GLOB_NOSORT, NULL, &found))
		return false;
	globfree(&found);
	return true;
}

/* Why it will never be recorded, by what it is and how it was called; NULL: it may be. */
static const char *find_sure_reason(const struct facts *facts)
{
	int minor = 0, length = 0;

	if (strncmp(facts->name, "python", 6) != 0)
		return "not a CPython";
	if (!strncmp(facts->name, "python2", 7) ||
	    (sscanf(facts->name, "python3.%d%n", &minor, &length) == 1 && minor < 12))
		return "a Python below 3.12: it has no sys.monitoring";
	if (minor && facts->name[length] == 't')
		return "a free-threaded build of Python";
	if (facts->command && has_option(facts->command, facts->command_bytes, 'S'))
		return "option -S: no site module, so nothing starts the recording";
	if (facts->environment && facts->environment_bytes < MAX_ENVIRONMENT_BYTES &&
	    !variable(facts, "KYMO_SESSION"))
		return "its environment was replaced: KYMO_SESSION is not in it";
	return NULL;
}

/* The same if an installed Kymo may still record it. */
static const char *find_reason(const struct facts *facts)
{
	const char *path = variable(facts, "PYTHONPATH");
	int minor = 0;

	if (facts->command && has_option(facts->command, facts->command_bytes, 'I'))
		return "option -I: PYTHONPATH is ignored and Kymo is not installed there";
	if (facts->command && has_option(facts->command, facts->command_bytes, 'E'))
		return "option -E: PYTHONPATH is ignored and Kymo is not installed there";
	if (!path || !strstr(path, INJECT))
		return "its PYTHONPATH was replaced and Kymo is not installed there";
	if (sscanf(facts->name, "python3.%d", &minor) == 1 && !has_extension(path, minor))
		return "this kymo has no extension for its version of Python";
	return "unknown";
}

/* Was it started by the recorded command, as far as living parents show? */
static bool is_descendant(const struct kymo_reader *reader, pid_t pid)
{
	pid_t root = (pid_t)kymo_load_relaxed_u32(&reader->session.page->root_pid);

	for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++, pid = kymo_life_parent(pid)) {
		if (pid == root)
			return true;
		for (const struct kymo_image *image = reader->images; image; image = image->next)
			if (image->life.pid == pid && !image->is_gone)
				return true;
	}
	return false;
}

static bool is_of_session(const struct kymo_reader *reader, const char *session_dir, pid_t pid,
			  const struct facts *facts)
{
	const char *session = variable(facts, "KYMO_SESSION");

	if (pid == (pid_t)kymo_load_relaxed_u32(&reader->session.page->root_pid))
		return true;
	if (reader->unrecorded.has_no_children)
		return false;
	return session ? !strcmp(session, session_dir) : is_descendant(reader, pid);
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

static void settle(struct kymo_reader *reader, pid_t pid)
{
	uint64_t start_ticks = kymo_life_start_ticks(pid);
	struct kymo_suspect *suspect =
		start_ticks ? find_suspect(&reader->unrecorded, pid, start_ticks, kymo_monotonic_ns()) : NULL;

	if (suspect)
		suspect->is_settled = suspect->is_present = true;
}

void kymo_unrecorded_pass_over(struct kymo_reader *reader, pid_t pid)
{
	settle(reader, pid);
}

/* Replace what is not plain text. */
static void make_plain(char *command, size_t bytes)
{
	for (size_t i = 0; command && i + 1 < bytes; i++)
		if (!isprint((unsigned char)command[i]))
			command[i] = command[i] ? '?' : ' ';
}

static void report(struct kymo_reader *reader, pid_t pid, const struct facts *facts, const char *reason)
{
	Kymo__Unrecorded unrecorded = KYMO__UNRECORDED__INIT;

	make_plain(facts->command, facts->command_bytes);
	unrecorded.pid = (uint32_t)pid;
	unrecorded.command = facts->command ? facts->command : (char *)(uintptr_t)facts->name;
	unrecorded.reason = (char *)(uintptr_t)reason;
	kymo_run_define_unrecorded(&reader->writer, &unrecorded);
}

/* What is known of process @pid, which is called facts->name. */
static void learn_facts(pid_t pid, struct facts *facts)
{
	facts->command = read_proc(pid, "cmdline", MAX_COMMAND_BYTES, &facts->command_bytes);
	facts->environment =
		read_proc(pid, "environ", MAX_ENVIRONMENT_BYTES, &facts->environment_bytes);
}

static void free_facts(struct facts *facts)
{
	free(facts->command);
	free(facts->environment);
}

void kymo_unrecorded_tell(struct kymo_reader *reader, Kymo__Unrecorded *unrecorded)
{
	pid_t pid = (pid_t)unrecorded->pid;
	struct facts facts = {0};

	if (pid > 0 && is_python(pid, facts.name))
		settle(reader, pid);
	if (pid > 0 && !*unrecorded->forked_from && *facts.name && is_descendant(reader, pid)) {
		learn_facts(pid, &facts);
		make_plain(facts.command, facts.command_bytes);
		if (facts.command)
			unrecorded->command = facts.command;
	}
	kymo_run_define_unrecorded(&reader->writer, unrecorded);
	free_facts(&facts);
}

/* Whether the process has the session's page mapped: a fork of a process that was recorded then, or still is. */
static bool is_fork(const struct kymo_reader *reader, pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	bool is_found = false;
	struct stat session;
	FILE *file;

	if (fstatat(reader->session.dir_fd, "session", &session, AT_SYMLINK_NOFOLLOW))
		return false;
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	file = fopen(path, "re");
	while (file && !is_found && getline(&line, &capacity, file) > 0) {
		unsigned long long inode;
		unsigned major, minor;

		is_found = sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) == 3 &&
			   inode == session.st_ino && makedev(major, minor) == session.st_dev;
	}
	free(line);
	if (file)
		fclose(file);
	return is_found;
}

/* It has the environment that the recorded process was started with.  If that process began the recording itself, its environment
   does not name the session. */
static bool may_be_fork(const struct kymo_reader *reader, const char *session_dir, const struct facts *facts)
{
	const char *session = variable(facts, "KYMO_SESSION");

	if (reader->unrecorded.has_no_children)
		return false;
	return session ? !strcmp(session, session_dir) : !kymo_load_relaxed_u32(&reader->session.page->root_pid);
}

enum verdict {
	SETTLED, /* nothing more can be found out about the process */
	PENDING, /* it may still be recorded */
	FOREIGN, /* the same, into another recording */
};

static enum verdict judge(struct kymo_reader *reader, const char *session_dir, pid_t pid,
			  struct facts *facts, bool is_due, bool is_end)
{
	enum verdict verdict = SETTLED;
	bool is_ours, is_a_fork;
	const char *reason;
	char name[64];

	learn_facts(pid, facts);
	is_a_fork = may_be_fork(reader, session_dir, facts) && is_fork(reader, pid);
	/* It records with its first event, whenever that is. */
	if (is_a_fork && !(is_due && is_end)) {
		free_facts(facts);
		return PENDING;
	}
	reason = is_a_fork ? "a fork that had done nothing that is recorded when all others had ended" :
			     find_sure_reason(facts);
	is_ours = is_a_fork || is_of_session(reader, session_dir, pid, facts);
	if (!reason && is_due)
		reason = find_reason(facts);
	if (!reason)
		verdict = is_ours ? PENDING : FOREIGN;
	/* The environment of a process that has ended meanwhile reads as empty. */
	else if (is_ours && is_python(pid, name))
		report(reader, pid, facts, reason);
	free_facts(facts);
	return verdict;
}

static void look_at(struct kymo_reader *reader, const char *session_dir, pid_t pid, uint64_t now_ns, bool is_end)
{
	struct kymo_suspect *suspect;
	uint64_t start_ticks;
	struct facts facts = {0};
	enum verdict verdict = SETTLED;

	if (!is_python(pid, facts.name))
		return;
	start_ticks = kymo_life_start_ticks(pid);
	suspect = start_ticks ? find_suspect(&reader->unrecorded, pid, start_ticks, now_ns) : NULL;
	if (!suspect)
		return;
	suspect->is_present = true;
	if (suspect->is_settled)
		return;
	if (is_end && !suspect->is_awaited) {
		suspect->is_awaited = true;
		suspect->seen_ns = now_ns;
	}
	if (!is_recorded(reader, pid, start_ticks))
		verdict = judge(reader, session_dir, pid, &facts, now_ns - suspect->seen_ns >= GRACE_NS, is_end);
	suspect->is_settled = verdict == SETTLED;
	reader->unrecorded.is_pending |= verdict == PENDING;
}

/* Forget processes that are gone, so that the table has room for new ones. */
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

static void look(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns, bool is_end)
{
	struct kymo_unrecorded_scan *scan = &reader->unrecorded;
	struct dirent *entry;
	struct stat status;
	DIR *directory;

	scan->last_ns = now_ns;
	scan->is_pending = false;
	directory = opendir("/proc");
	if (!directory)
		return;
	while ((entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    !fstatat(dirfd(directory), entry->d_name, &status, 0) &&
		    (status.st_uid == geteuid() || !geteuid()))
			look_at(reader, session_dir, (pid_t)atoi(entry->d_name), now_ns, is_end);
	closedir(directory);
	forget_gone(scan);
}

void kymo_unrecorded_look(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns)
{
	if (!reader->unrecorded.last_ns)
		reader->unrecorded.last_ns = now_ns;
	if (now_ns - reader->unrecorded.last_ns >= LOOK_NS)
		look(reader, session_dir, now_ns, false);
}

bool kymo_unrecorded_await(struct kymo_reader *reader, const char *session_dir, uint64_t now_ns)
{
	if (!reader->unrecorded.is_pending || now_ns - reader->unrecorded.last_ns >= AWAIT_NS)
		look(reader, session_dir, now_ns, true);
	return reader->unrecorded.is_pending;
}
