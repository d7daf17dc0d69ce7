// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/line_table.h"
#include "replay/decode/merge.h"
#include "tests/unit/replay/trace_maker.h"

static struct maker maker;
static struct kymo_timeline timeline;
static struct kymo_event events[512];
static struct kymo_error error;

/* Open what was made and decode the events of its first thread into @events. */
static int decode_first(void)
{
	struct kymo_cursor cursor;
	int count = 0;

	cr_assert_eq(kymo_timeline_open(&timeline, make_file(&maker), 0, &error), 0, "%s",
		     error.message);
	unlink(maker.path);
	cr_assert_geq(timeline.stream_count, 1);
	kymo_cursor_init(&cursor, &timeline, &timeline.streams[0]);
	while (kymo_cursor_next(&cursor, &events[count], &error) > 0)
		count++;
	kymo_cursor_release(&cursor);
	return count;
}

static struct kymo_frame_header chunk(uint64_t seq, uint64_t first, uint64_t last)
{
	return (struct kymo_frame_header){
		.seq = seq, .thread_chunk = seq, .first_ordinal = first, .last_ordinal = last};
}

/* @count LINE events of code 7. */
static struct payload lines(int count)
{
	struct payload payload = {.length = 0};

	add1(&payload, KYMO_CODE, 7);
	for (int i = 0; i < count; i++)
		add_line_step(&payload, 1);
	return payload;
}

Test(timeline, records_become_events_with_their_places)
{
	struct payload payload = {.length = 0};

	add1(&payload, KYMO_PY_START, 7);
	add_line_step(&payload, 0);
	add_line_step(&payload, 1);
	add2(&payload, KYMO_RAISE, 2, 3);
	add2(&payload, KYMO_JUMP, 1, 2);
	add_bytes(&payload, (uint8_t[]){KYMO_TAG_INSTRUCTION | (KYMO_INSTRUCTION_BIAS + 2)}, 1);
	add1(&payload, KYMO_LINE, 99);
	make_start(&maker);
	make_chunk(&maker, chunk(1, 1, 7), &payload);
	cr_assert_eq(decode_first(), 7);

	cr_assert_eq(events[0].kind, KYMO_PY_START);
	cr_assert_eq(events[0].n, 1);
	cr_assert_str_eq(events[0].code->content->function, "C.f");
	cr_assert_eq(events[0].offset, 1);
	cr_assert_eq(kymo_event_line(&events[0]), 11);
	cr_assert_eq(events[1].line, 10);
	cr_assert_eq(events[2].line, 11);
	cr_assert(!kymo_event_has_offset(&events[2]));
	cr_assert_str_eq(events[3].name, "ValueError");
	cr_assert_eq(kymo_event_line(&events[3]), 12);
	cr_assert_eq(events[4].offset, 1);
	cr_assert_eq(events[4].dest, 2);
	cr_assert_eq(events[5].offset, 2);
	cr_assert_eq(events[6].line, 99);
	cr_assert_eq(events[6].n, 7);
	cr_assert_eq(events[6].stream->process->pid, 100);
	cr_assert_eq(events[6].stream->thread->native_id, 101);
	cr_assert_eq(timeline.trace.damage_count, 0);
	kymo_timeline_close(&timeline);
}

Test(timeline, branch_bits_come_oldest_first_and_each_has_an_ordinal)
{
	struct kymo_frame_header header = chunk(1, 1, 0);
	struct payload payload = {.length = 0};

	add1(&payload, KYMO_CODE, 7);
	add_bits(&payload, 0x6); /* stop bit, taken, not taken */
	add_line_step(&payload, 0);
	header.branches = 0xb; /* of the commit word: not taken, taken, taken */
	make_start(&maker);
	make_chunk(&maker, header, &payload);
	cr_assert_eq(decode_first(), 6);
	cr_assert(events[0].is_taken);
	cr_assert(!events[1].is_taken);
	cr_assert_eq(events[2].kind, KYMO_LINE);
	cr_assert_eq(events[2].n, 3);
	cr_assert(!events[3].is_taken);
	cr_assert(events[4].is_taken);
	cr_assert(events[5].is_taken);
	cr_assert_eq(events[5].kind, KYMO_EVENT_BRANCH_BIT);
	cr_assert_eq(events[5].n, 6);
	kymo_timeline_close(&timeline);
}

