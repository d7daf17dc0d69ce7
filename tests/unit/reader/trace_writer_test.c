// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/frame_scan.h"
#include "reader/reader.h"
#include "reader/run_definitions.h"
#include "reader/trace_writer.h"

static char folder[] = "/tmp/kymo-writer-XXXXXX";
static char output[64], incomplete[80], second[64];
static struct kymo_trace_writer writer;
static struct kymo_error error;
static uint8_t payload[8192];

static void set_up(void)
{
	unsigned seed = 1;

	cr_assert(mkdtemp(folder));
	snprintf(output, sizeof output, "%s/a.kymo", folder);
	snprintf(incomplete, sizeof incomplete, "%s.incomplete", output);
	snprintf(second, sizeof second, "%s/b.kymo", folder);
	/* The first half cannot be compressed. */
	for (size_t i = 0; i < sizeof payload / 2; i++)
		payload[i] = (uint8_t)rand_r(&seed);
}

static void tear_down(void)
{
	unlink(output);
	unlink(incomplete);
	unlink(second);
	rmdir(folder);
}

static int put(uint64_t seq)
{
	struct kymo_chunk chunk = {.seq = seq, .bytes = sizeof payload, .branches = 1,
				   .payload = payload, .thread = 1, .first_ordinal = seq};

	return kymo_trace_writer_put_chunk(&writer, 1, 1, &chunk, 0, 0);
}

static void create(const struct kymo_trace_options *options)
{
	cr_assert_eq(kymo_trace_writer_create(&writer, output, options, &error), 0, "%s",
		     error.message);
}

/* Frames before the index; every frame must be intact, and the last one a trailer. */
static unsigned count_frames(const char *path)
{
	struct kymo_trace_header trace_header;
	struct kymo_frame_header header;
	struct kymo_frame_scan scan;
	unsigned frames = 0;
	int fd = open(path, O_RDONLY);

	cr_assert_eq(kymo_frame_scan_begin(&scan, fd, &trace_header, &error), 0);
	while (kymo_frame_scan_intact(&scan, &header))
		frames += header.kind < KYMO_FRAME_INDEX;
	cr_assert_eq(scan.skipped, 0);
	cr_assert_eq(header.kind, KYMO_FRAME_TRAILER);
	kymo_frame_scan_end(&scan);
	close(fd);
	return frames;
}

TestSuite(trace_writer, .init = set_up, .fini = tear_down, .timeout = 20);

Test(trace_writer, a_closed_trace_has_its_name_and_is_its_owners_only)
{
	struct stat status;

	create(&(struct kymo_trace_options){0});
	for (uint64_t seq = 1; seq <= 10; seq++)
		cr_assert_eq(put(seq), 0);
	cr_assert(access(output, F_OK));
	cr_assert_eq(kymo_trace_writer_close(&writer, &error), 0);
	cr_assert(access(incomplete, F_OK));
	cr_assert_eq(stat(output, &status), 0);
	cr_assert_eq(status.st_mode & 0777, 0600);
	cr_assert_eq(count_frames(output), 10);
}

Test(trace_writer, an_existing_output_is_replaced_only_if_told)
{
	struct kymo_trace_options options = {0};

	create(&options);
	cr_assert_eq(kymo_trace_writer_create(&(struct kymo_trace_writer){0}, output, &options,
					      &error), -EEXIST, "another run writes it");
	cr_assert_eq(kymo_trace_writer_close(&writer, &error), 0);
	cr_assert_eq(kymo_trace_writer_create(&writer, output, &options, &error), -EEXIST);
	options.may_replace = true;
	create(&options);
	cr_assert_eq(kymo_trace_writer_close(&writer, &error), 0);
}

Test(trace_writer, an_output_that_came_up_meanwhile_is_not_replaced)
{
	create(&(struct kymo_trace_options){0});
	close(open(output, O_CREAT | O_WRONLY, 0600));
	cr_assert_eq(kymo_trace_writer_close(&writer, &error), -EEXIST);
	cr_assert_eq(count_frames(incomplete), 0);
}

Test(trace_writer, at_the_size_limit_last_words_still_fit)
{
	struct stat status;
	unsigned stored = 0;

	create(&(struct kymo_trace_options){.max_bytes = 200000});
	while (!put(stored + 1))
		stored++;
	cr_assert(writer.is_full);
	cr_assert_gt(stored, 10);
	cr_assert_eq(put(99), -ENOSPC);
	kymo_run_define_ending(&writer, writer.full_reason, 0);
	cr_assert_eq(kymo_trace_writer_close(&writer, &error), 0);
	cr_assert_eq(count_frames(output), stored + 1);
	stat(output, &status);
	cr_assert_leq(status.st_size, 200000);
}

Test(trace_writer, a_file_size_limit_of_the_user_is_a_size_limit)
{
	unsigned stored = 0;

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 150000, .rlim_max = 150000});
	create(&(struct kymo_trace_options){0});
	while (!put(stored + 1))
		stored++;
	kymo_run_define_ending(&writer, writer.full_reason, 0);
	cr_assert_eq(kymo_trace_writer_close(&writer, &error), 0);
	cr_assert_eq(count_frames(output), stored + 1);
}

Test(trace_writer, an_unwritable_place_is_an_error_that_names_it)
{
	cr_assert_lt(kymo_trace_writer_create(&writer, "/proc/nowhere/a.kymo",
					      &(struct kymo_trace_options){0}, &error), 0);
	cr_assert(strstr(error.message, "/proc/nowhere/a.kymo"));
}

static void salvage(unsigned frames)
{
	struct kymo_watch watch;
	bool has_end;

	kymo_trace_writer_abandon(&writer, false);
	cr_assert_eq(kymo_salvage_trace(incomplete, second, &has_end, &watch, &error), 0, "%s", error.message);
	cr_assert(!has_end);
	/* And its own last words. */
	cr_assert_eq(count_frames(second), frames + 1);
}

Test(trace_writer, a_trace_whose_writer_was_killed_can_be_salvaged)
{
	create(&(struct kymo_trace_options){0});
	for (uint64_t seq = 1; seq <= 10; seq++)
		put(seq);
	cr_assert_eq(ftruncate(writer.fd, (off_t)writer.size - 5), 0);
	salvage(9);
}

Test(trace_writer, a_flipped_bit_costs_one_frame)
{
	off_t at;
	uint8_t byte;

	create(&(struct kymo_trace_options){0});
	put(1);
	at = (off_t)writer.size + 1000;
	put(2);
	put(3);
	cr_assert_eq(pread(writer.fd, &byte, 1, at), 1);
	byte ^= 4;
	cr_assert_eq(pwrite(writer.fd, &byte, 1, at), 1);
	salvage(2);
}
