// SPDX-License-Identifier: Apache-2.0
/*
 * The shared memory between a recorded process and the reader.
 *
 * This header is the only contract between recorder/ (the producer half) and
 * reader/ (the consumer half); docs/shared-memory.md describes it in prose.
 *
 *   <session>/session              struct kymo_session_page, then the Config message
 *   <session>/<process>/meta       struct kymo_meta_page, then the definitions stream
 *   <session>/<process>/ring-<N>   one ring, N from 1:
 *
 *        page 0      struct kymo_ring_page        producer writes
 *        page 1      struct kymo_ring_consumer    reader writes
 *        page 2…     struct kymo_chunk_header[max_slots]   producer writes
 *        slots_offset…  slot 0, slot 1, …         producer writes, slot_bytes each
 *
 * A ring has one producer, the thread that holds it, and one consumer.  Chunk number
 * @seq, from 1 and never reused in a ring, lies in whichever slot has a header whose
 * state names it.  No record spans two chunks.  The chunk headers stand apart from the
 * payload, so that the reader maps only the first pages, whose space was allocated when
 * the ring was made.  It takes payload by pread.
 *
 * Every shared word has one writer, named beside it; all numbers are little-endian.
 * The reader trusts none of them: it copies each before it checks it.
 */
#ifndef KYMO_FORMAT_CHUNK_H
#define KYMO_FORMAT_CHUNK_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define KYMO_ABI_VERSION 1U
#define KYMO_PAGE_BYTES 4096U

#define KYMO_SESSION_MAGIC "KYMOSESS"
#define KYMO_META_MAGIC "KYMOMETA"
#define KYMO_RING_MAGIC "KYMORING"

#define KYMO_MIN_SLOT_BYTES 4096U
#define KYMO_MAX_SLOT_BYTES (1U << 20)
#define KYMO_MAX_SLOTS 4096U

/* No event starts in the last bytes of a slot.  They have room for an event, the records that
 * go before it (TIME, SWITCH, TASK, LASTI, CODE) and a flushed branch word, so no store
 * leaves the slot. */
#define KYMO_SLOT_SLACK 128U

static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "shared words must be address-free");
static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4, "no hidden state");

/* What happens when the reader has not yet taken the oldest chunk. */
enum kymo_policy {
	KYMO_POLICY_BLOCK = 1,     /* wait at the chunk boundary, then degrade to drop */
	KYMO_POLICY_DROP = 2,      /* count lost events and go on */
	KYMO_POLICY_OVERWRITE = 3, /* the newest chunks win; never waits for the reader */
};

enum kymo_clock_mode {
	KYMO_CLOCK_SAMPLED = 1, /* about every 90th record, and after each tick */
	KYMO_CLOCK_EXACT = 2,   /* also at every call and return */
	KYMO_CLOCK_NONE = 3,    /* at chunk boundaries only */
};

/* The counter that open_clock, close_clock and TIME records are read from. */
enum kymo_counter {
	KYMO_COUNTER_MONOTONIC = 1, /* clock_gettime(CLOCK_MONOTONIC), nanoseconds */
	KYMO_COUNTER_TSC = 2,       /* x86-64 rdtsc */
	KYMO_COUNTER_CNTVCT = 3,    /* AArch64 cntvct_el0 */
};

/* Why events are missing: a mask, so that one gap can name several causes. */
enum kymo_loss {
	KYMO_LOSS_FULL = 1 << 0,        /* drop: no free slot */
	KYMO_LOSS_STALLED = 1 << 1,     /* block: waited as long as allowed, then dropped */
	KYMO_LOSS_NO_RING = 1 << 2,     /* the thread had no ring: budget or file system */
	KYMO_LOSS_OVERWRITTEN = 1 << 3, /* overwrite: found by the reader or the decoder */
	KYMO_LOSS_DAMAGED = 1 << 4,     /* a frame that failed its check: found by the decoder */
	KYMO_LOSS_STORAGE = 1 << 5,     /* the reader could not write: disk full, size limit */
	KYMO_LOSS_READER = 1 << 6,      /* the reader stopped while producers lived */
	KYMO_LOSS_DISCARDED = 1 << 7,   /* on purpose: the program dropped their segment */
};

