// SPDX-License-Identifier: Apache-2.0
#include "replay/index/index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/trace_file.h"
#include "replay/decode/walker.h"

#define INDEX_MAGIC {0x89, 'K', 'Y', 'M', 'O', 'I', 'X', '\n'}
#define INDEX_VERSION 3U

/* The file's header. Behind it are the hits of each chunk and the totals, then the three tables. */
struct index_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint8_t session_id[16];
	uint64_t created_unix_ns; /* of the trace, and its */
	uint64_t trace_bytes;
	uint64_t trace_frames;
	uint64_t totals_offset;
	uint64_t totals_bytes;
	uint64_t tables_offset;
	uint64_t content_count;
	uint64_t chunk_count;
	uint64_t mark_count;
	uint32_t tables_crc; /* of what lies between @totals_offset and the end */
	uint32_t crc32c;     /* of the bytes before it */
};
static_assert(sizeof(struct index_header) == 112, "on disk");

struct index_content {
	uint64_t id;
	uint32_t process;
	uint32_t reserved;
};

/* The properties of the trace that decide whether an index belongs to it. */
static struct index_header header_of(const struct kymo_trace *trace)
{
	struct index_header header = {
		.magic = INDEX_MAGIC,
		.version = INDEX_VERSION,
		.header_bytes = sizeof header,
		.created_unix_ns = trace->header.created_unix_ns,
		.trace_bytes = trace->size,
		.trace_frames = trace->frame_count,
	};

	memcpy(header.session_id, trace->header.session_id, sizeof header.session_id);
	return header;
}

