// SPDX-License-Identifier: Apache-2.0
/*
 * The append alone, without Python: nanoseconds a record, chunk changes included.
 *
 *   append_bench KIND EVENTS overwrite          nobody reads
 *   append_bench KIND EVENTS block TRACE        a reader drains to the file TRACE
 *
 * KIND is line, instruction, return, start, jump, branch or mixed.  Prints one JSON object.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "reader/reader.h"
#include "recorder/recorder.h"
#include "recorder/ring.h"
#include "recorder/session_create.h"

enum { CODES = 16, FIRST_LINE = 100 };

static struct kymo_gil gil;
static char codes[CODES]; /* their addresses stand for code objects */

static void call_stack(const struct kymo_host *unused, struct kymo_sync *sync)
{
	(void)unused;
	sync->depth = sync->listed = 1;
	sync->frames[0] = (struct kymo_sync_frame){.code = 1, .offset_plus_1 = 1};
}

static uint64_t thread_ident(const struct kymo_host *unused)
{
	(void)unused;
	return 1;
}

static bool thread_name(const struct kymo_host *unused, char *name, size_t bytes)
{
	(void)unused;
	snprintf(name, bytes, "bench");
	return true;
}

static const struct kymo_host host = {
	.call_stack = call_stack,
	.thread_ident = thread_ident,
	.thread_name = thread_name,
	.gil = &gil,
};

static inline struct kymo_producer *ready(bool is_branch)
{
	struct kymo_producer *p = kymo_producer;

	/* Nothing stays in registers from one event to the next: each is a callback of its own. */
	__asm__ volatile("" ::: "memory");
	if (kymo_unlikely(is_branch ? !kymo_is_ready_for_branch(p) : !kymo_is_ready(p)))
		p = kymo_refill(&host);
	if (kymo_likely(p))
		kymo_check_switch(p, &host);
	return p;
}

/* One event; lost ones are counted by the recorder. */
#define EVENT_IF(is_branch, append, ...)                                        \
	do {                                                      \
		struct kymo_producer *ready_p = ready(is_branch);          \
                                                                  \
		if (kymo_likely(ready_p))                         \
			append(ready_p __VA_OPT__(, ) __VA_ARGS__); \
	} while (0)
#define EVENT(append, ...) EVENT_IF(false, append __VA_OPT__(, ) __VA_ARGS__)
#define BRANCH(taken) EVENT_IF(true, kymo_append_branch, taken)

static inline void start(uint64_t number)
{
	uint32_t code = number % CODES;

	EVENT(kymo_append_start, &codes[code], kymo_start_make(code + 1), FIRST_LINE);
}

static void lines(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		EVENT(kymo_append_line, FIRST_LINE + (uint32_t)(i * 7 % 30));
}

static void instructions(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		EVENT(kymo_append_instruction, (uint32_t)(i % 20));
}

static void returns(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		EVENT(kymo_append1, KYMO_PY_RETURN, (uint32_t)(i * 7 % 300));
}

static void starts(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		start(i);
}

static void jumps(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		EVENT(kymo_append2, KYMO_JUMP, 90, (uint32_t)(i % 200));
}

static void branches(uint64_t events)
{
	for (uint64_t i = 0; i < events; i++)
		BRANCH((unsigned)(i * 5 >> 3));
}

/* A function that runs some lines and branches, called again and again; no two calls in a row are alike. */
static void mixed(uint64_t events)
{
	uint32_t random = 1;

	for (uint64_t i = 0; i < events; i += 8) {
		random = random * 1103515245 + 12345;
		start(random >> 20);
		EVENT(kymo_append_line, FIRST_LINE + 1);
		BRANCH(random >> 16);
		EVENT(kymo_append_line, FIRST_LINE + 2 + (random >> 16 & 1));
		EVENT(kymo_append_line, FIRST_LINE + 4);
		BRANCH(random >> 17);
		EVENT(kymo_append_line, FIRST_LINE + 5 + (random >> 17 & 1) * 3);
		EVENT(kymo_append1, KYMO_PY_RETURN, 40 + (random >> 24 & 15));
	}
}

