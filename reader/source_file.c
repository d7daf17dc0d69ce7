// SPDX-License-Identifier: Apache-2.0
#include "reader/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000U
/* Time stamps of files may lag behind the clock by the kernel's longest tick. */
#define LAG_NS 10000000U
#define CACHED_HEADER_BYTES 16U

static const char too_large[] = "larger than 4 MB";

static uint64_t in_ns(const struct timespec *time)
{
	return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static const char *why(int err)
{
	switch (err) {
	case ENOENT:
	case ENOTDIR:
		return "no such file";
	case EACCES:
	case EPERM:
		return "permission denied";
	case ENAMETOOLONG:
		return "name too long";
	default:
		return "cannot be read";
	}
}

static void set_state(struct kymo_source_state *state, const struct stat *status)
{
	*state = (struct kymo_source_state){
		.device = status->st_dev,
		.inode = status->st_ino,
		.bytes = (uint64_t)status->st_size,
		.modified_ns = in_ns(&status->st_mtim),
		.changed_ns = in_ns(&status->st_ctim),
	};
	if (!S_ISREG(status->st_mode))
		state->missing = "not a regular file";
	else if (status->st_size > KYMO_MAX_SOURCE_BYTES)
		state->missing = too_large;
}

void kymo_source_look(const char *path, struct kymo_source_state *state)
{
	struct stat status;

	if (stat(path, &status))
		*state = (struct kymo_source_state){.missing = why(errno)};
	else
		set_state(state, &status);
}

bool kymo_source_is_same(const struct kymo_source_state *a, const struct kymo_source_state *b)
{
	if (a->missing || b->missing)
		return a->missing && b->missing && !strcmp(a->missing, b->missing);
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
	       a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

/* Checked before it is opened, since opening some devices has an effect, and after, since it may be another file. */
static int open_regular(const char *path, struct kymo_source_state *state)
{
	struct stat status;
	int fd;

	kymo_source_look(path, state);
	if (state->missing)
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status)) {
		*state = (struct kymo_source_state){.missing = why(errno)};
	} else {
		set_state(state, &status);
		if (!state->missing)
			return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool read_all(int fd, uint8_t *bytes, size_t length)
{
	while (length) {
		ssize_t got = read(fd, bytes, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		bytes += got;
		length -= (size_t)got;
	}
	return true;
}

uint8_t *kymo_source_read(const char *path, struct kymo_source_state *state, bool *is_steady)
{
	struct kymo_source_state after;
	int fd = open_regular(path, state);
	uint8_t *text = NULL;
	struct stat status;

	if (fd < 0)
		return NULL;
	text = malloc(state->bytes + 1);
	if (!text || !read_all(fd, text, state->bytes) || fstat(fd, &status)) {
		free(text);
		text = NULL;
		state->missing = "cannot be read";
	} else {
		set_state(&after, &status);
		*is_steady = kymo_source_is_same(state, &after);
	}
	close(fd);
	return text;
}

static bool holds(const uint8_t *bytes, size_t length, const uint8_t *part, size_t part_length)
{
	return part_length && memmem(bytes, length, part, part_length);
}

/* PEP 552: magic number, flags, and with flags 0 the source's time and size. */
static bool names_state(const uint8_t *cached, const struct kymo_source_state *state)
{
	uint32_t words[CACHED_HEADER_BYTES / sizeof(uint32_t)];

	memcpy(words, cached, sizeof words);
	return words[1] == 0 && words[2] == (uint32_t)(state->modified_ns / SECOND_NS) && words[3] == (uint32_t)state->bytes;
}

enum cached { NONE, OTHER, SAME };

/* When the file was written: either time may be later than that, and programs can set one of them. */
static uint64_t written_ns(const struct kymo_source_state *state)
{
	return state->modified_ns < state->changed_ns ? state->modified_ns : state->changed_ns;
}

/*
 * Compare @source with the file @path of cached bytecode.  Times in whole seconds and sizes in
 * bytes are easily equal, so the file must also be younger than the source, unless that
 * @is_old.
 */
static enum cached ask_cached(const char *path, const struct kymo_source_state *source, bool is_old,
			      const struct kymo_source_code *code)
{
	struct kymo_source_state state;
	enum cached answer = NONE;
	int fd = open_regular(path, &state);
	uint8_t *bytes = NULL;

	/* A file that is too large to read may be of this source. */
	if (fd < 0)
		return state.missing == too_large ? OTHER : NONE;
	if (state.bytes >= CACHED_HEADER_BYTES)
		bytes = malloc(state.bytes);
	if (bytes && read_all(fd, bytes, state.bytes) && names_state(bytes, source))
		answer = (is_old || source->changed_ns < written_ns(&state)) &&
					 holds(bytes, state.bytes, code->bytecode, code->bytecode_bytes) &&
					 holds(bytes, state.bytes, code->line_table, code->line_table_bytes)
				 ? SAME
				 : OTHER;
	free(bytes);
	close(fd);
	return answer;
}

bool kymo_source_verify(const char *path, const struct kymo_source_state *state, const struct kymo_source_code *code)
{
	static const char *const optimizations[] = {"", ".opt-1", ".opt-2"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	uint64_t last_ns = state->modified_ns > state->changed_ns ? state->modified_ns : state->changed_ns;
	bool is_old = last_ns < code->image_ns, has_other = false;
	char cached[PATH_MAX];

	for (size_t i = 0; i < sizeof optimizations / sizeof *optimizations && *code->cache_tag; i++) {
		int length = snprintf(cached, sizeof cached, "%.*s__pycache__/%.*s.%s%s.pyc", (int)(name - path), path,
				      (int)(dot ? (size_t)(dot - name) : strlen(name)), name, code->cache_tag,
				      optimizations[i]);
		enum cached answer =
			length < (int)sizeof cached ? ask_cached(cached, state, is_old, code) : NONE;

		if (answer == SAME)
			return true;
		has_other |= answer == OTHER;
	}
	return is_old && !has_other;
}

uint64_t kymo_source_boot_ns(void)
{
	struct timespec unix_time, boot_time;

	clock_gettime(CLOCK_REALTIME, &unix_time);
	clock_gettime(CLOCK_BOOTTIME, &boot_time);
	return in_ns(&unix_time) - in_ns(&boot_time);
}

uint64_t kymo_source_start_ns(uint64_t start_ticks, uint64_t boot_ns)
{
	uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);

	if (!start_ticks || start_ticks > UINT64_MAX / SECOND_NS)
		return 0;
	return boot_ns + start_ticks / per_second * SECOND_NS + start_ticks % per_second * SECOND_NS / per_second -
	       LAG_NS;
}
