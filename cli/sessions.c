// SPDX-License-Identifier: Apache-2.0
#include "cli/sessions.h"

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

#define MAX_CONFIG_BYTES (1U << 20)

void kymo_sessions_visit(void (*visit)(const char *dir, void *context), void *context)
{
	const char *const bases[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"),
				     "/tmp"};

	for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
		char pattern[PATH_MAX];
		bool is_known = !bases[i] || bases[i][0] != '/';
		glob_t found;

		for (size_t earlier = 0; earlier < i && !is_known; earlier++)
			is_known = bases[earlier] && !strcmp(bases[earlier], bases[i]);
		if (is_known)
			continue;
		snprintf(pattern, sizeof pattern, "%s/kymo-%u-*", bases[i], (unsigned)geteuid());
		if (glob(pattern, 0, NULL, &found))
			continue;
		for (size_t g = 0; g < found.gl_pathc; g++)
			visit(found.gl_pathv[g], context);
		globfree(&found);
	}
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

/* Others that belong to a recording have it in their environment. */
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
		return kymo_fail(error, -ESRCH, "there is no process %d", (int)pid);
	return kymo_fail(error, -ENOENT, "process %d is not recorded", (int)pid);
}

struct search {
	const char *output;
	char *dir;
	bool is_found;
};

static void look_at(const char *dir, void *context)
{
	struct search *search = context;
	struct kymo_session_page page;
	Kymo__Config *config;

	if (search->is_found || kymo_session_read(dir, &page, &config))
		return;
	if (!strcmp(config->output, search->output)) {
		snprintf(search->dir, PATH_MAX, "%s", dir);
		search->is_found = true;
	}
	kymo__config__free_unpacked(config, NULL);
}

int kymo_session_of_output(const char *output, char dir[PATH_MAX])
{
	struct search search = {.output = output, .dir = dir};

	kymo_sessions_visit(look_at, &search);
	return search.is_found ? 0 : -ENOENT;
}
