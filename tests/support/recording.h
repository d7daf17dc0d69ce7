// SPDX-License-Identifier: Apache-2.0
/*
 * A recorded process without Python: a session, a host without frames, and a look at
 * what its rings and its definitions stream hold, as a reader would find them.
 *
 * What the fixture itself cannot do ends the program: tests check what comes after.
 */
#ifndef KYMO_TESTS_SUPPORT_RECORDING_H
#define KYMO_TESTS_SUPPORT_RECORDING_H

#include "reader/take.h"
#include "recorder/recorder.h"
#include "recorder/session_create.h"

#define RECORDING_SLOT_BYTES 4096U
#define RECORDING_MAX_CHUNKS 256U

struct recording {
	char dir[KYMO_DIR_BYTES];
	struct kymo_session *session;
	struct kymo_session_page *page; /* sizes and modes may be changed before the start */
	struct kymo_gil gil;
	struct kymo_host host;
};

/* A session with rings of @slots slots, clock mode `none`, and no reader. */
void recording_make(struct recording *r, uint32_t policy, uint32_t slots);
void recording_start(struct recording *r);
/* Stop, close the session and delete its folder. */
void recording_remove(struct recording *r);

/* The beginning of every event; NULL: the event is lost, and counted. */
static inline struct kymo_producer *recording_event(const struct kymo_host *host)
{
	struct kymo_producer *p = kymo_producer;

	kymo_claim(p, host);
	if (!kymo_is_ready(p) && !(p = kymo_refill(host)))
		return NULL;
	kymo_check_switch(p, host);
	return p;
}

/* The same of a branch. */
static inline struct kymo_producer *recording_branch(const struct kymo_host *host)
{
	struct kymo_producer *p = kymo_producer;

	kymo_claim(p, host);
	if (!kymo_is_ready_for_branch(p) && !(p = kymo_refill(host)))
		return NULL;
	kymo_check_switch(p, host);
	return p;
}

/* The folder of process @pid, opened; -1: there is none. */
int recording_open_folder(const struct recording *r, pid_t pid);

/* Delete folder @dir and all that is in it. */
void recording_delete(const char *dir);

/*
 * Take every chunk of ring @number in @folder, lowest first, open ones included.
 * The chunks are valid until the next call.
 */
const struct kymo_chunk *recording_chunks(int folder, uint32_t number, uint32_t *count);

/* The records of a chunk, one by one, with what a decoder knows after each. */
struct chunk_walk {
	const struct kymo_chunk *chunk;
	uint32_t at;     /* payload offset behind the record */
	uint64_t n;      /* ordinal of the last event so far */
	uint64_t clock;
	uint64_t switched;
	struct kymo_record record;
};

struct chunk_walk chunk_walk_begin(const struct kymo_chunk *chunk);
bool chunk_walk_next(struct chunk_walk *walk); /* false: nothing is left */

/* The messages of a definitions stream. */
struct stream_walk {
	uint8_t *bytes;
	size_t length;
	size_t at; /* stream position of the next message */
};

/* What is committed in @folder's stream now. */
struct stream_walk stream_walk_begin(int folder);
/* The next message, which the caller frees, or NULL at the end, which frees the walk. */
Kymo__Definition *stream_walk_next(struct stream_walk *walk);

#endif
