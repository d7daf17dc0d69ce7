// SPDX-License-Identifier: Apache-2.0
#include "format/frame_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES sizeof(struct kymo_frame_header)
/* Limits on the bytes read for checksums that do not match. */
#define FREE_WASTE_BYTES (UINT64_C(1) << 30)
#define WASTE_PER_BYTE 8

int kymo_frame_scan_begin(struct kymo_frame_scan *scan, int fd, struct kymo_trace_header *header,
			  struct kymo_error *error)
{
	struct stat status;

	memset(scan, 0, sizeof *scan);
	scan->fd = fd;
	scan->next = sizeof *header;
	if (fstat(fd, &status) || pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header ||
	    memcmp(header->magic, KYMO_TRACE_MAGIC, sizeof header->magic) ||
	    kymo_trace_header_crc(header) != header->crc32c)
		return kymo_fail(error, -EBADMSG, "not a trace: its header is cut or damaged");
	if (header->version != KYMO_TRACE_VERSION || header->header_bytes != sizeof *header ||
	    header->required_features & ~KYMO_FEATURES)
		return kymo_fail(error, -EBADMSG, "a trace of another version: %u, features 0x%llx",
				 header->version, (unsigned long long)header->required_features & ~KYMO_FEATURES);
	scan->size = (uint64_t)status.st_size;
	return 0;
}

/* What is wrong with @header at @offset; NULL: nothing. */
static const char *find_fault(const struct kymo_frame_scan *scan, uint64_t offset,
			      const struct kymo_frame_header *header)
{
	enum kymo_frame_check check = kymo_frame_header_check(header);

	if (check)
		return check == KYMO_FRAME_BAD_MAGIC ? "no frame begins here"
						     : "frame header with impossible fields";
	/* The file may have grown since its size was read. */
	return offset + HEADER_BYTES + header->stored_bytes > scan->size
		       ? "the file ends inside a frame"
		       : NULL;
}

static const char *read_header(const struct kymo_frame_scan *scan, uint64_t offset,
			       struct kymo_frame_header *header)
{
	if (pread(scan->fd, header, sizeof *header, (off_t)offset) != (ssize_t)sizeof *header)
		return "the file ends inside a frame";
	return find_fault(scan, offset, header);
}

static int found(struct kymo_frame_scan *scan, uint64_t offset,
		 const struct kymo_frame_header *header)
{
	scan->offset = offset;
	scan->next = offset + sizeof *header + header->stored_bytes;
	return 1;
}

int kymo_frame_scan_next(struct kymo_frame_scan *scan, struct kymo_frame_header *header)
{
	return scan->next < scan->size && !read_header(scan, scan->next, header)
		       ? found(scan, scan->next, header)
		       : 0;
}

static const char *check_payload(struct kymo_frame_scan *scan, uint64_t offset,
				 const struct kymo_frame_header *header)
{
	uint32_t bytes = header->stored_bytes;

	/* Accidental damage never costs that much. */
	if (scan->wasted + bytes > FREE_WASTE_BYTES + WASTE_PER_BYTE * offset)
		return "too much here looks like a frame";
	if (bytes >= scan->capacity) {
		uint8_t *grown = realloc(scan->payload, bytes + 1U);

		if (!grown)
			return "no memory for the frame";
		scan->payload = grown;
		scan->capacity = bytes + 1U;
	}
	if (pread(scan->fd, scan->payload, bytes, (off_t)(offset + sizeof *header)) !=
	    (ssize_t)bytes)
		return "the frame cannot be read";
	if (kymo_frame_check(header, scan->payload) == KYMO_FRAME_OK)
		return NULL;
	scan->wasted += bytes;
	return "checksum does not match";
}

/* Make the window begin at @offset, unless it already holds a whole header from there. */
static bool move_window(struct kymo_frame_scan *scan, uint64_t offset)
{
	ssize_t got;

	if (offset >= scan->window_offset &&
	    offset + HEADER_BYTES <= scan->window_offset + scan->window_bytes)
		return true;
	got = pread(scan->fd, scan->window, sizeof scan->window, (off_t)offset);
	scan->window_offset = offset;
	scan->window_bytes = got < 0 ? 0 : (uint64_t)got;
	return scan->window_bytes >= HEADER_BYTES;
}

/* Find the next possible header from @offset on, copy it into @header and return its offset; the file's size if there is none. */
static uint64_t find_header(struct kymo_frame_scan *scan, uint64_t offset,
			    struct kymo_frame_header *header)
{
	const uint32_t magic = KYMO_FRAME_MAGIC;

	while (move_window(scan, offset)) {
		const uint8_t *at = scan->window + (offset - scan->window_offset);
		/* The magics of whole headers. */
		size_t bytes = scan->window_offset + scan->window_bytes - offset - HEADER_BYTES +
			       sizeof magic;
		const uint8_t *hit = memmem(at, bytes, &magic, sizeof magic);

		if (!hit) {
			offset += bytes - sizeof magic + 1;
			continue;
		}
		offset += (uint64_t)(hit - at);
		memcpy(header, hit, sizeof *header);
		if (!find_fault(scan, offset, header))
			return offset;
		offset++;
	}
	return scan->size;
}

int kymo_frame_scan_intact(struct kymo_frame_scan *scan, struct kymo_frame_header *header)
{
	uint64_t offset = scan->next;
	const char *fault = NULL;

	scan->gap = 0;
	if (offset >= scan->size)
		return 0;
	scan->why = fault = read_header(scan, offset, header);
	if (!fault)
		scan->why = fault = check_payload(scan, offset, header);
	while (fault && (offset = find_header(scan, offset + 1, header)) < scan->size)
		fault = check_payload(scan, offset, header);
	scan->gap = offset - scan->next;
	scan->skipped += scan->gap;
	scan->next = scan->size;
	return fault ? 0 : found(scan, offset, header);
}

void kymo_frame_scan_end(struct kymo_frame_scan *scan)
{
	free(scan->payload);
	scan->payload = NULL;
}
