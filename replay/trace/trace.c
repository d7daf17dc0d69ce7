// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int kymo_grow(void *items, size_t *capacity, size_t wanted, size_t size)
{
	size_t grown = *capacity + *capacity / 2 + 16;
	void *old, *new;

	if (wanted <= *capacity)
		return 0;
	if (grown < wanted)
		grown = wanted;
	memcpy(&old, items, sizeof old);
	new = reallocarray(old, grown, size);
	if (!new)
		return -ENOMEM;
	memcpy(items, &new, sizeof new);
	*capacity = grown;
	return 0;
}

/* Read exactly @bytes at @offset; -ENODATA when the file ends before. */
static int read_at(const struct kymo_trace *trace, uint64_t offset, void *out, size_t bytes)
{
	uint8_t *at = out;

	while (bytes) {
		ssize_t n = pread(trace->fd, at, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		at += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

void kymo_trace_note_damage(struct kymo_trace *trace, uint64_t offset, uint64_t bytes,
			    const char *what)
{
	for (size_t i = 0; i < trace->damage_count; i++)
		if (trace->damage[i].offset == offset)
			return;
	if (!trace->damage)
		trace->damage = calloc(KYMO_DAMAGE_KEPT, sizeof *trace->damage);
	if (trace->damage && trace->damage_count < KYMO_DAMAGE_KEPT)
		trace->damage[trace->damage_count++] = (struct kymo_damage){offset, bytes, what};
	else
		trace->damage_more++;
}

/* Read the raw frame at @offset. 0, or an error, which @what describes if it is not NULL. */
static int read_stored(const struct kymo_trace *trace, uint64_t offset, struct kymo_frame *frame,
		       const char **what)
{
	static const char *const checks[] = {
		[KYMO_FRAME_BAD_MAGIC] = "no frame begins here",
		[KYMO_FRAME_BAD_HEADER] = "frame header with impossible fields",
		[KYMO_FRAME_BAD_CRC] = "checksum does not match",
	};
	struct kymo_frame_header *header = &frame->header;
	enum kymo_frame_check check;
	int result;

	*what = "the file ends inside a frame";
	result = read_at(trace, offset, header, sizeof *header);
	if (result)
		return result;
	check = kymo_frame_header_check(header);
	*what = checks[check];
	if (check)
		return -EBADMSG;
	*what = "the file ends inside a frame";
	if (header->stored_bytes > trace->size - offset - sizeof *header)
		return -ENODATA;
	if (kymo_grow(&frame->stored, &frame->stored_capacity, header->stored_bytes + 1U, 1))
		return -ENOMEM;
	result = read_at(trace, offset + sizeof *header, frame->stored, header->stored_bytes);
	if (result)
		return result;
	check = kymo_frame_check(header, frame->stored);
	*what = checks[check];
	return check ? -EBADMSG : 0;
}

static int unpack(struct kymo_frame *frame, const char **what)
{
	const struct kymo_frame_header *header = &frame->header;
	int raw = (int)header->raw_bytes;

	if (kymo_grow(&frame->payload, &frame->payload_capacity, header->raw_bytes + 1U, 1))
		return -ENOMEM;
	if (!(header->flags & KYMO_FRAME_LZ4)) {
		if (header->raw_bytes) /* the buffers may be NULL otherwise */
			memcpy(frame->payload, frame->stored, header->raw_bytes);
		return 0;
	}
	*what = "payload does not decompress to the length that its header says";
	return LZ4_decompress_safe((char *)frame->stored, (char *)frame->payload,
				   (int)header->stored_bytes, raw) == raw ? 0 : -EBADMSG;
}

int kymo_trace_read(struct kymo_trace *trace, const struct kymo_index_entry *entry,
		    struct kymo_frame *frame, struct kymo_error *error)
{
	const struct kymo_frame_header *header = &frame->header;
	const char *what = NULL;
	uint64_t limit = entry + 1 < trace->frames + trace->frame_count ? entry[1].file_offset
									 : trace->size;
	int result = read_stored(trace, entry->file_offset, frame, &what);

	kymo_watch_add(&trace->watch, sizeof *header + header->stored_bytes);
	if (!result && limit - entry->file_offset < sizeof *header + header->stored_bytes) {
		what = "the frame reaches into the next one";
		result = -EBADMSG;
	}
	if (!result && (header->kind != entry->kind || header->process != entry->process ||
			header->thread != entry->thread || header->seq != entry->seq ||
			header->first_ordinal != entry->first_ordinal)) {
		what = "the index names another frame here";
		result = -EBADMSG;
	}
	if (!result)
		result = unpack(frame, &what);
	if (!result)
		return 0;
	if (result == -ENOMEM)
		return kymo_fail(error, result, "out of memory");
	if (result != -EBADMSG && result != -ENODATA)
		return kymo_fail(error, result, "cannot read the trace: %s", strerror(-result));
	kymo_trace_note_damage(trace, entry->file_offset, sizeof *header + header->stored_bytes,
			       what);
	return kymo_fail(error, -EBADMSG, "damaged frame at offset %" PRIu64 ": %s",
			 entry->file_offset, what);
}

void kymo_frame_release(struct kymo_frame *frame)
{
	free(frame->payload);
	free(frame->stored);
	*frame = (struct kymo_frame){0};
}

static int add_frame(struct kymo_trace *trace, uint64_t offset,
		     const struct kymo_frame_header *header)
{
	if (kymo_grow(&trace->frames, &trace->frame_capacity, trace->frame_count + 1,
		      sizeof *trace->frames))
		return -ENOMEM;
	trace->frames[trace->frame_count++] = (struct kymo_index_entry){
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
	return 0;
}

/* List the intact frames, without using an index. */
static int scan(struct kymo_trace *trace, struct kymo_error *error)
{
	struct kymo_frame_scan *frames = malloc(sizeof *frames);
	struct kymo_trace_header trace_header;
	struct kymo_frame_header header;
	int result, is_found;

	if (!frames)
		return kymo_fail(error, -ENOMEM, "out of memory");
	trace->frame_count = 0;
	result = kymo_frame_scan_begin(frames, trace->fd, &trace_header, error);
	do {
		uint64_t from = frames->next;

		is_found = !result && kymo_frame_scan_intact(frames, &header);
		if (!result && frames->gap)
			kymo_trace_note_damage(trace, from, frames->gap, frames->why);
		kymo_watch_add(&trace->watch, frames->next - from);
		if (is_found && header.kind <= KYMO_FRAME_META &&
		    add_frame(trace, frames->offset, &header))
			result = kymo_fail(error, -ENOMEM, "out of memory");
	} while (is_found && !result);
	kymo_frame_scan_end(frames);
	free(frames);
	return result;
}

/* Add the entries of the INDEX frame at *@offset to the list, and advance *@offset past it. */
static bool load_index_piece(struct kymo_trace *trace, struct kymo_frame *frame, uint64_t *offset,
			     uint64_t wanted)
{
	const char *what;
	size_t count;

	if (*offset >= trace->size || read_stored(trace, *offset, frame, &what) ||
	    unpack(frame, &what))
		return false;
	count = frame->header.raw_bytes / sizeof *trace->frames;
	if (frame->header.kind != KYMO_FRAME_INDEX || !count || count > wanted ||
	    frame->header.raw_bytes % sizeof *trace->frames ||
	    kymo_grow(&trace->frames, &trace->frame_capacity, trace->frame_count + count,
		      sizeof *trace->frames))
		return false;
	memcpy(trace->frames + trace->frame_count, frame->payload, frame->header.raw_bytes);
	trace->frame_count += count;
	*offset += sizeof frame->header + frame->header.stored_bytes;
	return true;
}

/* Take the list of frames from the index. False: it cannot be trusted. */
static bool load_index(struct kymo_trace *trace, const struct kymo_trailer *trailer)
{
	uint64_t offset = trailer->index_offset, end = sizeof trace->header;
	struct kymo_frame frame = {0};
	bool is_good = trailer->frames <= trace->size / sizeof frame.header;

	while (is_good && trace->frame_count < trailer->frames)
		is_good = load_index_piece(trace, &frame, &offset,
					   trailer->frames - trace->frame_count);
	kymo_frame_release(&frame);
	for (size_t i = 0; is_good && i < trace->frame_count; i++) {
		const struct kymo_index_entry *entry = &trace->frames[i];

		is_good = (entry->kind == KYMO_FRAME_CHUNK || entry->kind == KYMO_FRAME_META) &&
			  entry->file_offset >= end && entry->file_offset < trace->size;
		end = entry->file_offset + sizeof frame.header;
	}
	return is_good;
}

static bool read_trailer(struct kymo_trace *trace, struct kymo_trailer *trailer)
{
	const uint64_t bytes = sizeof(struct kymo_frame_header) + sizeof *trailer;
	struct kymo_frame frame = {0};
	const char *what;
	bool is_good = trace->size >= sizeof trace->header + bytes &&
		       !read_stored(trace, trace->size - bytes, &frame, &what) &&
		       frame.header.kind == KYMO_FRAME_TRAILER &&
		       frame.header.stored_bytes == sizeof *trailer;

	if (is_good)
		memcpy(trailer, frame.stored, sizeof *trailer);
	kymo_frame_release(&frame);
	return is_good;
}

static int check_header(const struct kymo_trace *trace, const char *path, struct kymo_error *error)
{
	const struct kymo_trace_header *header = &trace->header;

	if (memcmp(header->magic, KYMO_TRACE_MAGIC, sizeof header->magic))
		return kymo_fail(error, -EBADMSG, "%s: not a trace of Kymo", path);
	if (header->version != KYMO_TRACE_VERSION)
		return kymo_fail(error, -EPROTONOSUPPORT,
				 "%s: trace version %" PRIu32 "; this kymo reads version %u", path,
				 header->version, KYMO_TRACE_VERSION);
	if (kymo_trace_header_crc(header) != header->crc32c)
		return kymo_fail(error, -EBADMSG, "%s: damaged file header at offset 0", path);
	if (header->required_features & ~KYMO_FEATURES)
		return kymo_fail(error, -EPROTONOSUPPORT,
				 "%s: needs the unknown feature %#" PRIx64 "; use a newer kymo", path,
				 header->required_features);
	if (header->header_bytes != sizeof *header || header->reserved)
		return kymo_fail(error, -EBADMSG, "%s: damaged file header at offset 0", path);
	return 0;
}

int kymo_trace_open(struct kymo_trace *trace, const char *path, unsigned flags,
		    struct kymo_error *error)
{
	struct kymo_trailer trailer;
	struct stat status;
	int result;

	*trace = (struct kymo_trace){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
	if (trace->fd < 0)
		return kymo_fail(error, -errno, "%s: %s", path, strerror(errno));
	if (fstat(trace->fd, &status) || !S_ISREG(status.st_mode)) {
		result = kymo_fail(error, -EINVAL, "%s: not a regular file", path);
		goto out;
	}
	trace->size = (uint64_t)status.st_size;
	if (read_at(trace, 0, &trace->header, sizeof trace->header)) {
		result = kymo_fail(error, -EBADMSG, "%s: not a trace of Kymo", path);
		goto out;
	}
	result = check_header(trace, path, error);
	if (result)
		goto out;
	trace->is_complete = read_trailer(trace, &trailer);
	if (!(flags & KYMO_TRACE_SCAN) && trace->is_complete && load_index(trace, &trailer)) {
		kymo_store_relaxed_u64(&trace->watch.total, trace->size);
	} else {
		kymo_store_relaxed_u64(&trace->watch.total, 2 * trace->size);
		result = scan(trace, error);
	}
out:
	if (result)
		kymo_trace_close(trace);
	return result;
}

void kymo_trace_close(struct kymo_trace *trace)
{
	if (trace->fd >= 0)
		close(trace->fd);
	free(trace->frames);
	free(trace->damage);
	*trace = (struct kymo_trace){.fd = -1};
}
