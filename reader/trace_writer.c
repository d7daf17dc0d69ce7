// SPDX-License-Identifier: Apache-2.0
#include "reader/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "format/counter.h"
#include "format/frame_scan.h"
#include "reader/output_name.h"

/* Space kept free behind the last frame for the last definitions; the index's size is added. */
#define RESERVE_BYTES (64U << 10)
#define MIN_EXTENT_BYTES (256U << 10)
#define MAX_EXTENT_BYTES (8U << 20)
/* One INDEX frame; a longer index is several of them, one after the other. */
#define LEVEL 3 /* level of LZ4 HC; higher ones save a tenth to a quarter for up to twice the time */
#define INDEX_PIECE 65536U
#define HURRIED 64 /* LZ4's acceleration */
/* Packing chunks well saves a third and takes five times as long.  A tenth of the elapsed time may be spent on
 * it; time not used is kept up to a limit. */
#define CREDIT_SHARE 10
#define MAX_CREDIT_NS 100000000

static uint64_t reserve(const struct kymo_trace_writer *writer)
{
	return RESERVE_BYTES + (writer->frames + 1) * sizeof(struct kymo_index_entry);
}

static int become_full(struct kymo_trace_writer *writer, const char *what, int err)
{
	if (!writer->is_full)
		snprintf(writer->full_reason, sizeof writer->full_reason, "%s%s%s", what,
			 err ? ": " : "", err ? strerror(err) : "");
	writer->is_full = true;
	return -ENOSPC;
}

/* Allocate space in the file system up to @end, and the reserve behind it. */
static int allocate(struct kymo_trace_writer *writer, uint64_t end)
{
	uint64_t needed = end + reserve(writer);
	uint64_t extent = writer->size;

	if (writer->max_bytes && needed > writer->max_bytes)
		return become_full(writer, "size limit", 0);
	if (needed <= writer->allocated)
		return 0;
	extent = extent < MIN_EXTENT_BYTES ? MIN_EXTENT_BYTES :
		 extent > MAX_EXTENT_BYTES ? MAX_EXTENT_BYTES :
					     extent;
	for (;;) {
		uint64_t target = needed + extent;

		if (!fallocate(writer->fd, FALLOC_FL_KEEP_SIZE, (off_t)writer->allocated,
			       (off_t)(target - writer->allocated))) {
			writer->allocated = target;
			return 0;
		}
		if (errno == EINTR)
			continue;
		if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) {
			/* This file system cannot allocate in advance: its writes may fail instead. */
			writer->allocated = UINT64_MAX;
			return 0;
		}
		if (!extent)
			return become_full(writer, "disk full", errno);
		extent = 0;
	}
}

