// SPDX-License-Identifier: Apache-2.0
#include "recorder/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/varint.h"

enum { WINDOW_BYTES = 64 * 1024 };

/* Allocate the file's bytes from @offset on and map them; no descriptor stays open. */
static void *map(const char *path, int flags, uint64_t offset, size_t bytes)
{
	void *address = MAP_FAILED;
	int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	int error;

	if (fd < 0)
		return MAP_FAILED;
	do /* tmpfs gives up when the program gets a signal */
		error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
	while (error == EINTR);
	if (error)
		errno = error;
	else
		address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (address != MAP_FAILED)
		madvise(address, bytes, MADV_DONTFORK);
	error = errno;
	close(fd);
	errno = error;
	return address;
}

int kymo_meta_make(struct kymo_meta *meta, const char *dir)
{
	void *page;

	*meta = (struct kymo_meta){0};
	if (asprintf(&meta->path, "%s/meta", dir) < 0)
		return -ENOMEM;
	page = map(meta->path, O_CREAT | O_EXCL, 0, KYMO_PAGE_BYTES);
	if (page == MAP_FAILED) {
		int result = -errno;

		free(meta->path);
		meta->path = NULL;
		return result;
	}
	meta->page = page;
	meta->page->abi_version = KYMO_ABI_VERSION;
	meta->page->pid = (uint32_t)getpid();
	/* Relaxed: the magic is written after the first definition, see kymo_process_start(). */
	kymo_store_relaxed_u32(&meta->page->state, KYMO_PROCESS_RECORDING);
	return 0;
}

void kymo_meta_free(struct kymo_meta *meta)
{
	if (meta->window)
		munmap(meta->window, meta->window_end - meta->window_start);
	if (meta->page)
		munmap(meta->page, KYMO_PAGE_BYTES);
	free(meta->path);
	*meta = (struct kymo_meta){0};
}

/* Move the window so that @bytes from the end of the stream lie in it. */
static int reach(struct kymo_meta *meta, size_t bytes)
{
	uint64_t start = meta->committed / KYMO_PAGE_BYTES * KYMO_PAGE_BYTES;
	uint64_t end = start + WINDOW_BYTES;
	void *window;

	if (meta->committed + bytes <= meta->window_end)
		return 0;
	while (end < meta->committed + bytes)
		end += WINDOW_BYTES;
	window = map(meta->path, 0, KYMO_PAGE_BYTES + start, end - start);
	if (window == MAP_FAILED)
		return -errno;
	if (meta->window)
		munmap(meta->window, meta->window_end - meta->window_start);
	meta->window = window;
	meta->window_start = start;
	meta->window_end = end;
	return 0;
}

int kymo_meta_append(struct kymo_meta *meta, const Kymo__Definition *definition, uint64_t unread_bytes)
{
	size_t size = kymo__definition__get_packed_size(definition);
	size_t bytes = size + KYMO_VARINT_MAX_BYTES;
	/* (P7) acquire: the reader has stored what it has freed.  Pairs with (C7). */
	uint64_t consumed = kymo_load_acquire_u64(&meta->page->consumed);
	uint8_t *at;
	int result;

	if (meta->committed + bytes - consumed > unread_bytes)
		return bytes > unread_bytes ? -EFBIG : -EAGAIN;
	if ((result = reach(meta, bytes)) < 0)
		return result;
	at = meta->window + (meta->committed - meta->window_start);
	at += kymo_varint_put(at, size);
	at += kymo__definition__pack(definition, at);
	meta->committed = meta->window_start + (uint64_t)(at - meta->window);
	/* (P5) release: the message before the length that covers it.  Pairs with (C5). */
	kymo_store_release_u64(&meta->page->committed, meta->committed);
	return 0;
}

void kymo_meta_wait(struct kymo_meta *meta)
{
	const struct timespec once = {.tv_nsec = 100000000};
	uint32_t wake = kymo_load_acquire_u32(&meta->page->wake);
	uint64_t consumed = kymo_load_acquire_u64(&meta->page->consumed);

	/* The reader advances @wake after @consumed, and wakes unconditionally: streams fill up rarely. */
	if (consumed < meta->committed)
		syscall(SYS_futex, &meta->page->wake, FUTEX_WAIT, wake, &once, NULL, 0);
}
