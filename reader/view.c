// SPDX-License-Identifier: Apache-2.0
#include "reader/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/atomics.h"

#define MAX_CONFIG_BYTES (1U << 20)

/* All mappings.  Walked by the signal handler: a SIGBUS comes from an access to a
 * view, and the list is never changed during one. */
static struct kymo_mapping *mappings;

static void replace_page(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;

	(void)context;
	for (struct kymo_mapping *map = mappings; map; map = map->next) {
		if (at - (uintptr_t)map->start >= map->bytes)
			continue;
		if (mmap((void *)(at & ~(uintptr_t)(KYMO_PAGE_BYTES - 1)), KYMO_PAGE_BYTES,
			 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			break;
		map->is_broken = true;
		return;
	}
	/* Not ours: the access is repeated and ends the process as it should. */
	signal(signal_number, SIG_DFL);
}

int kymo_view_guard(struct kymo_error *error)
{
	struct sigaction action = {.sa_sigaction = replace_page, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGBUS, &action, NULL))
		return kymo_fail(error, -errno, "cannot handle SIGBUS: %s", strerror(errno));
	return 0;
}

static int mapping_make(struct kymo_mapping *map, int fd, size_t bytes, int protection,
			struct kymo_error *error)
{
	void *start = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);

	if (start == MAP_FAILED)
		return kymo_fail(error, -errno, "cannot map %zu bytes: %s", bytes, strerror(errno));
	map->start = start;
	map->bytes = bytes;
	map->is_broken = false;
	map->next = mappings;
	map->link = &mappings;
	if (mappings)
		mappings->link = &map->next;
	mappings = map;
	return 0;
}

static void mapping_drop(struct kymo_mapping *map)
{
	if (!map->start)
		return;
	*map->link = map->next;
	if (map->next)
		map->next->link = map->link;
	munmap(map->start, map->bytes);
	map->start = NULL;
}

/* A plain file of our own user, of at least @bytes.  Returns the fd. */
static int open_plain(int dir_fd, const char *name, enum kymo_access access, off_t bytes,
		      struct kymo_error *error)
{
	int mode = access == KYMO_ACCESS_DRAIN ? O_RDWR : O_RDONLY;
	int fd = openat(dir_fd, name, mode | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	int err;

	if (fd < 0)
		return kymo_fail(error, -errno, "%s: %s", name, strerror(errno));
	if (fstat(fd, &status))
		err = kymo_fail(error, -errno, "%s: %s", name, strerror(errno));
	else if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		err = kymo_fail(error, -EBADMSG, "%s is not a regular file of this user", name);
	else if (status.st_size < bytes)
		err = kymo_fail(error, -EAGAIN, "%s is too short: %lld bytes", name,
				(long long)status.st_size);
	else
		return fd;
	close(fd);
	return err;
}

/* A file whose magic is zero is still being made. */
static int check_magic(const uint8_t *shared, const char *magic, uint32_t abi_version,
		       const char *name, struct kymo_error *error)
{
	uint8_t copy[8];

	memcpy(copy, shared, sizeof copy);
	if (!memcmp(copy, "\0\0\0\0\0\0\0", sizeof copy))
		return kymo_fail(error, -EAGAIN, "%s is not complete yet", name);
	if (memcmp(copy, magic, sizeof copy))
		return kymo_fail(error, -EBADMSG, "%s is not a Kymo file", name);
	if (abi_version != KYMO_ABI_VERSION)
		return kymo_fail(error, -EBADMSG, "%s has shared-memory version %u; this Kymo reads version %u", name,
				 abi_version, KYMO_ABI_VERSION);
	return 0;
}

int kymo_session_view_open(struct kymo_session_view *view, const char *path,
			   enum kymo_access access, struct kymo_error *error)
{
	bool drains = access == KYMO_ACCESS_DRAIN;
	int fd = -1, err;

	*view = (struct kymo_session_view){.dir_fd = -1};
	view->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (view->dir_fd < 0)
		return kymo_fail(error, -errno, "cannot open session %s: %s", path, strerror(errno));
	fd = err = open_plain(view->dir_fd, "session", access, KYMO_PAGE_BYTES, error);
	if (fd < 0)
		goto out;
	err = mapping_make(&view->map, fd, KYMO_PAGE_BYTES,
			   drains ? PROT_READ | PROT_WRITE : PROT_READ, error);
	if (err)
		goto out;
	view->page = (struct kymo_session_page *)view->map.start;
	err = check_magic(view->page->magic, KYMO_SESSION_MAGIC, view->page->abi_version, "session",
			  error);
	if (err)
		goto out;
	view->policy = view->page->policy;
	view->counter = view->page->counter;
	view->meta_bytes = view->page->meta_bytes;
	view->config_bytes = view->page->config_bytes;
	if (view->policy < KYMO_POLICY_BLOCK || view->policy > KYMO_POLICY_OVERWRITE ||
	    view->counter < KYMO_COUNTER_MONOTONIC || view->counter > KYMO_COUNTER_CNTVCT ||
	    view->config_bytes > MAX_CONFIG_BYTES) {
		err = kymo_fail(error, -EBADMSG, "session is damaged: numbers out of range");
		goto out;
	}
	view->config = malloc(view->config_bytes + 1);
	if (!view->config)
		err = kymo_fail(error, -ENOMEM, "out of memory");
	else if (pread(fd, view->config, view->config_bytes, KYMO_PAGE_BYTES) !=
		 (ssize_t)view->config_bytes)
		err = kymo_fail(error, -EBADMSG, "session is damaged: the configuration is cut off");
out:
	if (fd >= 0)
		close(fd);
	if (err)
		kymo_session_view_close(view);
	return err;
}

int kymo_meta_view_open(struct kymo_meta_view *view, int folder_fd, enum kymo_access access,
			struct kymo_error *error)
{
	bool drains = access == KYMO_ACCESS_DRAIN;
	int err;

