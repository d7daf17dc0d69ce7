// SPDX-License-Identifier: Apache-2.0
#include "reader/frame_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int kymo_frame_scan_begin(struct kymo_frame_scan *scan, int fd, struct kymo_trace_header *header,
			  struct kymo_error *error)
{
	struct stat status;

	*scan = (struct kymo_frame_scan){.fd = fd, .next = sizeof *header};
	if (fstat(fd, &status) || pread(fd, header, sizeof *header, 0) != (ssize_t)sizeof *header ||
	    memcmp(header->magic, KYMO_TRACE_MAGIC, sizeof header->magic) ||
	    kymo_trace_header_crc(header) != header->crc32c)
		return kymo_fail(error, -EBADMSG, "not a trace: its header is cut or damaged");
	if (header->version != KYMO_TRACE_VERSION || header->header_bytes != sizeof *header ||
	    header->required_features)
		return kymo_fail(error, -EBADMSG, "a trace of another version: %u, features 0x%llx",
				 header->version, (unsigned long long)header->required_features);
	scan->size = (uint64_t)status.st_size;
	return 0;
}

static bool header_at(const struct kymo_frame_scan *scan, uint64_t offset,
		      struct kymo_frame_header *header)
{
	return scan->size >= sizeof *header && offset <= scan->size - sizeof *header &&
	       pread(scan->fd, header, sizeof *header, (off_t)offset) == (ssize_t)sizeof *header &&
	       kymo_frame_header_check(header) == KYMO_FRAME_OK &&
	       header->stored_bytes <= scan->size - sizeof *header - offset;
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
	return header_at(scan, scan->next, header) ? found(scan, scan->next, header) : 0;
}

static bool is_intact(struct kymo_frame_scan *scan, uint64_t offset,
		      const struct kymo_frame_header *header)
{
	if (header->stored_bytes > scan->capacity) {
		uint8_t *grown = realloc(scan->payload, header->stored_bytes);

		if (!grown)
			return false;
		scan->payload = grown;
		scan->capacity = header->stored_bytes;
	}
	return pread(scan->fd, scan->payload, header->stored_bytes,
		     (off_t)(offset + sizeof *header)) == (ssize_t)header->stored_bytes &&
	       kymo_frame_check(header, scan->payload) == KYMO_FRAME_OK;
}

/* The next place at or after @offset where a frame's magic stands; scan->size: none. */
static uint64_t find_magic(const struct kymo_frame_scan *scan, uint64_t offset)
{
	const uint32_t magic = KYMO_FRAME_MAGIC;
	uint8_t window[64 << 10];

	while (offset < scan->size) {
		ssize_t got = pread(scan->fd, window, sizeof window, (off_t)offset);
		const uint8_t *at;

		if (got < (ssize_t)sizeof magic)
			break;
		at = memmem(window, (size_t)got, &magic, sizeof magic);
		if (at)
			return offset + (uint64_t)(at - window);
		/* The magic may lie across two windows. */
		offset += (uint64_t)got - sizeof magic + 1;
	}
	return scan->size;
}

int kymo_frame_scan_intact(struct kymo_frame_scan *scan, struct kymo_frame_header *header)
{
	uint64_t offset = scan->next;

	while (offset < scan->size) {
		if (header_at(scan, offset, header) && is_intact(scan, offset, header)) {
			scan->skipped += offset - scan->next;
			return found(scan, offset, header);
		}
		offset = find_magic(scan, offset + 1);
	}
	scan->skipped += scan->size - scan->next;
	scan->next = scan->size;
	return 0;
}

void kymo_frame_scan_end(struct kymo_frame_scan *scan)
{
	free(scan->payload);
	scan->payload = NULL;
}
