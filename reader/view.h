// SPDX-License-Identifier: Apache-2.0
/*
 * Views: the files of a session as the reader sees them, opened and checked.
 *
 * The other side may write anything into them at any time, shorten them, or replace
 * them before they are opened.  So a view is opened without following links, must be
 * a plain file of our own user, keeps local copies of all sizes, and maps header
 * pages only.  If a mapped page goes away, the access reads zeros and @is_broken is set.
 */
#ifndef KYMO_READER_VIEW_H
#define KYMO_READER_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "format/chunk.h"
#include "format/error.h"

enum kymo_access {
	KYMO_ACCESS_READ = 1,  /* never changes the session */
	KYMO_ACCESS_DRAIN = 2, /* writes the reader's words */
};

/* A mapping whose pages may disappear; in a list that the SIGBUS handler searches. */
struct kymo_mapping {
	uint8_t *start;
	size_t bytes;
	volatile bool is_broken;
	struct kymo_mapping *next;
	struct kymo_mapping **link;
};

struct kymo_session_view {
	struct kymo_mapping map;
	int dir_fd;
	struct kymo_session_page *page;
	uint8_t *config; /* Config message as it was when opened */
	uint32_t config_bytes;
	uint32_t policy;
	uint32_t counter;
	uint64_t meta_bytes; /* unread definitions that one process may hold */
};

struct kymo_meta_view {
	struct kymo_mapping map;
	int fd;
	struct kymo_meta_page *page;
};

struct kymo_ring_view {
	struct kymo_mapping map;
	int fd;
	const struct kymo_ring_page *page;
	struct kymo_ring_consumer *consumer; /* read-only with KYMO_ACCESS_READ */
	const struct kymo_chunk_header *headers;
	uint32_t slot_bytes;
	uint32_t max_slots;
	uint32_t slots_offset;
	uint32_t hint; /* slot where the next chunk is looked for first */
};

/* Survive SIGBUS in views.  Once per process, before the first view is opened. */
int kymo_view_guard(struct kymo_error *error);

/*
 * Open a session directory, or a meta or ring file in the process folder @folder_fd.
 *
 * On failure nothing is left open.  -EAGAIN: the file is not complete yet; -EBADMSG:
 * it is not what it should be; else the errno of the call that failed.
 */
KYMO_MUST_CHECK int kymo_session_view_open(struct kymo_session_view *view, const char *path,
					   enum kymo_access access, struct kymo_error *error);
KYMO_MUST_CHECK int kymo_meta_view_open(struct kymo_meta_view *view, int folder_fd,
					enum kymo_access access, struct kymo_error *error);
KYMO_MUST_CHECK int kymo_ring_view_open(struct kymo_ring_view *view, int folder_fd, uint32_t ring,
					enum kymo_access access, struct kymo_error *error);

/* The same of a ring file that is open already.  Takes @fd over, also on failure. */
KYMO_MUST_CHECK int kymo_ring_view_open_fd(struct kymo_ring_view *view, int fd, uint32_t ring,
					   enum kymo_access access, struct kymo_error *error);

void kymo_session_view_close(struct kymo_session_view *view);
void kymo_meta_view_close(struct kymo_meta_view *view);
void kymo_ring_view_close(struct kymo_ring_view *view);

#endif
