// SPDX-License-Identifier: Apache-2.0
/*
 * The recorded process's side of a session: everything but the append itself, which
 * is in producer.h.
 *
 * Threads: functions marked [host] are called with the host's lock (the GIL) held;
 * the others from any thread.  Nothing here keeps a file descriptor open, starts a
 * thread or installs a signal handler.
 */
#ifndef KYMO_RECORDER_RECORDER_H
#define KYMO_RECORDER_RECORDER_H

#include "format/error.h"
#include "format/metadata.pb-c.h"
#include "recorder/producer.h"

/*
 * What the recorder asks its host, the interpreter, on cold paths.  All are called
 * with the GIL held, inside a callback: they must not run user code, raise, or
 * release the GIL.
 */
struct kymo_host {
	/* Fill the sync block: the thread's frames, innermost first.  May define codes. */
	void (*call_stack)(const struct kymo_host *host, struct kymo_sync *sync);
	/* threading.get_ident() of this thread. */
	uint64_t (*thread_ident)(const struct kymo_host *host);
	/* The thread's name in @name, or false while it has none.  Asked at first events and
	 * at chunk boundaries. */
	bool (*thread_name)(const struct kymo_host *host, char *name, size_t bytes);
	uint32_t interpreter; /* id of the interpreter that this host is */
	/* The last thread that recorded under this interpreter's GIL, and the number of changes. */
	struct kymo_gil *gil;
};

struct kymo_gil {
	_Atomic uint32_t owner; /* producer.ticket, of a producer whose gil is this one; KYMO_GIL_NOBODY: none */
	uint64_t ordinal;       /* SWITCH records so far */
};

/* A ticket that no thread and no producer has. */
#define KYMO_GIL_NOBODY UINT32_MAX

struct kymo_session;

/*
 * Open the session in folder @dir, made by kymo_session_create() (session_create.h).  The mapping is kept as long as
 * there is a reference; forked children share it.  The caller gets one here and another from each
 * kymo_session_hold(); kymo_session_close() gives one back.  A process that records into it has its own.  Threads:
 * any, but kymo_session_hold() needs a reference that the caller has already.
 */
KYMO_MUST_CHECK
int kymo_session_open(const char *dir, struct kymo_session **session, struct kymo_error *error);
struct kymo_session *kymo_session_hold(struct kymo_session *session);
void kymo_session_close(struct kymo_session *session);

struct kymo_session_page *kymo_session_page(struct kymo_session *session);
const char *kymo_session_dir(const struct kymo_session *session);
/* The session's configuration; owned by @session. */
const Kymo__Config *kymo_session_config(const struct kymo_session *session);

/*
 * Why the reader of the session @dir, which has closed, could not complete the trace: a negative errno
 * and its reason, or 0 where nothing is known to have failed.
 */
int kymo_session_failure(const char *dir, struct kymo_error *error);

/* The counter of the session, read now. */
uint64_t kymo_session_clock(const struct kymo_session *session);

/*
 * Join @session: make this process's folder and definitions stream, and write @facts
 * as its first definition.  Of @facts the caller sets what it knows of the interpreter
 * (executable, argv, versions, tools, generation, working directory); the rest is
 * filled in here.  One process records at most one session at a time: -EBUSY otherwise.  [host]
 */
KYMO_MUST_CHECK
int kymo_process_start(struct kymo_session *session, Kymo__Process *facts, struct kymo_error *error);

/*
 * Set how the interpreter's frames lie in memory, for the watcher: @layout has the fields of frames and of code.  @layout
 * must stay valid; to be called before kymo_process_start().
 */
void kymo_process_tell_frames(const struct kymo_frame_layout *layout);

/* Record that the calling thread's top frame is at @lasti, for the case that the thread ends without another event. */
void kymo_thread_tell_place(const struct kymo_producer *p, uint32_t lasti);

/*
 * The same for all threads under @gil, which is held, and for the calling one: @place_of returns the place of the thread
 * with this number of the system; UINT32_MAX: not known.
 */
void kymo_process_tell_places(const struct kymo_gil *gil,
			      uint32_t (*place_of)(const struct kymo_producer *p, uint32_t native_id));

/*
 * Stop: seal every chunk of the threads under @gil, mark the process as stopped.  Events that arrive afterwards are
 * neither recorded nor counted; threads under other GILs notice at their next slow path, and the last of them frees
 * what they still used.  @gil NULL: there is no thread whose chunks can be sealed.  [host]
 */
void kymo_process_stop(const struct kymo_gil *gil);

/*
 * Make the threads under @gil leave recordings that were stopped under another GIL.  To be called before their events are
 * recorded in another way than those were, since the meaning of the registers depends on it.  [host]
 */