Test(timeline, a_later_frame_of_the_same_chunk_replaces_the_provisional_one)
{
	struct kymo_frame_header provisional = chunk(1, 1, 0);
	struct payload some = lines(3), all = lines(8);

	provisional.flags = KYMO_FRAME_PROVISIONAL;
	make_start(&maker);
	make_chunk(&maker, provisional, &some);
	make_chunk(&maker, chunk(1, 1, 8), &all);
	cr_assert_eq(decode_first(), 8);
	cr_assert_eq(events[7].n, 8);
	kymo_timeline_close(&timeline);
}

/* Chunk 1 taken twice while it was open, with 3 and 5 events, and sealed with 9; then chunk 2. */
static void make_copies(size_t *sealed, size_t *second_copy)
{
	struct payload three = lines(3), five = lines(5), nine = lines(9);
	struct kymo_frame_header copy = chunk(1, 1, 3);

	make_start(&maker);
	copy.flags = KYMO_FRAME_PROVISIONAL;
	make_chunk(&maker, copy, &three);
	copy.last_ordinal = 5;
	*second_copy = make_chunk(&maker, copy, &five);
	*sealed = make_chunk(&maker, chunk(1, 1, 9), &nine);
	make_chunk(&maker, chunk(2, 10, 12), &three);
	make_end(&maker);
}

Test(timeline, the_best_intact_copy_of_a_chunk_is_read)
{
	size_t sealed, second_copy;

	make_copies(&sealed, &second_copy);
	cr_assert_eq(decode_first(), 12);
	cr_assert_eq(timeline.trace.damage_count, 0);
	kymo_timeline_close(&timeline);

	maker.bytes[sealed + 130] ^= 1;
	cr_assert_eq(decode_first(), 5 + 1 + 3);
	cr_assert_eq(events[4].n, 5);
	cr_assert_eq(events[5].kind, KYMO_EVENT_GAP);
	cr_assert_eq(events[5].lost, 4);
	cr_assert_eq(events[5].lost_reasons, KYMO_LOSS_DAMAGED);
	cr_assert_eq(events[6].n, 10);
	cr_assert_eq(timeline.trace.damage_count, 1);
	kymo_timeline_close(&timeline);

	maker.bytes[second_copy + 130] ^= 1;
	cr_assert_eq(decode_first(), 3 + 1 + 3);
	cr_assert_eq(events[3].lost, 6);
	kymo_timeline_close(&timeline);
}

Test(timeline, a_search_finds_the_best_copy_too)
{
	size_t sealed, second_copy;
	struct kymo_cursor cursor;

	make_copies(&sealed, &second_copy);
	cr_assert_eq(kymo_timeline_open(&timeline, make_file(&maker), 0, &error), 0);
	unlink(maker.path);
	cr_assert_eq(timeline.streams[0].chunk_count, 4);
	for (size_t i = 0; i < 4; i++) {
		kymo_cursor_init(&cursor, &timeline, &timeline.streams[0]);
		kymo_cursor_seek_chunk(&cursor, i);
		cr_assert_eq(kymo_cursor_next(&cursor, &events[0], &error), 1);
		cr_assert_eq(events[0].n, i < 3 ? 1 : 10);
		cr_assert_eq(cursor.read->last_ordinal, i < 3 ? 9 : 12);
		kymo_cursor_release(&cursor);
	}
	kymo_timeline_close(&timeline);
}

Test(timeline, what_is_missing_is_a_gap_with_count_and_cause)
{
	struct kymo_frame_header second = chunk(2, 14, 15), third = chunk(4, 20, 21);
	struct payload three = lines(3), two = lines(2);

	/* 4 … 13 are missing; of them 6 were counted as lost for want of a slot */
	second.lost_before = 6;
	second.lost_reasons = KYMO_LOSS_FULL;
	make_start(&maker);
	make_chunk(&maker, chunk(1, 1, 3), &three);
	make_chunk(&maker, second, &two);
	make_chunk(&maker, third, &two);
	cr_assert_eq(decode_first(), 3 + 2 + 2 + 1 + 2);
	cr_assert_eq(events[3].kind, KYMO_EVENT_GAP);
	cr_assert_eq(events[3].n, 4);
	cr_assert_eq(events[3].lost, 4);
	cr_assert_eq(events[3].lost_reasons, KYMO_LOSS_DAMAGED);
	cr_assert_eq(events[4].kind, KYMO_EVENT_GAP);
	cr_assert_eq(events[4].n, 8);
	cr_assert_eq(events[4].lost, 6);
	cr_assert_eq(events[4].lost_reasons, KYMO_LOSS_FULL);
	cr_assert_eq(events[5].n, 14);
	cr_assert_eq(events[7].lost, 4);
	cr_assert_eq(events[9].n, 21);
	kymo_timeline_close(&timeline);
}