static bool read_at(int fd, void *out, uint64_t bytes, uint64_t offset)
{
	uint8_t *at = out;

	while (bytes) {
		ssize_t n = pread(fd, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		offset += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return true;
}

static int write_at(int fd, const void *bytes, uint64_t count, uint64_t offset)
{
	const uint8_t *at = bytes;

	while (count) {
		ssize_t n = pwrite(fd, at, count, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		offset += (uint64_t)n;
		count -= (uint64_t)n;
	}
	return 0;
}

/*
 * Where it is kept: next to the trace, else by the trace's id in the user's cache.
 */
static void beside(char path[PATH_MAX], const char *trace)
{
	if (snprintf(path, PATH_MAX, "%s-index", trace) >= PATH_MAX)
		path[0] = '\0';
}

static void in_cache(char path[PATH_MAX], const struct kymo_trace *trace)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char folder[PATH_MAX - 64], id[33];

	path[0] = '\0';
	if (cache && *cache == '/')
		snprintf(folder, sizeof folder, "%s", cache);
	else if (home && *home == '/')
		snprintf(folder, sizeof folder, "%s/.cache", home);
	else
		return;
	mkdir(folder, 0700);
	strncat(folder, "/kymo", sizeof folder - strlen(folder) - 1);
	mkdir(folder, 0700);
	for (int i = 0; i < 16; i++)
		snprintf(id + 2 * i, 3, "%02x", trace->header.session_id[i]);
	snprintf(path, PATH_MAX, "%s/%s.kymo-index", folder, id);
}

/* Give the finished file, which has no name yet, the name @path. False: that failed. */
static bool name_file(int fd, const char *path)
{
	char own[64], temporary[PATH_MAX];
	bool is_named;

	if (!*path || snprintf(temporary, sizeof temporary, "%s.%d", path, (int)getpid()) >= (int)sizeof temporary)
		return false;
	snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
	is_named = !linkat(AT_FDCWD, own, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) && !rename(temporary, path);
	if (!is_named)
		unlink(temporary);
	return is_named;
}

/* A file without a name in the folder of @path, or -1. */
static int open_unnamed(const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	if (!*path)
		return -1;
	snprintf(folder, sizeof folder, "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder ? 1 : 0] = '\0';
	return open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* The tables and the totals, behind the hits; then the header. */
static int write_tables(struct kymo_index *index)
{
	struct index_header header = header_of(&index->timeline->trace);
	struct kymo_hits *hits = &index->hits;
	uint64_t at = index->file_bytes;
	struct index_content *contents;
	int result = kymo_hits_encode_all(hits);
	size_t chunk_bytes = index->chunk_count * sizeof *index->chunks;
	size_t mark_bytes = index->mark_count * sizeof *index->marks, content_bytes;

	header.content_count = hits->content_count ? hits->content_count - 1 : 0;
	content_bytes = header.content_count * sizeof *contents;
	contents = calloc(header.content_count + 1, sizeof *contents);
	if (result || !contents) {
		free(contents);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < header.content_count; i++) {
		const struct kymo_content *content = hits->contents[i + 1].content;

		contents[i] = (struct index_content){.id = content->id, .process = content->process};
	}
	header.totals_offset = at;
	header.totals_bytes = hits->byte_count;
	header.tables_offset = at + hits->byte_count;
	header.chunk_count = index->chunk_count;
	header.mark_count = index->mark_count;
	header.tables_crc = kymo_crc32c(0, hits->bytes, hits->byte_count);
	header.tables_crc = kymo_crc32c(header.tables_crc, contents, content_bytes);
	header.tables_crc = kymo_crc32c(header.tables_crc, index->chunks, chunk_bytes);
	header.tables_crc = kymo_crc32c(header.tables_crc, index->marks, mark_bytes);
	header.crc32c = kymo_crc32c(0, &header, offsetof(struct index_header, crc32c));
	result = write_at(index->fd, hits->bytes, hits->byte_count, at);
	at += hits->byte_count;
	if (!result)
		result = write_at(index->fd, contents, content_bytes, at);
	at += content_bytes;
	if (!result)
		result = write_at(index->fd, index->chunks, chunk_bytes, at);
	at += chunk_bytes;
	if (!result)
		result = write_at(index->fd, index->marks, mark_bytes, at);
	index->file_bytes = at + mark_bytes;
	if (!result)
		result = write_at(index->fd, &header, sizeof header, 0);
	free(contents);
	return result;
}

static int make(struct kymo_index *index, char paths[2][PATH_MAX], struct kymo_error *error)
{
	int place = 0, result;

	do
		index->fd = open_unnamed(paths[place]);
	while (index->fd < 0 && ++place < 2);
	if (index->fd < 0)
		index->fd = memfd_create("kymo-index", MFD_CLOEXEC);
	if (index->fd < 0)
		return kymo_fail(error, -errno, "cannot make an index: %s", strerror(errno));
	index->was_made = true;
	index->file_bytes = sizeof(struct index_header);
	result = kymo_index_build(index, error);
	if (result)
		return result;
	result = write_tables(index);
	if (result)
		return kymo_fail(error, result, "cannot write the index: %s", strerror(-result));
	index->is_kept = place < 2 && name_file(index->fd, paths[place]);
	return 0;
}

/* Contents get the numbers that they had when the index was made. */
static bool load_contents(struct kymo_index *index, const struct index_content *contents, uint64_t count)
{
	const struct kymo_definitions *definitions = &index->timeline->definitions;

	for (uint64_t i = 0; i < count; i++) {
		const struct kymo_traced_process *process = kymo_traced_find(definitions, contents[i].process);
		struct kymo_content *content = process ? kymo_traced_content(process, contents[i].id) : NULL;

		if (!content || content->number || kymo_hits_add(&index->hits, content))
			return false;
	}
	return true;
}

static bool are_chunks_good(const struct kymo_index *index, uint64_t hits_end)
{
	const struct kymo_timeline *timeline = index->timeline;

	for (size_t i = 0; i < index->chunk_count; i++) {
		const struct kymo_chunk_summary *chunk = &index->chunks[i];

		if (chunk->stream >= timeline->stream_count || chunk->hits_offset > hits_end ||
		    chunk->hits_bytes > hits_end - chunk->hits_offset ||
		    (chunk->chunk && chunk->chunk >= timeline->streams[chunk->stream].chunk_count) ||
		    (i && (chunk->stream < chunk[-1].stream ||
			   (chunk->stream == chunk[-1].stream && chunk->chunk <= chunk[-1].chunk))))
			return false;
	}
	for (size_t i = 0; i < index->mark_count; i++)
		if (index->marks[i].stream >= timeline->stream_count)
			return false;
	return true;
}

/* Read the tables from @bytes, which lie behind the hits. */
static bool load_tables(struct kymo_index *index, const struct index_header *header, const uint8_t *bytes)
{
	const uint8_t *at = bytes + header->totals_bytes;
	const struct index_content *contents = (const void *)at;
	struct index_content *copy = calloc(header->content_count + 1, sizeof *copy);
	bool is_good;

	if (!copy ||
	    kymo_grow(&index->chunks, &index->chunk_capacity, header->chunk_count + 1, sizeof *index->chunks) ||
	    kymo_grow(&index->marks, &index->mark_capacity, header->mark_count + 1, sizeof *index->marks)) {
		free(copy);
		return false;
	}
	memcpy(copy, contents, header->content_count * sizeof *copy); /* aligned */
	at += header->content_count * sizeof *copy;
	index->chunk_count = header->chunk_count;
	memcpy(index->chunks, at, index->chunk_count * sizeof *index->chunks);
	at += index->chunk_count * sizeof *index->chunks;
	index->mark_count = header->mark_count;
	memcpy(index->marks, at, index->mark_count * sizeof *index->marks);
	is_good = are_chunks_good(index, header->totals_offset) && load_contents(index, copy, header->content_count) &&
		  !kymo_hits_decode_all(&index->hits, bytes, header->totals_bytes);
	free(copy);
	return is_good;
}

static bool is_ours(const struct kymo_index *index, const struct index_header *header, uint64_t file_bytes)
{
	const struct index_header ours = header_of(&index->timeline->trace);
	uint64_t rest = file_bytes - header->totals_offset;

	return !memcmp(header, &ours, offsetof(struct index_header, totals_offset)) &&
	       header->crc32c == kymo_crc32c(0, header, offsetof(struct index_header, crc32c)) &&
	       header->totals_offset >= sizeof *header && header->totals_offset <= file_bytes &&
	       header->totals_bytes <= rest && header->tables_offset == header->totals_offset + header->totals_bytes &&
	       header->content_count <= rest / sizeof(struct index_content) &&
	       header->chunk_count <= rest / sizeof(struct kymo_chunk_summary) &&
	       header->mark_count <= rest / sizeof(struct kymo_index_mark) &&
	       header->totals_bytes + header->content_count * sizeof(struct index_content) +
			       header->chunk_count * sizeof(struct kymo_chunk_summary) +
			       header->mark_count * sizeof(struct kymo_index_mark) == rest;
}

static void forget(struct kymo_index *index)
{
	struct kymo_timeline *timeline = index->timeline;

	if (index->fd >= 0)
		close(index->fd);
	free(index->chunks);
	free(index->first_chunks);
	free(index->marks);
	free(index->block);
	kymo_hits_release(&index->hits);
	*index = (struct kymo_index){.timeline = timeline, .fd = -1};
}

/* A search reads the file forwards or backwards, so each read extends in both directions. */
#define BLOCK_REACH (UINT64_C(1) << 19)

static const uint8_t *read_block(struct kymo_index *index, uint64_t offset, uint64_t bytes)
{
	uint64_t from = offset > BLOCK_REACH ? offset - BLOCK_REACH : 0, to = offset + bytes + BLOCK_REACH;

	if (offset >= index->block_offset && bytes <= index->block_bytes &&
	    offset - index->block_offset <= index->block_bytes - bytes)
		return index->block + (offset - index->block_offset);
	if (to > index->file_bytes)
		to = index->file_bytes;
	index->block_bytes = 0;
	if (offset > to || bytes > to - offset || kymo_grow(&index->block, &index->block_capacity, to - from + 1, 1) ||
	    !read_at(index->fd, index->block, to - from, from))
		return NULL;
	index->block_offset = from;
	index->block_bytes = to - from;
	return index->block + (offset - from);
}

bool kymo_index_read_hits(struct kymo_index *index, const struct kymo_chunk_summary *chunk,
			  struct kymo_hits_reader *reader)
{
	const uint8_t *bytes = read_block(index, chunk->hits_offset, chunk->hits_bytes);

	if (!bytes || kymo_crc32c(0, bytes, chunk->hits_bytes) != chunk->hits_crc)
		return false;
	kymo_hits_read(reader, bytes, chunk->hits_bytes);
	return true;
}

/* Damaged hits would be found only when needed, after others were already counted. */
static bool are_hits_good(struct kymo_index *index)
{
	struct kymo_hits_reader reader;
	size_t i = 0;

	while (i < index->chunk_count && kymo_index_read_hits(index, &index->chunks[i], &reader))
		i++;
	return i == index->chunk_count;
}

/* The index in index->fd. */
static bool load(struct kymo_index *index)
{
	struct index_header header;
	struct stat status;
	uint8_t *bytes;
	uint64_t count;
	bool is_good;

	if (index->fd < 0 || fstat(index->fd, &status) || !S_ISREG(status.st_mode) ||
	    !read_at(index->fd, &header, sizeof header, 0) || !is_ours(index, &header, (uint64_t)status.st_size))
		return false;
	index->file_bytes = (uint64_t)status.st_size;
	count = index->file_bytes - header.totals_offset;
	bytes = malloc(count + 1);
	is_good = bytes && read_at(index->fd, bytes, count, header.totals_offset) &&
		  header.tables_crc == kymo_crc32c(0, bytes, count) && load_tables(index, &header, bytes) &&
		  are_hits_good(index);
	free(bytes);
	index->is_kept = is_good;
	return is_good;
}

static int find_first_chunks(struct kymo_index *index)
{
	size_t streams = index->timeline->stream_count, at = 0;

	index->first_chunks = calloc(streams + 1, sizeof *index->first_chunks);
	if (!index->first_chunks)
		return -ENOMEM;
	for (size_t stream = 0; stream <= streams; stream++) {
		while (at < index->chunk_count && index->chunks[at].stream < stream)
			at++;
		index->first_chunks[stream] = at;
	}
	return 0;
}

bool kymo_is_incomplete(const char *path)
{
	static const char suffix[] = ".incomplete";
	size_t length = strlen(path);

	return length >= sizeof suffix - 1 && !strcmp(path + length - (sizeof suffix - 1), suffix);
}

int kymo_index_open(struct kymo_index *index, struct kymo_timeline *timeline, const char *path,
		    const volatile sig_atomic_t *interrupted, struct kymo_error *error)
{
	char paths[2][PATH_MAX];
	int result = 0;

	*index = (struct kymo_index){.timeline = timeline, .fd = -1};
	paths[0][0] = paths[1][0] = '\0';
	if (path && !kymo_is_incomplete(path)) {
		beside(paths[0], path);
		in_cache(paths[1], &timeline->trace);
	}
	for (int i = 0; i < 2 && !index->is_kept; i++) {
		forget(index);
		index->fd = *paths[i] ? open(paths[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
		(void)load(index);
	}
	if (!index->is_kept) {
		forget(index);
		index->interrupted = interrupted;
		result = make(index, paths, error);
		index->interrupted = NULL;
	}
	if (!result && find_first_chunks(index))
		result = kymo_fail(error, -ENOMEM, "out of memory");
	if (result)
		forget(index);
	return result;
}

bool kymo_index_load(struct kymo_index *index, struct kymo_timeline *timeline, int fd)
{
	*index = (struct kymo_index){.timeline = timeline, .fd = fd};
	if (load(index) && !find_first_chunks(index))
		return true;
	forget(index);
	return false;
}

void kymo_index_close(struct kymo_index *index)
{
	forget(index);
}

const struct kymo_chunk_summary *kymo_index_find(const struct kymo_index *index, size_t stream, uint64_t n)
{
	size_t first = index->first_chunks[stream], low = first, high = index->first_chunks[stream + 1];

	if (low == high)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->chunks[middle].first_n <= n)
			low = middle + 1;
		else
			high = middle;
	}
	return &index->chunks[low > first ? low - 1 : first];
}

void kymo_index_walk(const struct kymo_index *index, struct kymo_walker *walker, const struct kymo_chunk_summary *chunk)
{
	const struct kymo_chunk_summary *first = index->chunks + index->first_chunks[chunk->stream], *lead = chunk;
	bool is_flow = index->timeline->trace.header.required_features & KYMO_FEATURE_FLOW;

	/* Lines are rebuilt from where the frame on top was before, and a gap is only reported to a cursor that comes from before it. */
	if ((is_flow || chunk->flags & KYMO_SUMMARY_MISSING) && lead > first)
		lead--;
	/* The frames that run in the chunk must be listed where the walk begins, or be entered later. */
	while (lead > first && lead->hidden && lead->hidden >= chunk->lowest_depth && lead->lowest_depth >= chunk->lowest_depth)
		lead--;
	kymo_walker_open(walker, index->timeline, &index->timeline->streams[chunk->stream], chunk->chunk, lead->chunk);
	walker->is_listed = !chunk->hidden && !(chunk->flags & KYMO_SUMMARY_MISSING);
}
