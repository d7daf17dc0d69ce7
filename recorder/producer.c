// SPDX-License-Identifier: Apache-2.0
/* The slow path of an event: first events, full chunks, the clock, the end of a thread. */
#include "recorder/producer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/counter.h"
#include "recorder/cells.h"
#include "recorder/process.h"

enum {
	/* Payload between two readings of the clock: 90 to 170 records of 3 bytes, or a few. */
	SAMPLE_BYTES = 256,
	FEW_BYTES = 8,
	/* Events of a thread without a ring until it asks for one again. */
	RETRY_EVENTS = 1 << 16,
	/* A new thread has no name yet at its first event, and may have few events: its name is
	 * asked for NAME_TRIES times, each time after this many bytes of payload. */
	NAME_TRIES = 64,
	NAME_BYTES = 12,
};

/* The producer of a thread before its first event: its limit says that there is no room.
 * Nothing writes to it. */
static struct kymo_producer nobody;
_Thread_local struct kymo_producer *kymo_producer __attribute__((tls_model("initial-exec"))) = &nobody;

/* Where tick points when ticks do not matter. */
static const _Atomic uint64_t no_tick;

static _Atomic uint64_t epochs;
static _Atomic uint32_t tickets;

static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool has_clock(const struct kymo_producer *p)
{
	return p->process->session->page->clock_mode != KYMO_CLOCK_NONE;
}

/*
 * Every other time, at random, the clock is read again soon: that shows how long single steps take, by which readers spread
 * the time of longer stretches.  With stretches of one length, samples might always hit a loop at the same place.
 */
static uint32_t sample_bytes(const struct kymo_producer *p)
{
	uint32_t chance = (uint32_t)(p->clock * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	return chance >> 31 ? 1 + chance % FEW_BYTES : SAMPLE_BYTES + chance % SAMPLE_BYTES;
}

static void set_limit(struct kymo_producer *p)
{
	uint32_t limit = (uint32_t)p->word + (p->name_tries ? NAME_BYTES : sample_bytes(p));

	if (limit > p->chunk_limit || (!p->name_tries && !has_clock(p)))
		limit = p->chunk_limit;
	p->limit = KYMO_COMMIT(limit, KYMO_BRANCHES_NONE);
}

/* A record of one field of any size that is no event. */
static void put_wide(struct kymo_producer *p, enum kymo_kind kind, uint64_t value)
{
	uint8_t *at;

	if (value <= UINT32_MAX) {
		kymo_put1(p, kind, (uint32_t)value);
		return;
	}
	at = p->payload + (uint32_t)p->word;
	at[0] = KYMO_TAG(kind, 3);
	memcpy(at + 1, &value, 8);
	p->word += 9;
	kymo_commit(p);
}

void kymo_append_time(struct kymo_producer *p)
{
	uint64_t now = kymo_session_clock(p->process->session);

	kymo_flush_branches(p);
	put_wide(p, KYMO_TIME, now - p->clock);
	p->clock = now;
	set_limit(p);
}

void kymo_append_switch(struct kymo_producer *p, const struct kymo_host *host)
{
	struct kymo_gil *gil = host->gil;
	uint32_t interpreter = host->interpreter;

	kymo_flush_branches(p);
	if (p->interpreter != interpreter) {
		kymo_put_extended(p, KYMO_EXTENDED_INTERPRETER, interpreter);
		p->interpreter = interpreter;
		p->switched = 0;
	}
	gil->ordinal++;
	put_wide(p, KYMO_SWITCH, gil->ordinal - p->switched);
	p->switched = gil->ordinal;
	kymo_store_relaxed_u32(&gil->owner, p->ticket);
}

/* Define this thread, and again when its name has changed. */
static void define_thread(struct kymo_producer *p, const struct kymo_host *host, bool is_new)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Thread thread = KYMO__THREAD__INIT;
	char name[256] = "";
	bool is_named = host->thread_name(host, name, sizeof name);
	uint64_t hash = XXH3_64bits(name, strlen(name));

	p->name_tries = is_named ? 0 : is_new ? NAME_TRIES : p->name_tries;
	if (!is_new && (!is_named || hash == p->name_hash))
		return;
	p->name_hash = hash;
	thread.thread = p->thread;
	thread.native_id = (uint64_t)syscall(SYS_gettid);
	thread.ident = host->thread_ident(host);
	thread.name = name;
	definition.kind_case = KYMO__DEFINITION__KIND_THREAD;
	definition.thread = &thread;
	kymo_define(&definition);
}

