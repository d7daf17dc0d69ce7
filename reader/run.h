// SPDX-License-Identifier: Apache-2.0
/* What the parts of the reader share: one run of it over one session. */
#ifndef KYMO_READER_RUN_H
#define KYMO_READER_RUN_H

#include <time.h>

#include "reader/held.h"
#include "reader/reader.h"
#include "reader/run_definitions.h"
#include "reader/segments.h"
#include "reader/source_queue.h"
#include "reader/trace_writer.h"
#include "reader/unjoined.h"
#include "reader/unrecorded.h"
#include "reader/view.h"

/* What an earlier reader has left in NAME.incomplete. */
struct kymo_past_ring {
	uint32_t process;
	uint32_t ring;
	uint64_t taken;
	uint32_t thread; /* of that chunk, and its last event */
	uint64_t last_ordinal;
};

struct kymo_past_process {
	uint32_t number;
	uint64_t meta_taken;
	struct kymo_segments segments;
	uint64_t seen_ns; /* unix time */
	char folder[64];
};

struct kymo_past {
	struct kymo_past_process *processes;
	uint32_t process_count;
	struct kymo_past_ring *rings;
	uint32_t ring_count;
	uint64_t run_position;
	bool has_ending; /* the reader has closed it */
	uint64_t last_counter; /* counter of its last Clock, when the reader still lived; 0: there is none */
	uint64_t end; /* end of the last frame that was read */
	uint64_t frames;
};

struct kymo_reader {
	struct kymo_session_view session;
	enum kymo_access access;
	struct kymo_trace_writer writer;
	struct kymo_past past;
	struct kymo_sources *sources; /* NULL: sources are not stored */
	struct kymo_image *images;
	uint32_t images_seen;
	bool has_new;     /* images that may have replaced others */
	bool has_unready; /* images whose files are being made */
	struct kymo_held_room held_room; /* for frames of segments that have not ended */
	/* scratch */
	uint8_t *payload;
	uint64_t *seqs;
	uint8_t *meta_buffer;
	size_t meta_capacity;
	/* time */
	uint64_t tick_ns; /* when the tick was last advanced */
	uint64_t tick_counter;
	uint64_t clock_ns;
	/* the session directory when it was last listed */
	struct timespec listed_mtime;
	uint64_t listed_ns;
	uint64_t pid_namespace;
	struct kymo_unrecorded_scan unrecorded;
	uint64_t unstored; /* chunks that were taken and could not be written ... */
	uint64_t unstored_events; /* ... and events in them */
};

/* Open the session and allocate the scratch memory; on failure nothing is left open. */
KYMO_MUST_CHECK int kymo_reader_open(struct kymo_reader *reader, const char *session_dir,
				     enum kymo_access access, struct kymo_error *error);
void kymo_reader_close(struct kymo_reader *reader);

/* The serialized Session message of file `run`, from malloc, or NULL. */
uint8_t *kymo_reader_read_run(const struct kymo_reader *reader, uint32_t *bytes);

/* Find out what the trace @fd holds, up to its end or, if asked, to the first damage; also passed to @sources. */
KYMO_MUST_CHECK int kymo_past_read(struct kymo_past *past, int fd, bool stops_at_damage,
				   struct kymo_sources *sources, struct kymo_error *error);
void kymo_past_free(struct kymo_past *past);

/*
 * The same for all its intact frames; copies those except index and trailer to @writer.  If
 * they do not fit there, it is full afterwards.
 */
KYMO_MUST_CHECK int kymo_past_copy(struct kymo_past *past, int fd, struct kymo_trace_writer *writer,
				   struct kymo_sources *sources, struct kymo_watch *watch,
				   struct kymo_error *error);

/* Delete folder @name in @parent_fd and the files in it. */
bool kymo_folder_remove(int parent_fd, const char *name);

/* Delete the session directory and all that is in it. */
void kymo_reader_remove_session(struct kymo_reader *reader, const char *session_dir);

#define KYMO_TICK_NS 1000000U
/* Advance the tick if a millisecond has gone by.  Called between any two chunks. */
void kymo_reader_tick(struct kymo_reader *reader);

#endif
