// SPDX-License-Identifier: Apache-2.0
#include "replay/coverage/branch_trail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int begin(struct kymo_trails *trails, uint32_t units)
{
	size_t before = trails->seen_capacity;

	if (kymo_grow(&trails->seen, &trails->seen_capacity, units, sizeof(*trails->seen)))
		return -ENOMEM;
	memset(trails->seen + before, 0, (trails->seen_capacity - before) * sizeof(*trails->seen));
	if (++trails->trail == 0) {
		memset(trails->seen, 0, trails->seen_capacity * sizeof(*trails->seen));
		trails->trail = 1;
	}
	return 0;
}

static bool is_branch(const struct kymo_content_counts *of, uint32_t unit)
{
	uint32_t low = 0, high = of->branch_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (of->branches[middle].unit < unit)
			low = middle + 1;
		else
			high = middle;
	}
	return low < of->branch_count && of->branches[low].unit == unit;
}

/* The instruction behind @at, which is not a branch; for SEND, the one after the awaited object is done. */
static uint32_t next_of(const struct kymo_instruction *at)
{
	return at->target != KYMO_NO_UNIT ? at->target : at->next;
}

int kymo_trail_follow(struct kymo_trails *trails, const struct kymo_content_counts *of, uint32_t unit, bool *is_exit)
{
	const struct kymo_flow *flow = kymo_flow_of(of->code);
	const struct kymo_code code = {.content = of->content};
	size_t first = trails->count;

	*is_exit = false;
	if (begin(trails, flow->units))
		return -ENOMEM;
	while (kymo_flow_is_instruction(flow, unit) && trails->seen[unit] != trails->trail) {
		const struct kymo_instruction *at = &flow->at[unit];
		int32_t line = kymo_code_line(&code, unit);

		trails->seen[unit] = trails->trail;
		if (line >= 0 && (trails->count == first || trails->lines[trails->count - 1] != (uint32_t)line)) {
			if (trails->count - first == KYMO_MAX_TRAIL)
				break;
			if (kymo_grow(&trails->lines, &trails->capacity, trails->count + 1, sizeof(*trails->lines)))
				return -ENOMEM;
			trails->lines[trails->count++] = (uint32_t)line;
		}
		*is_exit = at->op == KYMO_OP_RETURN || at->op == KYMO_OP_RAISE || at->op == KYMO_OP_RERAISE;
		if (*is_exit || is_branch(of, unit))
			break;
		unit = next_of(at);
	}
	return 0;
}

void kymo_trails_release(struct kymo_trails *trails)
{
	free(trails->lines);
	free(trails->seen);
	*trails = (struct kymo_trails){0};
}
