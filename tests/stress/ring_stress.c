// SPDX-License-Identifier: Apache-2.0
/*
 * The ring under load: ring_stress [SECONDS] [process|thread] [block|drop|overwrite]
 *
 * A producer appends known events as fast as it can; a consumer takes them, now at once,
 * now late, goes away, comes back, is replaced by another.  Every event that is taken is
 * held against what it must be, and every ordinal must be taken or counted as lost.
 *
 *   process  two processes over a real session; half of the producers are killed, and
 *            must have left all that they had appended, but for the event in flight
 *   thread   two threads over one mapping, so that ThreadSanitizer sees both sides.  With
 *            policies block and drop a slot is never written while it is read: there the
 *            payload is copied with its knowledge, and each edge that orders it is checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/counter.h"
#include "recorder/ring.h"
#include "tests/support/known_events.h"

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#define HAS_TSAN __has_feature(thread_sanitizer)
#else
#define HAS_TSAN 0
#endif

enum { MANY_YIELDS = 2000 };

/* What both sides share besides the session. */
struct common {
	_Atomic uint64_t begun; /* events whose append has begun ... */
	_Atomic uint64_t ended; /* ... and returned */
	_Atomic uint32_t stop_wanted;
	_Atomic uint32_t is_stopped;
	_Atomic uint32_t freeze_wanted;
	_Atomic uint32_t is_frozen;
};

struct totals {
	uint64_t rounds, kills, chunks, events, lost, overwritten, tails, restarts, freezes, stalls;
};

struct consumer {
	enum kymo_policy policy;
	struct kymo_ring_view view;
	pid_t pid;  /* 0: a thread */
	pthread_t thread;
	int folder; /* of the process; -1: a thread */
	uint64_t taken; /* newest chunk that was taken and released */
	uint64_t next;	/* ordinal that the next event must have; 0: any */
	uint64_t tail_seq, tail_end;
	bool is_faithful; /* never gone */
	struct kymo_chunk chunk;
	struct totals *totals;
};

static struct recording r;
static struct common *common;
static uint8_t payload[KYMO_MAX_SLOT_BYTES];
static uint64_t random_state = 1;
static bool may_stop_for_seconds;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	fprintf(stderr, "ring_stress: ");
	vfprintf(stderr, format, list);
	fprintf(stderr, "\n");
	va_end(list);
	exit(1);
}

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail("line %d: %s", __LINE__, #condition);                                 \
	} while (0)

/* The producer. */

static void produce(void)
{
	uint64_t n = common->ended;

	while (!kymo_load_relaxed_u32(&common->stop_wanted)) {
		kymo_store_relaxed_u64(&common->begun, ++n);
		known_put(&r.host);
		kymo_store_relaxed_u64(&common->ended, n);
	}
}

/* Stand still at whatever instruction the signal came. */
static void freeze(int signal_number)
{
	(void)signal_number;
	kymo_store_release_u32(&common->is_frozen, 1);
	while (kymo_load_acquire_u32(&common->freeze_wanted))
		continue;
	kymo_store_release_u32(&common->is_frozen, 0);
}

static pid_t start_process(void)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	recording_start(&r);
	produce();
	kymo_process_stop(&r.gil);
	kymo_store_release_u32(&common->is_stopped, 1);
	_exit(0);
}

/* The ring of the producer thread, for the consumer to share. */
static struct kymo_ring *_Atomic shared_ring;

static void *run_thread(void *unused)
{
	known_put(&r.host);
	atomic_store(&shared_ring, kymo_producer->ring);
	produce();
	kymo_store_release_u32(&common->is_stopped, 1);
	return unused; /* the end of the thread seals its chunk, and the ring stays mapped in the pool */
}

#if HAS_TSAN
/*
 * Payload is read through the producer's mapping, since what a system call reads there,
 * ThreadSanitizer does not see.  Chunks that may be overwritten meanwhile are copied
 * behind its back, as the kernel does.
 */