static void seal(struct kymo_producer *p)
{
	struct kymo_chunk_header *header;

	if (!p->payload)
		return;
	kymo_flush_branches(p);
	kymo_commit(p);
	/* Under another GIL it may have gone on beyond the segment's end.  Relaxed: an end that is not
	 * seen yet comes after everything in the chunk. */
	header = kymo_ring_newest(p->ring);
	if (header->segment != kymo_load_relaxed_u64(&p->process->segment))
		header->segment = 0;
	kymo_ring_seal(p->ring, kymo_session_clock(p->process->session), p->ordinal);
	p->payload = NULL;
	p->limit = 0;
}

static void lose(struct kymo_producer *p, uint32_t reason)
{
	p->ordinal++;
	p->lost++;
	p->lost_reasons |= reason;
	if (p->ring) {
		/* Relaxed: read when the thread or the process has ended. */
		kymo_store_relaxed_u32(&p->ring->page->lost_reasons, p->lost_reasons);
		kymo_store_relaxed_u64(&p->ring->page->lost_ordinal, p->ordinal);
	} else {
		kymo_add_u64(&p->process->meta.page->events_unrecorded, 1);
	}
}

static void begin_epoch(struct kymo_producer *p)
{
	/* Relaxed: it is enough that the number is unique. */
	p->epoch = kymo_add_u64(&epochs, 1) + 1;
}

/* Open the thread's next chunk, or return why there is none (enum kymo_loss). */
static uint32_t open_chunk(struct kymo_producer *p, const struct kymo_host *host)
{
	struct kymo_session *session = p->process->session;
	struct kymo_chunk_header *header;
	struct kymo_chunk_facts facts;
	struct kymo_sync sync;
	uint32_t reason = 0;
	int slot = kymo_ring_next_slot(p->ring, session->page, &reason);

	if (slot < 0)
		return reason;
	sync.depth = 0;
	sync.listed = 0;
	host->call_stack(host, &sync);
	p->clock = kymo_session_clock(session);
	facts = (struct kymo_chunk_facts){
		.open_clock = p->clock,
		.first_ordinal = p->ordinal + 1,
		.lost_before = p->lost,
		.lost_reasons = p->lost_reasons,
		/* Acquire: threads under other GILs write definitions, too.  This thread has seen those that the chunk itself uses. */
		.meta_position = kymo_load_acquire_u64(&p->process->meta.page->committed),
		.switch_base = p->switched,
		.thread = p->thread,
		.thread_chunk = ++p->chunks,
		.interpreter = p->interpreter,
		/* Acquire: when a later segment, or none, is seen, the definition of the last one's end is written. */
		.segment = kymo_load_acquire_u64(&p->process->segment),
	};
	begin_epoch(p);
	header = kymo_ring_open(p->ring, slot, &facts, &sync);
	p->payload = kymo_ring_payload(p->ring, header);
	p->commit = &header->commit;
	p->word = KYMO_COMMIT(header->sync_bytes, KYMO_BRANCHES_NONE);
	p->chunk_limit = p->ring->slot_bytes - KYMO_SLOT_SLACK;
	kymo_forget_frames(p);
	p->line = 0;
	p->offset = 0;
	p->task = 0;
	p->lost = 0;
	p->lost_reasons = 0;
	set_limit(p);
	return 0;
}

