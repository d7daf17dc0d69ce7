// SPDX-License-Identifier: Apache-2.0
#include "recorder/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recorder/cells.h"
#include "recorder/producer.h"
#include "recorder/redact.h"

/* PF_FORKNOEXEC of the kernel's flags word. */
#define FORKED_WITHOUT_EXEC 0x40

struct kymo_process *_Atomic kymo_current_process;
pthread_mutex_t kymo_process_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic uint64_t last_code_id, last_content_id, last_source_id;
static _Atomic uint32_t last_name_id, last_text_id, last_task_id;
static _Atomic uint32_t generation;
static _Atomic uint64_t frame_layout; /* address of the layout that was set; 0: none */

uint64_t kymo_next_code_id(void)
{
	return kymo_add_u64(&last_code_id, 1) + 1;
}

uint64_t kymo_next_content_id(void)
{
	return kymo_add_u64(&last_content_id, 1) + 1;
}

uint32_t kymo_next_name_id(void)
{
	return kymo_add_u32(&last_name_id, 1) + 1;
}

uint32_t kymo_next_text_id(void)
{
	return kymo_add_u32(&last_text_id, 1) + 1;
}

uint32_t kymo_next_task_id(void)
{
	return kymo_add_u32(&last_task_id, 1) + 1;
}

uint64_t kymo_next_source_id(void)
{
	return kymo_add_u64(&last_source_id, 1) + 1;
}

/* Fields 22 and 9 of /proc/self/stat, counted from behind the command, which may hold anything. */
static uint64_t start_ticks(bool *is_forked)
{
	char text[2048];
	unsigned long long ticks = 0, flags = 0;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	char *at;

	*is_forked = true;
	if (fd >= 0)
		close(fd);
	if (length <= 0)
		return 0;
	text[length] = 0;
	at = strrchr(text, ')');
	for (int field = 3; at && field <= 22; field++) {
		at = strchr(at + 1, ' ');
		if (at && field == 9)
			flags = strtoull(at, NULL, 10);
		if (at && field == 22)
			ticks = strtoull(at, NULL, 10);
	}
	*is_forked = flags & FORKED_WITHOUT_EXEC;
	return ticks;
}

static uint64_t pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static char *make_folder(const char *dir, uint64_t ticks)
{
	char *folder, *path;
	uint32_t random;
	int result;

	/* Without getrandom() the address of a stack variable and the pid must do: the folder
	 * is made exclusively, so a clash is an error, not a mix. */
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
		random = (uint32_t)(uintptr_t)&random ^ (uint32_t)time(NULL);
	if (asprintf(&folder, "%d-%llu-%08x", (int)getpid(), (unsigned long long)ticks, random) < 0)
		return NULL;
	if (asprintf(&path, "%s/%s", dir, folder) < 0) {
		free(folder);
		return NULL;
	}
	result = mkdir(path, 0700);
	free(path);
	if (result < 0) {
		free(folder);
		return NULL;
	}
	return folder;
}

/* Keep @facts packed: a forked child describes itself the same way, except for what the fork changed. */
static bool keep_facts(struct kymo_process *process, const Kymo__Process *facts)
{
	uint8_t *packed = malloc(kymo__process__get_packed_size(facts) + 1);

	if (!packed)
		return false;
	free(process->facts);
	process->facts = packed;
	process->facts_bytes = kymo__process__pack(facts, packed);
	return true;
}

void kymo_process_tell_frames(const struct kymo_frame_layout *layout)
{
	/* Relaxed: it is always the same. */
	kymo_store_relaxed_u64(&frame_layout, (uintptr_t)layout);
}

/* For the watcher, which looks at this process when it has been stopped. */
static void tell_frames(const struct kymo_process *process)
{
	const struct kymo_frame_layout *told = (const void *)(uintptr_t)kymo_load_relaxed_u64(&frame_layout);
	struct kymo_frame_layout *frames = &process->meta.page->frames;

	if (!told)
		return;
	*frames = *told;
	frames->process = (uintptr_t)process;
	frames->producer_thread = offsetof(struct kymo_producer, thread);
	frames->producer_process = offsetof(struct kymo_producer, process);
	frames->producer_frame = offsetof(struct kymo_producer, frame);
	frames->producer_code = offsetof(struct kymo_producer, code);
}

/* Make folder and stream, and write the first definition.  The file becomes valid, by its
 * magic, only when it has that definition. */
