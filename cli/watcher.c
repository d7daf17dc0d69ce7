// SPDX-License-Identifier: Apache-2.0
#include "cli/watcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/process_status.h"
#include "format/atomics.h"
#include "format/chunk.h"
#include "format/flow.h"
#include "format/record.h"

/* A kind of stop from <linux/ptrace.h>. */
#define EVENT_STOP 128
#define MAX_RINGS 65536U

static bool read_memory(pid_t tid, uint64_t address, void *into, size_t bytes)
{
	struct iovec local = {into, bytes}, remote = {(void *)(uintptr_t)address, bytes};

	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static bool read_word(pid_t tid, uint64_t address, uint64_t *word)
{
	return read_memory(tid, address, word, sizeof *word);
}

/* Where the top frame of @ring's producer is, as CPython counts; UINT32_MAX: not known. */
static uint32_t find_place(pid_t tid, const struct kymo_frame_layout *layout, const struct kymo_ring_page *ring)
{
	/* Relaxed: the thread has stopped. */
	uint64_t producer = kymo_load_relaxed_u64(&ring->producer), process, frame, known, code, units, instruction;
	uint32_t thread;

	if (!read_memory(tid, producer + layout->producer_thread, &thread, sizeof thread) ||
	    !read_word(tid, producer + layout->producer_process, &process) ||
	    !read_word(tid, producer + layout->producer_frame, &frame) ||
	    !read_word(tid, producer + layout->producer_code, &known))
		return UINT32_MAX;
	/* Another program runs in the process, or the thread has no frame, or not the last known one. */
	if (thread != kymo_load_relaxed_u32(&ring->thread) || process != layout->process || !frame || !known ||
	    !read_word(tid, frame + layout->frame_code, &code) || (code & layout->code_mask) != known ||
	    !read_word(tid, frame + layout->frame_instruction, &instruction) ||
	    !read_word(tid, known + layout->code_units, &units) || units > KYMO_FLOW_MAX_UNITS)
		return UINT32_MAX;
	instruction -= known + layout->code_bytecode;
	return instruction / KYMO_CODE_UNIT < units ? (uint32_t)(instruction / KYMO_CODE_UNIT) : UINT32_MAX;
}

/*
 * True if the thread may be further than the instruction that the interpreter has stored: between two instructions.  Not if it
 * was in a system call or died by a signal that it caused itself.
 */
static bool may_be_further(pid_t tid)
{
	unsigned long status = 0;
	char path[64], call[8] = "";
	int fd;

	if (!ptrace(PTRACE_GETEVENTMSG, tid, NULL, &status))
		switch (status & 0x7f) {
		case SIGSEGV:
		case SIGBUS:
		case SIGFPE:
		case SIGILL:
		case SIGABRT:
			return false;
		default:
			break;
		}
	snprintf(path, sizeof path, "/proc/%d/syscall", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	if (read(fd, call, sizeof call - 1) <= 0)
		call[0] = 0;
	close(fd);
	return call[0] < '0' || call[0] > '9';
}

static bool read_page(int folder, const char *name, int flags, void *page, size_t bytes, int *fd)
{
	*fd = openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW);
	return *fd >= 0 && pread(*fd, page, bytes, 0) == (ssize_t)bytes;
}

/* Write into the ring of thread @tid, if @folder has it, where the thread was.  True: it has. */
static bool tell_ring(int folder, uint32_t number, pid_t tid, const struct kymo_frame_layout *layout)
{
	struct kymo_ring_page ring;
	bool is_its_own = false;
	uint32_t place;
	char name[32];
	int fd;

	snprintf(name, sizeof name, "ring-%u", number);
	if (read_page(folder, name, O_RDWR, &ring, sizeof ring, &fd) && !memcmp(ring.magic, KYMO_RING_MAGIC, sizeof ring.magic) &&
	    kymo_load_relaxed_u32(&ring.native_id) == (uint32_t)tid && kymo_load_relaxed_u32(&ring.thread)) {
		place = find_place(tid, layout, &ring);
		is_its_own = place != UINT32_MAX;
		if (is_its_own) {
			uint64_t word = KYMO_STOPPED_AT(place, may_be_further(tid));

			if (pwrite(fd, &word, sizeof word, offsetof(struct kymo_ring_page, stopped_at)) != sizeof word)
				is_its_own = false;
		}
	}
	if (fd >= 0)
		close(fd);
	return is_its_own;
}

static bool tell_process(int sessions, const char *name, pid_t tid)
{
	int folder = openat(sessions, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), fd = -1;
	struct kymo_meta_page meta;
	bool is_told = false;

	if (folder < 0)
		return false;
	if (read_page(folder, "meta", O_RDONLY, &meta, sizeof meta, &fd) && !memcmp(meta.magic, KYMO_META_MAGIC, sizeof meta.magic) &&
	    meta.abi_version == KYMO_ABI_VERSION && meta.frames.frame_instruction) {
		uint32_t rings = kymo_load_relaxed_u32(&meta.rings);

		for (uint32_t i = 1; i <= rings && i <= MAX_RINGS && !is_told; i++)
			is_told = tell_ring(folder, i, tid, &meta.frames);
	}
	if (fd >= 0)
		close(fd);
	close(folder);
	return is_told;
}

/* Thread @tid is about to end: write into the session's memory where it was.  Folders of earlier images of its process do not count. */
static void tell_end(const struct kymo_watcher *watcher, pid_t tid)
{
	DIR *sessions = opendir(watcher->session_dir);
	char prefix[16];
	size_t length;

	if (!sessions)
		return;
	length = (size_t)snprintf(prefix, sizeof prefix, "%d-", kymo_process_number(tid, "Tgid:"));
	for (const struct dirent *entry; (entry = readdir(sessions));)
		if (!strncmp(entry->d_name, prefix, length) && tell_process(dirfd(sessions), entry->d_name, tid))
			break;
	closedir(sessions);
}

/* Let the thread that has stopped go on, as if nobody had looked. */
static void serve_stop(const struct kymo_watcher *watcher, pid_t tid, int status)
{
	unsigned event = (unsigned)status >> 16;
	int number = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXIT)
		tell_end(watcher, tid);
	if (event == EVENT_STOP && (number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU))
		ptrace(PTRACE_LISTEN, tid, NULL, NULL); /* its process is stopped, and must stay so */
	else
		ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)(event ? 0 : number));
}

