// SPDX-License-Identifier: Apache-2.0
#include "reader/held.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/chunk.h"

static uint64_t frame_bytes(const struct kymo_frame_header *header)
{
	return sizeof(struct kymo_held_frame) + header->stored_bytes;
}

static int open_unlinked(const char *beside)
{
	char path[PATH_MAX];
	char *slash;
	int fd;

	if (snprintf(path, sizeof path, "%s.held-XXXXXX", beside) >= (int)sizeof path)
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0) {
		unlink(path);
		return fd;
	}
	/* The name may be too long for the file system. */
	slash = strrchr(path, '/');
	if (slash)
		slash[1] = 0;
	fd = open(slash ? path : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int begin_file(struct kymo_held *held, const char *beside)
{
	int fd;

	/* Frames are read back into this. */
	held->current = malloc(sizeof *held->current + KYMO_MAX_SLOT_BYTES);
	if (!held->current)
		return -ENOMEM;
	fd = open_unlinked(beside);
	if (fd < 0) {
		free(held->current);
		held->current = NULL;
		return fd;
	}
	held->fd = fd;
	held->has_file = true;
	held->file_bytes = held->file_read = 0;
	return 0;
}

static int put_in_file(struct kymo_held *held, const char *beside, const struct kymo_frame_header *header,
		       const uint8_t *stored)
{
	struct iovec parts[] = {
		{.iov_base = (void *)(uintptr_t)header, .iov_len = sizeof *header},
		{.iov_base = (void *)(uintptr_t)stored, .iov_len = header->stored_bytes},
	};
	ssize_t wanted = (ssize_t)(sizeof *header + header->stored_bytes), done;
	int err = 0;

	if (header->stored_bytes > KYMO_MAX_SLOT_BYTES)
		return -EMSGSIZE;
	if (!held->has_file)
		err = begin_file(held, beside);
	if (err)
		return err;
	do
		done = pwritev(held->fd, parts, 2, (off_t)held->file_bytes);
	while (done < 0 && errno == EINTR);
	if (done != wanted)
		return done < 0 ? -errno : -ENOSPC;
	held->file_bytes += (uint64_t)done;
	return 0;
}

int kymo_held_put(struct kymo_held *held, struct kymo_held_room *room, const char *beside,
		  const struct kymo_frame_header *header, const uint8_t *stored)
{
	struct kymo_held_frame *frame;

	/* Once a frame is in the file, later ones go there, too, so that they come out in order. */
	if (held->has_file || room->used + frame_bytes(header) > room->limit)
		return put_in_file(held, beside, header, stored);
	frame = malloc(frame_bytes(header));
	if (!frame)
		return put_in_file(held, beside, header, stored);
	frame->next = NULL;
	frame->header = *header;
	memcpy(frame->stored, stored, header->stored_bytes);
	if (held->last)
		held->last->next = frame;
	else
		held->first = frame;
	held->last = frame;
	room->used += frame_bytes(header);
	return 0;
}

static struct kymo_held_frame *next_in_file(struct kymo_held *held, bool wants_payload)
{
	struct kymo_held_frame *frame = held->current;
	off_t at = (off_t)held->file_read;
	uint32_t bytes;

	if (held->file_read == held->file_bytes ||
	    pread(held->fd, &frame->header, sizeof frame->header, at) != sizeof frame->header)
		return NULL;
	bytes = frame->header.stored_bytes;
	at += (off_t)sizeof frame->header;
	if (wants_payload && pread(held->fd, frame->stored, bytes, at) != (ssize_t)bytes)
		return NULL;
	held->file_read = (uint64_t)at + bytes;
	return frame;
}

struct kymo_held_frame *kymo_held_next(struct kymo_held *held, struct kymo_held_room *room, bool wants_payload)
{
	struct kymo_held_frame *frame = held->first;

	if (!frame)
		return held->has_file ? next_in_file(held, wants_payload) : NULL;
	held->first = frame->next;
	if (!held->first)
		held->last = NULL;
	room->used -= frame_bytes(&frame->header);
	free(held->returned);
	held->returned = frame;
	return frame;
}

void kymo_held_clear(struct kymo_held *held, struct kymo_held_room *room)
{
	while (held->first)
		kymo_held_next(held, room, false);
	free(held->returned);
	free(held->current);
	if (held->has_file)
		close(held->fd);
	*held = (struct kymo_held){0};
}