static const struct {
	const char *name;
	void (*append)(uint64_t events);
} kinds[] = {
	{"line", lines}, {"instruction", instructions}, {"return", returns}, {"start", starts},
	{"jump", jumps}, {"branch", branches},		{"mixed", mixed},    {0},
};

static void define_codes(void)
{
	for (uint32_t i = 0; i < CODES; i++) {
		Kymo__Definition definition = KYMO__DEFINITION__INIT;
		Kymo__Content content = KYMO__CONTENT__INIT;
		Kymo__Code code = KYMO__CODE__INIT;

		content.id = kymo_next_content_id();
		content.file = "bench.py";
		content.name = content.qualname = "bench";
		content.first_line = FIRST_LINE;
		definition.kind_case = KYMO__DEFINITION__KIND_CONTENT;
		definition.content = &content;
		kymo_define(&definition);
		code.id = kymo_next_code_id();
		code.content = content.id;
		definition.kind_case = KYMO__DEFINITION__KIND_CODE;
		definition.code = &code;
		kymo_define(&definition);
	}
}

/* What the reader does where there is one. */
static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *place)
{
	(void)status, (void)flag, (void)place;
	return remove(path);
}

static void fail(const struct kymo_error *error)
{
	fprintf(stderr, "append_bench: %s\n", error->message);
	exit(1);
}

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* The figures that the ring has of its own; valid until the recording stops. */
static void measure(void (*append)(uint64_t events), uint64_t events)
{
	uint64_t wall, cpu;
	const struct kymo_ring_page *page;

	append(1 << 16); /* attached, and the first slots made */
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	wall = now(CLOCK_MONOTONIC);
	append(events);
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	page = kymo_producer->ring->page;
	printf("{\"events\": %llu, \"recorded\": %llu, \"wall_ns\": %llu, \"cpu_ns\": %llu, "
	       "\"stalls\": %llu, \"stalled_ns\": %llu, \"longest_stall_ns\": %llu, \"lost\": %llu}\n",
	       (unsigned long long)events, (unsigned long long)kymo_producer->ordinal,
	       (unsigned long long)wall, (unsigned long long)cpu,
	       (unsigned long long)kymo_load_relaxed_u64(&page->stalls),
	       (unsigned long long)kymo_load_relaxed_u64(&page->stalled_ns),
	       (unsigned long long)kymo_load_relaxed_u64(&page->longest_stall_ns),
	       (unsigned long long)kymo_producer->lost);
}

int main(int argc, char **argv)
{
	Kymo__Config config = KYMO__CONFIG__INIT;
	Kymo__Session run = KYMO__SESSION__INIT;
	Kymo__Process facts = KYMO__PROCESS__INIT;
	struct kymo_reader_options options = {.has_no_root = true};
	struct kymo_session *session;
	struct kymo_error error;
	char dir[KYMO_DIR_BYTES], profile[] = "full";
	size_t kind = 0;

	while (argc > 3 && kinds[kind].name && strcmp(kinds[kind].name, argv[1]) != 0)
		kind++;
	if (argc < 4 || !kinds[kind].name || kymo_parse_policy(argv[3], &config.policy, &error) < 0 ||
	    (config.policy == KYMO_POLICY_OVERWRITE) != (argc == 4)) {
		fputs("usage: append_bench KIND EVENTS overwrite|block [TRACE]\n", stderr);
		return 2;
	}
	config.output = argc > 4 ? argv[4] : (char *)"";
	config.force = true;
	if (kymo_config_set_events(&config, profile, &error) < 0 ||
	    kymo_session_create(&config, &run, dir, &error) < 0 ||
	    (argc > 4 && kymo_reader_spawn(dir, &options, &error) < 0) ||
	    kymo_session_open(dir, &session, &error) < 0 || kymo_process_start(session, &facts, &error) < 0)
		fail(&error);
	define_codes();
	measure(kinds[kind].append, strtoull(argv[2], NULL, 10));
	kymo_process_stop(&gil);
	kymo_session_close(session);
	if (argc == 4)
		nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	while (access(dir, F_OK) == 0)
		usleep(1000);
	return 0;
}
