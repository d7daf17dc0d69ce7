// SPDX-License-Identifier: Apache-2.0
/*
 * One code object, ready to have its history rebuilt: the walks between the places that were recorded.
 *
 * A walk is the only way from where a frame is to the next place that is known, and the events that the
 * interpreter has on it.  It is found by search once and then kept, so that going it again is a copy.
 */
#ifndef KYMO_REPLAY_DECODE_FLOW_CODE_H
#define KYMO_REPLAY_DECODE_FLOW_CODE_H

#include "format/flow.h"
#include "format/record.h"
#include "replay/trace/definitions.h"
#include "replay/decode/known_moves.h"

/* What follows when a walk has come to its end: told only when the next instruction is reached. */
enum kymo_walk_end {
	KYMO_WALK_TO,	       /* nothing */
	KYMO_WALK_NOT_TAKEN,   /* the NOT_TAKEN behind a branch, too */
};

struct kymo_flow_code;

/*
 * Made at first use, of @content as the CPython with that sys.hexversion has it; owned by @content.  The steps of its
 * walks are of the kinds in the mask @kinds, the same each time.  NULL: no memory, or no such version.
 */
struct kymo_flow_code *kymo_flow_code_get(struct kymo_content *content, uint32_t python_hex, uint64_t kinds);

const struct kymo_flow *kymo_flow_of(const struct kymo_flow_code *code);
/* The line at which the interpreter may have a LINE event at the instruction @unit, or KYMO_LINE_NONE.  Exact code alone. */
int32_t kymo_flow_line(const struct kymo_flow_code *code, uint32_t unit);
/* What is kept of how its frames go on; owned by @code. */
struct kymo_moves *kymo_flow_moves(struct kymo_flow_code *code);
/* The instruction that @unit is part of; the last one for a unit beyond them. */
uint32_t kymo_flow_instruction(const struct kymo_flow_code *code, uint32_t unit);
/* The unit that lines after @raw, where the interpreter has a frame, are compared with. */
uint32_t kymo_flow_unit_before(const struct kymo_flow_code *code, uint32_t raw);
/* The instruction with @site, or KYMO_NO_UNIT. */
uint32_t kymo_flow_site_unit(const struct kymo_flow_code *code, uint32_t site);
/* The backward jump to @target that can be reached from @place without anything recorded, or KYMO_NO_UNIT. */
uint32_t kymo_flow_find_jump(struct kymo_flow_code *code, const struct kymo_place *place, uint32_t target);

/*
 * Go from @place to the instruction at @target.  False, and nothing has changed, if no silent way leads
 * there.  @steps stays valid until the next call for any code.
 */
bool kymo_flow_walk(struct kymo_flow_code *code, struct kymo_place *place, uint32_t target,
		    enum kymo_walk_end end, const struct kymo_step **steps, uint32_t *count);

/* What may happen after a place without anything being recorded. */
struct kymo_reach {
	bool is_any; /* a line, jump or branch */
	int32_t first_line, last_line; /* of the lines; KYMO_LINE_NONE: none */
};
#define KYMO_REACH_NONE ((struct kymo_reach){false, KYMO_LINE_NONE, KYMO_LINE_NONE})

/* Add to @reach what may happen after @place; of a place that is not known, all that the code has. */
void kymo_flow_reach(struct kymo_flow_code *code, const struct kymo_place *place, struct kymo_reach *reach);

/* True if the interpreter may still call something in the instruction of @place after the event there. */
bool kymo_flow_lasts(const struct kymo_flow_code *code, uint32_t unit);

#endif
