// SPDX-License-Identifier: Apache-2.0
/* Counts of lines, calls and exceptions, against a model that is an array. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "replay/index/hits.h"
#include "replay/trace/trace.h"

#define CONTENTS 9
#define LINES 40
#define NAMES 5
#define FIRST_LINE 100

/* A code object whose instructions have lines on both sides of its first one. */
struct made {
	struct kymo_content contents[CONTENTS];
	int32_t lines[CONTENTS][LINES];
};

struct model {
	uint64_t lines[CONTENTS][LINES], calls[CONTENTS], raised[NAMES];
};

static void make(struct made *made)
{
	memset(made, 0, sizeof *made);
	for (int i = 0; i < CONTENTS; i++) {
		for (int k = 0; k < LINES; k++)
			made->lines[i][k] = FIRST_LINE - LINES / 2 + k;
		made->contents[i] = (struct kymo_content){
			.id = (uint64_t)i + 1,
			.first_line = FIRST_LINE,
			.lines = made->lines[i],
			.units = LINES,
		};
	}
}

/* What happens in a chunk, to both; numbers of any size are among them. */
static void happen(struct kymo_hits *hits, struct made *made, struct model *model)
{
	memset(model, 0, sizeof *model);
	for (int turn = rand() % 200; turn; turn--) {
		int i = rand() % CONTENTS, k = rand() % LINES, name = rand() % NAMES;
		uint64_t times = UINT64_C(1) << rand() % 40;

		kymo_hits_line(hits, &made->contents[i], FIRST_LINE - LINES / 2 + k, times);
		model->lines[i][k] += times;
		if (rand() % 3)
			continue;
		kymo_hits_call(hits, &made->contents[rand() % CONTENTS], 0);
		kymo_hits_call(hits, &made->contents[i], times);
		kymo_hits_raise(hits, (uint64_t)name << 33);
		model->calls[i] += times;
		model->raised[name]++;
	}
}

static void read_back(const struct kymo_hits *hits, struct model *told)
{
	struct kymo_hits_reader reader;
	uint64_t name, times;

	memset(told, 0, sizeof *told);
	kymo_hits_read(&reader, hits->bytes, hits->byte_count);
	while (kymo_hits_next_content(&reader)) {
		const struct kymo_content_hits *of = &hits->contents[reader.number];
		uint64_t i = of->content->id - 1;
		int64_t line = of->content->first_line;

		told->calls[i] = reader.calls;
		while (kymo_hits_next_line(&reader, &line, &times))
			told->lines[i][line - of->first_line] = times;
	}
	while (kymo_hits_next_raised(&reader, &name, &times))
		told->raised[name >> 33] = times;
	cr_assert(!reader.is_bad);
	cr_assert_eq(reader.at, reader.end);
}

Test(hits, what_a_chunk_has_is_read_back)
{
	static struct made made;
	static struct model model, told;
	struct kymo_hits hits = {0};

	srand(1);
	make(&made);
	for (int chunk = 0; chunk < 300; chunk++) {
		happen(&hits, &made, &model);
		cr_assert_eq(kymo_hits_end_chunk(&hits), 0);
		read_back(&hits, &told);
		cr_assert_eq(memcmp(&model, &told, sizeof model), 0, "chunk %d", chunk);
	}
	kymo_hits_release(&hits);
	cr_assert_eq(made.contents[0].number, 0);
}

Test(hits, what_all_chunks_have_is_their_sum_and_is_taken_back)
{
	static struct made made;
	static struct model model, sum;
	struct kymo_hits hits = {0}, other = {0};
	struct kymo_content *order[CONTENTS + 1] = {NULL};
	size_t bytes;
	uint8_t *copy;

	srand(2);
	make(&made);
	for (int chunk = 0; chunk < 50; chunk++) {
		happen(&hits, &made, &model);
		cr_assert_eq(kymo_hits_end_chunk(&hits), 0);
		for (size_t i = 0; i < sizeof sum / sizeof(uint64_t); i++)
			((uint64_t *)&sum)[i] += ((uint64_t *)&model)[i];
	}
	cr_assert_eq(hits.content_count, CONTENTS + 1);
	for (uint32_t i = 1; i <= CONTENTS; i++)
		order[i] = hits.contents[i].content;
	cr_assert_eq(kymo_hits_encode_all(&hits), 0);
	bytes = hits.byte_count;
	copy = malloc(bytes);
	memcpy(copy, hits.bytes, bytes);
	kymo_hits_release(&hits);

	for (uint32_t i = 1; i <= CONTENTS; i++)
		cr_assert_eq(kymo_hits_add(&other, order[i]), 0);
	cr_assert_eq(kymo_hits_decode_all(&other, copy, bytes), 0);
	for (uint32_t i = 1; i <= CONTENTS; i++) {
		const struct kymo_content_hits *of = &other.contents[i];
		uint64_t at = of->content->id - 1;

		cr_assert_eq(of->all_calls, sum.calls[at]);
		cr_assert_eq(memcmp(of->all_lines, sum.lines[at], sizeof sum.lines[at]), 0);
	}
	kymo_hits_release(&other);
	free(copy);
}

Test(hits, lines_that_the_code_does_not_have_are_left_out)
{
	static struct made made;
	static struct model told;
	struct kymo_hits hits = {0};

	make(&made);
	kymo_hits_line(&hits, &made.contents[0], FIRST_LINE - LINES, 1);
	kymo_hits_line(&hits, &made.contents[0], FIRST_LINE + LINES, 1);
	kymo_hits_line(&hits, &made.contents[0], -1, 1);
	kymo_hits_line(&hits, &made.contents[0], INT64_MAX, 1);
	kymo_hits_line(&hits, &made.contents[0], FIRST_LINE, 7);
	cr_assert_eq(kymo_hits_end_chunk(&hits), 0);
	read_back(&hits, &told);
	cr_assert_eq(told.lines[0][LINES / 2], 7);
	told.lines[0][LINES / 2] = 0;
	for (size_t i = 0; i < sizeof told / sizeof(uint64_t); i++)
		cr_assert_eq(((uint64_t *)&told)[i], 0);
	kymo_hits_release(&hits);
}

Test(hits, any_bytes_are_read_to_their_end_and_no_further)
{
	static struct made made;
	struct kymo_hits hits = {0};

	srand(3);
	make(&made);
	for (int i = 0; i < CONTENTS; i++)
		cr_assert_eq(kymo_hits_add(&hits, &made.contents[i]), 0);
	for (int turn = 0; turn < 50000; turn++) {
		size_t bytes = (size_t)rand() % 40;
		/* Of its own size, so that AddressSanitizer sees a step too far. */
		uint8_t *hostile = malloc(bytes ? bytes : 1);
		struct kymo_hits_reader reader;
		int64_t line = FIRST_LINE;
		uint64_t name, times;

		for (size_t i = 0; i < bytes; i++)
			hostile[i] = rand() % 3 ? (uint8_t)(rand() % 6) : (uint8_t)rand();
		kymo_hits_read(&reader, hostile, bytes);
		while (kymo_hits_next_content(&reader))
			while (kymo_hits_next_line(&reader, &line, &times))
				;
		while (kymo_hits_next_raised(&reader, &name, &times))
			;
		cr_assert_leq(reader.at, hostile + bytes);
		cr_assert_leq(kymo_hits_decode_all(&hits, hostile, bytes), 0);
		free(hostile);
	}
	kymo_hits_release(&hits);
}
