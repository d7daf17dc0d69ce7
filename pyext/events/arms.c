// SPDX-License-Identifier: Apache-2.0
#include "pyext/cpython/frames.h"

#include <stdlib.h>

#include "format/flow.h"
#include "pyext/events/arms.h"
#include "pyext/cpython/code_writes.h"
#include "pyext/line_entries.h"

bool kymo_arms_add(struct kymo_code *known, uint32_t source, bool is_taken, bool *is_last)
{
	size_t units = (size_t)Py_SIZE(known->code);
	bool is_known;
	uint8_t *arms;

	*is_last = false;
	if (!known->covered.arms)
		known->covered.arms = calloc(units / 4 + 1, 1);
	if (!known->covered.arms || source >= units)
		return false;
	arms = &known->covered.arms[source / 4];
	is_known = *arms & kymo_arm_bit(source, is_taken);
	*arms |= kymo_arm_bit(source, is_taken);
	*is_last = *arms & kymo_arm_bit(source, !is_taken);
	return is_known;
}

void kymo_covered_forget(struct kymo_covered *covered)
{
	free(covered->arms);
	free(covered->told_arms);
	free(covered->lines);
	*covered = (struct kymo_covered){0};
}

/* How many ways lead to each unit of @flow; an exception handler and the frame's start count as more than one.  NULL: no memory. */
static uint8_t *count_ways(const struct kymo_flow *flow)
{
	uint8_t *counts = calloc(flow->units, 1);
	uint32_t ways[2];

	if (!counts)
		return NULL;
	counts[0] = 2;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		for (unsigned i = kymo_flow_ways(flow, unit, ways); i; i--)
			counts[ways[i - 1]] += counts[ways[i - 1]] < 2;
	}
	for (uint32_t i = 0; i < flow->handler_count; i++)
		counts[flow->handlers[i].target] = 2;
	return counts;
}

/*
 * Where an arm of the branch at @unit leads; KYMO_NO_UNIT: something else leads there, too. A generator in a loop may go
 * through what FOR_ITER skips at its end.
 */
static uint32_t find_dest(const struct kymo_flow *flow, const uint8_t *counts, uint32_t unit, bool is_taken)
{
	const struct kymo_instruction *at = &flow->at[unit];
	uint32_t end = !is_taken ? at->next : at->op == KYMO_OP_FOR_ITER ? kymo_flow_loop_end(flow, at) : at->target;

	for (unit = is_taken ? at->target : at->next; unit <= end; unit++)
		if (counts[unit] != 1)
			return KYMO_NO_UNIT;
	return end;
}

/*
 * True if LINE has an event at @dest, where an arm of the branch at @unit leads: only if the instruction before
 * belongs to another line.  At a loop's end that may be an instruction that FOR_ITER skips.
 */
static bool has_line_event(const struct kymo_flow *flow, const int32_t *lines, uint32_t unit, uint32_t dest)
{
	return lines[dest] >= 0 && lines[dest] != lines[unit] &&
	       (flow->at[unit].op != KYMO_OP_FOR_ITER || dest == flow->at[unit].next || lines[dest] != lines[dest - 1]);
}

/* The arms of @flow that a LINE event shows; @lines by unit. */
static struct kymo_told_arms *find_arms(const struct kymo_flow *flow, const uint8_t *counts, const int32_t *lines)
{
	struct kymo_told_arms *told = NULL;
	uint32_t branches = 0;
	size_t head;

	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next)
		branches += kymo_op_is_branch(flow->at[unit].op);
	head = sizeof(*told) + 2 * branches * sizeof(*told->at);
	if (branches)
		told = calloc(head + flow->units / 4 + 1, 1);
	if (!told)
		return NULL;
	told->bits = (uint8_t *)told + head;
	for (uint32_t unit = 0; unit < flow->units; unit = flow->at[unit].next) {
		for (int is_taken = 0; is_taken < 2 && kymo_op_is_branch(flow->at[unit].op); is_taken++) {
			uint32_t dest = find_dest(flow, counts, unit, is_taken);

			if (dest == KYMO_NO_UNIT || !has_line_event(flow, lines, unit, dest))
				continue;
			told->bits[unit / 4] |= kymo_arm_bit(unit, is_taken);
			told->at[told->count++] = (struct kymo_arm){
				.source = unit,
				.dest = dest,
				.is_taken = is_taken,
			};
		}
	}
	return told;
}

