// SPDX-License-Identifier: Apache-2.0
/* The definitions stream: committed at once, mapped by a window, bounded by what is unread. */
#include "recorder/meta.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "format/atomics.h"
#include "recorder/process.h"
#include "tests/support/recording.h"
#include "tests/unit/recorder/fake_calls.h"

enum { KIB = 1024 };

static struct recording r;

static void start(void)
{
	recording_make(&r, KYMO_POLICY_DROP, 2);
	recording_start(&r);
}

static void finish(void)
{
	recording_remove(&r);
}

TestSuite(meta, .init = start, .fini = finish, .timeout = 60);

static struct kymo_meta_page *page(void)
{
	return kymo_current_process->meta.page;
}

/* Text number @id of @bytes letters, which tell the id. */
static bool define(uint32_t id, size_t bytes)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Text text = KYMO__TEXT__INIT;
	char *letters = malloc(bytes + 1);
	bool is_defined;

	memset(letters, (int)('a' + id % 26), bytes);
	letters[bytes] = 0;
	text.id = id;
	text.text = letters;
	definition.kind_case = KYMO__DEFINITION__KIND_TEXT;
	definition.text = &text;
	is_defined = kymo_define(&definition);
	free(letters);
	return is_defined;
}

static struct stream_walk begin(void)
{
	int folder = recording_open_folder(&r, getpid());
	struct stream_walk walk = stream_walk_begin(folder);

	close(folder);
	return walk;
}

static void expect_text(struct stream_walk *walk, uint32_t id, size_t bytes)
{
	Kymo__Definition *definition = stream_walk_next(walk);

	cr_assert(definition, "text %u is missing", id);
	cr_assert_eq(definition->kind_case, KYMO__DEFINITION__KIND_TEXT);
	cr_assert_eq(definition->text->id, id);
	cr_assert_eq(strlen(definition->text->text), bytes);
	for (size_t i = 0; i < bytes; i++)
		cr_assert_eq(definition->text->text[i], (char)('a' + id % 26));
	kymo__definition__free_unpacked(definition, NULL);
}

/* Stream bytes up to @position were stored. */
static void consume(uint64_t position)
{
	kymo_store_release_u64(&page()->consumed, position);
}

static void the_reader_takes_all(void)
{
	consume(page()->committed);
}

static void nothing_happens(void)
{
}

Test(meta, the_first_definition_is_the_process)
{
	struct stream_walk walk = begin();
	Kymo__Definition *definition = stream_walk_next(&walk);

	cr_assert_eq(definition->kind_case, KYMO__DEFINITION__KIND_PROCESS);
	cr_assert_eq(definition->process->pid, (uint32_t)getpid());
	cr_assert_eq(definition->process->parent_pid, (uint32_t)getppid());
	cr_assert_eq(definition->process->generation, 1);
	cr_assert_str_eq(definition->process->folder, kymo_current_process->folder);
	cr_assert_str_eq(definition->process->forked_from, "");
	kymo__definition__free_unpacked(definition, NULL);
	cr_assert_null(stream_walk_next(&walk));
	cr_assert_eq(memcmp(page()->magic, KYMO_META_MAGIC, 8), 0);
}

Test(meta, a_definition_is_committed_when_define_returns)
{
	for (uint32_t id = 1; id <= 100; id++) {
		struct stream_walk walk;

		cr_assert(define(id, 10));
		walk = begin();
		kymo__definition__free_unpacked(stream_walk_next(&walk), NULL);
		for (uint32_t i = 1; i <= id; i++)
			expect_text(&walk, i, 10);
		cr_assert_null(stream_walk_next(&walk));
	}
}

Test(meta, definitions_of_any_length_lie_across_windows)
{
	static const size_t lengths[] = {0, 1, 100, 5000, 40 * KIB, 64 * KIB, 64 * KIB - 9, 300 * KIB};
	enum { KINDS = sizeof lengths / sizeof lengths[0], COUNT = 20 * KINDS };
	struct stream_walk walk;

	for (uint32_t id = 1; id <= COUNT; id++)
		cr_assert(define(id, lengths[id * 5 % KINDS]));
	walk = begin();
	kymo__definition__free_unpacked(stream_walk_next(&walk), NULL);
	for (uint32_t id = 1; id <= COUNT; id++)
		expect_text(&walk, id, lengths[id * 5 % KINDS]);
	cr_assert_null(stream_walk_next(&walk));
	cr_assert_eq(page()->undefined, 0);
}

Test(meta, only_the_window_is_mapped)
{
	FILE *maps;
	char line[4096];
	unsigned long start, end, mapped = 0;

	for (uint32_t id = 1; id <= 1000; id++)
		cr_assert(define(id, 10 * KIB));
	maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps)) {
		if (strstr(line, "/meta\n") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			mapped += end - start;
	}
	fclose(maps);
	cr_assert_gt(mapped, 0);
	cr_assert_leq(mapped, 132 * KIB, "a page and a window of %lu bytes", mapped);
}