/* The thread has ended, or recording has stopped: give back what it holds.  Lock held. */
static void detach(struct kymo_producer *p)
{
	struct kymo_process *process = p->process;

	if (!p->thread)
		return;
	seal(p);

	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__ThreadEnd end = KYMO__THREAD_END__INIT;

	end.thread = p->thread;
	end.last_ordinal = p->ordinal;
	end.lost = p->lost;
	end.lost_reasons = p->lost_reasons;
	if (p->ring && kymo_load_relaxed_u32(&p->ring->page->stopped_after) == (uint32_t)p->ordinal)
		end.stopped_at = (uint32_t)kymo_load_relaxed_u64(&p->ring->page->stopped_at);
	definition.kind_case = KYMO__DEFINITION__KIND_THREAD_END;
	definition.thread_end = &end;
	if (kymo_define_locked(process, &definition) && p->lost_reasons & KYMO_LOSS_NO_RING)
		kymo_add_u64(&process->meta.page->events_unrecorded, -p->lost);
	if (p->ring)
		kymo_process_return_ring(process, p->ring);
	kymo_process_leave(process);
	*p = (struct kymo_producer){.in_use = 1};
}

void kymo_claim_from_other(struct kymo_producer *p, const struct kymo_host *host)
{
	/* Not enrolled, or a forked child has wiped it. */
	if (!p->gil || !kymo_cells_are_live())
		return;
	pthread_mutex_lock(&kymo_process_lock);
	if (p->gil && p->process != kymo_current_process) {
		detach(p);
	} else if (p->gil) {
		/* When this thread comes back under that GIL, it must not be the owner.  We do not hold that GIL: at
		 * worst its present thread writes one SWITCH too many. */
		if (kymo_load_relaxed_u32(&p->gil->owner) == p->ticket)
			kymo_store_relaxed_u32(&p->gil->owner, KYMO_GIL_NOBODY);
		p->gil = host->gil;
		/* Some code objects are shared by all interpreters, but what the recorder knows of them is not. */
		p->code = NULL;
	}
	pthread_mutex_unlock(&kymo_process_lock);
}

void kymo_process_renew(const struct kymo_gil *gil)
{
	if (!kymo_cells_are_live())
		return;
	pthread_mutex_lock(&kymo_process_lock);
	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p)) {
		if (p->gil == gil && p->process != kymo_current_process)
			detach(p);
	}
	pthread_mutex_unlock(&kymo_process_lock);
}

static void on_thread_end(void *cell)
{
	struct kymo_producer *p = cell;

	kymo_producer = &nobody;
	/* In a forked child that has not joined, the cell is zero and the lock may be held forever. */
	if (!kymo_cells_are_live())
		return;
	pthread_mutex_lock(&kymo_process_lock);
	detach(p);
	kymo_cell_return(p);
	pthread_mutex_unlock(&kymo_process_lock);
}

static void make_key(void)
{
	pthread_key_create(&at_thread_end, on_thread_end);
}

/* Give this thread a cell and a number; @p may be a cell that it already has. */
static struct kymo_producer *enroll(struct kymo_process *process, struct kymo_producer *p,
				    const struct kymo_host *host)
{
	pthread_once(&once, make_key);
	pthread_mutex_lock(&kymo_process_lock);
	if (process != kymo_current_process) /* stopped under another GIL */
		p = NULL;
	else if (p == &nobody && !(p = kymo_cell_take()))
		kymo_add_u64(&process->meta.page->events_unrecorded, 1);
	if (p) {
		process->users++;
		*p = (struct kymo_producer){
			.in_use = 1,
			.process = process,
			.ticket = kymo_add_u32(&tickets, 1) + 1,
			.thread = kymo_add_u32(&process->threads, 1) + 1,
			.gil = host->gil,
			.interpreter = host->interpreter,
		};
		p->tick = process->session->page->clock_mode == KYMO_CLOCK_NONE
				  ? &no_tick
				  : &process->session->page->tick;
	}
	pthread_mutex_unlock(&kymo_process_lock);
	if (!p)
		return NULL;
	kymo_store_relaxed_u32(&process->meta.page->threads, kymo_load_relaxed_u32(&process->threads));
	kymo_producer = p;
	pthread_setspecific(at_thread_end, p);
	define_thread(p, host, true);
	return p;
}

