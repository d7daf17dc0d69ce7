// SPDX-License-Identifier: Apache-2.0
#include "recorder/session_create.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/chunk.h"
#include "recorder/redact.h"
#include "recorder/room.h"

enum {
	DEFAULT_SLOTS = 64,
	LARGE_SLOT_BYTES = 64 * 1024,
	SMALL_SLOT_BYTES = 16 * 1024,
	MIN_BUDGET = 256 * 1024,
};

/* Below this budget, slots are small, so that hundreds of threads find room. */
#define LARGE_BUDGET (UINT64_C(128) << 20)

static int write_file(const char *dir, const char *name, const void *bytes, size_t length)
{
	char path[4096];
	int fd, error;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* Allocated first: the file is mapped later, and must not run out of space then. */
	error = posix_fallocate(fd, 0, (off_t)length);
	if (!error && pwrite(fd, bytes, length, 0) != (ssize_t)length)
		error = errno ? errno : EIO;
	close(fd);
	return -error;
}

static uint32_t power_of_two_at_most(uint64_t value)
{
	uint32_t power = KYMO_MIN_SLOT_BYTES;

	while (power < KYMO_MAX_SLOT_BYTES && power * 2 <= value)
		power *= 2;
	return power;
}

/* Fill the sizes in @page from what the user asked for and what @dir has room for. */
static int choose_sizes(struct kymo_session_page *page, const Kymo__Config *config, const char *dir,
			struct kymo_error *error)
{
	uint64_t slots;

	page->budget_bytes = config->budget_bytes ? config->budget_bytes : kymo_room_budget(dir);
	if (page->budget_bytes < MIN_BUDGET)
		return kymo_fail(error, -ENOSPC, "%s has no room for a recording: %llu KiB allowed, 256 KiB needed",
				 dir, (unsigned long long)page->budget_bytes >> 10);
	if (config->slot_bytes)
		page->slot_bytes = power_of_two_at_most(config->slot_bytes);
	else
		page->slot_bytes = page->budget_bytes >= LARGE_BUDGET ? LARGE_SLOT_BYTES : SMALL_SLOT_BYTES;
	while (config->ring_bytes && page->slot_bytes > KYMO_MIN_SLOT_BYTES &&
	       page->slot_bytes * UINT64_C(2) > config->ring_bytes)
		page->slot_bytes /= 2;
	slots = config->ring_bytes ? config->ring_bytes / page->slot_bytes : DEFAULT_SLOTS;
	page->max_slots = (uint32_t)(slots < 2 ? 2 : slots > KYMO_MAX_SLOTS ? KYMO_MAX_SLOTS : slots);
	page->meta_bytes = page->budget_bytes / 4;
	return 0;
}

static int write_session(const char *dir, const Kymo__Config *config, struct kymo_session_page *page)
{
	size_t packed = kymo__config__get_packed_size(config);
	uint8_t *bytes = calloc(1, KYMO_PAGE_BYTES + packed);
	int result;

	if (!bytes)
		return -ENOMEM;
	page->config_bytes = (uint32_t)packed;
	memcpy(bytes, page, sizeof *page);
	kymo__config__pack(config, bytes + KYMO_PAGE_BYTES);
	result = write_file(dir, "session", bytes, KYMO_PAGE_BYTES + packed);
	free(bytes);
	return result;
}

static int write_run(const char *dir, const Kymo__Config *config, Kymo__Session *run,
		     const struct kymo_session_page *page)
{
	char **original = run->argv;
	uint8_t id[16] = {0}, *packed = NULL;
	char host[256] = "";
	struct timespec now;
	int result = -ENOMEM;

	clock_gettime(CLOCK_REALTIME, &now);
	gethostname(host, sizeof host - 1);
	if (getrandom(id, sizeof id, GRND_NONBLOCK) != sizeof id)
		memcpy(id, &now, sizeof id);
	run->config = (Kymo__Config *)(uintptr_t)config;
	run->kymo_version = (char *)(uintptr_t)KYMO_VERSION;
	run->argv = kymo_redact(original, run->n_argv);
	run->started_unix_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	run->counter = page->counter;
	run->budget_bytes = page->budget_bytes;
	run->slot_bytes = page->slot_bytes;
	run->host = host;
	run->folder = (char *)(uintptr_t)dir;
	run->id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
	if (run->argv && (packed = malloc(kymo__session__get_packed_size(run) + 1)))
		result = write_file(dir, "run", packed, kymo__session__pack(run, packed));
	kymo_redact_free(run->argv, run->n_argv);
	free(packed);
	run->argv = original;
	run->config = NULL;
	run->kymo_version = run->host = run->folder = (char *)(uintptr_t)protobuf_c_empty_string;
	run->id = (ProtobufCBinaryData){0};
	return result;
}

/* Try to make the session below @base. */
static int create_in(const char *base, const Kymo__Config *config, Kymo__Session *run,
		     char dir[KYMO_DIR_BYTES], struct kymo_error *error)
{
	struct kymo_session_page page = {
		.abi_version = KYMO_ABI_VERSION,
		.policy = config->policy ? config->policy : KYMO_POLICY_BLOCK,
		.clock_mode = config->clock_mode ? config->clock_mode : KYMO_CLOCK_SAMPLED,
		.counter = kymo_room_counter(),
	};
	int result;

	memcpy(page.magic, KYMO_SESSION_MAGIC, sizeof page.magic);
	if (snprintf(dir, KYMO_DIR_BYTES, "%s/kymo-%u-XXXXXX", base, (unsigned)geteuid()) >= KYMO_DIR_BYTES)
		return kymo_fail(error, -ENAMETOOLONG, "path too long: %s", base);
	if (!mkdtemp(dir)) {
		result = -errno;
		return kymo_fail(error, result, "cannot create a folder in %s: %s", base, strerror(-result));
	}
	result = choose_sizes(&page, config, dir, error);
	if (result == 0) {
		result = write_session(dir, config, &page);
		if (result == 0)
			result = write_run(dir, config, run, &page);
		if (result < 0)
			kymo_fail(error, result, "cannot write to %s: %s", base, strerror(-result));
	}
	if (result < 0)
		kymo_session_remove(dir);
	return result;
}

int kymo_session_create(const Kymo__Config *config, Kymo__Session *run, char dir[KYMO_DIR_BYTES],
			struct kymo_error *error)
{
	const char *const bases[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	int result = -ENOENT;

	if (config->session_dir && *config->session_dir)
		return create_in(config->session_dir, config, run, dir, error);
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		/* A relative name would mean a different folder in each process of the run. */
		if (!bases[i] || bases[i][0] != '/')
			continue;
		result = create_in(bases[i], config, run, dir, error);
		if (result == 0)
			break;
	}
	return result;
}

void kymo_session_remove(const char *dir)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder)
		closedir(folder);
	rmdir(dir);
}