Test(timeline, a_damaged_chunk_is_a_gap_of_the_size_it_had)
{
	struct payload three = lines(3);
	size_t second;

	make_start(&maker);
	make_chunk(&maker, chunk(1, 1, 3), &three);
	second = make_chunk(&maker, chunk(2, 4, 6), &three);
	make_end(&maker);
	maker.bytes[second + 130] ^= 1;
	cr_assert_eq(decode_first(), 4);
	cr_assert_eq(events[3].kind, KYMO_EVENT_GAP);
	cr_assert_eq(events[3].lost, 3);
	cr_assert_eq(timeline.trace.damage[0].offset, second);
	kymo_timeline_close(&timeline);
}

Test(timeline, losses_after_the_last_chunk_come_from_the_thread_s_end)
{
	struct payload stream = {.length = 0}, three = lines(3);
	Kymo__ThreadEnd end = KYMO__THREAD_END__INIT, *ends[] = {&end};
	Kymo__ProcessEnd process_end = KYMO__PROCESS_END__INIT;

	end.thread = 1;
	end.last_ordinal = 10;
	end.lost = 7;
	end.lost_reasons = KYMO_LOSS_STALLED;
	process_end.process = 1;
	process_end.n_threads = 1;
	process_end.threads = ends;
	ADD(&stream, PROCESS_END, process_end, &process_end);
	make_start(&maker);
	make_chunk(&maker, chunk(1, 1, 3), &three);
	make_meta(&maker, 0, &stream);
	cr_assert_eq(decode_first(), 4);
	cr_assert_eq(events[3].kind, KYMO_EVENT_GAP);
	cr_assert_eq(events[3].lost, 7);
	cr_assert_eq(events[3].lost_reasons, KYMO_LOSS_STALLED);
	kymo_timeline_close(&timeline);
}

Test(timeline, an_event_lies_between_the_samples_around_it)
{
	struct kymo_frame_header header = chunk(1, 1, 3);
	struct payload payload = {.length = 0};

	header.open_clock = 1000;
	header.close_clock = 1300;
	add1(&payload, KYMO_CODE, 7);
	add_line_step(&payload, 0);
	add1(&payload, KYMO_TIME, 100);
	add_line_step(&payload, 0);
	add_line_step(&payload, 0);
	make_start(&maker);
	make_chunk(&maker, header, &payload);
	cr_assert_eq(decode_first(), 3);
	cr_assert_eq(events[0].t_ns, 1050);
	cr_assert_eq(events[0].t_err_ns, 50);
	cr_assert_eq(events[1].t_ns, 1200);
	cr_assert_eq(events[1].t_err_ns, 100);
	cr_assert_eq(events[2].t_ns, 1200);
	kymo_timeline_close(&timeline);
}

#define MS UINT64_C(1000000)

/* A run whose counter is in nanoseconds, with a Clock each second and two stalls on end. */
static void make_clocks(void)
{
	struct payload stream = {.length = 0};
	Kymo__Config config = KYMO__CONFIG__INIT;
	Kymo__Session session = KYMO__SESSION__INIT;
	Kymo__ClockStall stall = KYMO__CLOCK_STALL__INIT;

	config.clock_mode = KYMO_CLOCK_SAMPLED;
	session.config = &config;
	session.started_unix_ns = 1;
	ADD(&stream, SESSION, session, &session);
	for (uint64_t second = 0; second < 3; second++) {
		Kymo__Clock clock = KYMO__CLOCK__INIT;

		clock.counter = clock.monotonic_ns = second * 1000 * MS;
		clock.unix_ns = clock.monotonic_ns + 1;
		ADD(&stream, CLOCK, clock, &clock);
	}
	stall.from_counter = 150 * MS;
	stall.to_counter = 180 * MS;
	ADD(&stream, CLOCK_STALL, clock_stall, &stall);
	stall.from_counter = 100 * MS;
	stall.to_counter = 150 * MS;
	ADD(&stream, CLOCK_STALL, clock_stall, &stall);
	make_meta(&maker, 0, &stream);
}