static const uint8_t *mapped;
static int mapped_fd = -1;
static bool is_stable;

__attribute__((no_sanitize("thread"))) static void copy_unseen(uint8_t *to, const uint8_t *from,
							       size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
	if (fd != mapped_fd)
		return preadv(fd, &(struct iovec){to, bytes}, 1, at);
	if (is_stable)
		memcpy(to, mapped + at, bytes);
	else
		copy_unseen(to, mapped + at, bytes);
	return (ssize_t)bytes;
}
#endif

/* The consumer. */

static void open_process(struct consumer *c)
{
	struct kymo_error error = {0};

	while (c->folder < 0) {
		c->folder = recording_open_folder(&r, c->pid);
		REQUIRE(waitpid(c->pid, NULL, WNOHANG) == 0);
		sched_yield();
	}
	while (kymo_ring_view_open(&c->view, c->folder, 1, KYMO_ACCESS_DRAIN, &error) < 0) {
		REQUIRE(waitpid(c->pid, NULL, WNOHANG) == 0);
		sched_yield();
	}
}

static void open_thread(struct consumer *c)
{
	struct kymo_ring *ring;

	while (!(ring = atomic_load(&shared_ring)))
		sched_yield();
	c->view = (struct kymo_ring_view){
		.fd = open(ring->path, O_RDONLY | O_CLOEXEC),
		.page = ring->page,
		.consumer = ring->consumer,
		.headers = ring->headers,
		.slot_bytes = ring->slot_bytes,
		.max_slots = ring->max_slots,
		.slots_offset = ring->page->slots_offset,
	};
#if HAS_TSAN
	mapped = (const uint8_t *)ring->page;
	mapped_fd = c->view.fd;
	is_stable = c->policy != KYMO_POLICY_OVERWRITE;
#endif
}

static void close_thread(struct consumer *c)
{
	close(c->view.fd);
#if HAS_TSAN
	mapped_fd = -1;
#endif
}

/* Another reader takes over where the words in the shared page say. */
static void restart(struct consumer *c)
{
	struct kymo_error error;

	if (c->folder < 0)
		return;
	kymo_ring_view_close(&c->view);
	REQUIRE(kymo_ring_view_open(&c->view, c->folder, 1, KYMO_ACCESS_DRAIN, &error) == 0);
	if (c->policy != KYMO_POLICY_OVERWRITE)
		c->taken = c->view.consumer->consumed_seq;
	c->totals->restarts++;
}

/* Check the events of the chunk that was taken; returns the ordinal after the last one. */
static uint64_t check_events(struct consumer *c)
{
	uint64_t end;
	const char *problem = known_check(&c->chunk, 0, &end);

	if (problem)
		fail("chunk %llu, event %llu: %s", (unsigned long long)c->chunk.seq,
		     (unsigned long long)end, problem);
#if HAS_TSAN
	if (is_stable) { /* the header, with ThreadSanitizer's knowledge */
		const struct kymo_chunk_header *header = &c->view.headers[c->view.hint - 1];

		REQUIRE(header->first_ordinal == c->chunk.first_ordinal);
		REQUIRE(c->chunk.is_open || header->last_ordinal == end - 1);
	}
#endif
	return end;
}

/* Hold a chunk against the one before it. */
static void check_order(struct consumer *c, uint64_t end)
{
	const struct kymo_chunk *chunk = &c->chunk;
	uint32_t reason = c->policy == KYMO_POLICY_DROP	   ? KYMO_LOSS_FULL
			  : c->policy == KYMO_POLICY_BLOCK ? KYMO_LOSS_STALLED
							   : 0;

	if (c->next && chunk->first_ordinal != c->next + chunk->lost_before)
		fail("chunk %llu begins with event %llu, %llu lost, after %llu",
		     (unsigned long long)chunk->seq, (unsigned long long)chunk->first_ordinal,
		     (unsigned long long)chunk->lost_before, (unsigned long long)c->next);
	REQUIRE(chunk->lost_reasons == (chunk->lost_before ? reason : 0));
	c->totals->lost += chunk->lost_before;
	c->totals->events += end - chunk->first_ordinal;
	c->totals->chunks++;
	c->next = end;
}

