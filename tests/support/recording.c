// SPDX-License-Identifier: Apache-2.0
#include "tests/support/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/varint.h"

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void call_stack(const struct kymo_host *host, struct kymo_sync *sync)
{
	(void)host;
	sync->depth = 2;
	sync->listed = 1;
	sync->frames[0] = (struct kymo_sync_frame){.code = 7, .offset_plus_1 = 3};
}

static uint64_t thread_ident(const struct kymo_host *host)
{
	(void)host;
	return (uint64_t)(uintptr_t)kymo_producer;
}

static bool thread_name(const struct kymo_host *host, char *name, size_t bytes)
{
	(void)host;
	snprintf(name, bytes, "thread under test");
	return true;
}

void recording_make(struct recording *r, uint32_t policy, uint32_t slots)
{
	Kymo__Config config = KYMO__CONFIG__INIT;
	Kymo__Session run = KYMO__SESSION__INIT;
	struct kymo_error error = {0};

	*r = (struct recording){.host = {call_stack, thread_ident, thread_name, 0, &r->gil}};
	config.policy = policy;
	config.clock_mode = KYMO_CLOCK_NONE;
	config.slot_bytes = RECORDING_SLOT_BYTES;
	config.ring_bytes = (uint64_t)slots * RECORDING_SLOT_BYTES;
	config.budget_bytes = 64 << 20;
	if (kymo_session_create(&config, &run, r->dir, &error) < 0 ||
	    kymo_session_open(r->dir, &r->session, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		abort();
	}
	r->page = kymo_session_page(r->session);
	REQUIRE(r->page->max_slots == slots && r->page->slot_bytes == RECORDING_SLOT_BYTES);
}

void recording_start(struct recording *r)
{
	Kymo__Process facts = KYMO__PROCESS__INIT;
	struct kymo_error error = {0};

	if (kymo_process_start(r->session, &facts, &error) < 0) {
		fprintf(stderr, "%s\n", error.message);
		abort();
	}
}

static int delete_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status, (void)type, (void)where;
	return remove(path);
}

void recording_delete(const char *dir)
{
	nftw(dir, delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

void recording_remove(struct recording *r)
{
	kymo_process_stop(&r->gil);
	kymo_session_close(r->session);
	recording_delete(r->dir);
}

int recording_open_folder(const struct recording *r, pid_t pid)
{
	DIR *dir = opendir(r->dir);
	struct dirent *entry;
	int found = -1;

	REQUIRE(dir);
	while (found < 0 && (entry = readdir(dir))) {
		char *end;

		if (strtol(entry->d_name, &end, 10) == pid && *end == '-')
			found = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	closedir(dir);
	return found;
}

const struct kymo_chunk *recording_chunks(int folder, uint32_t number, uint32_t *count)
{
	static struct kymo_chunk chunks[RECORDING_MAX_CHUNKS];
	static uint8_t payloads[RECORDING_MAX_CHUNKS][RECORDING_SLOT_BYTES];
	static uint64_t seqs[KYMO_MAX_SLOTS];
	struct kymo_error error = {0};
	struct kymo_ring_view view;

	*count = 0;
	if (kymo_ring_view_open(&view, folder, number, KYMO_ACCESS_READ, &error) < 0)
		return NULL;
	*count = kymo_ring_view_list(&view, 0, seqs);
	REQUIRE(*count <= RECORDING_MAX_CHUNKS);
	for (uint32_t i = 0; i < *count; i++) {
		chunks[i].payload = payloads[i];
		REQUIRE(kymo_chunk_take_tail(&view, seqs[i], &chunks[i]) == 0);
	}
	kymo_ring_view_close(&view);
	return chunks;
}

struct chunk_walk chunk_walk_begin(const struct kymo_chunk *chunk)
{
	return (struct chunk_walk){
		.chunk = chunk,
		.at = chunk->sync_bytes,
		.n = chunk->first_ordinal - 1,
		.clock = chunk->open_clock,
		.switched = chunk->switch_base,
	};
}

bool chunk_walk_next(struct chunk_walk *walk)
{
	struct kymo_record *record = &walk->record;
	const uint8_t *payload = walk->chunk->payload;

	if (walk->at == walk->chunk->bytes)
		return false;
	REQUIRE(kymo_record_decode(payload + walk->at, walk->chunk->bytes - walk->at, record) ==
		KYMO_DECODE_OK);
	walk->at += record->bytes;
	if (kymo_kind_is_event(record->kind))
		walk->n++;
	else if (record->kind == KYMO_TIME)
		walk->clock += record->a;
	else if (record->kind == KYMO_SWITCH)
		walk->switched += record->a;
	else if (record->kind == KYMO_KIND_SPECIAL && record->special == KYMO_TAG_BITS)
		walk->n += 31U - (unsigned)__builtin_clz((uint32_t)record->a);
	else if (record->kind == KYMO_KIND_SPECIAL && record->extended == KYMO_EXTENDED_MARK)
		walk->n++;
	else if (record->kind == KYMO_KIND_SPECIAL)
		walk->switched = 0; /* another interpreter */
	return true;
}

struct stream_walk stream_walk_begin(int folder)
{
	struct stream_walk walk = {0};
	struct kymo_meta_page page;
	int fd = openat(folder, "meta", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0 && pread(fd, &page, sizeof page, 0) == sizeof page);
	walk.length = page.committed;
	walk.bytes = malloc(walk.length + 1);
	REQUIRE(walk.bytes && pread(fd, walk.bytes, walk.length, KYMO_PAGE_BYTES) ==
				      (ssize_t)walk.length);
	close(fd);
	return walk;
}

Kymo__Definition *stream_walk_next(struct stream_walk *walk)
{
	Kymo__Definition *definition;
	uint64_t length;
	size_t prefix;

	if (walk->at == walk->length) {
		free(walk->bytes);
		return NULL;
	}
	prefix = kymo_varint_get(walk->bytes + walk->at, walk->length - walk->at, &length);
	REQUIRE(prefix > 0 && length <= walk->length - walk->at - prefix);
	definition = kymo__definition__unpack(NULL, length, walk->bytes + walk->at + prefix);
	REQUIRE(definition);
	walk->at += prefix + length;
	return definition;
}