static int write_all(struct kymo_trace_writer *writer, struct iovec *parts, int count)
{
	uint64_t at = writer->size;

	while (count) {
		ssize_t done = pwritev(writer->fd, parts, count, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -ENOSPC;
		at += (uint64_t)done;
		while (count && (size_t)done >= parts->iov_len) {
			done -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (uint8_t *)parts->iov_base + done;
			parts->iov_len -= (size_t)done;
		}
	}
	writer->size = at;
	return 0;
}

/* Write a frame whose payload is as it is to be stored. */
static int write_frame(struct kymo_trace_writer *writer, struct kymo_frame_header *header,
		       const uint8_t *stored, bool is_last_word)
{
	struct iovec parts[] = {
		{.iov_base = header, .iov_len = sizeof *header},
		{.iov_base = (uint8_t *)(uintptr_t)stored, .iov_len = header->stored_bytes},
	};
	int err;

	if (!is_last_word) {
		if (writer->is_full)
			return -ENOSPC;
		err = allocate(writer, writer->size + sizeof *header + header->stored_bytes);
		if (err)
			return err;
	}
	header->crc32c = kymo_frame_crc(header, stored);
	err = write_all(writer, parts, header->stored_bytes ? 2 : 1);
	if (err) {
		/* Half a frame may lie behind the last whole one. */
		if (ftruncate(writer->fd, (off_t)writer->size))
			writer->is_full = true;
		return become_full(writer, "disk full", -err);
	}
	writer->frames++;
	return 0;
}

static int64_t thread_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool has_credit(struct kymo_trace_writer *writer)
{
	uint64_t now_ns = kymo_monotonic_ns();

	if (writer->credited_ns == 0 || now_ns - writer->credited_ns > (uint64_t)MAX_CREDIT_NS * CREDIT_SHARE)
		writer->credit_ns = MAX_CREDIT_NS;
	else
		writer->credit_ns += (int64_t)(now_ns - writer->credited_ns) / CREDIT_SHARE;
	if (writer->credit_ns > MAX_CREDIT_NS)
		writer->credit_ns = MAX_CREDIT_NS;
	writer->credited_ns = now_ns;
	return writer->credit_ns > 0;
}

/* Definitions are most of a short run's trace, so they are worth more work. */
static int compress(struct kymo_trace_writer *writer, uint16_t kind, const uint8_t *raw, int bytes, bool is_held)
{
	const int capacity = LZ4_compressBound(KYMO_META_FRAME_BYTES);
	char *packed = (char *)writer->packed;

	if (kind == KYMO_FRAME_META)
		return LZ4_compress_HC_extStateHC(writer->packer, (const char *)raw, packed, bytes, capacity, LEVEL);
	if (writer->hurry == KYMO_HURRY_MOST)
		return 0;
	if (writer->hurry == KYMO_HURRY_NONE && !is_held && has_credit(writer)) {
		int64_t start_ns = thread_cpu_ns();
		int packed_bytes = LZ4_compress_HC_extStateHC(writer->packer, (const char *)raw, packed, bytes, capacity, LEVEL);

		writer->credit_ns -= thread_cpu_ns() - start_ns;
		return packed_bytes;
	}
	return LZ4_compress_fast((const char *)raw, packed, bytes, capacity,
				 writer->hurry ? HURRIED : 1);
}

static const uint8_t *pack(struct kymo_trace_writer *writer, struct kymo_frame_header *header, const uint8_t *raw,
			   uint32_t raw_bytes, bool is_held)
{
	int packed = 0;

	header->magic = KYMO_FRAME_MAGIC;
	header->header_bytes = sizeof *header;
	header->raw_bytes = raw_bytes;
	header->stored_bytes = raw_bytes;
	/* Only a single definition that exceeds a frame's usual limit is too large to compress. */
	if (raw_bytes <= KYMO_META_FRAME_BYTES)
		packed = compress(writer, header->kind, raw, (int)raw_bytes, is_held);
	if (packed <= 0 || (uint32_t)packed >= raw_bytes)
		return raw;
	header->flags |= KYMO_FRAME_LZ4;
	header->stored_bytes = (uint32_t)packed;
	return writer->packed;
}

const uint8_t *kymo_trace_writer_pack_chunk(struct kymo_trace_writer *writer, uint32_t process, uint32_t ring,
					    const struct kymo_chunk *chunk, uint64_t close_clock, uint16_t flags,
					    bool is_held, struct kymo_frame_header *header)
{
	*header = (struct kymo_frame_header){
		.kind = KYMO_FRAME_CHUNK,
		.flags = flags,
		.process = process,
		.ring = ring,
		.thread = chunk->thread,
		.seq = chunk->seq,
		.thread_chunk = chunk->thread_chunk,
		.first_ordinal = chunk->first_ordinal,
		.last_ordinal = chunk->last_ordinal,
		.lost_before = chunk->lost_before,
		.lost_reasons = chunk->lost_reasons,
		.interpreter = chunk->interpreter,
		.open_clock = chunk->open_clock,
		.close_clock = close_clock,
		.meta_position = chunk->meta_position,
		.switch_base = chunk->switch_base,
		.sync_bytes = chunk->sync_bytes,
		.branches = chunk->branches,
	};

	return pack(writer, header, chunk->payload, chunk->bytes, is_held);
}

int kymo_trace_writer_put_chunk(struct kymo_trace_writer *writer, uint32_t process, uint32_t ring,
				const struct kymo_chunk *chunk, uint64_t close_clock,
				uint16_t flags)
{
	struct kymo_frame_header header;
	const uint8_t *stored =
		kymo_trace_writer_pack_chunk(writer, process, ring, chunk, close_clock, flags, false, &header);

	return write_frame(writer, &header, stored, false);
}

int kymo_trace_writer_put_meta(struct kymo_trace_writer *writer, uint32_t process,
			       uint64_t position, const uint8_t *bytes, uint32_t length,
			       bool is_last_word)
{
	struct kymo_frame_header header = {
		.kind = KYMO_FRAME_META,
		.process = process,
		.seq = position,
	};

	bytes = pack(writer, &header, bytes, length, false);
	return write_frame(writer, &header, bytes, is_last_word);
}

int kymo_trace_writer_copy(struct kymo_trace_writer *writer, const struct kymo_frame_header *header,
			   const uint8_t *stored)
{
	struct kymo_frame_header copy = *header;

	return write_frame(writer, &copy, stored, false);
}

static int prepare(struct kymo_trace_writer *writer, const char *output,
		   const struct kymo_trace_options *options, struct kymo_error *error)
{
	struct rlimit limit;

	*writer = (struct kymo_trace_writer){
		.fd = -1,
		.may_replace = options->may_replace,
		.required_features = options->required_features,
		.max_bytes = options->max_bytes,
	};
	/* The user's file size limit (RLIMIT_FSIZE) is treated as our size limit, so that room for the last definitions remains. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    (!writer->max_bytes || limit.rlim_cur < writer->max_bytes))
		writer->max_bytes = limit.rlim_cur;
	if (snprintf(writer->output, sizeof writer->output, "%s", output) >=
		    (int)sizeof writer->output ||
	    snprintf(writer->incomplete, sizeof writer->incomplete, "%s.incomplete", output) >=
		    (int)sizeof writer->incomplete)
		return kymo_fail(error, -ENAMETOOLONG, "file name too long: %s", output);
	writer->packed = malloc((size_t)LZ4_compressBound(KYMO_META_FRAME_BYTES));
	writer->packer = malloc((size_t)LZ4_sizeofStateHC());
	if (!writer->packed || !writer->packer)
		return kymo_fail(error, -ENOMEM, "out of memory");
	return 0;
}

int kymo_trace_writer_create(struct kymo_trace_writer *writer, const char *output,
			     const struct kymo_trace_options *options, struct kymo_error *error)
{
	struct kymo_trace_header header = {
		.version = KYMO_TRACE_VERSION,
		.header_bytes = sizeof header,
		.created_unix_ns = options->created_unix_ns,
		.required_features = options->required_features,
	};
	struct iovec part = {.iov_base = &header, .iov_len = sizeof header};
	int err = prepare(writer, output, options, error);

	if (err)
		goto out;
	err = kymo_output_check(output, options->may_replace, error);
	if (!err)
		err = kymo_output_claim(writer->incomplete, options->may_replace, error);
	if (err < 0)
		goto out;
	writer->fd = err;
	memcpy(header.magic, KYMO_TRACE_MAGIC, sizeof header.magic);
	memcpy(header.session_id, options->session_id, sizeof header.session_id);
	header.crc32c = kymo_trace_header_crc(&header);
	err = write_all(writer, &part, 1);
	if (!err)
		err = allocate(writer, writer->size);
	if (err) {
		kymo_fail(error, err, "cannot write %s: %s", writer->incomplete,
			  writer->is_full ? writer->full_reason : strerror(-err));
		kymo_trace_writer_abandon(writer, true);
	}
out:
	if (err && (writer->packed || writer->packer))
		kymo_trace_writer_abandon(writer, false);
	return err;
}

int kymo_trace_writer_resume(struct kymo_trace_writer *writer, const char *output,
			     const struct kymo_trace_options *options, uint64_t size,
			     uint64_t frames, struct kymo_error *error)
{
	int err = prepare(writer, output, options, error);

	if (err)
		return err;
	writer->fd = open(writer->incomplete, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (writer->fd >= 0)
		err = kymo_output_lock(writer->fd, writer->incomplete, error);
	if (!err && (writer->fd < 0 || ftruncate(writer->fd, (off_t)size)))
		err = kymo_fail(error, -errno, "cannot continue writing %s: %s", writer->incomplete,
				strerror(errno));
	if (err) {
		kymo_trace_writer_abandon(writer, false);
		return err;
	}
	writer->size = writer->allocated = size;
	writer->frames = frames;
	return 0;
}

static struct kymo_index_entry index_entry(const struct kymo_frame_header *header, uint64_t offset)
{
	return (struct kymo_index_entry){
		.file_offset = offset,
		.seq = header->seq,
		.first_ordinal = header->first_ordinal,
		.last_ordinal = header->last_ordinal,
		.open_clock = header->open_clock,
		.close_clock = header->close_clock,
		.process = header->process,
		.thread = header->thread,
		.ring = header->ring,
		.kind = header->kind,
		.flags = header->flags,
	};
}

static int put_index_piece(struct kymo_trace_writer *writer, const struct kymo_index_entry *entries,
			   uint32_t count)
{
	uint32_t bytes = count * (uint32_t)sizeof *entries;
	struct kymo_frame_header header = {
		.magic = KYMO_FRAME_MAGIC,
		.kind = KYMO_FRAME_INDEX,
		.header_bytes = sizeof header,
		.stored_bytes = bytes,
		.raw_bytes = bytes,
	};

	return write_frame(writer, &header, (const uint8_t *)entries, true);
}

/* The index comes from the file, not from memory, so that memory does not grow with the run. */
static int put_index(struct kymo_trace_writer *writer)
{
	uint64_t frames = writer->frames;
	uint32_t piece = frames < INDEX_PIECE ? (uint32_t)frames : INDEX_PIECE;
	struct kymo_index_entry *entries = calloc(piece + 1, sizeof *entries);
	struct kymo_trace_header trace_header;
	struct kymo_frame_header header;
	struct kymo_frame_scan scan;
	uint32_t used = 0;
	int err;

	if (!entries)
		return -ENOMEM;
	err = kymo_frame_scan_begin(&scan, writer->fd, &trace_header, NULL);
	for (uint64_t i = 0; !err && i < frames; i++) {
		if (!kymo_frame_scan_next(&scan, &header)) {
			err = -EBADMSG;
			break;
		}
		entries[used++] = index_entry(&header, scan.offset);
		if (used == piece || i + 1 == frames) {
			err = put_index_piece(writer, entries, used);
			used = 0;
		}
	}
	free(entries);
	return err;
}

int kymo_trace_writer_close(struct kymo_trace_writer *writer, struct kymo_error *error)
{
	uint64_t before = writer->size, frames = writer->frames;
	struct kymo_trailer trailer = {.index_offset = before, .frames = frames};
	struct kymo_frame_header header = {
		.magic = KYMO_FRAME_MAGIC,
		.kind = KYMO_FRAME_TRAILER,
		.header_bytes = sizeof header,
		.stored_bytes = sizeof trailer,
		.raw_bytes = sizeof trailer,
	};
	int err = 0;

	if (put_index(writer)) {
		/* No room for all of it: the index can be rebuilt from the frames. */
		writer->size = before;
		writer->frames = frames;
		trailer.index_offset = 0;
	}
	write_frame(writer, &header, (const uint8_t *)&trailer, true);
	if (ftruncate(writer->fd, (off_t)writer->size))
		err = kymo_fail(error, -errno, "cannot complete %s: %s", writer->incomplete,
				strerror(errno));
	if (!err)
		err = kymo_output_rename(writer->fd, writer->incomplete, writer->output, writer->may_replace, error);
	kymo_trace_writer_abandon(writer, false);
	return err;
}

void kymo_trace_writer_abandon(struct kymo_trace_writer *writer, bool remove)
{
	if (writer->fd >= 0) {
		if (remove)
			unlink(writer->incomplete);
		close(writer->fd);
	}
	writer->fd = -1;
	free(writer->packed);
	free(writer->packer);
	writer->packed = NULL;
	writer->packer = NULL;
}
