// SPDX-License-Identifier: Apache-2.0
/*
 * One code object, prepared for rebuilding its history: the walks between recorded places.
 *
 * A walk is the only silent path from where a frame is to the next known place, with the events that the interpreter has on it. It
 * is searched once and then cached, so that following it again is a copy.
 */
#ifndef KYMO_REPLAY_DECODE_FLOW_CODE_H
#define KYMO_REPLAY_DECODE_FLOW_CODE_H

#include "format/flow.h"
#include "format/record.h"
#include "replay/trace/definitions.h"
#include "replay/decode/known_moves.h"

/* What follows at the end of a walk: reported only when the next instruction is reached. */
enum kymo_walk_end {
	KYMO_WALK_TO,	       /* nothing */
	KYMO_WALK_NOT_TAKEN,   /* also the NOT_TAKEN behind a branch */
};

struct kymo_flow_code;

/*
 * Made at first use from the bytecode of @content, for the CPython with that sys.hexversion; owned by @content. The steps of its
 * walks are of the kinds in the mask @kinds, which must be the same each time. NULL: no memory, or an unknown version.
 */
struct kymo_flow_code *kymo_flow_code_get(struct kymo_content *content, uint32_t python_hex, uint64_t kinds);

const struct kymo_flow *kymo_flow_of(const struct kymo_flow_code *code);
/* The line of the LINE event that the interpreter may have at the instruction @unit, or KYMO_LINE_NONE. Only for exact code. */
int32_t kymo_flow_line(const struct kymo_flow_code *code, uint32_t unit);
/* The cached moves of its frames; owned by @code. */
struct kymo_moves *kymo_flow_moves(struct kymo_flow_code *code);
/* The instruction that @unit is part of; the last one for a unit beyond them. */
uint32_t kymo_flow_instruction(const struct kymo_flow_code *code, uint32_t unit);
/* The unit with which the lines after @raw, where the interpreter has a frame, are compared. */
uint32_t kymo_flow_unit_before(const struct kymo_flow_code *code, uint32_t raw);
/* The instruction with @site, or KYMO_NO_UNIT. */
uint32_t kymo_flow_site_unit(const struct kymo_flow_code *code, uint32_t site);
/* The backward jump to @target that a silent path from @place leads to, or KYMO_NO_UNIT. */
uint32_t kymo_flow_find_jump(struct kymo_flow_code *code, const struct kymo_place *place, uint32_t target);

/*
 * Go from @place to the instruction at @target. False, and nothing has changed, if no silent path leads there. @steps stays valid
 * until the next call for any code.
 */
bool kymo_flow_walk(struct kymo_flow_code *code, struct kymo_place *place, uint32_t target,
		    enum kymo_walk_end end, const struct kymo_step **steps, uint32_t *count);

/* What may happen after a place without a record. */
struct kymo_reach {
	bool is_any; /* a line, jump or branch */
	int32_t first_line, last_line; /* range of the lines; KYMO_LINE_NONE: none */
};
#define KYMO_REACH_NONE ((struct kymo_reach){false, KYMO_LINE_NONE, KYMO_LINE_NONE})

/* Add to @reach what may happen after @place; if the place is not known, all of the code. */
void kymo_flow_reach(struct kymo_flow_code *code, const struct kymo_place *place, struct kymo_reach *reach);

/* True if the interpreter may still make a call in the instruction of @place after the event there. */
bool kymo_flow_lasts(const struct kymo_flow_code *code, uint32_t unit);

#endif
