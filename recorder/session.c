// SPDX-License-Identifier: Apache-2.0
#include "recorder/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "recorder/recorder.h"

enum { MAX_CONFIG_BYTES = 1 << 20 };

static Kymo__Config *read_config(int fd, uint32_t bytes)
{
	uint8_t *packed = bytes <= MAX_CONFIG_BYTES ? malloc(bytes + 1) : NULL;
	Kymo__Config *config = NULL;

	if (packed && pread(fd, packed, bytes, KYMO_PAGE_BYTES) == (ssize_t)bytes)
		config = kymo__config__unpack(NULL, bytes, packed);
	free(packed);
	return config;
}

static int check_page(const struct kymo_session_page *page, const char *path, struct kymo_error *error)
{
	if (memcmp(page->magic, KYMO_SESSION_MAGIC, sizeof page->magic) != 0)
		return kymo_fail(error, -EBADMSG, "%s is not a Kymo session", path);
	if (page->abi_version != KYMO_ABI_VERSION)
		return kymo_fail(error, -EPROTO,
				 "%s was made by a Kymo with shared memory version %u; this one has %u: "
				 "use the same Kymo for `kymo record` and in the recorded Python",
				 path, page->abi_version, KYMO_ABI_VERSION);
	if (page->slot_bytes < KYMO_MIN_SLOT_BYTES || page->slot_bytes > KYMO_MAX_SLOT_BYTES ||
	    page->slot_bytes & (page->slot_bytes - 1) || page->max_slots == 0 ||
	    page->max_slots > KYMO_MAX_SLOTS)
		return kymo_fail(error, -EBADMSG, "%s is damaged: slot sizes out of range", path);
	return 0;
}

int kymo_session_open(const char *dir, struct kymo_session **out, struct kymo_error *error)
{
	struct kymo_session *session = calloc(1, sizeof *session + strlen(dir) + 1);
	char path[4096];
	struct stat status;
	int fd = -1, result;

	*out = NULL;
	snprintf(path, sizeof path, "%s/session", dir);
	if (!session)
		return kymo_fail(error, -ENOMEM, "out of memory opening %s", path);
	strcpy(session->dir, dir);
	session->references = 1;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &status) < 0) {
		result = kymo_fail(error, -errno, "cannot open %s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_size < KYMO_PAGE_BYTES) {
		result = kymo_fail(error, -EPERM, "%s is not a session file of this user", path);
		goto out;
	}
	session->page = mmap(NULL, KYMO_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (session->page == MAP_FAILED) {
		session->page = NULL;
		result = kymo_fail(error, -errno, "cannot map %s: %s", path, strerror(errno));
		goto out;
	}
	if ((result = check_page(session->page, path, error)) < 0)
		goto out;
	session->config = read_config(fd, session->page->config_bytes);
	if (!session->config)
		result = kymo_fail(error, -EBADMSG, "%s is damaged: no configuration", path);
out:
	if (fd >= 0)
		close(fd);
	if (result < 0)
		kymo_session_close(session);
	else
		*out = session;
	return result;
}

struct kymo_session *kymo_session_hold(struct kymo_session *session)
{
	/* Relaxed: whoever asks has a reference. */
	kymo_add_u32(&session->references, 1);
	return session;
}

void kymo_session_close(struct kymo_session *session)
{
	if (!session)
		return;
	/* What others did with it happens before it is freed. */
	kymo_fence_release();
	if (kymo_add_u32(&session->references, (uint32_t)-1) > 1)
		return;
	kymo_fence_acquire();
	if (session->page)
		munmap(session->page, KYMO_PAGE_BYTES);
	if (session->config)
		kymo__config__free_unpacked(session->config, NULL);
	free(session);
}

struct kymo_session_page *kymo_session_page(struct kymo_session *session)
{
	return session->page;
}

const char *kymo_session_dir(const struct kymo_session *session)
{
	return session->dir;
}

const Kymo__Config *kymo_session_config(const struct kymo_session *session)
{
	return session->config;
}

int kymo_session_failure(const char *dir, struct kymo_error *error)
{
	char path[4096], text[sizeof error->message] = "";
	ssize_t length;
	int fd;

	snprintf(path, sizeof path, "%s/" KYMO_READER_LOG, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof text - 1);
	close(fd);
	text[strcspn(text, "\n")] = 0;
	return kymo_fail(error, -EIO, "%s", length > 0 ? text : "the trace could not be completed");
}

uint64_t kymo_session_clock(const struct kymo_session *session)
{
	return kymo_counter_read(session->page->counter);
}
