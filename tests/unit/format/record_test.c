// SPDX-License-Identifier: Apache-2.0
/*
 * The producer's appends against the decoder: a chunk in plain memory, its commit word
 * a plain variable.  What is read is what the commit word covers, never more.
 */
#include "format/record.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "format/varint.h"
#include "recorder/producer.h"

enum {
	ITEM_BRANCH = 100, /* a = 0 or 1 */
	ITEM_MARK = 101,   /* a = text id */
	ITEM_TASK = 102,   /* a = task id */
	BUFFER_BYTES = 8192,
	CANARY = 0xa5,
};

/* A record as it was meant: LINE and INSTRUCTION with their registers' values, not steps. */
struct item {
	unsigned kind;
	uint64_t a, b;
};

struct chunk {
	struct kymo_producer p;
	_Atomic uint64_t commit;
	uint8_t bytes[BUFFER_BYTES];
};

static void chunk_open(struct chunk *chunk)
{
	memset(chunk->bytes, CANARY, sizeof chunk->bytes);
	chunk->commit = KYMO_COMMIT(0, KYMO_BRANCHES_NONE);
	chunk->p = (struct kymo_producer){
		.word = KYMO_COMMIT(0, KYMO_BRANCHES_NONE),
		.payload = chunk->bytes,
		.commit = &chunk->commit,
	};
}

static uint32_t first_line(uint64_t code)
{
	return (uint32_t)(code * 2654435761U) >> 8;
}

/* On its own, so that a CODE may be the last record here. */
static void append_code(struct kymo_producer *p, const void *key, uint32_t id)
{
	kymo_append_code(p, key, kymo_start_make(id), first_line(id));
	kymo_commit(p);
}

static void append(struct chunk *chunk, const struct item *item)
{
	struct kymo_producer *p = &chunk->p;
	uint32_t a = (uint32_t)item->a, b = (uint32_t)item->b;

	if (item->kind != ITEM_BRANCH)
		kymo_flush_branches(p);
	if (item->kind == ITEM_BRANCH)
		kymo_append_branch(p, a);
	else if (item->kind == ITEM_MARK)
		kymo_append_mark(p, a);
	else if (item->kind == ITEM_TASK)
		kymo_append_task(p, a);
	else if (item->kind == KYMO_CODE)
		append_code(p, chunk, a);
	else if (item->kind == KYMO_PY_START)
		kymo_append_start(p, chunk, kymo_start_make(a), first_line(a));
	else if (item->kind == KYMO_LINE)
		kymo_append_line(p, a);
	else if (item->kind == KYMO_INSTRUCTION)
		kymo_append_instruction(p, a);
	else if (kymo_kind_has_two_fields(item->kind))
		kymo_append2(p, item->kind, a, b);
	else if (kymo_kind_is_event(item->kind))
		kymo_append1(p, item->kind, a);
	else
		kymo_put1(p, item->kind, a);
}

static bool is_event(const struct item *item)
{
	return item->kind >= ITEM_BRANCH || kymo_kind_is_event(item->kind);
}

static size_t decode_branches(uint32_t word, struct item *items)
{
	size_t count = 31U - (unsigned)__builtin_clz(word);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){.kind = ITEM_BRANCH, .a = word >> (count - 1 - i) & 1};
	return count;
}

/* Decode what is committed into @items; returns how many there are. */
static size_t decode(const struct chunk *chunk, struct item *items)
{
	size_t bytes = KYMO_COMMIT_BYTES(chunk->commit), count = 0;
	uint32_t line = 0, offset = 0;
	struct kymo_record record;
	enum kymo_decode state;

	for (size_t at = 0;; at += record.bytes) {
		state = kymo_record_decode(chunk->bytes + at, bytes - at, &record);
		if (state != KYMO_DECODE_OK)
			break;
		if (record.special == KYMO_TAG_BITS) {
			count += decode_branches((uint32_t)record.a, items + count);
			continue;
		}
		if (record.special == KYMO_TAG_EXTENDED) {
			cr_assert(record.extended == KYMO_EXTENDED_MARK || record.extended == KYMO_EXTENDED_TASK);
			items[count++] = (struct item){record.extended == KYMO_EXTENDED_MARK ? ITEM_MARK : ITEM_TASK,
						       record.a, 0};
			continue;
		}
		if (record.kind == KYMO_CODE || record.kind == KYMO_PY_START) {
			line = first_line(record.a);
			offset = 0;
		} else if (record.kind == KYMO_LINE) {
			record.a = line = (uint32_t)record.a + (record.is_delta ? line : 0);
		} else if (record.kind == KYMO_INSTRUCTION) {
			record.a = offset = (uint32_t)record.a + (record.is_delta ? offset : 0);
		}
		items[count++] = (struct item){record.kind, record.a, record.b};
	}
	cr_assert_eq(state, KYMO_DECODE_END, "a committed chunk that does not decode to its end");
	return count + decode_branches(KYMO_COMMIT_BRANCHES(chunk->commit), items + count);
}