	*view = (struct kymo_meta_view){.fd = -1};
	view->fd = err = open_plain(folder_fd, "meta", access, KYMO_PAGE_BYTES, error);
	if (view->fd < 0)
		return err;
	err = mapping_make(&view->map, view->fd, KYMO_PAGE_BYTES,
			   drains ? PROT_READ | PROT_WRITE : PROT_READ, error);
	if (!err) {
		view->page = (struct kymo_meta_page *)view->map.start;
		err = check_magic(view->page->magic, KYMO_META_MAGIC, view->page->abi_version,
				  "meta", error);
	}
	if (err)
		kymo_meta_view_close(view);
	return err;
}

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int ring_view_fill(struct kymo_ring_view *view, uint32_t ring, enum kymo_access access,
			  const char *name, struct kymo_error *error)
{
	struct kymo_ring_page copy;
	size_t bytes;
	int err;

	/* Sizes come from a copy that is read before mapping: the mapping's own size is one of them. */
	if (pread(view->fd, &copy, sizeof copy, 0) != (ssize_t)sizeof copy)
		return kymo_fail(error, -EAGAIN, "%s is too short", name);
	err = check_magic(copy.magic, KYMO_RING_MAGIC, copy.abi_version, name, error);
	if (err)
		return err;
	if (!is_power_of_two(copy.slot_bytes) || copy.slot_bytes < KYMO_MIN_SLOT_BYTES ||
	    copy.slot_bytes > KYMO_MAX_SLOT_BYTES || !copy.max_slots ||
	    copy.max_slots > KYMO_MAX_SLOTS || copy.ring != ring ||
	    copy.slots_offset != kymo_ring_slots_offset(copy.max_slots))
		return kymo_fail(error, -EBADMSG, "%s is damaged: numbers out of range", name);
	view->slot_bytes = copy.slot_bytes;
	view->max_slots = copy.max_slots;
	view->slots_offset = copy.slots_offset;
	bytes = KYMO_RING_HEADERS_OFFSET + copy.max_slots * sizeof(struct kymo_chunk_header);
	err = mapping_make(&view->map, view->fd, bytes, PROT_READ, error);
	if (err)
		return err;
	view->page = (const struct kymo_ring_page *)view->map.start;
	view->consumer = (struct kymo_ring_consumer *)(view->map.start + KYMO_RING_CONSUMER_OFFSET);
	view->headers =
		(const struct kymo_chunk_header *)(view->map.start + KYMO_RING_HEADERS_OFFSET);
	/* Of the producer's file, the reader may write only its own page. */
	if (access == KYMO_ACCESS_DRAIN &&
	    mprotect(view->consumer, KYMO_PAGE_BYTES, PROT_READ | PROT_WRITE))
		return kymo_fail(error, -errno, "%s: %s", name, strerror(errno));
	return 0;
}

int kymo_ring_view_open_fd(struct kymo_ring_view *view, int fd, uint32_t ring,
			   enum kymo_access access, struct kymo_error *error)
{
	char name[32];
	int err;

	snprintf(name, sizeof name, "ring-%u", ring);
	*view = (struct kymo_ring_view){.fd = fd};
	err = ring_view_fill(view, ring, access, name, error);
	if (err)
		kymo_ring_view_close(view);
	return err;
}

int kymo_ring_view_open(struct kymo_ring_view *view, int folder_fd, uint32_t ring,
			enum kymo_access access, struct kymo_error *error)
{
	char name[32];
	int fd;

	snprintf(name, sizeof name, "ring-%u", ring);
	fd = open_plain(folder_fd, name, access, KYMO_RING_HEADERS_OFFSET, error);
	if (fd < 0)
		return fd;
	return kymo_ring_view_open_fd(view, fd, ring, access, error);
}

void kymo_session_view_close(struct kymo_session_view *view)
{
	mapping_drop(&view->map);
	free(view->config);
	if (view->dir_fd >= 0)
		close(view->dir_fd);
	*view = (struct kymo_session_view){.dir_fd = -1};
}

void kymo_meta_view_close(struct kymo_meta_view *view)
{
	mapping_drop(&view->map);
	if (view->fd >= 0)
		close(view->fd);
	*view = (struct kymo_meta_view){.fd = -1};
}

void kymo_ring_view_close(struct kymo_ring_view *view)
{
	mapping_drop(&view->map);
	if (view->fd >= 0)
		close(view->fd);
	*view = (struct kymo_ring_view){.fd = -1};
}
