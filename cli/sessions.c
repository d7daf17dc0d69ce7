// SPDX-License-Identifier: Apache-2.0
#include "cli/sessions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/trace/timeline.h"

#define MAX_CONFIG_BYTES (1U << 20)
#define MAX_RUN_BYTES (16 << 20)

/* Take the folder off @path, which ends in /session, into @dir. */
static bool take_folder(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	if (!slash || strncmp(slash, "/session", 8) || (slash[8] && slash[8] != '\n'))
		return false;
	snprintf(dir, PATH_MAX, "%.*s", (int)(slash - path), path);
	return strstr(dir, "/kymo-") != NULL;
}

/* A process that records has the session's page mapped. */
static bool find_in_maps(pid_t pid, char dir[PATH_MAX])
{
	char path[64], *line = NULL;
	bool is_found = false;
	size_t capacity = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	while (file && !is_found && getline(&line, &capacity, file) > 0) {
		const char *name = strchr(line, '/');

		is_found = name && take_folder(name, dir);
	}
	free(line);
	if (file)
		fclose(file);
	return is_found;
}

static void visit_base(const char *base, void (*visit)(const char *dir, void *context), void *context)
{
	char pattern[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof pattern, "%s/kymo-%u-*", base, (unsigned)geteuid());
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t g = 0; g < found.gl_pathc; g++)
		visit(found.gl_pathv[g], context);
	globfree(&found);
}

/* Whether session @dir lies in one of @bases, which were visited. */
static bool is_visited(const char *const *bases, size_t count, const char *dir)
{
	const char *slash = strrchr(dir, '/');
	size_t length = slash ? (size_t)(slash - dir) : 0;

	for (size_t i = 0; i < count; i++)
		if (bases[i] && strlen(bases[i]) == length && !strncmp(bases[i], dir, length))
			return true;
	return false;
}

static bool is_reader(const char *pid)
{
	char path[64], name[32] = "";
	struct stat status;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fstat(fileno(file), &status) || status.st_uid != geteuid() || !fgets(name, sizeof name, file))
		name[0] = 0;
	fclose(file);
	return !strcmp(name, "kymo-reader\n");
}

void kymo_sessions_visit(void (*visit)(const char *dir, void *context), void *context)
{
	const char *const bases[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"),
				     "/tmp", getenv("KYMO_SESSION_DIR")};
	const size_t count = sizeof bases / sizeof *bases;
	struct dirent *entry;
	char dir[PATH_MAX];
	DIR *processes;

	for (size_t i = 0; i < count; i++) {
		bool is_known = !bases[i] || bases[i][0] != '/';

		for (size_t earlier = 0; earlier < i && !is_known; earlier++)
			is_known = bases[earlier] && !strcmp(bases[earlier], bases[i]);
		if (!is_known)
			visit_base(bases[i], visit, context);
	}
	processes = opendir("/proc");
	while (processes && (entry = readdir(processes)))
		if (is_reader(entry->d_name) && find_in_maps((pid_t)atoi(entry->d_name), dir) &&
		    !is_visited(bases, count, dir))
			visit(dir, context);
	if (processes)
		closedir(processes);
}

int kymo_session_read(const char *dir, struct kymo_session_page *page, Kymo__Config **config)
{
	char path[PATH_MAX];
	uint8_t *packed = NULL;
	struct stat status;
	int fd, result = -EBADMSG;

	snprintf(path, sizeof path, "%s/session", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -EBADMSG;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    pread(fd, page, sizeof *page, 0) != sizeof *page ||
	    memcmp(page->magic, KYMO_SESSION_MAGIC, sizeof page->magic) ||
	    page->abi_version != KYMO_ABI_VERSION || page->config_bytes > MAX_CONFIG_BYTES)
		goto out;
	packed = malloc(page->config_bytes + 1);
	if (!packed || pread(fd, packed, page->config_bytes, KYMO_PAGE_BYTES) !=
			       (ssize_t)page->config_bytes)
		goto out;
	*config = kymo__config__unpack(NULL, page->config_bytes, packed);
	if (*config)
		result = 0;
out:
	free(packed);
	close(fd);
	return result;
}

/* Other processes of a recording have it in their environment. */
static bool find_in_environment(pid_t pid, char dir[PATH_MAX])
{
	static const char name[] = "KYMO_SESSION=";
	char path[64], *entry = NULL;
	bool is_found = false;
	size_t capacity = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	while (file && !is_found && getdelim(&entry, &capacity, '\0', file) > 0) {
		is_found = !strncmp(entry, name, sizeof name - 1);
		if (is_found)
			snprintf(dir, PATH_MAX, "%s", entry + sizeof name - 1);
	}
	free(entry);
	if (file)
		fclose(file);
	return is_found;
}

int kymo_session_of_process(pid_t pid, char dir[PATH_MAX], struct kymo_error *error)
{
	if (find_in_maps(pid, dir) || find_in_environment(pid, dir))
		return 0;
	if (kill(pid, 0) && errno == ESRCH)
		return kymo_fail(error, -ESRCH, "no process %d", (int)pid);
	return kymo_fail(error, -ENOENT, "process %d is not recorded", (int)pid);
}

/* The `run` message of session @dir, or NULL. */
static Kymo__Session *read_run(const char *dir)
{
	char path[PATH_MAX];
	Kymo__Session *session = NULL;
	struct stat status;
	uint8_t *packed;
	int fd;

	snprintf(path, sizeof path, "%s/run", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    status.st_size <= MAX_RUN_BYTES && (packed = malloc((size_t)status.st_size + 1))) {
		if (pread(fd, packed, (size_t)status.st_size, 0) == status.st_size)
			session = kymo__session__unpack(NULL, (size_t)status.st_size, packed);
		free(packed);
	}
	close(fd);
	return session;
}

struct search {
	ProtobufCBinaryData id;
	char *dir;
	bool is_found;
};

static void look_at_session(const char *dir, void *context)
{
	struct search *search = context;
	Kymo__Session *session = search->is_found || dir[0] != '/' ? NULL : read_run(dir);

	if (!session)
		return;
	if (session->id.len && session->id.len == search->id.len &&
	    !memcmp(session->id.data, search->id.data, session->id.len)) {
		snprintf(search->dir, PATH_MAX, "%s", dir);
		search->is_found = true;
	}
	kymo__session__free_unpacked(session, NULL);
}

int kymo_session_of_trace(const char *path, char dir[PATH_MAX])
{
	struct search search = {.dir = dir};
	struct kymo_timeline timeline;
	const Kymo__Session *session;

	if (kymo_timeline_open(&timeline, path, 0, NULL))
		return -ENOENT;
	session = timeline.definitions.session;
	if (session) {
		search.id = session->id;
		look_at_session(session->folder, &search);
		/* Older recordings do not have it. */
		if (!search.is_found && session->config && session->config->session_dir[0] == '/')
			visit_base(session->config->session_dir, look_at_session, &search);
		if (!search.is_found)
			kymo_sessions_visit(look_at_session, &search);
	}
	kymo_timeline_close(&timeline);
	return search.is_found ? 0 : -ENOENT;
}
