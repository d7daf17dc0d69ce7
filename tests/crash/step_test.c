// SPDX-License-Identifier: Apache-2.0
/*
 * Kill at every step.
 *
 * A child appends known events while its parent single-steps it.  After every
 * instruction, of append, branch, seal, open, stop and the loss path, the parent takes from
 * the shared pages what a reader would find if the child were killed there, and checks
 * that it is an exact prefix of the events: each one as it was appended, none missing
 * but those counted as lost, the newest at most one behind the child.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/take.h"
#include "recorder/recorder.h"
#include "recorder/session_create.h"

enum {
	SLOT_BYTES = 4096,
	SLOTS = 2,
	EVENTS = 3001, /* the last one is a branch: the stop has it to flush */
	LATE_EVENTS = 20, /* lost before the draining parent makes room */
};

/* What the child says of itself, for the parent to hold the ring against. */
struct witness {
	_Atomic uint64_t begun; /* events whose append has begun */
	_Atomic uint64_t done;  /* events whose append has returned */
};

static struct witness *witness;
static char dir[KYMO_DIR_BYTES];

static void make_session(uint32_t policy)
{
	Kymo__Config config = KYMO__CONFIG__INIT;
	Kymo__Session run = KYMO__SESSION__INIT;
	struct kymo_error error;

	config.policy = policy;
	config.slot_bytes = SLOT_BYTES;
	config.ring_bytes = SLOTS * SLOT_BYTES;
	config.clock_mode = KYMO_CLOCK_SAMPLED;
	cr_assert_eq(kymo_session_create(&config, &run, dir, &error), 0, "%s", error.message);
	witness = mmap(NULL, sizeof *witness, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(witness, MAP_FAILED);
}

static void call_stack(const struct kymo_host *host, struct kymo_sync *sync)
{
	(void)host;
	sync->depth = 1;
	sync->listed = 1;
	sync->frames[0] = (struct kymo_sync_frame){.code = 7, .offset_plus_1 = 3};
}

static uint64_t thread_ident(const struct kymo_host *host)
{
	(void)host;
	return 1;
}

static bool thread_name(const struct kymo_host *host, char *name, size_t bytes)
{
	(void)host, (void)name, (void)bytes;
	return false;
}

/* Event number @n, of every shape that an append has. */
static void append(struct kymo_producer *p, uint64_t n)
{
	uint32_t a = (uint32_t)(n * 2654435761U);

	switch (n % 7) {
	case 0: kymo_append_start(p, witness, kymo_start_make(a & 0xffffff), 10); break;
	case 1: kymo_append_line(p, p->line + (a & 31)); break;
	case 2: kymo_append2(p, KYMO_RAISE, a & 0xff, a & 0x1ffff); break;
	case 3: kymo_append_instruction(p, a & 15); break;
	case 4: kymo_append1(p, KYMO_PY_RETURN, a & 0xfffff); break;
	default: kymo_append_branch(p, a >> 7); break;
	}
}

/* Check that @record is event @n.  Short forms are checked by their step. */
static bool is_event(const struct kymo_record *record, uint64_t n)
{
	uint32_t a = (uint32_t)(n * 2654435761U);

	switch (n % 7) {
	case 0: return record->kind == KYMO_PY_START && record->a == (a & 0xffffff);
	case 1: return record->kind == KYMO_LINE && record->is_delta && record->a == (a & 31);
	case 2: return record->kind == KYMO_RAISE && record->a == (a & 0xff) && record->b == (a & 0x1ffff);
	case 3: return record->kind == KYMO_INSTRUCTION;
	case 4: return record->kind == KYMO_PY_RETURN && record->a == (a & 0xfffff);
	default: return false;
	}
}

static void check_branches(uint32_t word, uint64_t *n)
{
	int count = 31 - __builtin_clz(word);

	while (count-- > 0) {
		uint64_t a = (uint32_t)(*n * 2654435761U);

		cr_assert_geq(*n % 7, 5, "event %lu is no branch", (unsigned long)*n);
		cr_assert_eq(word >> count & 1, a >> 7 & 1, "branch %lu", (unsigned long)*n);
		++*n;
	}
}

/* Decode @chunk and compare each event; returns the ordinal after its last. */
static uint64_t check_chunk(const struct kymo_chunk *chunk)
{
	uint64_t n = chunk->first_ordinal;
	struct kymo_record record;
	struct kymo_sync sync;
	uint32_t at = chunk->sync_bytes;

	cr_assert_eq(kymo_sync_decode(chunk->payload, at, &sync), KYMO_DECODE_OK);
	cr_assert_eq(sync.frames[0].code, 7);
	while (at < chunk->bytes) {
		cr_assert_eq(kymo_record_decode(chunk->payload + at, chunk->bytes - at, &record),
			     KYMO_DECODE_OK, "chunk %lu, byte %u", (unsigned long)chunk->seq, at);
		at += record.bytes;
		if (record.kind == KYMO_KIND_SPECIAL && record.special == KYMO_TAG_BITS)
			check_branches((uint32_t)record.a, &n);
		else if (kymo_kind_is_event(record.kind)) {
			cr_assert(is_event(&record, n), "event %lu", (unsigned long)n);
			n++;
		}
	}
	check_branches(chunk->branches, &n);
	if (!chunk->is_open)
		cr_assert_eq(chunk->last_ordinal, n - 1);
	return n;
}

static void child(void)
{
	struct kymo_gil gil = {0};
	struct kymo_host host = {call_stack, thread_ident, thread_name, 0, &gil};
	Kymo__Process facts = KYMO__PROCESS__INIT;
	struct kymo_session *session;

	if (kymo_session_open(dir, &session, NULL) < 0 || kymo_process_start(session, &facts, NULL) < 0)
		_exit(1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (uint64_t n = 1; n <= EVENTS; n++) {
		struct kymo_producer *p = kymo_producer;

		if (n == 2) /* the thread is attached: what follows is the ring's own code */
			raise(SIGSTOP);
		atomic_store(&witness->begun, n);
		bool is_branch = n % 7 > 4;

		if ((is_branch ? kymo_is_ready_for_branch(p) : kymo_is_ready(p)) ||
		    (p = kymo_refill(&host))) {
			kymo_check_switch(p, &host);
			append(p, n);
		}
		atomic_store(&witness->done, n);
	}
	kymo_process_stop(&gil);
	_exit(0);
}

static int open_process_folder(void)
{
	DIR *session = opendir(dir);
	struct dirent *entry;
	int fd = -1;

	while (fd < 0 && (entry = readdir(session))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			fd = openat(dirfd(session), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	closedir(session);
	return fd;
}

struct findings {
	uint64_t instructions;
	uint64_t wraps;    /* times the oldest chunk held was not the first */
	uint64_t lost;     /* most events found to be lost */
	uint64_t taken;    /* chunks that the parent took and released */
	uint64_t next;     /* releasing: ordinal after the last one taken */
	uint64_t end;      /* ordinal after the last event found */
};

/* Take and check every chunk; returns the ordinal after the last event. */
static uint64_t check_chunks(struct kymo_ring_view *ring, uint64_t *released, bool is_draining,
			     uint8_t *payload, struct findings *findings)
{
	uint64_t seqs[SLOTS], end = is_draining ? findings->next : 1;
	uint32_t count = kymo_ring_view_list(ring, *released, seqs);
	struct kymo_chunk chunk = {.payload = payload};

	for (uint32_t i = 0; i < count; i++) {
		int result = kymo_chunk_take_tail(ring, seqs[i], &chunk);

		cr_assert_eq(result, 0, "chunk %lu: %d", (unsigned long)seqs[i], result);
		cr_assert_eq(chunk.seq, seqs[i]);
		if (i > 0)
			cr_assert_eq(seqs[i], seqs[i - 1] + 1, "a chunk in the middle is missing");
		if (i > 0 || is_draining)
			cr_assert_eq(chunk.first_ordinal, end + chunk.lost_before);
		else
			findings->wraps += seqs[0] > 1 && *released == 0;
		end = check_chunk(&chunk);
		if (is_draining && !chunk.is_open && i + 1 == count &&
		    ring->page->lost_ordinal >= end + LATE_EVENTS) {
			*released = seqs[i];
			findings->next = end;
			findings->taken++;
			kymo_ring_view_release(ring, seqs[i]);
		}
	}
	return end;
}

/*
 * What a reader would find now.  @is_draining: the parent releases what is sealed, as a
 * live reader does.
 */
static void check_ring(struct kymo_ring_view *ring, uint64_t *released, bool is_draining,
		       uint8_t *payload, struct findings *findings)
{
	const size_t headers_bytes = SLOTS * sizeof *ring->headers;
	static uint8_t seen[SLOTS * sizeof(struct kymo_chunk_header)];
	uint64_t begun = witness->begun, done = witness->done;
	uint64_t end = findings->end;

	/* Most instructions touch no header: what the chunks hold is as it was. */
	if (findings->instructions == 0 || memcmp(seen, (const void *)ring->headers, headers_bytes) ||
	    is_draining)
		end = check_chunks(ring, released, is_draining, payload, findings);
	memcpy(seen, (const void *)ring->headers, headers_bytes);
	findings->end = end;

	uint64_t lost_ordinal = ring->page->lost_ordinal;
	uint64_t accounted = lost_ordinal >= end ? lost_ordinal : end - 1;

	if (accounted - (end - 1) > findings->lost)
		findings->lost = accounted - (end - 1);
	cr_assert_geq(accounted, done, "event %lu was appended and is not there", (unsigned long)done);
	cr_assert_leq(accounted, begun, "event %lu is there before it was", (unsigned long)accounted);
}

static struct findings step_through(uint32_t policy, bool is_draining)
{
	struct findings findings = {.next = 1};
	uint8_t *payload = malloc(KYMO_MAX_SLOT_BYTES);
	struct kymo_ring_view ring;
	struct kymo_error error;
	uint64_t released = 0;
	int status, folder;
	pid_t pid;

	make_session(policy);
	pid = fork();
	if (pid == 0)
		child();
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSTOPPED(status), "the child failed to start");
	folder = open_process_folder();
	cr_assert_eq(kymo_ring_view_open(&ring, folder, 1, KYMO_ACCESS_DRAIN, &error), 0, "%s", error.message);
	while (WIFSTOPPED(status)) {
		check_ring(&ring, &released, is_draining, payload, &findings);
		findings.instructions++;
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		waitpid(pid, &status, 0);
	}
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	check_ring(&ring, &released, is_draining, payload, &findings);
	cr_assert_eq(witness->done, EVENTS);
	kymo_ring_view_close(&ring);
	close(folder);
	free(payload);
	if (fork() == 0)
		execlp("rm", "rm", "-rf", dir, NULL);
	wait(NULL);
	return findings;
}

Test(step, overwrite_keeps_an_exact_suffix_at_every_instruction, .timeout = 600)
{
	struct findings found = step_through(KYMO_POLICY_OVERWRITE, false);

	cr_assert_gt(found.instructions, 20 * EVENTS);
	cr_assert_gt(found.wraps, 0, "the ring never wrapped");
	cr_assert_eq(found.lost, 0);
}

Test(step, drop_without_a_reader_keeps_an_exact_prefix_and_counts_the_rest, .timeout = 600)
{
	struct findings found = step_through(KYMO_POLICY_DROP, false);

	cr_assert_gt(found.lost, 100);
}

Test(step, drop_with_a_late_reader_counts_each_gap, .timeout = 600)
{
	struct findings found = step_through(KYMO_POLICY_DROP, true);

	cr_assert_gt(found.taken, 0);
	cr_assert_gt(found.lost, 0);
}
