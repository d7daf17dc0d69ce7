// SPDX-License-Identifier: Apache-2.0
/*
 * Find process folders in the session, and open what is in them.
 *
 * A producer announces nothing, so the reader looks.  The directory is listed again only
 * if its time stamp has changed, or is so new that a further change may have the same
 * one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/counter.h"
#include "format/unpack.h"
#include "format/varint.h"
#include "reader/image.h"
#include "reader/store.h"

#define RECENT_NS 20000000U
#define RINGS_AT_ONCE 256U
/* How long a folder without definitions is kept after its process has ended. */
#define UNREADY_NS 1000000000U
/* The start of a stream is not freed: a later reader learns from it which process it belongs to. */
#define KEPT_META_BYTES (64U << 10)

/* "<pid>-<start ticks>-<random>" */
static bool parse_folder(const char *name, pid_t *pid, uint64_t *start_ticks)
{
	char *end;
	unsigned long number;

	if (*name < '0' || *name > '9' || strlen(name) >= KYMO_FOLDER_BYTES)
		return false;
	number = strtoul(name, &end, 10);
	if (*end != '-' || number > INT32_MAX)
		return false;
	*pid = (pid_t)number;
	*start_ticks = strtoull(end + 1, &end, 10);
	return *end == '-';
}

static bool is_seen(const struct kymo_reader *reader, const char *folder)
{
	for (const struct kymo_image *image = reader->images; image; image = image->next)
		if (!strcmp(image->folder, folder))
			return true;
	return false;
}

static struct kymo_past_process *past_process(const struct kymo_reader *reader, const char *folder)
{
	for (uint32_t i = 0; i < reader->past.process_count; i++)
		if (!strcmp(reader->past.processes[i].folder, folder))
			return &reader->past.processes[i];
	return NULL;
}

static const struct kymo_past_ring *past_ring(const struct kymo_reader *reader, uint32_t process, uint32_t ring)
{
	for (uint32_t i = 0; i < reader->past.ring_count; i++)
		if (reader->past.rings[i].process == process && reader->past.rings[i].ring == ring)
			return &reader->past.rings[i];
	return NULL;
}