static bool attach_ring(struct kymo_producer *p)
{
	struct kymo_process *process = p->process;

	if (p->retry > 0) {
		p->retry--;
		return false;
	}
	pthread_mutex_lock(&kymo_process_lock);
	p->ring = kymo_process_take_ring(process);
	pthread_mutex_unlock(&kymo_process_lock);
	if (!p->ring) {
		if (p->lost == 0)
			kymo_add_u64(&process->meta.page->threads_unrecorded, 1);
		p->retry = RETRY_EVENTS;
		return false;
	}
	if (p->lost > 0) {
		/* The first chunk will report them. */
		kymo_add_u64(&process->meta.page->threads_unrecorded, (uint64_t)-1);
		kymo_add_u64(&process->meta.page->events_unrecorded, -p->lost);
	}
	kymo_store_relaxed_u32(&p->ring->page->lost_reasons, p->lost_reasons);
	kymo_store_relaxed_u64(&p->ring->page->lost_ordinal, p->ordinal);
	kymo_store_relaxed_u64(&p->ring->page->producer, (uintptr_t)p);
	kymo_store_relaxed_u32(&p->ring->page->native_id, (uint32_t)gettid());
	kymo_store_relaxed_u64(&p->ring->page->stopped_at, 0);
	kymo_store_relaxed_u32(&p->ring->page->thread, p->thread);
	return true;
}

void kymo_thread_tell_place(const struct kymo_producer *p, uint32_t lasti)
{
	if (p->process != kymo_current_process || !p->ring)
		return;
	kymo_store_relaxed_u32(&p->ring->page->stopped_after, (uint32_t)p->ordinal);
	kymo_store_relaxed_u64(&p->ring->page->stopped_at, KYMO_STOPPED_AT(lasti, false) | KYMO_STOPPED_IF_LAST);
}

static __attribute__((noinline)) struct kymo_producer *refill_slowly(struct kymo_producer *p,
								     const struct kymo_host *host)
{
	struct kymo_process *process;
	int saved_errno = errno;
	uint32_t reason = 0;

	kymo_process_adopt();
	process = kymo_current_process;
	if (p->process != process && p->process && p->thread) {
		/* Stopped under another GIL. */
		pthread_mutex_lock(&kymo_process_lock);
		detach(p);
		pthread_mutex_unlock(&kymo_process_lock);
	}
	if (!process)
		return NULL;
	if (!p->thread && !(p = enroll(process, p, host)))
		return NULL;
	if (!p->ring && !attach_ring(p)) {
		lose(p, KYMO_LOSS_NO_RING);
		p = NULL;
	} else if (!p->payload || (uint32_t)p->word >= p->chunk_limit) {
		seal(p);
		reason = open_chunk(p, host);
		if (reason) {
			lose(p, reason);
			p = NULL;
		} else {
			define_thread(p, host, false);
		}
	} else if (!kymo_is_ready(p)) {
		if (has_clock(p))
			kymo_append_time(p);
		if (p->name_tries && p->name_tries--)
			define_thread(p, host, false);
		set_limit(p);
	}
	if (p)
		p->tick_seen = kymo_load_relaxed_u64(p->tick);
	errno = saved_errno;
	return p;
}

/* Only the clock is due: the chunk has room, and the thread and the process have not changed. */
static bool has_room(const struct kymo_producer *p)
{
	return p->payload && p->process == kymo_current_process && (uint32_t)p->word < p->chunk_limit &&
	       !p->name_tries;
}