static int join(struct kymo_process *process, Kymo__Process *facts, struct kymo_error *error)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	const char *dir = process->session->dir;
	char path[KYMO_PAGE_BYTES];
	bool is_forked;
	int result;

	facts->pid = (uint32_t)getpid();
	facts->parent_pid = (uint32_t)getppid();
	facts->start_ticks = start_ticks(&is_forked);
	/* A child of a recorded process has this from its parent. */
	if (!*facts->forked_from)
		facts->image_start_ticks = is_forked ? 0 : facts->start_ticks;
	facts->pid_namespace = pid_namespace();
	facts->started_clock = kymo_session_clock(process->session);
	process->folder = make_folder(dir, facts->start_ticks);
	if (!process->folder)
		return kymo_fail(error, -errno, "cannot create a folder in %s: %s", dir, strerror(errno));
	facts->folder = process->folder;
	snprintf(path, sizeof path, "%s/%s", dir, process->folder);
	if ((result = kymo_meta_make(&process->meta, path)) < 0)
		return kymo_fail(error, result, "cannot create %s/meta: %s", path, strerror(-result));
	tell_frames(process);
	definition.kind_case = KYMO__DEFINITION__KIND_PROCESS;
	definition.process = facts;
	result = kymo_meta_append(&process->meta, &definition, process->session->page->meta_bytes);
	if (result < 0)
		return kymo_fail(error, result, "cannot write %s/meta: %s", path, strerror(-result));
	if (!keep_facts(process, facts))
		return kymo_fail(error, -ENOMEM, "out of memory starting the recording");
	kymo_fence_release();
	memcpy(process->meta.page->magic, KYMO_META_MAGIC, sizeof process->meta.page->magic);
	return 0;
}

/* Report to the reader that this process is not recorded. */
static void tell_unjoined(struct kymo_session_page *page, const char *forked_from, int error)
{
	/* This comes first, so that a process that is killed here is counted. */
	kymo_add_u32(&page->processes_unrecorded, 1);
	for (uint32_t i = 0; i < KYMO_UNJOINED; i++) {
		struct kymo_unjoined *entry = &page->unjoined[i];

		/* Relaxed: the reader does not look at entries that it has freed. */
		if (!kymo_change_u32(&entry->state, KYMO_UNJOINED_FREE, KYMO_UNJOINED_CLAIMED))
			continue;
		entry->pid = (uint32_t)getpid();
		entry->error = error;
		snprintf(entry->forked_from, sizeof entry->forked_from, "%s", forked_from);
		/* Release: who sees the state sees the rest.  The reader loads it with acquire. */
		kymo_store_release_u32(&entry->state, KYMO_UNJOINED_TOLD);
		return;
	}
}

int kymo_process_start(struct kymo_session *session, Kymo__Process *facts, struct kymo_error *error)
{
	struct kymo_process *process;
	char **argv = facts->argv;
	int result;

	if (kymo_process_is_recording())
		return kymo_fail(error, -EBUSY, "this process is already being recorded");
	process = calloc(1, sizeof *process);
	if (!process)
		return kymo_fail(error, -ENOMEM, "out of memory starting the recording");
	facts->argv = kymo_redact(argv, facts->n_argv);
	if (!facts->argv) {
		facts->argv = argv;
		free(process);
		return kymo_fail(error, -ENOMEM, "out of memory starting the recording");
	}
	process->session = kymo_session_hold(session);
	facts->generation = ++generation;
	kymo_reader_forget_stall();
	/* In a forked child, threads that could hold the lock are not here. */
	if (!kymo_cells_are_live())
		pthread_mutex_init(&kymo_process_lock, NULL);
	pthread_mutex_lock(&kymo_process_lock);
	result = kymo_cells_init();
	if (result < 0)
		kymo_fail(error, result, "cannot use MADV_WIPEONFORK: %s; Linux 4.14 or newer is needed", strerror(-result));
	else
		result = join(process, facts, error);
	if (result == 0)
		kymo_current_process = process;
	else
		kymo_process_free(process);
	pthread_mutex_unlock(&kymo_process_lock);
	if (result < 0)
		tell_unjoined(session->page, "", -result);
	kymo_redact_free(facts->argv, facts->n_argv);
	facts->argv = argv;
	return result;
}

void kymo_process_free(struct kymo_process *process)
{
	while (process->free_rings) {
		struct kymo_ring *ring = process->free_rings;

		process->free_rings = ring->next;
		kymo_ring_free(ring);
	}
	kymo_meta_free(&process->meta);
	kymo_session_close(process->session);
	free(process->facts);
	free(process->folder);
	free(process);
}

void kymo_process_leave(struct kymo_process *process)
{
	if (!--process->users && process != kymo_current_process)
		kymo_process_free(process);
}

bool kymo_process_is_recording(void)
{
	return kymo_current_process && kymo_cells_are_live();
}

