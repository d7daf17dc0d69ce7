// SPDX-License-Identifier: Apache-2.0
/*
 * An image: one process folder.  A process that calls execv leaves several.
 *
 * Images are found by discover.c, emptied by drain.c, and forgotten when they end, so
 * that the reader's memory follows the number of living processes only.
 */
#ifndef KYMO_READER_IMAGE_H
#define KYMO_READER_IMAGE_H

#include "reader/held.h"
#include "reader/liveness.h"
#include "reader/run.h"
#include "reader/segments.h"
#include "reader/view.h"

struct kymo_image_ring {
	struct kymo_ring_view view;
	bool is_open;     /* else its file is not a valid ring, and is not looked at again */
	uint64_t taken;   /* chunks up to this one were taken, when sealed */
	uint32_t thread;  /* thread of the chunk taken last */
	uint64_t stored;  /* ordinal of that thread's last event in the trace */
	uint64_t counted; /* ordinal of its last event known, in the trace or missing */
	uint32_t missing; /* why those in between are missing: enum kymo_loss mask */
	bool has_held;    /* some of its chunks are held */
	uint64_t seq;          /* of the chunk settled last, ... */
	uint64_t lost_before;  /* ... and the loss that was recorded with it */
	uint32_t lost_reasons;
};

struct kymo_image {
	struct kymo_image *next;
	uint32_t number; /* in the trace, from 1 */
	char folder[KYMO_FOLDER_BYTES];
	int folder_fd;
	bool is_ready;  /* its meta file was opened */
	bool is_gone;   /* ended; only its folder could not be removed */
	struct kymo_life life;
	/* from its Process definition */
	bool is_known;
	bool is_foreign; /* in a pid namespace that we cannot see into: liveness is not known */
	uint64_t started_clock;
	/* its definitions */
	struct kymo_meta_view meta;
	uint64_t meta_taken;
	uint64_t meta_freed;
	uint64_t meta_ns; /* when they were looked at last */
	bool meta_is_bad;
	/* its segments: frames are held until it is known how their segment ended */
	struct kymo_segments segments;
	struct kymo_held held;
	uint64_t held_segment;
	uint64_t unheld_segment;  /* segment for which there was no room */
	Kymo__ThreadEnd *ended;   /* threads with dropped events behind their last chunk, not defined yet */
	uint32_t ended_count;
	/* its rings: ring N is rings[N - 1] */
	struct kymo_image_ring **rings;
	uint32_t ring_count;
	/* time-outs */
	uint64_t over_since_ns;
	uint64_t fingerprint;
	uint64_t changed_ns;
};

/* Find new process folders, and open the files of those that were not ready. */
void kymo_images_discover(struct kymo_reader *reader);

/* End the images whose process runs a newer one, after an exec. */
void kymo_images_end_execed(struct kymo_reader *reader);

/* Open ring files that were made since the last look. */
void kymo_image_open_rings(struct kymo_reader *reader, struct kymo_image *image);

/* Close everything; @remove: delete its folder and give its bytes back to the budget. */
void kymo_image_close(struct kymo_reader *reader, struct kymo_image *image, bool remove);

/* Take what is ready.  True if there may be more at once. */
bool kymo_image_drain(struct kymo_reader *reader, struct kymo_image *image);

/* Take everything that the rings hold, open chunks too. */
void kymo_image_take_all(struct kymo_reader *reader, struct kymo_image *image, bool is_snapshot);

/* Take everything, define how it ended, close.  @status: exit status or signal number. */
void kymo_image_end(struct kymo_reader *reader, struct kymo_image *image,
		    Kymo__ProcessEnd__How how, int status);

#endif