/*
 * Chunk states.  A slot's state goes to UNREADABLE before anything else in the
 * slot is touched, so that a reader never combines a new chunk's number with the
 * commit word of the chunk that lay there before.
 */
#define KYMO_STATE_UNREADABLE UINT64_C(0)
#define KYMO_STATE_OPEN(seq) ((uint64_t)(seq) << 1)
#define KYMO_STATE_SEALED(seq) ((uint64_t)(seq) << 1 | 1)
#define KYMO_STATE_SEQ(state) ((uint64_t)(state) >> 1)
static_assert(KYMO_STATE_UNREADABLE == 0, "fresh zero pages must read as: no chunk");

/*
 * The commit word.  Low half: valid payload bytes, the sync block included.
 * High half: the open branch word, coded with a stop bit as Intel PT codes its
 * TNT packets: starts at 1, each branch shifts one bit in, at most 31 of them.
 * One aligned store publishes a record, or a branch, or a flushed word and a record.
 */
#define KYMO_COMMIT(bytes, branches) ((uint64_t)(branches) << 32 | (uint32_t)(bytes))
#define KYMO_COMMIT_BYTES(commit) ((uint32_t)(commit))
#define KYMO_COMMIT_BRANCHES(commit) ((uint32_t)((commit) >> 32))
#define KYMO_BRANCHES_NONE 1U

struct kymo_chunk_header {
	/* line 0: written as the chunk lives */
	_Atomic uint64_t state;
	_Atomic uint64_t commit;
	uint64_t close_clock;  /* counter when sealed; 0 while open */
	uint64_t last_ordinal; /* ordinal of the last event, when sealed; 0 while open */
	uint64_t segment;      /* segment that the whole chunk lies in; 0: none.  Set when it opens; 0 if sealed after the segment */
	uint64_t reserved0[3];
	/* line 1: written once, before the state says open */
	uint64_t open_clock;
	uint64_t first_ordinal; /* ordinal of this chunk's first event */
	uint64_t lost_before;   /* events lost between the previous chunk of this thread and this one */
	uint64_t meta_position; /* definitions that this chunk's sync block needs: stream bytes */
	uint64_t switch_base;   /* SWITCH ordinals in this chunk count from here */
	uint32_t lost_reasons;  /* enum kymo_loss mask for lost_before */
	uint32_t thread;        /* thread number in its process, from 1 */
	uint32_t interpreter;   /* sub-interpreter id; 0 is the main one */
	uint32_t sync_bytes;    /* length of the sync block at the start of the payload */
	uint64_t thread_chunk;  /* number of this chunk among its thread's, from 1 */
};
static_assert(sizeof(struct kymo_chunk_header) == 128, "ABI");
static_assert(offsetof(struct kymo_chunk_header, open_clock) == 64, "ABI");

struct kymo_ring_page {
	uint8_t magic[8];
	uint32_t abi_version;
	uint32_t ring;         /* N of the file name */
	uint32_t slot_bytes;   /* power of two */
	uint32_t max_slots;    /* number of headers that the file has room for */
	uint32_t slots_offset; /* file offset of slot 0; page-aligned */
	uint32_t reserved0;
	uint8_t pad0[32];
	/* written by the producer at chunk boundaries and while events are lost */
	_Atomic uint64_t opened_seq;   /* newest chunk that was opened */
	_Atomic uint64_t sealed_seq;   /* newest chunk that was sealed */
	_Atomic uint64_t lost_ordinal; /* ordinal of the newest lost event; if it is above the newest
					  chunk's last_ordinal, the difference was lost after that
					  chunk */
	_Atomic uint32_t lost_reasons; /* for those */
	_Atomic uint32_t slots;             /* slots made so far */
	_Atomic uint32_t thread;            /* thread that holds the ring; 0: it is pooled */
	_Atomic uint32_t producer_sleeping; /* 1 while the producer waits on kymo_ring_consumer.wake */
	/* for the watcher, about the thread that holds the ring */
	_Atomic uint64_t producer;  /* address, in the process, of the object whose fields struct kymo_frame_layout describes */
	_Atomic uint32_t native_id; /* gettid */
	/* where the top frame was when the thread ended, see KYMO_STOPPED_AT: written by the watcher, or by the producer with
	   its last event before exec */
	_Atomic uint32_t stopped_after;
	_Atomic uint64_t stopped_at;
	_Atomic uint64_t stalls; /* block: number, sum and maximum of the waits */
	_Atomic uint64_t stalled_ns;
	_Atomic uint64_t longest_stall_ns;
};
static_assert(offsetof(struct kymo_ring_page, opened_seq) == 64, "ABI");
static_assert(offsetof(struct kymo_ring_page, producer) == 104, "ABI");
static_assert(offsetof(struct kymo_ring_page, stalls) == 128, "ABI");

