// SPDX-License-Identifier: Apache-2.0
/*
 * Records: what a chunk's payload is made of, after its sync block.
 *
 * A record is a tag byte and up to two little-endian fields.  The decoder keeps
 * five registers, all reset at the start of each chunk, so that a chunk can be
 * decoded alone:
 *
 *   code     id of the code object that the next event belongs to; none at first.
 *            CODE and PY_START set it.
 *   line     set to the code's first line by CODE and PY_START, by LINE to its line.
 *   offset   in code units (2 bytes); set to 0 by CODE and PY_START, by
 *            INSTRUCTION to its offset.
 *   clock    the chunk's open_clock; advanced by TIME.
 *   task     id of the asyncio task that runs; none at first.  TASK sets it, before a coroutine is entered.
 *
 * Tags:
 *   0x00          invalid: a zero byte is never a record
 *   0x01 … 0x5f   kind << 2 | width; width 0, 1, 2, 3: fields of 1, 2, 4, 8 bytes
 *   0x60 … 0x7f   INSTRUCTION, short: offset register += (tag & 0x1f) - 8
 *   0x80 … 0xff   LINE, short: line register += (tag & 0x7f) - 64
 *
 * Kind 0 has widths with a meaning of their own: 0 is invalid, 1 is BITS, 2 is
 * EXTENDED, 3 is reserved.
 *
 *   BITS      tag, then the stop-bit coded branch word in 4 bytes (1 … 31 branches)
 *   EXTENDED  tag, one byte enum kymo_extended, then fields as named there
 *
 * In a recording from which lines are rebuilt (Config.flow) events belong to the frame on top of the stack, as
 * entries and exits leave it: CODE goes before entries only.  There, tags from 0x60 on mean:
 *
 *   0x60 … 0x67   kind << 2 | width: LASTI and SITE
 *   0x80 … 0xff   SITE, short: as SITE with the field (tag & 0x7f) + 2
 */
#ifndef KYMO_FORMAT_RECORD_H
#define KYMO_FORMAT_RECORD_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kymo_kind {
	KYMO_KIND_SPECIAL = 0,
	/* registers */
	KYMO_CODE = 1, /* code id */
	/* events with one field */
	KYMO_PY_START = 2,    /* code id; at the entry offset in the code's definition */
	KYMO_PY_START_AT = 3, /* offset; PY_START of the code register, at another offset */
	KYMO_PY_RESUME = 4,   /* offset */
	KYMO_PY_RETURN = 5,   /* offset */
	KYMO_PY_YIELD = 6,    /* offset */
	KYMO_LINE = 7,        /* line number, 0 … 2^31 - 1 */
	KYMO_INSTRUCTION = 8, /* offset; sets the offset register */
	/* events with two fields: offset, then the one named here */
	KYMO_PY_THROW = 9,            /* name id of the exception's type */
	KYMO_PY_UNWIND = 10,          /* name id of the exception's type */
	KYMO_RAISE = 11,              /* name id of the exception's type */
	KYMO_RERAISE = 12,            /* name id of the exception's type */
	KYMO_EXCEPTION_HANDLED = 13,  /* name id of the exception's type */
	KYMO_STOP_ITERATION = 14,     /* name id of the exception's type */
	KYMO_CALL = 15,               /* name id of the callable */
	KYMO_C_RETURN = 16,           /* name id of the callable */
	KYMO_C_RAISE = 17,            /* name id of the callable */
	KYMO_JUMP = 18,               /* destination offset */
	KYMO_BRANCH = 19,             /* destination offset (CPython 3.12, 3.13) */
	KYMO_BRANCH_LEFT = 20,        /* destination offset (CPython 3.14 on) */
	KYMO_BRANCH_RIGHT = 21,       /* destination offset (CPython 3.14 on) */
	/* not events: they have no ordinal */
	KYMO_TIME = 22,   /* one field: counter since the last TIME, or since open_clock */
	KYMO_SWITCH = 23, /* one field: ordinal since the last SWITCH, or since switch_base */
	KYMO_LASTI = 24,  /* one field: where a frame is, as in CPython (_PyInterpreterFrame_LASTI, not rounded to
			     an instruction): before an entry or MARK the frame below, before RERAISE the frame
			     itself */
	/* flow: an event with one field */
	KYMO_SITE = 25, /* 2 * number of a site (format/flow.h) in the code of the frame on top, + 1: it jumped */
};
#define KYMO_KINDS 26

enum kymo_extended {
	KYMO_EXTENDED_MARK = 1,        /* u32 text id: an event, from kymo.mark() */
	KYMO_EXTENDED_INTERPRETER = 2, /* u32 interpreter id: the events after it belong to that
					  interpreter; SWITCH ordinals count from 0 again */
	KYMO_EXTENDED_STACK = 3, /* flow: u32 length in bytes, then a sync block; the stack is not as entries and
				    exits left it */
	KYMO_EXTENDED_OTHER_STACK = 4, /* flow: the same, and the frame on top is another one, or was moved, even if
					  the two look alike */
	KYMO_EXTENDED_TASK = 5, /* u32 task id, 0: none: the task of the coroutines that are entered from here on */
	KYMO_EXTENDED_VALUES = 6, /* u32 length in bytes, then a block of values (format/value.h), which belongs to the next event */
};

/* Offsets are in code units of 2 bytes, as CPython's instructions are. */
#define KYMO_CODE_UNIT 2