static void expect(const struct chunk *chunk, const struct item *items, size_t count)
{
	struct item found[512];
	size_t n = decode(chunk, found);

	cr_assert_eq(n, count, "%zu records of %zu", n, count);
	for (size_t i = 0; i < count; i++)
		cr_assert(found[i].kind == items[i].kind && found[i].a == items[i].a &&
				  found[i].b == items[i].b,
			  "record %zu: kind %u (%lu, %lu) came back as kind %u (%lu, %lu)", i,
			  items[i].kind, items[i].a, items[i].b, found[i].kind, found[i].a,
			  found[i].b);
}

static size_t length_of(const struct item *item)
{
	struct chunk chunk;

	chunk_open(&chunk);
	append(&chunk, item);
	expect(&chunk, item, 1);
	return KYMO_COMMIT_BYTES(chunk.commit);
}

static uint64_t seed;

static uint32_t any(void)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(seed >> 32);
}

/* Numbers of every width, and the neighbours of every bound. */
static uint32_t any_number(void)
{
	return any() % 4 ? any() >> any() % 32 : (1U << any() % 32) - 1 + any() % 3;
}

static struct item any_item(void)
{
	static const unsigned special[] = {ITEM_BRANCH, ITEM_BRANCH, ITEM_BRANCH, ITEM_MARK,
					   KYMO_LINE,	KYMO_LINE,   KYMO_INSTRUCTION};
	unsigned kind = any() % 2 ? special[any() % 7] : KYMO_CODE + any() % KYMO_SWITCH;
	struct item item = {.kind = kind, .a = any_number()};

	if (kind == ITEM_BRANCH)
		item.a &= 1;
	else if (kind == KYMO_LINE || kind == KYMO_INSTRUCTION)
		item.a = any() % 2 ? item.a & INT32_MAX : any() % 160;
	else if (kymo_kind_has_two_fields(kind))
		item.b = any_number();
	return item;
}

Test(record, after_every_append_the_committed_bytes_are_exactly_the_events_so_far)
{
	struct item items[120];
	struct chunk chunk;

	for (seed = 1; seed < 3000;) {
		uint64_t trial = seed, ordinal = 0;

		chunk_open(&chunk);
		for (size_t i = 0; i < 120; i++) {
			items[i] = any_item();
			append(&chunk, &items[i]);
			ordinal += is_event(&items[i]);
			expect(&chunk, items, i + 1);
			cr_assert_eq(chunk.p.ordinal, ordinal, "record %zu was miscounted", i);
		}
		seed = trial + 1;
	}
}

Test(record, a_record_is_as_wide_as_its_largest_field_needs)
{
	const struct {
		uint32_t value;
		size_t width;
	} bounds[] = {{0, 1}, {0xff, 1}, {0x100, 2}, {0xffff, 2}, {0x10000, 4}, {UINT32_MAX, 4}};

	for (unsigned kind = KYMO_CODE; kind <= KYMO_SWITCH; kind++) {
		for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
			struct item item = {.kind = kind, .a = bounds[i].value};
			size_t width = bounds[i].width;

			if (kind == KYMO_LINE || kind == KYMO_INSTRUCTION)
				continue; /* their short forms have a test of their own */
			if (!kymo_kind_has_two_fields(kind)) {
				cr_assert_eq(length_of(&item), 1 + width, "kind %u", kind);
				continue;
			}
			cr_assert_eq(length_of(&item), 1 + 2 * width, "kind %u", kind);
			item = (struct item){.kind = kind, .a = 1, .b = bounds[i].value};
			cr_assert_eq(length_of(&item), 1 + 2 * width, "kind %u", kind);
		}
	}
}

static size_t length_after(const struct item *before, const struct item *item)
{
	const struct item both[] = {*before, *item};
	struct chunk chunk;

	chunk_open(&chunk);
	append(&chunk, before);
	append(&chunk, item);
	expect(&chunk, both, 2);
	return KYMO_COMMIT_BYTES(chunk.commit);
}