/* 0: not known; else code units + 1, as in CPython (_PyInterpreterFrame_LASTI), and whether the thread may have gone on. */
#define KYMO_STOPPED_AT(lasti, is_least) (((uint64_t)(lasti) + 1) | (uint64_t)(is_least) << 32)
#define KYMO_STOPPED_IS_LEAST(word) ((word) >> 32 & 1)
/* It is true if the low 32 bits of the thread's last ordinal are those of @stopped_after. */
#define KYMO_STOPPED_IF_LAST (UINT64_C(1) << 33)

struct kymo_ring_consumer {
	_Atomic uint64_t consumed_seq; /* chunks up to this one were copied; their slots are free */
	_Atomic uint32_t wake;         /* futex word: advances with each release */
	uint32_t reserved0;
};

#define KYMO_RING_CONSUMER_OFFSET KYMO_PAGE_BYTES
#define KYMO_RING_HEADERS_OFFSET (2 * KYMO_PAGE_BYTES)

static inline uint32_t kymo_ring_slots_offset(uint32_t max_slots)
{
	uint32_t end = KYMO_RING_HEADERS_OFFSET + max_slots * (uint32_t)sizeof(struct kymo_chunk_header);

	return (end + KYMO_PAGE_BYTES - 1) / KYMO_PAGE_BYTES * KYMO_PAGE_BYTES;
}

/*
 * Where the watcher finds, in the memory of a stopped process, what its threads are running: offsets of fields.  A producer has a
 * thread number and the addresses of its process (@process here), of the frame on top of the thread's stack, and of that frame's
 * code.  A frame has the addresses of its code and of the instruction that it runs.  Code has its bytecode and the bytecode's
 * length.
 */
struct kymo_frame_layout {
	uint64_t process;
	uint64_t code_mask; /* bits of a frame's word that hold the address of its code */
	uint16_t producer_thread, producer_process, producer_frame, producer_code;
	uint16_t frame_code, frame_instruction; /* @frame_instruction is 0 if the layout is not known */
	uint16_t code_units, code_bytecode;
};

/*
 * The definitions stream: length-delimited Definition messages (metadata.proto)
 * from file offset KYMO_PAGE_BYTES on.  @committed always lies on a message
 * boundary, and every id that a chunk uses is committed before the event is.
 * The reader punches out what it has stored; positions are never reused.
 */
struct kymo_meta_page {
	uint8_t magic[8];
	uint32_t abi_version;
	uint32_t pid; /* as the process itself sees it */
	uint8_t pad0[48];
	/* producer */
	_Atomic uint64_t committed; /* stream bytes that are complete */
	_Atomic uint32_t rings;     /* ring files made: ring-1 … ring-<rings> */
	_Atomic uint32_t state;     /* enum kymo_process_state */
	_Atomic uint64_t undefined; /* definitions not written: the stream was full */
	_Atomic uint64_t threads_unrecorded; /* threads that got no ring */
	_Atomic uint64_t events_unrecorded;  /* events of such threads */
	_Atomic uint32_t threads;            /* threads that recorded something */
	uint32_t reserved0;
	uint8_t pad1[16];
	/* reader */
	_Atomic uint64_t consumed; /* stream bytes stored; what lies before is freed */
	_Atomic uint32_t wake;     /* futex word: advances with each step of @consumed */
	uint8_t pad2[52];
	/* producer: written once, before the magic */
	struct kymo_frame_layout frames;
};
static_assert(offsetof(struct kymo_meta_page, frames) == 192, "ABI");
static_assert(offsetof(struct kymo_meta_page, committed) == 64, "ABI");
static_assert(offsetof(struct kymo_meta_page, consumed) == 128, "ABI");