void kymo_process_renew(const struct kymo_gil *gil);

/* True between start and stop, in this process (false in a forked child until its first event). */
bool kymo_process_is_recording(void);

/*
 * Number of the recording in this process's life, from 1; ids of an earlier one are not
 * valid.  A forked child continues its parent's recording and ids.
 */
uint32_t kymo_process_generation(void);

/*
 * True if this is a forked child that has not joined the session yet. kymo_process_adopt()
 * makes it join: a folder of its own whose ids begin with the parent's.  A child's first event
 * does this itself; call it before kymo_define() outside of events.
 */
bool kymo_process_is_orphan(void);
void kymo_process_adopt(void);

/* Fresh ids, never reused in this process and continued by forked children. */
uint64_t kymo_next_code_id(void);
uint64_t kymo_next_content_id(void);
uint32_t kymo_next_name_id(void);
uint32_t kymo_next_text_id(void);
uint32_t kymo_next_task_id(void);
uint64_t kymo_next_source_id(void);

/*
 * Append @definition to the process's stream, complete and committed before this returns.
 * Returns false if it could not be written (stream full, file system full, not
 * recording): counted as undefined; use KYMO_ID_UNKNOWN instead of the id then.  Takes a
 * lock that is held for microseconds, never while waiting; with policy block it may wait
 * for the reader as a chunk does.
 */
bool kymo_define(const Kymo__Definition *definition);

/*
 * The slow path of every event: attach the thread, seal and open chunks, read the clock.
 * Returns the thread's producer, ready for one event, or NULL if this event is lost;
 * it is then counted already.  [host]
 */
struct kymo_producer *kymo_refill(const struct kymo_host *host);

/* Record that another thread, or this thread in another interpreter, recorded last.  [host] */
void kymo_append_switch(struct kymo_producer *p, const struct kymo_host *host);

/* Read the clock into a TIME record now (clock mode `exact`).  [host] */
void kymo_append_time(struct kymo_producer *p);

/*
 * The stack is not as the recorded entries and exits left it: record it, by @kind STACK or OTHER_STACK.  Returns the producer, ready for
 * an event, or NULL if the event is lost, and counted.  [host]
 */
struct kymo_producer *kymo_append_stack(const struct kymo_host *host, enum kymo_extended kind);

/*
 * Take along the producer of a thread that goes on under another GIL.  To be called before the producer is used for anything but
 * to compare its ticket, unless that is the ticket of the GIL's owner: until then, whoever holds the GIL that the thread last
 * recorded under may be sealing its chunk, or giving back all that it has.  [host]
 */
void kymo_claim_from_other(struct kymo_producer *p, const struct kymo_host *host);

static inline void kymo_claim(struct kymo_producer *p, const struct kymo_host *host)
{
	/* Only this thread sets it to this GIL, and nobody else who holds this GIL sets it to another. */
	if (kymo_unlikely(p->gil != host->gil))
		kymo_claim_from_other(p, host);
}

/* To be called for each event, after kymo_refill() and before the append. */
static inline void kymo_check_switch(struct kymo_producer *p, const struct kymo_host *host)
{
	/* Relaxed: the GIL orders all accesses but one, see kymo_append_switch(). */
	if (kymo_unlikely(kymo_load_relaxed_u32(&host->gil->owner) != p->ticket))
		kymo_append_switch(p, host);
}

/*
 * A code object is going away: no thread's code register may keep naming its address.  [host]
 */
void kymo_forget_code(const void *key);

/*
 * A segment: what the process records between its begin and its end, which the reader keeps or drops as a
 * whole when it has ended.  One at a time, begun and ended by any thread; losses and definitions are
 * written in any case.  A segment that never ends, or whose end cannot be written, is kept.  For the
 * threads under @host's GIL the bounds are exact; of others, chunks that are only partly inside are kept.
 * Neither function waits.
 *
 * Return 0, also where nothing is recorded, -EBUSY if one is open already, -EINVAL if none is.  A forked
 * child begins without one; it may end its parent's once, which has no effect.  [host]
 */
KYMO_MUST_CHECK int kymo_segment_begin(const struct kymo_host *host);
KYMO_MUST_CHECK int kymo_segment_end(const struct kymo_host *host, bool keep);

/*
 * Ask the reader to keep what the rings hold now (policy overwrite) and wait until it has,
 * at most @timeout_ns.  Returns 0, -ETIMEDOUT, or -ENOTCONN without a reader.  Call without
 * the GIL.
 */
int kymo_snapshot(struct kymo_session *session, const char *why, uint64_t timeout_ns);

#endif