Test(timeline, an_event_is_no_later_than_the_ticks_and_their_stalls_allow)
{
	static const struct {
		uint64_t opened_ms, latest_ms;
	} cases[] = {{50, 54}, {97, 184}, {120, 184}, {179, 184}, {181, 185}, {300, 304}, {1999, 2100}};
	struct payload one = lines(1);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct kymo_frame_header header = chunk(1, 1, 1);

		header.open_clock = cases[i].opened_ms * MS;
		header.close_clock = 2100 * MS;
		make_start(&maker);
		make_clocks();
		make_chunk(&maker, header, &one);
		cr_assert_eq(decode_first(), 1);
		cr_assert_eq(events[0].t_ns - (int64_t)events[0].t_err_ns, (int64_t)header.open_clock);
		cr_assert_eq(events[0].t_ns + (int64_t)events[0].t_err_ns,
			     (int64_t)(cases[i].latest_ms * MS), "%zu", i);
		kymo_timeline_close(&timeline);
	}
}

Test(timeline, a_record_that_cannot_be_is_damage_and_the_next_chunk_goes_on)
{
	struct payload payload = lines(3), two = lines(2);
	size_t first;

	add_bytes(&payload, (uint8_t[]){0, 0, 0}, 3);
	make_start(&maker);
	first = make_chunk(&maker, chunk(1, 1, 9), &payload);
	make_chunk(&maker, chunk(2, 10, 11), &two);
	cr_assert_eq(decode_first(), 3 + 1 + 2);
	cr_assert_eq(events[3].lost, 6);
	cr_assert_eq(events[5].n, 11);
	cr_assert_eq(timeline.trace.damage[0].offset, first);
	kymo_timeline_close(&timeline);
}

Test(timeline, a_forked_child_knows_what_its_parent_knew_at_the_fork)
{
	struct payload stream = {.length = 0}, late = {.length = 0};
	Kymo__Process process = KYMO__PROCESS__INIT;
	Kymo__Code code = KYMO__CODE__INIT;
	const struct kymo_traced_process *child;
	size_t parent_bytes;

	make_start(&maker);
	parent_bytes = maker.length - sizeof(struct kymo_trace_header) -
		       sizeof(struct kymo_frame_header);
	code.id = 8;
	code.content = 1;
	ADD(&late, CODE, code, &code);
	make_frame(&maker,
		   (struct kymo_frame_header){
			   .kind = KYMO_FRAME_META, .process = 1, .seq = parent_bytes},
		   late.bytes, late.length);
	process.pid = 200;
	process.folder = "200-2-b";
	process.forked_from = "100-1-a";
	process.forked_at = parent_bytes;
	ADD(&stream, PROCESS, process, &process);
	make_meta(&maker, 2, &stream);
	cr_assert_eq(kymo_timeline_open(&timeline, make_file(&maker), 0, &error), 0);
	unlink(maker.path);
	child = kymo_traced_find(&timeline.definitions, 2);
	cr_assert_eq(child->origin, KYMO_ORIGIN_FORK);
	cr_assert_eq(child->parent, kymo_traced_find(&timeline.definitions, 1));
	cr_assert_not_null(kymo_traced_code(child, 7));
	cr_assert_str_eq(kymo_traced_name(child, 3), "ValueError");
	cr_assert_null(kymo_traced_code(child, 8));
	cr_assert_not_null(kymo_traced_code(child->parent, 8));
	kymo_timeline_close(&timeline);
}