enum kymo_process_state {
	KYMO_PROCESS_RECORDING = 1,
	KYMO_PROCESS_STOPPED = 2, /* recording was stopped; the process may live on */
};

enum kymo_reader_state {
	KYMO_READER_NONE = 0, /* not started yet */
	KYMO_READER_LIVE = 1,
	KYMO_READER_CLOSED = 2, /* the trace is sealed; nothing more will be taken */
};

/* File in the session's folder: why the reader could not complete the trace, in one line. */
#define KYMO_READER_LOG "reader.log"

enum kymo_stop_wanted {
	KYMO_STOP_SEAL = 1,    /* seal the trace now, producers or not */
	KYMO_STOP_DISCARD = 2, /* nothing was recorded: leave no trace */
};

#define KYMO_UNJOINED 32U
#define KYMO_FOLDER_BYTES 64U /* length of a process folder's name, the zero included */

enum kymo_unjoined_state {
	KYMO_UNJOINED_FREE = 0,
	KYMO_UNJOINED_CLAIMED = 1, /* by the process that writes it */
	KYMO_UNJOINED_TOLD = 2,    /* complete; the reader sets it free */
};

/* A process that wanted to record and could not make its folder, its definitions or its memory. */
struct kymo_unjoined {
	_Atomic uint32_t state; /* enum kymo_unjoined_state */
	uint32_t pid;           /* as the process itself sees it */
	int32_t error;          /* why not: an errno */
	uint32_t reserved0;
	char forked_from[KYMO_FOLDER_BYTES]; /* folder of the process that it was forked from; "": none */
};
static_assert(sizeof(struct kymo_unjoined) == 80, "ABI");

/* A tick that comes later than this after the one before is recorded as a ClockStall definition. */
#define KYMO_TICK_STALL_NS 3000000U

struct kymo_session_page {
	/* written once, before the session is announced */
	uint8_t magic[8];
	uint32_t abi_version;
	uint32_t config_bytes; /* Config message at file offset KYMO_PAGE_BYTES */
	uint32_t slot_bytes;
	uint32_t max_slots; /* of one ring */
	uint32_t policy;    /* enum kymo_policy */
	uint32_t clock_mode;
	uint32_t counter; /* enum kymo_counter */
	uint32_t reserved0;
	uint64_t budget_bytes; /* for all files of the session together */
	uint64_t meta_bytes;   /* unread definitions that one process may hold */
	uint8_t pad00[8];
	/* reader */
	_Atomic uint64_t tick; /* advances about every millisecond: see KYMO_TICK_STALL_NS */
	_Atomic uint32_t reader_state;
	_Atomic uint32_t reader_pid;
	_Atomic uint32_t snapshots_done; /* follows snapshots_wanted */
	uint8_t pad0[40];
	/* producers and `kymo`: read-modify-write, cold */
	_Atomic uint64_t budget_used;
	_Atomic uint32_t snapshots_wanted;
	_Atomic uint32_t stop_wanted; /* enum kymo_stop_wanted; 0: go on */
	_Atomic uint32_t root_pid;    /* the command that `kymo record` started; 0: none */
	_Atomic uint32_t root_ended;  /* 1 when root_status is valid */
	_Atomic uint32_t root_status; /* as from waitpid */
	_Atomic uint32_t processes_unrecorded; /* processes that could not make their folder, not yet reported by the reader */
	struct kymo_unjoined unjoined[KYMO_UNJOINED]; /* details of the first KYMO_UNJOINED of them */
};
static_assert(offsetof(struct kymo_session_page, unjoined) == 160, "ABI");
static_assert(offsetof(struct kymo_session_page, tick) == 64, "ABI");
static_assert(offsetof(struct kymo_session_page, budget_used) == 128, "ABI");
static_assert(sizeof(struct kymo_session_page) <= KYMO_PAGE_BYTES, "ABI");

#endif
