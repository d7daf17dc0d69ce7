// SPDX-License-Identifier: Apache-2.0
#include "tests/support/known_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHAPES = 7, FIRST_BRANCH = 5 };

static uint32_t number_of(uint32_t seed, uint64_t n)
{
	return (uint32_t)((n + seed) * 2654435761U);
}

void known_append(struct kymo_producer *p, uint32_t seed, uint64_t n)
{
	uint32_t a = number_of(seed, n);

	switch (n % SHAPES) {
	case 0: kymo_append_start(p, NULL, kymo_start_make(a & 0xffff), 10); break;
	case 1: kymo_append_line(p, p->line + (a & 31)); break;
	case 2: kymo_append2(p, KYMO_RAISE, a & 0xff, a & 0x1ffff); break;
	case 3: kymo_append_instruction(p, a & 15); break;
	case 4: kymo_append1(p, KYMO_PY_RETURN, a & 0xfff); break;
	default: kymo_append_branch(p, a >> 7); break;
	}
}

/* Check one record that is an event; @offset is the offset register. */
static bool is_known(const struct kymo_record *record, uint32_t seed, uint64_t n, uint64_t *offset)
{
	uint32_t a = number_of(seed, n);

	if (record->kind == KYMO_INSTRUCTION)
		*offset = record->is_delta ? *offset + record->a : record->a;
	else if (record->kind == KYMO_PY_START)
		*offset = 0;
	switch (n % SHAPES) {
	case 0: return record->kind == KYMO_PY_START && record->a == (a & 0xffff);
	case 1: return record->kind == KYMO_LINE && record->is_delta && record->a == (a & 31);
	case 2: return record->kind == KYMO_RAISE && record->a == (a & 0xff) &&
		       record->b == (a & 0x1ffff);
	case 3: return record->kind == KYMO_INSTRUCTION && *offset == (a & 15);
	case 4: return record->kind == KYMO_PY_RETURN && record->a == (a & 0xfff);
	default: return false;
	}
}

/* Check the branches in @word, and advance @n behind them. */
static bool are_known(uint32_t word, uint32_t seed, uint64_t *n)
{
	int count = word ? 31 - __builtin_clz(word) : -1;

	while (count-- > 0) {
		if (*n % SHAPES < FIRST_BRANCH ||
		    (word >> count & 1) != (number_of(seed, *n) >> 7 & 1))
			return false;
		++*n;
	}
	return word != 0;
}

const char *known_check(const struct kymo_chunk *chunk, uint32_t seed, uint64_t *end)
{
	uint64_t offset = 0;
	uint32_t at = chunk->sync_bytes;
	struct kymo_record record;
	struct kymo_sync sync;

	*end = chunk->first_ordinal;
	if (kymo_sync_decode(chunk->payload, at, &sync) != KYMO_DECODE_OK || sync.listed != 1 ||
	    sync.frames[0].code != 7)
		return "the sync block is another";
	while (at < chunk->bytes) {
		if (kymo_record_decode(chunk->payload + at, chunk->bytes - at, &record) !=
		    KYMO_DECODE_OK)
			return "no record";
		at += record.bytes;
		if (record.kind == KYMO_KIND_SPECIAL && record.special == KYMO_TAG_BITS) {
			if (!are_known((uint32_t)record.a, seed, end))
				return "other branches";
		} else if (kymo_kind_is_event(record.kind)) {
			if (!is_known(&record, seed, *end, &offset))
				return "another event";
			++*end;
		}
	}
	if (!are_known(chunk->branches, seed, end))
		return "other open branches";
	if (!chunk->is_open && chunk->branches != KYMO_BRANCHES_NONE)
		return "open branches in a sealed chunk";
	if (!chunk->is_open && chunk->last_ordinal != *end - 1)
		return "another last ordinal";
	return NULL;
}

bool known_put(const struct kymo_host *host)
{
	bool is_branch = (kymo_producer->ordinal + 1) % SHAPES >= FIRST_BRANCH;
	struct kymo_producer *p = is_branch ? recording_branch(host) : recording_event(host);

	if (p)
		known_append(p, 0, p->ordinal + 1);
	return p != NULL;
}

const struct kymo_chunk *known_chunks(const struct recording *r, uint32_t number, uint32_t *count)
{
	int folder = recording_open_folder(r, getpid());
	const struct kymo_chunk *chunks = recording_chunks(folder, number, count);

	close(folder);
	for (uint32_t i = 0; i < *count; i++)
		known_end(&chunks[i]);
	return chunks;
}

uint64_t known_end(const struct kymo_chunk *chunk)
{
	uint64_t end;
	const char *problem = known_check(chunk, 0, &end);

	if (!problem)
		return end;
	fprintf(stderr, "chunk %llu: %s at event %llu\n", (unsigned long long)chunk->seq, problem,
		(unsigned long long)end);
	abort();
}