/* Threads 1 and 2 take turns; the clock is too coarse to tell. */
Test(timeline, switch_records_give_the_order_between_threads)
{
	struct kymo_frame_header first = chunk(1, 1, 4), second = chunk(1, 1, 4);
	struct payload one = {.length = 0}, two = {.length = 0};
	static const struct {
		uint32_t thread;
		uint64_t n;
	} expected[] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {1, 3}, {2, 3}, {2, 4}, {1, 4}};
	struct kymo_merge *merge;
	struct kymo_event event;
	size_t count = 0;

	add1(&one, KYMO_SWITCH, 1);
	add_line_step(&one, 1);
	add1(&one, KYMO_SWITCH, 2);
	add_line_step(&one, 1);
	add_line_step(&one, 1);
	add1(&one, KYMO_SWITCH, 2);
	add_line_step(&one, 1);
	add1(&two, KYMO_SWITCH, 2);
	add_line_step(&two, 1);
	add_line_step(&two, 1);
	add1(&two, KYMO_SWITCH, 2);
	add_line_step(&two, 1);
	add_line_step(&two, 1);
	second.thread = 2;
	first.close_clock = 900;
	second.close_clock = 1000;
	make_start(&maker);
	make_chunk(&maker, first, &one);
	make_chunk(&maker, second, &two);
	cr_assert_eq(kymo_timeline_open(&timeline, make_file(&maker), 0, &error), 0);
	unlink(maker.path);
	cr_assert_eq(kymo_merge_open(&merge, &timeline, INT64_MIN, NULL, NULL, &error), 0);
	while (kymo_merge_next(merge, &event, &error) > 0) {
		cr_assert_lt(count, 8);
		cr_assert_eq(event.stream->number, expected[count].thread, "event %zu", count);
		cr_assert_eq(event.n, expected[count].n, "event %zu", count);
		count++;
	}
	cr_assert_eq(count, 8);
	kymo_merge_close(merge);
	kymo_timeline_close(&timeline);
}

Test(timeline, hostile_definitions_are_skipped_and_counted)
{
	struct payload stream = {.length = 0}, three = lines(3);

	make_start(&maker);
	add_bytes(&stream, (uint8_t[]){3, 0xff, 0xff, 0xff}, 4);
	make_meta(&maker, 0, &stream);
	make_chunk(&maker, chunk(1, 1, 3), &three);
	cr_assert_eq(decode_first(), 3);
	cr_assert_eq(timeline.definitions.damaged, 1);
	kymo_timeline_close(&timeline);
}

/* Open what was made, if it opens, and walk all of it. */
static void walk(void)
{
	if (!kymo_timeline_open(&timeline, make_file(&maker), 0, &error)) {
		struct kymo_merge *merge;

		cr_assert_eq(kymo_merge_open(&merge, &timeline, INT64_MIN, NULL, NULL, &error), 0);
		for (int i = 0; i < 1000 && kymo_merge_next(merge, &events[0], &error) > 0; i++)
			kymo_event_line(&events[0]);
		kymo_merge_close(merge);
		kymo_timeline_close(&timeline);
	}
	unlink(maker.path);
}

/* The frame that byte @at lies in gets a checksum that fits. */
static void seal_again(size_t at)
{
	for (size_t i = maker.frames; i-- > 0;) {
		size_t offset = maker.index[i].file_offset;
		struct kymo_frame_header header;

		if (offset > at)
			continue;
		memcpy(&header, maker.bytes + offset, sizeof header);
		if (header.stored_bytes < sizeof maker.bytes - offset - sizeof header)
			header.crc32c = kymo_frame_crc(&header,
						       maker.bytes + offset + sizeof header);
		memcpy(maker.bytes + offset, &header, sizeof header);
		return;
	}
}

Test(timeline, any_changed_byte_is_survived_whether_the_checksum_fits_or_not)
{
	static const uint8_t changes[] = {0x01, 0x80, 0xff};
	struct payload payload = lines(20);
	static struct maker good;

	add2(&payload, KYMO_JUMP, 1, 2);
	add1(&payload, KYMO_TIME, 9);
	add1(&payload, KYMO_SWITCH, 9);
	add_bits(&payload, 0x55);
	make_start(&maker);
	make_chunk(&maker, chunk(1, 1, 27), &payload);
	make_chunk(&maker, chunk(2, 28, 54), &payload);
	make_end(&maker);
	good = maker;
	for (size_t at = 0; at < good.length; at++) {
		for (size_t i = 0; i < sizeof changes; i++) {
			maker = good;
			maker.bytes[at] ^= changes[i];
			walk();
			seal_again(at);
			walk();
		}
	}
}
