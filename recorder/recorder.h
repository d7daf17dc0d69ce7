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
	/* Last thread that recorded under this interpreter's GIL, and how often that changed. */
	struct kymo_gil *gil;
};

struct kymo_gil {
	_Atomic uint32_t owner; /* producer.thread; 0: none */
	uint64_t ordinal;       /* SWITCH records so far */
};

struct kymo_session;

/*
 * Open the session in folder @dir, made by kymo_session_create() (session_create.h).
 * The mapping is kept until kymo_session_close(); forked children share it.
 */
KYMO_MUST_CHECK
int kymo_session_open(const char *dir, struct kymo_session **session, struct kymo_error *error);
void kymo_session_close(struct kymo_session *session);

struct kymo_session_page *kymo_session_page(struct kymo_session *session);
const char *kymo_session_dir(const struct kymo_session *session);
/* The session's configuration; owned by @session. */
const Kymo__Config *kymo_session_config(const struct kymo_session *session);

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
 * Stop: seal every chunk of the threads under @gil, mark the process as stopped.  Events
 * that arrive afterwards are neither recorded nor counted; threads under other GILs notice
 * at their next slow path.  The session stays open.  [host]
 */
void kymo_process_stop(const struct kymo_gil *gil);

/* True between start and stop, in this process (false in a forked child until its first event). */
bool kymo_process_is_recording(void);

/*
 * Number of the recording in this process's life, from 1; ids of an earlier one mean
 * nothing now.  A forked child continues its parent's recording and ids.
 */
uint32_t kymo_process_generation(void);

/*
 * True if this is a forked child that has not joined the session yet.
 * kymo_process_adopt() makes it join: a folder of its own whose ids begin with the parent's.
 * The first event of a child does this by itself; call it before kymo_define() outside events.
 */
bool kymo_process_is_orphan(void);
void kymo_process_adopt(void);

/* Fresh ids, never reused in this process and continued by forked children. */
uint64_t kymo_next_code_id(void);
uint64_t kymo_next_content_id(void);
uint32_t kymo_next_name_id(void);
uint32_t kymo_next_text_id(void);
uint32_t kymo_next_task_id(void);

/*
 * Append @definition to the process's stream, complete and committed before this returns.
 * Returns false if it could not be written (stream full, file system full, not
 * recording): counted as undefined; the id must then be given up for KYMO_ID_UNKNOWN.
 * Takes a lock that is held for microseconds, never while waiting; with policy block it
 * may wait for the reader as a chunk does.
 */
bool kymo_define(const Kymo__Definition *definition);

/*
 * The slow path of every event: attach the thread, seal and open chunks, read the clock.
 * Returns the thread's producer, ready for one event, or NULL if this event is lost;
 * it is then counted already.  [host]
 */
struct kymo_producer *kymo_refill(const struct kymo_host *host);

/* Another thread, or this thread in another interpreter, recorded last: say so.  [host] */
void kymo_append_switch(struct kymo_producer *p, const struct kymo_host *host);

/* Read the clock into a TIME record now (clock mode `exact`).  [host] */
void kymo_append_time(struct kymo_producer *p);

/*
 * The stack is not as the entries and exits that were recorded left it: say how it is, by @kind STACK or OTHER_STACK.  Returns the producer,
 * ready for an event, or NULL if that is lost, and counted.  [host]
 */
struct kymo_producer *kymo_append_stack(const struct kymo_host *host, enum kymo_extended kind);

/* To be called for each event, after kymo_refill() and before the append. */
static inline void kymo_check_switch(struct kymo_producer *p, const struct kymo_host *host)
{
	/* Relaxed: the GIL orders all accesses but one, see kymo_append_switch(). */
	if (kymo_unlikely(kymo_load_relaxed_u32(&host->gil->owner) != p->thread))
		kymo_append_switch(p, host);
}

/*
 * A code object is going away: no thread's code register may keep naming its address.  [host]
 */
void kymo_forget_code(const void *key);

/*
 * A segment: what the process records between its begin and its end, which the reader keeps or drops as a
 * whole when it has ended.  One at a time, begun and ended by any thread; what is lost, and definitions,
 * are told in any case.  One that never ends, or whose end cannot be told, is kept.  For the threads
 * under @host's GIL the bounds are exact; of others, chunks that are only partly inside are kept.
 * Neither waits for anybody.
 *
 * Return 0, also where nothing is recorded, -EBUSY if one is open already, -EINVAL if none is.  A forked
 * child begins without one, and may end the one that its parent was in, once, for nothing.  [host]
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