Test(meta, a_full_stream_counts_what_it_refuses_and_goes_on_when_it_was_read)
{
	uint32_t written = 0;
	uint64_t committed;

	r.page->reader_state = KYMO_READER_LIVE;
	r.page->meta_bytes = 10 * KIB;
	while (define(written + 1, 1000))
		written++;
	cr_assert_geq(written, 9);
	cr_assert_leq(page()->committed, 10 * KIB);
	cr_assert_eq(page()->undefined, 1);
	committed = page()->committed;
	for (int i = 0; i < 50; i++)
		cr_assert_not(define(1, 1000));
	cr_assert_eq(page()->undefined, 51);
	cr_assert_eq(page()->committed, committed);
	cr_assert_eq(futex_waits, 0, "policy drop waits for nobody");
	consume(committed);
	cr_assert(define(written + 1, 1000));
	cr_assert_eq(page()->undefined, 51);
}

Test(meta, a_definition_above_the_limit_is_refused_without_waiting)
{
	r.page->policy = KYMO_POLICY_BLOCK;
	r.page->reader_state = KYMO_READER_LIVE;
	r.page->meta_bytes = 10 * KIB;
	cr_assert_not(define(1, 11 * KIB));
	cr_assert_eq(futex_waits, 0);
	/* That was no reason to give up the reader. */
	on_futex_wait = the_reader_takes_all;
	for (uint32_t id = 2; id <= 100; id++)
		cr_assert(define(id, 1000));
}

Test(meta, a_file_system_without_room_is_counted_and_asked_again)
{
	uint32_t id = 0;

	allocation_error = ENOSPC;
	while (define(id + 1, 1000))
		id++;
	cr_assert_eq(page()->undefined, 1);
	for (uint32_t more = 0; more < 100; more++)
		cr_assert(define(id + 1, 1000));
}

Test(meta, a_signal_during_an_allocation_loses_nothing)
{
	for (uint32_t id = 1; id <= 300; id++) {
		allocation_error = EINTR;
		cr_assert(define(id, KIB));
	}
	cr_assert_gt(allocations, 3);
}

Test(meta, block_waits_for_the_reader_of_the_stream)
{
	r.page->policy = KYMO_POLICY_BLOCK;
	r.page->reader_state = KYMO_READER_LIVE;
	r.page->meta_bytes = 10 * KIB;
	on_futex_wait = the_reader_takes_all;
	for (uint32_t id = 1; id <= 100; id++)
		cr_assert(define(id, 1000));
	cr_assert_gt(futex_waits, 5);
	cr_assert_eq(page()->undefined, 0);
}

Test(meta, block_gives_up_after_ten_waits_until_the_reader_moves)
{
	r.page->policy = KYMO_POLICY_BLOCK;
	r.page->reader_state = KYMO_READER_LIVE;
	r.page->meta_bytes = 10 * KIB;
	on_futex_wait = nothing_happens;
	while (define(1, 1000))
		continue;
	cr_assert_eq(futex_waits, KYMO_META_MAX_WAITS);
	for (int i = 0; i < 100; i++)
		cr_assert_not(define(1, 1000));
	cr_assert_eq(futex_waits, KYMO_META_MAX_WAITS);
	cr_assert_eq(page()->undefined, 101);
	consume(page()->committed);
	while (define(1, 1000))
		continue;
	cr_assert_eq(futex_waits, 2 * KYMO_META_MAX_WAITS, "the reader was back");
}

Test(meta, block_without_a_live_reader_does_not_wait)
{
	r.page->policy = KYMO_POLICY_BLOCK;
	r.page->meta_bytes = 10 * KIB;
	while (define(1, 1000))
		continue;
	cr_assert_eq(futex_waits, 0);
}

Test(meta, holes_behind_the_reader_do_not_touch_what_follows)
{
	int folder = recording_open_folder(&r, getpid());
	int fd = openat(folder, "meta", O_RDWR | O_CLOEXEC);
	struct stat status;

	close(folder);
	r.page->meta_bytes = 256 * KIB;
	for (uint32_t id = 1; id <= 5000; id++) {
		uint64_t freed = page()->committed / KYMO_PAGE_BYTES * KYMO_PAGE_BYTES;

		cr_assert(define(id, 1000));
		consume(page()->committed);
		if (freed)
			fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, KYMO_PAGE_BYTES,
				  (off_t)freed);
	}
	cr_assert_gt(page()->committed, 4900 * KIB);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_assert_lt(status.st_blocks * 512, 200 * KIB, "the file must not grow with the stream");
	close(fd);
}

Test(meta, errno_is_the_programs)
{
	allocation_error = ENOSPC;
	errno = 12345;
	while (define(1, 1000))
		continue;
	cr_assert_eq(errno, 12345);
}

Test(meta, ids_are_never_given_twice)
{
	for (uint32_t id = 1; id <= 1000; id++) {
		cr_assert_eq(kymo_next_code_id(), id);
		cr_assert_eq(kymo_next_content_id(), id);
		cr_assert_eq(kymo_next_name_id(), id);
		cr_assert_eq(kymo_next_text_id(), id);
	}
}