Test(record, a_line_from_64_back_to_63_ahead_takes_one_byte)
{
	struct item from = {.kind = KYMO_LINE, .a = 1000}, to = {.kind = KYMO_LINE};
	size_t before = length_of(&from);

	for (to.a = 900; to.a < 1100; to.a++) {
		bool is_short = to.a >= 1000 - 64 && to.a <= 1000 + 63;

		cr_assert_eq(length_after(&from, &to) - before, is_short ? 1 : 3, "to %lu", to.a);
	}
}

Test(record, an_instruction_from_8_back_to_23_ahead_takes_one_byte)
{
	struct item from = {.kind = KYMO_INSTRUCTION, .a = 100}, to = {.kind = KYMO_INSTRUCTION};
	size_t before = length_of(&from);

	for (to.a = 60; to.a < 160; to.a++) {
		bool is_short = to.a >= 100 - 8 && to.a <= 100 + 23;

		cr_assert_eq(length_after(&from, &to) - before, is_short ? 1 : 2, "to %lu", to.a);
	}
}

Test(record, a_code_and_a_start_set_the_line_to_the_first_one_and_the_offset_to_0)
{
	for (unsigned kind = KYMO_CODE; kind <= KYMO_PY_START; kind++) {
		struct item code = {.kind = kind, .a = 3};
		struct item line = {.kind = KYMO_LINE, .a = first_line(3) + 1};
		struct item instruction = {.kind = KYMO_INSTRUCTION, .a = 1};

		cr_assert_eq(length_after(&code, &line), 3);
		cr_assert_eq(length_after(&code, &instruction), 3);
	}
}

Test(record, thirty_one_branches_take_no_byte_and_the_next_flushes_them)
{
	struct item branches[33];
	struct chunk chunk;

	chunk_open(&chunk);
	for (size_t i = 0; i < 33; i++) {
		branches[i] = (struct item){.kind = ITEM_BRANCH, .a = i % 3 == 0};
		append(&chunk, &branches[i]);
		expect(&chunk, branches, i + 1);
		cr_assert_eq(KYMO_COMMIT_BYTES(chunk.commit), i < 31 ? 0 : 5, "branch %zu", i);
	}
}

Test(record, a_flush_and_the_record_behind_it_are_published_by_one_store)
{
	const struct item branch = {.kind = ITEM_BRANCH, .a = 1};
	struct chunk chunk;

	chunk_open(&chunk);
	append(&chunk, &branch);
	kymo_flush_branches(&chunk.p);
	cr_assert_eq(chunk.commit, KYMO_COMMIT(0, 3), "the flush alone must not be seen");
	kymo_commit(&chunk.p);
	expect(&chunk, &branch, 1);
}

/* The longest that may be asked of one kymo_is_ready(): what goes before an event, each with a
 * flush of branches that came before it, then the event and, in kymo_refill(), the seal's flush. */
Test(record, no_store_for_one_event_leaves_the_slack)
{
	const struct item longest[] = {
		{KYMO_TIME, UINT32_MAX, 0},   {ITEM_MARK, UINT32_MAX, 0},
		{KYMO_SWITCH, UINT32_MAX, 0}, {ITEM_TASK, UINT32_MAX, 0},
		{KYMO_LASTI, UINT32_MAX, 0},  {KYMO_CODE, UINT32_MAX, 0},
		{KYMO_CALL, UINT32_MAX, UINT32_MAX},
	};
	struct chunk chunk;
	const uint32_t start = 1000;

	chunk_open(&chunk);
	chunk.p.word = KYMO_COMMIT(start, UINT32_MAX);
	for (size_t i = 0; i < sizeof longest / sizeof *longest; i++)
		append(&chunk, &longest[i]);
	chunk.p.word |= UINT64_C(1) << 63;
	kymo_flush_branches(&chunk.p);
	for (size_t at = start + KYMO_SLOT_SLACK; at < sizeof chunk.bytes; at++)
		cr_assert_eq(chunk.bytes[at], CANARY, "a store at %zu of the slack", at - start);
}

/* @bytes as the last ones of a page, with no page behind. */
static const uint8_t *at_the_edge(const uint8_t *bytes, size_t length)
{
	static uint8_t *pages;

	if (!pages) {
		pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		cr_assert_neq(pages, MAP_FAILED);
		cr_assert_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	}
	return length ? memcpy(pages + 4096 - length, bytes, length) : pages + 4096;
}

static enum kymo_decode decode_one(const uint8_t *bytes, size_t length, struct kymo_record *record)
{
	return kymo_record_decode(at_the_edge(bytes, length), length, record);
}