/* Take the next sealed chunk, if there is one, and give its slot back. */
static bool take_one(struct consumer *c)
{
	uint64_t sealed = kymo_load_acquire_u64(&c->view.page->sealed_seq);
	uint64_t seq;

	if (c->taken == sealed)
		return false;
	seq = kymo_ring_view_next_sealed(&c->view, c->taken, sealed);
	REQUIRE(seq == c->taken + 1);
	REQUIRE(kymo_chunk_take(&c->view, seq, &c->chunk) == 0);
	check_order(c, check_events(c));
	c->taken = seq;
	kymo_ring_view_release(&c->view, seq);
	return true;
}

/* Look at the open chunk, which never becomes less. */
static void look_at_tail(struct consumer *c)
{
	uint64_t end;
	int result;

	result = kymo_chunk_take_tail(&c->view, c->taken + 1, &c->chunk);
	if (result == -EAGAIN)
		return;
	REQUIRE(result == 0);
	end = check_events(c);
	REQUIRE(c->tail_seq != c->chunk.seq || end >= c->tail_end);
	c->tail_seq = c->chunk.seq;
	c->tail_end = end;
	c->totals->tails++;
}

/* Take what an overwriting producer leaves, the oldest or the newest first. */
static void take_snapshot(struct consumer *c)
{
	static uint64_t seqs[KYMO_MAX_SLOTS];
	uint32_t count = kymo_ring_view_list(&c->view, 0, seqs);
	bool newest_first = random_below(2);
	uint64_t last_seq = 0;

	c->next = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t seq = seqs[newest_first ? count - 1 - i : i];
		int result = kymo_chunk_take_tail(&c->view, seq, &c->chunk);

		if (result == -EOVERFLOW || result == -EAGAIN) {
			c->totals->overwritten++;
			continue;
		}
		REQUIRE(result == 0);
		if (seq != last_seq + 1 || newest_first)
			c->next = 0;
		check_order(c, check_events(c));
		if (c->chunk.is_open)
			c->next = 0;
		last_seq = seq;
	}
}

static bool is_full(const struct consumer *c, uint64_t lost_before)
{
	const struct kymo_ring_page *page = c->view.page;

	return kymo_load_relaxed_u32(&page->producer_sleeping) ||
	       kymo_load_relaxed_u64(&page->lost_ordinal) != lost_before;
}

/* Do nothing until the ring is full and felt to be. */
static void be_late(struct consumer *c)
{
	uint64_t lost = kymo_load_relaxed_u64(&c->view.page->lost_ordinal);

	for (int i = 0; i < MANY_YIELDS && !is_full(c, lost); i++)
		sched_yield();
}

/* Be gone until events are lost for it. */
static void be_gone(struct consumer *c)
{
	uint64_t lost = kymo_load_relaxed_u64(&c->view.page->lost_ordinal);

	if (c->is_faithful)
		return;
	kymo_store_release_u32(&r.page->reader_state, KYMO_READER_CLOSED);
	for (int i = 0; i < MANY_YIELDS; i++) {
		if (kymo_load_relaxed_u64(&c->view.page->lost_ordinal) != lost)
			break;
		sched_yield();
	}
	kymo_store_release_u32(&r.page->reader_state, KYMO_READER_LIVE);
}

/* Stand still, though alive, for longer than the producer waits. */
static void stand_still(struct consumer *c)
{
	uint64_t lost = kymo_load_relaxed_u64(&c->view.page->lost_ordinal);

	if (!may_stop_for_seconds || c->policy != KYMO_POLICY_BLOCK || random_below(20))
		return;
	while (kymo_load_relaxed_u64(&c->view.page->lost_ordinal) == lost)
		sched_yield();
}