struct kymo_producer *kymo_refill(const struct kymo_host *host)
{
	struct kymo_producer *p = kymo_producer;

	kymo_claim(p, host);
	kymo_flush_branches(p);
	if (kymo_unlikely(!has_room(p)))
		return refill_slowly(p, host);
	if (!kymo_is_ready(p) && has_clock(p))
		kymo_append_time(p);
	p->tick_seen = kymo_load_relaxed_u64(p->tick);
	return p;
}

struct kymo_producer *kymo_append_stack(const struct kymo_host *host, enum kymo_extended kind)
{
	struct kymo_producer *p = kymo_producer;
	uint8_t block[KYMO_SYNC_MAX_BYTES];
	struct kymo_sync sync = {0};
	uint32_t bytes;
	uint8_t *at;

	host->call_stack(host, &sync);
	kymo_forget_frames(p);
	bytes = (uint32_t)kymo_sync_encode(&sync, block);
	if ((uint32_t)p->word + 6 + bytes >= p->chunk_limit) {
		/* The next chunk begins with the stack, but does not say that it is another one. */
		p->limit = p->chunk_limit = 0;
		p = refill_slowly(p, host);
		if (!p || kind == KYMO_EXTENDED_STACK || (uint32_t)p->word + 6 + bytes >= p->chunk_limit)
			return p;
	}
	at = p->payload + (uint32_t)p->word;
	at[0] = KYMO_TAG_EXTENDED;
	at[1] = (uint8_t)kind;
	memcpy(at + 2, &bytes, 4);
	memcpy(at + 6, block, bytes);
	p->word += 6 + bytes;
	begin_epoch(p);
	kymo_commit(p);
	set_limit(p);
	return p;
}

void kymo_forget_code(const void *key)
{
	if (!kymo_cells_are_live())
		return;
	pthread_mutex_lock(&kymo_process_lock);
	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p)) {
		if (p->code == key)
			p->code = NULL;
		for (struct kymo_caller *caller = p->callers; caller < p->top; caller++)
			if (caller->code == key)
				caller->code = NULL;
	}
	pthread_mutex_unlock(&kymo_process_lock);
}

void kymo_process_seal(struct kymo_process *process, const struct kymo_gil *gil)
{
	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p))
		if (p->process == process && p->gil == gil)
			seal(p);
}

void kymo_process_tell_places(const struct kymo_gil *gil,
			      uint32_t (*place_of)(const struct kymo_producer *p, uint32_t native_id))
{
	if (!kymo_process_is_recording())
		return;
	pthread_mutex_lock(&kymo_process_lock);
	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p)) {
		uint32_t place = UINT32_MAX;

		if (p->ring && (p->gil == gil || p == kymo_producer))
			place = place_of(p, kymo_load_relaxed_u32(&p->ring->page->native_id));
		if (place != UINT32_MAX)
			kymo_thread_tell_place(p, place);
	}
	pthread_mutex_unlock(&kymo_process_lock);
}

void kymo_process_stop(const struct kymo_gil *gil)
{
	struct kymo_process *process = kymo_current_process;

	if (kymo_process_is_orphan()) { /* the recording is the parent's: this child leaves it */
		kymo_session_close(process->session);
		kymo_current_process = NULL;
	}
	if (!kymo_process_is_recording())
		return;
	pthread_mutex_lock(&kymo_process_lock);
	process->users++;
	for (struct kymo_producer *p = kymo_cell_next(NULL); p; p = kymo_cell_next(p)) {
		if (p->process == process && (p->gil == gil || p == kymo_producer))
			detach(p);
	}
	kymo_current_process = NULL;
	/* Release: the last chunks are sealed.  The reader loads it with acquire. */
	kymo_store_release_u32(&process->meta.page->state, KYMO_PROCESS_STOPPED);
	/* This call was a user, too: either all others have left, or the last of them frees it. */
	kymo_process_leave(process);
	pthread_mutex_unlock(&kymo_process_lock);
}