Test(record, a_tag_alone_says_how_long_a_record_is_and_each_byte_less_is_too_few)
{
	struct kymo_record record;
	uint8_t bytes[KYMO_MAX_RECORD_BYTES];

	memset(bytes, 1, sizeof bytes);
	for (unsigned tag = 0x04; tag < 0x100; tag++) {
		size_t fields = kymo_kind_has_two_fields(tag >> 2) ? 2 : 1;
		size_t length = tag >= KYMO_TAG_INSTRUCTION ? 1 : 1 + (fields << (tag & 3));

		bytes[0] = (uint8_t)tag;
		cr_assert_eq(decode_one(bytes, 0, &record), KYMO_DECODE_END);
		for (size_t cut = 1; cut < length; cut++)
			cr_assert_eq(decode_one(bytes, cut, &record), KYMO_DECODE_TRUNCATED,
				     "tag %#x in %zu bytes", tag, cut);
		cr_assert_eq(decode_one(bytes, length, &record), KYMO_DECODE_OK, "tag %#x", tag);
		cr_assert_eq(record.bytes, length, "tag %#x", tag);
	}
}

Test(record, fields_of_eight_bytes_are_read)
{
	const uint8_t time[] = {KYMO_TAG(KYMO_TIME, 3), 1, 2, 3, 4, 5, 6, 7, 8};
	const uint8_t jump[] = {KYMO_TAG(KYMO_JUMP, 3), 9, 0, 0, 0, 0, 0, 0, 0,
				0xff, 0, 0, 0, 0, 0, 0, 0x80};
	struct kymo_record record;

	cr_assert_eq(decode_one(time, sizeof time, &record), KYMO_DECODE_OK);
	cr_assert_eq(record.a, 0x0807060504030201);
	cr_assert_eq(decode_one(jump, sizeof jump, &record), KYMO_DECODE_OK);
	cr_assert_eq(record.a, 9);
	cr_assert_eq(record.b, 0x80000000000000ff);
}

Test(record, tags_and_words_that_no_recorder_writes_are_corrupt)
{
	const uint8_t bad[][6] = {
		{0x00},		      /* never a record */
		{0x03},		      /* reserved */
		{0x01, 0, 0, 0, 0},   /* branches without a stop bit */
		{0x01, 1, 0, 0, 0},   /* a stop bit without branches */
		{0x02, 0, 1, 0, 0, 0},
		{0x02, 3, 1, 0, 0, 0},
		{0x02, 0xff, 1, 0, 0, 0},
	};
	struct kymo_record record;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_assert_eq(decode_one(bad[i], 6, &record), KYMO_DECODE_CORRUPT, "case %zu", i);
}

Test(record, branch_words_and_extensions_cut_anywhere_are_truncated)
{
	const uint8_t bits[] = {KYMO_TAG_BITS, 0x0d, 0, 0, 0};
	const uint8_t mark[] = {KYMO_TAG_EXTENDED, KYMO_EXTENDED_MARK, 4, 3, 2, 1};
	const uint8_t task[] = {KYMO_TAG_EXTENDED, KYMO_EXTENDED_TASK, 4, 3, 2, 1};
	struct kymo_record record;

	for (size_t cut = 1; cut < sizeof bits; cut++)
		cr_assert_eq(decode_one(bits, cut, &record), KYMO_DECODE_TRUNCATED);
	for (size_t cut = 1; cut < sizeof mark; cut++)
		cr_assert_eq(decode_one(mark, cut, &record), KYMO_DECODE_TRUNCATED);
	for (size_t cut = 1; cut < sizeof task; cut++)
		cr_assert_eq(decode_one(task, cut, &record), KYMO_DECODE_TRUNCATED);
	cr_assert_eq(decode_one(bits, sizeof bits, &record), KYMO_DECODE_OK);
	cr_assert_eq(record.a, 0x0d);
	cr_assert_eq(decode_one(mark, sizeof mark, &record), KYMO_DECODE_OK);
	cr_assert_eq(record.a, 0x01020304);
	cr_assert_eq(decode_one(task, sizeof task, &record), KYMO_DECODE_OK);
	cr_assert_eq(record.extended, KYMO_EXTENDED_TASK);
	cr_assert_eq(record.a, 0x01020304);
}