static bool seize(pid_t tid)
{
	const long options = PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;

	return !ptrace(PTRACE_SEIZE, tid, NULL, (void *)options); /* NOLINT(performance-no-int-to-ptr) */
}

static void seize_process(pid_t pid);

/* Seize the children that thread @tid of @pid had before it was seized itself, and theirs. */
static void seize_children(pid_t pid, pid_t tid)
{
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1) /* NOLINT(cert-err34-c): the kernel wrote it */
		if (seize(child))
			seize_process(child);
	if (file)
		fclose(file);
}

/* The first thread of @pid has been seized: seize all others that existed before, and their children. */
static void seize_process(pid_t pid)
{
	bool has_more = true;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	/* A thread that was seized in this round may have begun another one before. */
	while (has_more) {
		DIR *tasks = opendir(path);

		has_more = false;
		for (const struct dirent *entry; tasks && (entry = readdir(tasks));)
			has_more |= atoi(entry->d_name) > 0 && seize(atoi(entry->d_name));
		if (tasks)
			rewinddir(tasks);
		for (const struct dirent *entry; tasks && !has_more && (entry = readdir(tasks));)
			if (atoi(entry->d_name) > 0)
				seize_children(pid, atoi(entry->d_name));
		if (tasks)
			closedir(tasks);
	}
}

int kymo_watcher_begin(struct kymo_watcher *watcher, pid_t pid, const char *session_dir, struct kymo_error *error)
{
	if (!seize(pid))
		return kymo_fail(error, -errno, "--exact-end: cannot watch the program: %s; what it does last is not known exactly",
				 strerror(errno));
	/* It has run since its start, and may have begun others. */
	seize_process(pid);
	watcher->session_dir = session_dir;
	return 0;
}

bool kymo_watcher_serve(const struct kymo_watcher *watcher, pid_t pid, int *status)
{
	bool has_ended = false;
	pid_t tid;
	int how;

	while ((tid = waitpid(-1, &how, WNOHANG | __WALL)) > 0) {
		if (WIFSTOPPED(how)) {
			serve_stop(watcher, tid, how);
		} else if (tid == pid) {
			*status = how;
			has_ended = true;
		}
	}
	return has_ended;
}