/*
 * Take all that is left.  The producer has ended, or was killed, or stands still, between
 * any two instructions: whatever it had appended must be there or be counted.
 */
static void take_the_rest(struct consumer *c, bool may_be_open)
{
	static uint64_t seqs[KYMO_MAX_SLOTS];
	uint32_t count = kymo_ring_view_list(&c->view, c->taken, seqs);
	uint64_t lost_ordinal, accounted;

	if (c->policy == KYMO_POLICY_OVERWRITE)
		c->next = 0;
	for (uint32_t i = 0; i < count; i++) {
		REQUIRE(i == 0 || seqs[i] == seqs[i - 1] + 1);
		REQUIRE(c->policy == KYMO_POLICY_OVERWRITE || seqs[i] == c->taken + 1);
		REQUIRE(kymo_chunk_take_tail(&c->view, seqs[i], &c->chunk) == 0);
		REQUIRE(!c->chunk.is_open || (may_be_open && i + 1 == count));
		check_order(c, check_events(c));
		c->taken = seqs[i];
	}
	lost_ordinal = kymo_load_relaxed_u64(&c->view.page->lost_ordinal);
	accounted = lost_ordinal >= c->next ? lost_ordinal : c->next - 1;
	if (accounted < common->ended || accounted > common->begun)
		fail("%llu events are told of, when %llu were appended and %llu begun",
		     (unsigned long long)accounted, (unsigned long long)common->ended,
		     (unsigned long long)common->begun);
	if (lost_ordinal >= c->next)
		c->totals->lost += lost_ordinal - c->next + 1;
	if (c->policy == KYMO_POLICY_BLOCK && c->is_faithful && lost_ordinal > 0)
		REQUIRE(c->view.page->longest_stall_ns >= 1000000000);
	c->totals->stalls += kymo_load_relaxed_u64(&c->view.page->stalls);
}

/* What a kill would leave at some instruction; then the producer goes on. */
static void look_at_frozen(struct consumer *c)
{
	struct totals none = {0};
	struct consumer copy = *c;

	if (HAS_TSAN) /* which delivers signals at points of its own */
		return;
	kymo_store_release_u32(&common->freeze_wanted, 1);
	if (c->pid)
		kill(c->pid, SIGUSR1);
	else
		pthread_kill(c->thread, SIGUSR1);
	while (!kymo_load_acquire_u32(&common->is_frozen))
		continue;
	copy.totals = &none;
	take_the_rest(&copy, true);
	kymo_store_release_u32(&common->freeze_wanted, 0);
	while (kymo_load_acquire_u32(&common->is_frozen))
		continue;
	c->totals->freezes++;
}

/* One step of a consumer that is not always the same. */
static void consume(struct consumer *c)
{
	/* As the reader does every millisecond. */
	kymo_store_relaxed_u64(&r.page->tick, kymo_load_relaxed_u64(&r.page->tick) + 1);
	if (!random_below(4))
		look_at_frozen(c);
	if (c->policy == KYMO_POLICY_OVERWRITE) {
		take_snapshot(c);
		if (!random_below(50))
			restart(c);
		return;
	}
	switch (random_below(100)) {
	case 0: be_gone(c); break;
	case 1: restart(c); break;
	case 2: stand_still(c); break;
	case 3: case 4: case 5: be_late(c); break;
	case 6: case 7: case 8: case 9:
		for (uint64_t i = random_below(20); i > 0; i--)
			look_at_tail(c);
		break;
	default:
		for (uint64_t i = random_below(30); i > 0 && take_one(c); i--)
			continue;
	}
}

