// SPDX-License-Identifier: Apache-2.0
/* The definitions stream of a process: append-only, mapped through a sliding window. */
#ifndef KYMO_RECORDER_META_H
#define KYMO_RECORDER_META_H

#include "format/chunk.h"
#include "format/metadata.pb-c.h"

struct kymo_meta {
	struct kymo_meta_page *page;
	uint8_t *window;       /* maps the stream from @window_start to @window_end */
	uint64_t window_start; /* page-aligned stream positions */
	uint64_t window_end;
	uint64_t committed;
	char *path;
};

/* Make the file `meta` in the folder @dir.  Returns 0 or a negative errno. */
int kymo_meta_make(struct kymo_meta *meta, const char *dir);

/* Unmap; the file is the reader's to remove. */
void kymo_meta_free(struct kymo_meta *meta);

/*
 * Append @definition behind its length and commit it.  At most @unread_bytes may lie
 * unread.  Returns 0, -EAGAIN if the reader must catch up first, or a negative errno.
 */
int kymo_meta_append(struct kymo_meta *meta, const Kymo__Definition *definition, uint64_t unread_bytes);

/* Wait once, at most 100 ms, for the reader to take something. */
void kymo_meta_wait(struct kymo_meta *meta);

#endif
