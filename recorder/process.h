// SPDX-License-Identifier: Apache-2.0
/*
 * The recording of this process: one at a time, shared by its threads.
 *
 * A forked child inherits the struct but not the mappings in it; the live word tells
 * the two apart (see kymo_process_is_orphan() in recorder.h).
 */
#ifndef KYMO_RECORDER_PROCESS_H
#define KYMO_RECORDER_PROCESS_H

#include <pthread.h>

#include "recorder/meta.h"
#include "recorder/recorder.h"
#include "recorder/ring.h"
#include "recorder/session.h"

struct kymo_process {
	struct kymo_session *session; /* a reference */
	struct kymo_meta meta;
	struct kymo_ring *free_rings;
	uint32_t rings;
	_Atomic uint32_t stopped;
	_Atomic uint32_t threads;
	uint32_t users;        /* number of threads that may touch the mappings: enrolled, or in kymo_define() */
	uint8_t *facts;        /* packed Process message, for forked children to start from */
	size_t facts_bytes;
	char *folder;          /* name of the process folder */
	_Atomic uint64_t segment; /* the open segment, in which chunks are opened; 0: none */
	uint64_t segments;        /* begun so far */
	bool is_in_parents;       /* forked in a segment of the parent, which this process does not end */
	uint64_t gave_up_at;   /* 1 + stream position at which waiting for the reader was given up */
};

/*
 * The current recording, or NULL.  One that was stopped is kept as long as it has users: threads under another GIL that
 * have not noticed.  It is sure to be valid only with the lock held; without it, only compare the pointer.
 */
extern struct kymo_process *_Atomic kymo_current_process;

/* Unmap and free what nobody uses, and give up the reference to the session; the reader removes the files. */
void kymo_process_free(struct kymo_process *process);

/* One user less; the last one of a recording that was stopped frees it.  Lock held. */
void kymo_process_leave(struct kymo_process *process);

/* Policy block: number of waits of 100 ms for room in the stream before definitions are given up. */
#define KYMO_META_MAX_WAITS 10

/* Guards the pool of rings, the producer cells and the definitions stream. */
extern pthread_mutex_t kymo_process_lock;

/* As kymo_define(), with the lock held, and never waiting. */
bool kymo_define_locked(struct kymo_process *process, const Kymo__Definition *definition);

/* Seal the open chunks of the threads under @gil.  Lock and GIL held. */
void kymo_process_seal(struct kymo_process *process, const struct kymo_gil *gil);

/* A ring from the pool, or a new one; NULL if there is no room.  Lock held. */
struct kymo_ring *kymo_process_take_ring(struct kymo_process *process);
void kymo_process_return_ring(struct kymo_process *process, struct kymo_ring *ring);

#endif