bool kymo_process_is_orphan(void)
{
	return kymo_current_process && !kymo_cells_are_live();
}

uint32_t kymo_process_generation(void)
{
	return generation;
}

void kymo_process_adopt(void)
{
	struct kymo_process *parent = kymo_current_process;
	struct kymo_process *process;
	Kymo__Process *facts;
	int result = -ENOMEM;

	if (!kymo_process_is_orphan())
		return;
	/* The parent's mappings, and threads that could hold the lock, are not here. */
	pthread_mutex_init(&kymo_process_lock, NULL);
	kymo_current_process = NULL;
	/* Its reference is now this child's; all else that it had is not mapped here, or small. */
	if (parent->session->config->no_subprocesses) {
		kymo_session_close(parent->session);
		return;
	}
	process = calloc(1, sizeof *process);
	facts = kymo__process__unpack(NULL, parent->facts_bytes, parent->facts);
	if (process && facts)
		result = kymo_cells_init();
	if (!result) {
		char *inherited_folder = facts->folder;
		char *inherited_from = facts->forked_from;

		process->session = kymo_session_hold(parent->session);
		process->is_in_parents = kymo_load_relaxed_u64(&parent->segment);
		facts->forked_from = parent->folder;
		facts->forked_at = parent->meta.committed;
		result = join(process, facts, NULL);
		if (!result)
			kymo_current_process = process;
		facts->folder = inherited_folder;
		facts->forked_from = inherited_from;
	}
	if (facts)
		kymo__process__free_unpacked(facts, NULL);
	if (!kymo_current_process) {
		tell_unjoined(parent->session->page, parent->folder, -result);
		if (process)
			kymo_process_free(process);
	}
	kymo_session_close(parent->session);
}

bool kymo_define_locked(struct kymo_process *process, const Kymo__Definition *definition)
{
	int result = kymo_meta_append(&process->meta, definition, process->session->page->meta_bytes);

	if (result < 0)
		kymo_add_u64(&process->meta.page->undefined, 1);
	return result == 0;
}

/* Policy block: the stream is full, the reader lives, and it took something since we last gave up. */
static bool may_wait(struct kymo_process *process)
{
	const struct kymo_session_page *page = process->session->page;

	return page->policy == KYMO_POLICY_BLOCK && !kymo_reader_is_stalled(page) &&
	       process->gave_up_at != 1 + kymo_load_acquire_u64(&process->meta.page->consumed);
}

bool kymo_define(const Kymo__Definition *definition)
{
	struct kymo_process *process = kymo_current_process;
	int saved_errno = errno;
	int result = -ESHUTDOWN;

	if (!kymo_process_is_recording())
		return false;
	pthread_mutex_lock(&kymo_process_lock);
	if (process != kymo_current_process) /* stopped under another GIL */
		goto out;
	process->users++;
	result = kymo_meta_append(&process->meta, definition, process->session->page->meta_bytes);
	for (int waits = 0; result == -EAGAIN && waits < KYMO_META_MAX_WAITS; waits++) {
		if (!may_wait(process))
			break;
		pthread_mutex_unlock(&kymo_process_lock);
		kymo_meta_wait(&process->meta);
		pthread_mutex_lock(&kymo_process_lock);
		result = kymo_meta_append(&process->meta, definition,
					  process->session->page->meta_bytes);
	}
	if (result == -EAGAIN)
		process->gave_up_at = 1 + kymo_load_relaxed_u64(&process->meta.page->consumed);
	if (result < 0)
		kymo_add_u64(&process->meta.page->undefined, 1);
	kymo_process_leave(process);
out:
	pthread_mutex_unlock(&kymo_process_lock);
	errno = saved_errno;
	return result == 0;
}

struct kymo_ring *kymo_process_take_ring(struct kymo_process *process)
{
	struct kymo_ring *ring = process->free_rings;
	char path[KYMO_PAGE_BYTES];

	if (ring) {
		process->free_rings = ring->next;
		ring->next = NULL;
		return ring;
	}
	snprintf(path, sizeof path, "%s/%s", process->session->dir, process->folder);
	if (kymo_ring_make(process->session->page, path, process->rings + 1, &ring) < 0)
		return NULL;
	process->rings++;
	/* Release: who sees the number finds the file.  The reader loads it with acquire. */
	kymo_store_release_u32(&process->meta.page->rings, process->rings);
	return ring;
}

void kymo_process_return_ring(struct kymo_process *process, struct kymo_ring *ring)
{
	/* Relaxed: for statistics; chunk headers name the thread. */
	kymo_store_relaxed_u32(&ring->page->thread, 0);
	ring->next = process->free_rings;
	process->free_rings = ring;
}