static void image_add(struct kymo_reader *reader, const char *folder, pid_t pid,
		      uint64_t start_ticks)
{
	struct kymo_image *image = calloc(1, sizeof *image);
	struct kymo_image **link = &reader->images;

	if (!image)
		return;
	/* Numbers are given in this order: usually parents before their children. */
	while (*link && ((*link)->is_ready || (*link)->life.start_ticks < start_ticks ||
			 ((*link)->life.start_ticks == start_ticks && (*link)->life.pid < pid)))
		link = &(*link)->next;
	strcpy(image->folder, folder);
	image->meta.fd = -1;
	image->folder_fd = openat(reader->session.dir_fd, folder,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (image->folder_fd < 0) {
		/* Perhaps there was no free descriptor: it is tried again at the next listing. */
		reader->has_unready = true;
		free(image);
		return;
	}
	kymo_life_watch(&image->life, pid, start_ticks);
	image->next = *link;
	*link = image;
}

static void list_folders(struct kymo_reader *reader)
{
	int fd = openat(reader->session.dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t start_ticks;
	pid_t pid;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		reader->has_unready = true;
		return;
	}
	while ((entry = readdir(directory)))
		if (parse_folder(entry->d_name, &pid, &start_ticks) &&
		    !is_seen(reader, entry->d_name))
			image_add(reader, entry->d_name, pid, start_ticks);
	closedir(directory);
}

/* A process in a namespace below ours has a process id here, too, by which it can be watched. */
static void find_foreign(struct kymo_image *image, uint64_t pid_namespace)
{
	pid_t pid = kymo_life_find(image->life.pid, pid_namespace);

	if (!pid)
		return;
	kymo_life_unwatch(&image->life);
	kymo_life_watch(&image->life, pid, kymo_life_start_ticks(pid));
	image->is_foreign = false;
}

/* The first message of a stream describes its process; it is written before the file's magic.
 * Returns its length, at the start of reader->meta_buffer, or 0. */
static size_t learn_process(struct kymo_reader *reader, struct kymo_image *image)
{
	ssize_t got = pread(image->meta.fd, reader->meta_buffer, reader->meta_capacity,
			    KYMO_PAGE_BYTES);
	Kymo__Definition *definition;
	uint64_t bytes;
	size_t n;

	if (got <= 0 || !(n = kymo_varint_get(reader->meta_buffer, (size_t)got, &bytes)) ||
	    bytes > (size_t)got - n)
		return 0;
	if (kymo_unpack(reader->meta_buffer + n, bytes, &definition, NULL))
		return 0;
	if (definition->kind_case == KYMO__DEFINITION__KIND_PROCESS) {
		uint64_t pid_namespace = definition->process->pid_namespace;

		image->is_known = true;
		image->started_clock = definition->process->started_clock;
		image->is_foreign = pid_namespace && reader->pid_namespace &&
				    pid_namespace != reader->pid_namespace;
		if (image->is_foreign)
			find_foreign(image, pid_namespace);
	}
	kymo__definition__free_unpacked(definition, NULL);
	return n + bytes;
}

/* Open an image's definitions, and give it its number. */
static void image_prepare(struct kymo_reader *reader, struct kymo_image *image)
{
	struct kymo_past_process *past;
	uint64_t seen_ns = 0;
	size_t first;
	int err = kymo_meta_view_open(&image->meta, image->folder_fd, reader->access, NULL);

	if (err) {
		uint64_t now = kymo_monotonic_ns();

		/* Recording begins with the first definition: this process had not begun. */
		if (kymo_life_is_over(&image->life) || err == -EBADMSG) {
			if (!image->over_since_ns)
				image->over_since_ns = now;
			if (now - image->over_since_ns > UNREADY_NS)
				kymo_image_close(reader, image, true);
		}
		return;
	}
	image->is_ready = true;
	image->meta_ns = image->changed_ns = kymo_monotonic_ns();
	/* Relaxed: the reader's own word, written by this reader or an earlier one. */
	image->meta_taken = kymo_load_relaxed_u64(&image->meta.page->consumed);
	image->meta_freed = image->meta_taken / KYMO_PAGE_BYTES * KYMO_PAGE_BYTES;
	if (image->meta_freed < KEPT_META_BYTES)
		image->meta_freed = KEPT_META_BYTES;
	first = learn_process(reader, image);
	reader->has_new = true;
	past = past_process(reader, image->folder);
	if (past) {
		image->number = past->number;
		if (past->meta_taken > image->meta_taken)
			image->meta_taken = past->meta_taken;
		image->segments = past->segments;
		past->segments = (struct kymo_segments){0};
	} else {
		image->number = ++reader->images_seen;
		kymo_run_define_process_seen(&reader->writer, image->number, image->folder);
		/* In a salvage, now may be long after the process was there. */
		if (reader->access == KYMO_ACCESS_DRAIN)
			seen_ns = kymo_unix_ns();
	}
	kymo_sources_begin_process(reader->sources, image->number, seen_ns, image->meta_taken);
	kymo_sources_scan(reader->sources, image->number, 0, reader->meta_buffer, first, false);
}

void kymo_images_discover(struct kymo_reader *reader)
{
	uint64_t now = kymo_unix_ns();
	struct stat status;

	if (!fstat(reader->session.dir_fd, &status)) {
		uint64_t changed = (uint64_t)status.st_mtim.tv_sec * 1000000000U +
				   (uint64_t)status.st_mtim.tv_nsec;

		if (reader->has_unready || reader->listed_ns < changed + RECENT_NS ||
		    memcmp(&status.st_mtim, &reader->listed_mtime, sizeof status.st_mtim)) {
			reader->has_unready = false;
			list_folders(reader);
			reader->listed_mtime = status.st_mtim;
			reader->listed_ns = now;
		}
	}
	for (struct kymo_image *image = reader->images, *next; image; image = next) {
		next = image->next;
		if (!image->is_ready && !image->is_gone)
			image_prepare(reader, image);
	}
}

static int open_ring(struct kymo_reader *reader, struct kymo_image *image, uint32_t number,
		     struct kymo_image_ring *ring)
{
	const struct kymo_past_ring *past = past_ring(reader, image->number, number);
	int err = kymo_ring_view_open(&ring->view, image->folder_fd, number, reader->access, NULL);
	uint64_t consumed;

	if (err)
		return err;
	ring->is_open = true;
	if (past) {
		ring->taken = past->taken;
		ring->thread = past->thread;
		ring->stored = ring->counted = past->last_ordinal;
		/* Events missing behind that were dropped, or held by the reader that was killed. */
		if (reader->session.policy != KYMO_POLICY_OVERWRITE)
			ring->missing = KYMO_LOSS_READER;
	}
	/* A salvage also finds the chunks that were held, if their slots were not reused. */
	if (reader->access != KYMO_ACCESS_DRAIN)
		return 0;
	/* Relaxed: the reader's own word. */
	consumed = kymo_load_relaxed_u64(&ring->view.consumer->consumed_seq);
	if (ring->taken > consumed) /* stored by a reader that was killed before it could advance consumed_seq */
		kymo_ring_view_release(&ring->view, ring->taken);
	else
		ring->taken = consumed;
	return 0;
}

/* Add the next ring.  False: not now, because its file, a descriptor or memory is missing. */
static bool add_ring(struct kymo_reader *reader, struct kymo_image *image)
{
	struct kymo_image_ring **grown =
		realloc(image->rings, (image->ring_count + 1) * sizeof *image->rings);
	struct kymo_image_ring *ring = calloc(1, sizeof *ring);
	int err = -ENOMEM;

	if (grown)
		image->rings = grown;
	if (grown && ring)
		err = open_ring(reader, image, image->ring_count + 1, ring);
	/* A file that will never be a valid ring keeps its place, but is not looked at again. */
	if (err && err != -EBADMSG && err != -ELOOP && err != -EACCES) {
		free(ring);
		return false;
	}
	image->rings[image->ring_count++] = ring;
	return true;
}

void kymo_image_open_rings(struct kymo_reader *reader, struct kymo_image *image)
{
	/* Acquire: the files that the number counts are complete.  Pairs with the release
	 * store in kymo_process_take_ring(). */
	uint32_t wanted = kymo_load_acquire_u32(&image->meta.page->rings);
	uint32_t added = 0;

	while (image->ring_count < wanted && added++ < RINGS_AT_ONCE)
		if (!add_ring(reader, image))
			break;
}

void kymo_image_close(struct kymo_reader *reader, struct kymo_image *image, bool remove)
{
	uint64_t budget = 0;

	for (uint32_t i = 0; i < image->ring_count; i++) {
		struct kymo_image_ring *ring = image->rings[i];

		if (ring->is_open) {
			uint32_t slots = kymo_load_relaxed_u32(&ring->view.page->slots);

			if (slots > ring->view.max_slots)
				slots = ring->view.max_slots;
			budget += ring->view.slots_offset + (uint64_t)slots * ring->view.slot_bytes;
			kymo_ring_view_close(&ring->view);
		}
		free(ring);
	}
	kymo_store_forget(reader, image);
	free(image->rings);
	image->rings = NULL;
	image->ring_count = 0;
	if (image->is_ready) {
		kymo_sources_end_process(reader->sources, image->number);
		kymo_meta_view_close(&image->meta);
	}
	image->is_ready = false;
	kymo_life_unwatch(&image->life);
	image->is_gone = true;
	if (remove && kymo_folder_remove(reader->session.dir_fd, image->folder)) {
		kymo_add_u64(&reader->session.page->budget_used, -budget);
		remove = false;
	}
	close(image->folder_fd);
	image->folder_fd = -1;
	/* A folder that cannot be removed must not be found again. */
	if (remove)
		return;
	for (struct kymo_image **link = &reader->images; *link; link = &(*link)->next) {
		if (*link == image) {
			*link = image->next;
			break;
		}
	}
	free(image);
}