Test(record, a_task_is_told_once_and_comes_with_the_event_that_follows)
{
	const struct item appended[] = {{ITEM_TASK, 7, 0}, {KYMO_PY_RESUME, 4, 0}, {ITEM_TASK, 7, 0}, {KYMO_PY_RESUME, 5, 0},
					{ITEM_TASK, 0, 0}, {KYMO_PY_RESUME, 6, 0}};
	const unsigned told[] = {ITEM_TASK, KYMO_PY_RESUME, KYMO_PY_RESUME, ITEM_TASK, KYMO_PY_RESUME};
	struct item items[BUFFER_BYTES];
	struct chunk chunk;

	chunk_open(&chunk);
	append(&chunk, &appended[0]);
	cr_assert_eq(decode(&chunk, items), 0);
	for (size_t i = 1; i < sizeof appended / sizeof *appended; i++)
		append(&chunk, &appended[i]);
	cr_assert_eq(decode(&chunk, items), sizeof told / sizeof *told);
	for (size_t i = 0; i < sizeof told / sizeof *told; i++)
		cr_assert_eq(items[i].kind, told[i]);
	cr_assert_eq(items[0].a, 7);
	cr_assert_eq(items[3].a, 0);
}

Test(record, any_bytes_are_decoded_or_refused_and_none_behind_the_end_is_read)
{
	struct kymo_record record;
	uint8_t bytes[64];

	for (seed = 1; seed < 20000;) {
		uint64_t trial = seed;
		size_t length = any() % sizeof bytes, at = 0;
		const uint8_t *edge;

		for (size_t i = 0; i < length; i++)
			bytes[i] = (uint8_t)any();
		edge = at_the_edge(bytes, length);
		while (kymo_record_decode(edge + at, length - at, &record) == KYMO_DECODE_OK) {
			cr_assert(record.bytes > 0 && record.bytes <= length - at);
			at += record.bytes;
		}
		seed = trial + 1;
	}
}

static void any_sync(struct kymo_sync *sync)
{
	*sync = (struct kymo_sync){.listed = any() % (KYMO_MAX_SYNC_FRAMES + 1)};
	sync->depth = sync->listed + (any() % 2 ? any_number() : 0);
	for (uint32_t i = 0; i < sync->listed; i++) {
		sync->frames[i].code = any() % 8 ? any_number() : UINT64_MAX - any();
		sync->frames[i].offset_plus_1 = any_number();
	}
}

Test(sync, any_stack_comes_back_and_a_byte_more_or_less_is_refused)
{
	uint8_t block[KYMO_SYNC_MAX_BYTES + 1];
	struct kymo_sync sync, back;

	for (seed = 1; seed < 300;) {
		uint64_t trial = seed;
		size_t bytes;

		any_sync(&sync);
		memset(block, 0, sizeof block);
		bytes = kymo_sync_encode(&sync, block);
		cr_assert_eq(kymo_sync_decode(at_the_edge(block, bytes), bytes, &back),
			     KYMO_DECODE_OK);
		cr_assert(back.depth == sync.depth && back.listed == sync.listed);
		cr_assert_arr_eq(back.frames, sync.frames, sizeof sync.frames);
		for (size_t cut = 0; cut < bytes; cut++)
			cr_assert_eq(kymo_sync_decode(at_the_edge(block, cut), cut, &back),
				     KYMO_DECODE_TRUNCATED, "%zu of %zu bytes", cut, bytes);
		cr_assert_eq(kymo_sync_decode(block, bytes + 1, &back), KYMO_DECODE_CORRUPT);
		seed = trial + 1;
	}
}

Test(sync, the_largest_block_fits)
{
	struct kymo_sync sync = {.depth = UINT64_MAX, .listed = KYMO_MAX_SYNC_FRAMES};
	uint8_t block[KYMO_SYNC_MAX_BYTES];

	memset(sync.frames, 0xff, sizeof sync.frames);
	cr_assert_leq(kymo_sync_encode(&sync, block), sizeof block);
	cr_assert_leq(sizeof block, KYMO_MIN_SLOT_BYTES - KYMO_SLOT_SLACK);
}

Test(sync, more_frames_than_the_stack_has_or_a_block_may_list_are_refused)
{
	uint8_t block[KYMO_SYNC_MAX_BYTES + 64] = {1, 2, 1, 1, 1, 1};
	struct kymo_sync sync;
	size_t at;

	cr_assert_eq(kymo_sync_decode(block, 6, &sync), KYMO_DECODE_CORRUPT);
	memset(block, 1, sizeof block);
	at = kymo_varint_put(block, 1000);
	at += kymo_varint_put(block + at, KYMO_MAX_SYNC_FRAMES + 1);
	at += 2 * (KYMO_MAX_SYNC_FRAMES + 1);
	cr_assert_eq(kymo_sync_decode(block, at, &sync), KYMO_DECODE_CORRUPT);
}