#define KYMO_TAG(kind, width) ((uint8_t)((kind) << 2 | (width)))
#define KYMO_TAG_BITS KYMO_TAG(KYMO_KIND_SPECIAL, 1)
#define KYMO_TAG_EXTENDED KYMO_TAG(KYMO_KIND_SPECIAL, 2)
#define KYMO_TAG_INSTRUCTION 0x60
#define KYMO_TAG_LINE 0x80
#define KYMO_TAG_SITE 0x80
#define KYMO_INSTRUCTION_BIAS 8
#define KYMO_LINE_BIAS 64
#define KYMO_SITE_BIAS 2
#define KYMO_SHORT_SITES 0x80
#define KYMO_MAX_RECORD_BYTES 17U /* of all but STACK and VALUES */

/* An id that stands for "not defined": the definitions stream was full, or the object was
 * gone before it could be defined. */
#define KYMO_ID_UNKNOWN 0U

static_assert(KYMO_TAG(KYMO_SWITCH, 3) < KYMO_TAG_INSTRUCTION, "tags must not overlap");
static_assert(KYMO_TAG(KYMO_SITE, 3) < KYMO_TAG_SITE, "tags must not overlap");

static inline bool kymo_kind_has_two_fields(enum kymo_kind kind)
{
	return kind >= KYMO_PY_THROW && kind <= KYMO_BRANCH_RIGHT;
}

/* True if @kind is an event, which has an ordinal. */
static inline bool kymo_kind_is_event(enum kymo_kind kind)
{
	return (kind >= KYMO_PY_START && kind <= KYMO_BRANCH_RIGHT) || kind == KYMO_SITE;
}

/* One decoded record. */
struct kymo_record {
	enum kymo_kind kind; /* KYMO_KIND_SPECIAL: look at @special */
	uint8_t special;     /* KYMO_TAG_BITS or KYMO_TAG_EXTENDED */
	uint8_t extended;    /* enum kymo_extended */
	bool is_delta;       /* a short LINE or INSTRUCTION: @a is a signed step of the register */
	uint32_t bytes;      /* length of the record */
	uint64_t a;          /* first field; for BITS the branch word */
	uint64_t b;          /* second field */
};

/* Tag, enum kymo_extended and field of an EXTENDED record. */
#define KYMO_EXTENDED_BYTES 6U

#define KYMO_VALUES_MAX_BYTES 0x10000U /* of a block of values */

/* A sync block lies behind its first KYMO_EXTENDED_BYTES. */
static inline bool kymo_is_stack(const struct kymo_record *record)
{
	return record->kind == KYMO_KIND_SPECIAL && record->special == KYMO_TAG_EXTENDED &&
	       (record->extended == KYMO_EXTENDED_STACK || record->extended == KYMO_EXTENDED_OTHER_STACK);
}

enum kymo_decode {
	KYMO_DECODE_OK = 0,
	KYMO_DECODE_END = 1,       /* nothing is left */
	KYMO_DECODE_TRUNCATED = 2, /* a record reaches beyond the end */
	KYMO_DECODE_CORRUPT = 3,   /* an invalid tag */
};

/*
 * Decode the record at @payload[0 … @bytes) into @record.
 *
 * A total function on any bytes: it never reads beyond @bytes and never asserts.
 */
enum kymo_decode kymo_record_decode(const uint8_t *payload, size_t bytes, struct kymo_record *record);

/* Any record of a recording from which lines are rebuilt. */
enum kymo_decode kymo_flow_record_decode_any(const uint8_t *payload, size_t bytes, struct kymo_record *record);

/* The same; most records are decoded in place. */
static inline enum kymo_decode kymo_flow_record_decode(const uint8_t *payload, size_t bytes,
							struct kymo_record *record)
{
	unsigned tag, kind, width;

	if (bytes < 4)
		return kymo_flow_record_decode_any(payload, bytes, record);
	tag = payload[0];
	kind = tag >> 2;
	width = tag & 3;
	if (tag >= KYMO_TAG_SITE) {
		*record = (struct kymo_record){.kind = KYMO_SITE, .a = tag - KYMO_TAG_SITE + KYMO_SITE_BIAS, .bytes = 1};
		return KYMO_DECODE_OK;
	}
	if (kind == KYMO_KIND_SPECIAL || kind >= KYMO_KINDS || kymo_kind_has_two_fields((enum kymo_kind)kind) || width > 1)
		return kymo_flow_record_decode_any(payload, bytes, record);
	*record = (struct kymo_record){
		.kind = (enum kymo_kind)kind,
		.a = width ? payload[1] | (uint64_t)payload[2] << 8 : payload[1],
		.bytes = 2 + width,
	};
	return KYMO_DECODE_OK;
}

/*
 * The sync block: the call stack before the chunk's first event, as LEB128 numbers.
 *
 *   depth       frames on the stack; 0 also when it is not known
 *   listed      frames that follow, at most depth
 *   listed × { code id, offset in code units + 1; 0: not known }   innermost first
 */
struct kymo_sync_frame {
	uint64_t code;
	uint64_t offset_plus_1;
};

#define KYMO_MAX_SYNC_FRAMES 128U

struct kymo_sync {
	uint64_t depth;
	uint32_t listed;
	struct kymo_sync_frame frames[KYMO_MAX_SYNC_FRAMES];
};

#define KYMO_SYNC_MAX_BYTES (2 * 10 * (KYMO_MAX_SYNC_FRAMES + 1))

/* Decode a sync block that takes exactly @bytes.  A total function, as above. */
enum kymo_decode kymo_sync_decode(const uint8_t *block, size_t bytes, struct kymo_sync *sync);

/* Encode @sync into @block, which holds KYMO_SYNC_MAX_BYTES.  Returns the length. */
size_t kymo_sync_encode(const struct kymo_sync *sync, uint8_t *block);

#endif