static void run_round(enum kymo_policy policy, bool is_process, struct totals *totals)
{
	struct consumer c = {.policy = policy, .folder = -1, .next = 1, .totals = totals};
	uint64_t until = kymo_monotonic_ns() + random_below(30000000);
	bool is_killed = is_process && random_below(2);

	*common = (struct common){0};
	c.chunk.payload = payload;
	c.is_faithful = random_below(2);
	recording_make(&r, policy, 2 + (uint32_t)random_below(7));
	r.page->clock_mode = KYMO_CLOCK_SAMPLED;
	r.page->reader_state = KYMO_READER_LIVE;
	if (is_process) {
		c.pid = start_process();
		open_process(&c);
	} else {
		recording_start(&r);
		atomic_store(&shared_ring, NULL);
		common->begun = common->ended = 1;
		pthread_create(&c.thread, NULL, run_thread, NULL);
		open_thread(&c);
	}
	while (kymo_monotonic_ns() < until)
		consume(&c);
	if (is_killed)
		kill(c.pid, SIGKILL);
	else
		kymo_store_relaxed_u32(&common->stop_wanted, 1);
	while (!is_killed && !kymo_load_acquire_u32(&common->is_stopped)) {
		if (is_process)
			REQUIRE(waitpid(c.pid, NULL, WNOHANG) == 0 || common->is_stopped);
		if (policy != KYMO_POLICY_OVERWRITE)
			take_one(&c);
	}
	if (is_process)
		waitpid(c.pid, NULL, 0);
	else
		pthread_join(c.thread, NULL);
	take_the_rest(&c, is_killed);
	if (is_process)
		kymo_ring_view_close(&c.view);
	else
		close_thread(&c);
	if (c.folder >= 0)
		close(c.folder);
	recording_remove(&r);
	totals->rounds++;
	totals->kills += is_killed;
}

static void print_count(uint64_t count, const char *what)
{
	printf(" %llu %s", (unsigned long long)count, what);
}

static void run(enum kymo_policy policy, bool is_process, double seconds)
{
	static const char *const names[] = {
		[KYMO_POLICY_BLOCK] = "block",
		[KYMO_POLICY_DROP] = "drop",
		[KYMO_POLICY_OVERWRITE] = "overwrite",
	};
	uint64_t until = kymo_monotonic_ns() + (uint64_t)(seconds * 1e9);
	struct totals totals = {0};

	do
		run_round(policy, is_process, &totals);
	while (kymo_monotonic_ns() < until);
	printf("%s, %s:", is_process ? "process" : "thread", names[policy]);
	print_count(totals.rounds, "rounds,");
	print_count(totals.kills, "killed,");
	print_count(totals.restarts, "readers replaced;");
	print_count(totals.chunks, "chunks,");
	print_count(totals.events, "events taken,");
	print_count(totals.lost, "lost,");
	print_count(totals.stalls, "stalls,");
	print_count(totals.overwritten, "chunks overwritten under the reader;");
	print_count(totals.tails, "looks at the tail,");
	print_count(totals.freezes, "at a frozen producer\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	const char *mode = argc > 2 ? argv[2] : NULL;
	uint32_t only = 0;
	unsigned runs;

	if (argc > 3 && kymo_parse_policy(argv[3], &only, NULL) < 0)
		fail("%s is no policy", argv[3]);
	/* A child of a program with threads is no child for ThreadSanitizer. */
	if (HAS_TSAN && !mode)
		mode = "thread";
	runs = (mode ? 1 : 2) * (only ? 1 : 3);
	may_stop_for_seconds = seconds >= 60;
	random_state = kymo_monotonic_ns() | 1;
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = freeze, .sa_flags = SA_RESTART}, NULL);
	common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	REQUIRE(common != MAP_FAILED);
	for (uint32_t policy = KYMO_POLICY_BLOCK; policy <= KYMO_POLICY_OVERWRITE; policy++) {
		if (only && policy != only)
			continue;
		if (!mode || strcmp(mode, "process") == 0)
			run(policy, true, seconds / runs);
		if (!mode || strcmp(mode, "thread") == 0)
			run(policy, false, seconds / runs);
	}
	return 0;
}
