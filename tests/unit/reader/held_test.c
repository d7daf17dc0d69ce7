// SPDX-License-Identifier: Apache-2.0
/* Frames that are held, in memory and beyond it. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "reader/held.h"

enum { FRAMES = 100, FRAME_BYTES = 1000 };

static char folder[] = "/tmp/kymo-held-XXXXXX";
static char beside[64];
static struct kymo_held held;

static void set_up(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(beside, sizeof beside, "%s/trace.kymo.incomplete", folder);
}

static void tear_down(void)
{
	cr_assert_eq(rmdir(folder), 0, "nothing is left in the folder");
}

TestSuite(held, .init = set_up, .fini = tear_down, .timeout = 20);

static int put(struct kymo_held_room *room, uint32_t number)
{
	uint8_t stored[FRAME_BYTES + FRAMES];
	struct kymo_frame_header header = {.seq = number, .stored_bytes = FRAME_BYTES + number};

	memset(stored, (int)number, sizeof stored);
	return kymo_held_put(&held, room, beside, &header, stored);
}

static void check(struct kymo_held_room *room, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const struct kymo_held_frame *frame = kymo_held_next(&held, room, true);

		cr_assert(frame);
		cr_assert_eq(frame->header.seq, i);
		cr_assert_eq(frame->header.stored_bytes, FRAME_BYTES + i);
		for (uint32_t byte = 0; byte < frame->header.stored_bytes; byte++)
			cr_assert_eq(frame->stored[byte], (uint8_t)i);
	}
}

Test(held, frames_come_out_as_they_went_in_wherever_they_lie)
{
	/* All in memory, some, none. */
	const uint64_t limits[] = {UINT64_MAX, FRAMES * FRAME_BYTES / 2, 0};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct kymo_held_room room = {.limit = limits[i]};

		for (int turn = 0; turn < 2; turn++) {
			for (uint32_t number = 0; number < FRAMES; number++)
				cr_assert_eq(put(&room, number), 0);
			cr_assert_eq(held.has_file, i > 0);
			cr_assert_leq(room.used, room.limit);
			check(&room, 0, FRAMES);
			cr_assert(kymo_held_is_empty(&held));
			cr_assert_null(kymo_held_next(&held, &room, true));
			kymo_held_clear(&held, &room);
			cr_assert_eq(room.used, 0);
		}
	}
}

Test(held, what_follows_a_frame_in_the_file_goes_there_too)
{
	struct kymo_held_room room = {.limit = 3 * (FRAME_BYTES + sizeof(struct kymo_held_frame) + FRAMES)};

	for (uint32_t number = 0; number < 6; number++)
		cr_assert_eq(put(&room, number), 0);
	cr_assert(held.has_file);
	room.limit = UINT64_MAX; /* others have let go of theirs */
	cr_assert_eq(put(&room, 6), 0);
	check(&room, 0, 7);
	kymo_held_clear(&held, &room);
}

Test(held, payload_is_passed_over_if_nobody_wants_it)
{
	struct kymo_held_room room = {.limit = 5000};

	for (uint32_t number = 0; number < FRAMES; number++)
		cr_assert_eq(put(&room, number), 0);
	for (uint32_t i = 0; i < FRAMES; i++)
		cr_assert_eq(kymo_held_next(&held, &room, false)->header.seq, i);
	cr_assert(kymo_held_is_empty(&held));
	kymo_held_clear(&held, &room);
}

Test(held, a_file_that_cannot_grow_keeps_what_it_has)
{
	struct kymo_held_room room = {0};
	struct rlimit limit = {
		.rlim_cur = 10 * (FRAME_BYTES + sizeof(struct kymo_frame_header)),
		.rlim_max = RLIM_INFINITY,
	};
	uint32_t number = 0;

	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	while (!put(&room, number))
		number++;
	cr_assert(number > 0 && number <= 10);
	check(&room, 0, number);
	cr_assert(kymo_held_is_empty(&held));
	kymo_held_clear(&held, &room);
}

Test(held, without_a_folder_there_is_no_file)
{
	struct kymo_held_room room = {0};

	snprintf(beside, sizeof beside, "%s/nowhere/trace", folder);
	cr_assert_lt(put(&room, 1), 0);
	cr_assert(kymo_held_is_empty(&held));
	kymo_held_clear(&held, &room);
}