void kymo_arms_read(struct kymo_code *known)
{
	PyCodeObject *code = known->code;
	PyObject *bytecode = kymo_code_bytes(code);
	int32_t *lines = kymo_code_lines(code);
	struct kymo_flow flow;
	uint8_t *counts;

	if (bytecode && lines && !kymo_flow_read(&flow, KYMO_FLOW_VERSION(PY_VERSION_HEX), (const uint8_t *)PyBytes_AS_STRING(bytecode),
			    (size_t)PyBytes_GET_SIZE(bytecode),
			    (const uint8_t *)PyBytes_AS_STRING(code->co_exceptiontable),
			    (size_t)PyBytes_GET_SIZE(code->co_exceptiontable))) {
		counts = flow.is_exact ? count_ways(&flow) : NULL;
		if (counts)
			known->covered.told_arms = find_arms(&flow, counts, lines);
		free(counts);
		kymo_flow_release(&flow);
	}
	free(lines);
	Py_XDECREF(bytecode);
}

/* Make @i one of the pending arms or, if it @is_pending, remove it from them. */
static void exchange(struct kymo_told_arms *told, uint32_t i, bool is_pending)
{
	uint32_t other = is_pending ? --told->pending : told->pending++;
	struct kymo_arm saved = told->at[i];

	told->at[i] = told->at[other];
	told->at[other] = saved;
}

bool kymo_arms_wait(const struct kymo_python *python, struct kymo_code *known, uint32_t source, bool is_taken)
{
	struct kymo_told_arms *told = known->covered.told_arms;

	if (!told || !(told->bits[source / 4] & kymo_arm_bit(source, !is_taken)))
		return false;
	for (uint32_t i = 0; i < told->count; i++) {
		if (told->at[i].source != source || told->at[i].is_taken == is_taken)
			continue;
		if (!kymo_line_is_on(python, known->code, told->at[i].dest))
			break;
		if (i >= told->pending)
			exchange(told, i, false);
		return true;
	}
	/* Nor will it be pending later: clear it, so that nobody asks again. */
	told->bits[source / 4] &= (uint8_t)~kymo_arm_bit(source, !is_taken);
	return false;
}

bool kymo_arms_are_pending(const struct kymo_code *known)
{
	return known->covered.told_arms && known->covered.told_arms->pending;
}

bool kymo_arms_take(struct kymo_code *known, struct kymo_arm *arm)
{
	struct kymo_told_arms *told = known->covered.told_arms;
	const void *frame = kymo_frame_running();
	uint32_t unit = kymo_frame_lasti(frame);
	bool is_last;

	for (uint32_t i = 0; i < told->pending && kymo_frame_code(frame) == known->code; i++) {
		if (told->at[i].dest != unit)
			continue;
		*arm = told->at[i];
		exchange(told, i, true);
		return !kymo_arms_add(known, arm->source, arm->is_taken, &is_last);
	}
	return false;
}

bool kymo_arms_need(const struct kymo_code *known, uint32_t unit)
{
	const struct kymo_told_arms *told = known->covered.told_arms;

	for (uint32_t i = 0; told && i < told->count; i++) {
		const struct kymo_arm *arm = &told->at[i];

		if (arm->dest == unit && !(known->covered.arms && known->covered.arms[arm->source / 4] & kymo_arm_bit(arm->source, arm->is_taken)))
			return true;
	}
	return false;
}
