// SPDX-License-Identifier: Apache-2.0
#include "replay/profile/spread.h"

#include <string.h>

/* Half widths are rounded up. */
#define ROUNDING_NS 1
/* A pace is averaged over about this many windows, so that it follows the program. */
#define MEMORY 64.0
/* A gap this many times as long as usual, when the usual time is known from this much, is an outlier. */
#define OUTLIER 8.0
#define SURE 4.0

void kymo_spread_release(struct kymo_spread *spread)
{
	free(spread->steps);
	free(spread->stack);
	free(spread->paces);
	free(spread->by_identity.slots);
	free(spread->gaps);
	*spread = (struct kymo_spread){0};
}

void kymo_spread_begin_thread(struct kymo_spread *spread, bool has_tick)
{
	spread->count = spread->depth = 0;
	spread->pace = 0;
	spread->has_tick = has_tick;
}

static bool is_bound(const struct kymo_call *call)
{
	return call->step == KYMO_CALL_BEGIN || call->step == KYMO_CALL_END;
}

static bool is_near(int64_t a, int64_t b)
{
	return a - b <= ROUNDING_NS && b - a <= ROUNDING_NS;
}

/* The clock was read for it. */
static bool is_read(const struct kymo_call *call)
{
	return call->window_events && !call->window_at;
}

bool kymo_spread_has_room(const struct kymo_spread *spread, const struct kymo_call *call)
{
	if (!spread->count)
		return true;
	if (is_read(call))
		return false;
	return spread->high_ns > spread->low_ns ? is_near(call->high_ns, spread->high_ns)
						: call->high_ns > call->low_ns && is_near(call->low_ns, spread->low_ns);
}

int kymo_spread_add(struct kymo_spread *spread, const struct kymo_call *call)
{
	if (!spread->count) {
		spread->low_ns = spread->high_ns = call->low_ns;
		spread->events = 0;
	}
	if (!is_read(call) && spread->high_ns == spread->low_ns)
		spread->high_ns = call->high_ns;
	if (is_bound(call) && call->window_at)
		spread->events = call->window_events;
	if (kymo_grow(&spread->steps, &spread->capacity, spread->count + 1, sizeof(*spread->steps)))
		return -ENOMEM;
	spread->steps[spread->count++] = *call;
	return 0;
}

/* The number of the kind; 0: no memory. */
static uint32_t pace_of(struct kymo_spread *spread, const void *identity, bool is_entered)
{
	uint32_t hash = (uint32_t)kymo_hash_mix(is_entered, (uintptr_t)identity), number;

	for (size_t at = hash; (number = kymo_lookup_next(&spread->by_identity, hash, &at)); at++)
		if (spread->paces[number - 1].identity == identity && spread->paces[number - 1].is_entered == is_entered)
			return number;
	number = (uint32_t)spread->pace_count + 1;
	if (kymo_grow(&spread->paces, &spread->pace_capacity, number, sizeof(*spread->paces)) ||
	    kymo_lookup_add(&spread->by_identity, hash, number))
		return 0;
	spread->paces[spread->pace_count++] = (struct kymo_pace){.identity = identity, .is_entered = is_entered};
	return number;
}

/* @call ends the current gap, and begins the next one. 0 or -ENOMEM. */
static int go_on(struct kymo_spread *spread, const struct kymo_call *call)
{
	const void *identity = call->content ? (const void *)call->content : call->c_name;

	if (call->step == KYMO_CALL_BEGIN) {
		if (kymo_grow(&spread->stack, &spread->stack_capacity, spread->depth + 1, sizeof(*spread->stack)))
			return -ENOMEM;
		spread->stack[spread->depth++] = identity;
	} else if (spread->depth) {
		spread->depth--;
	}
	spread->pace = pace_of(spread, spread->depth ? spread->stack[spread->depth - 1] : NULL, call->step == KYMO_CALL_BEGIN);
	return spread->pace ? 0 : -ENOMEM;
}

static int add_gap(struct kymo_spread *spread, double events, size_t step)
{
	if (kymo_grow(&spread->gaps, &spread->gap_capacity, spread->gap_count + 1, sizeof(*spread->gaps)))
		return -ENOMEM;
	spread->gaps[spread->gap_count++] = (struct kymo_spread_gap){events, 0, spread->pace, step};
	return 0;
}

static void learn(struct kymo_spread *spread, const struct kymo_spread_gap *gap, double weight)
{
	struct kymo_pace *pace = &spread->paces[gap->pace - 1];
	double usual_ns = pace->events > SURE ? gap->events * pace->ns / pace->events : gap->ns;

	/* A wait for a processor says nothing about the next time. */
	pace->ns += (gap->ns < OUTLIER * usual_ns ? gap->ns : OUTLIER * usual_ns) * weight;
	pace->events += gap->events * weight;
	if (pace->events > MEMORY) {
		pace->ns *= MEMORY / pace->events;
		pace->events = MEMORY;
	}
	if (gap->ns < KYMO_USUAL_TICK_NS) {
		spread->all.ns += gap->ns;
		spread->all.events += gap->events;
	}
}

/* A thread that does nothing for a millisecond finds another tick, and reads the clock: the excess was in its last gap. */
static bool is_waiting(const struct kymo_spread *spread, double width)
{
	return spread->has_tick && width > KYMO_USUAL_TICK_NS;
}

/* The usual time of the window's gaps; those without a known time get the remainder. */
static double expect(struct kymo_spread *spread, double width)
{
	double known_ns = 0, known = 0, unknown = 0, pace;

	for (size_t i = 0; i < spread->gap_count; i++) {
		struct kymo_spread_gap *gap = &spread->gaps[i];
		const struct kymo_pace *of = gap->pace ? &spread->paces[gap->pace - 1] : NULL;

		if (of && of->events > 0) {
			gap->ns = gap->events * of->ns / of->events;
			known_ns += gap->ns;
			known += gap->events;
		} else {
			gap->ns = -1;
			unknown += gap->events;
		}
	}
	if (unknown <= 0)
		return known_ns;
	pace = width > known_ns ? (width - known_ns) / unknown : known > 0 ? known_ns / known : 1;
	if (is_waiting(spread, width) && spread->all.events > 0 && pace > spread->all.ns / spread->all.events)
		pace = spread->all.ns / spread->all.events;
	for (size_t i = 0; i < spread->gap_count; i++)
		if (spread->gaps[i].ns < 0)
			spread->gaps[i].ns = spread->gaps[i].events * pace;
	return known_ns + unknown * pace;
}

/* Share @width out: an excess over the usual time goes to long gaps, a shortfall is taken from all. */
static void share_out(struct kymo_spread *spread, double width)
{
	double sum = expect(spread, width), more = width - sum, spread_ns = 0;
	struct kymo_spread_gap *last = &spread->gaps[spread->gap_count - 1];

	if (is_waiting(spread, width) && more > 0) {
		last->ns += more;
		return;
	}
	for (size_t i = 0; i < spread->gap_count; i++)
		if (spread->gaps[i].events > 0)
			spread_ns += spread->gaps[i].ns * spread->gaps[i].ns / spread->gaps[i].events;
	for (size_t i = 0; i < spread->gap_count; i++) {
		struct kymo_spread_gap *gap = &spread->gaps[i];

		if (more > 0 && spread_ns > 0)
			gap->ns += gap->events > 0 ? more * gap->ns * gap->ns / gap->events / spread_ns : 0;
		else
			gap->ns = sum > 0 ? gap->ns * (width / sum) : width / (double)spread->gap_count;
	}
	if (is_waiting(spread, width) && last->ns < width - KYMO_USUAL_TICK_NS) {
		double rest = width - last->ns;

		last->ns = width - KYMO_USUAL_TICK_NS;
		for (size_t i = 0; i + 1 < spread->gap_count; i++)
			spread->gaps[i].ns *= KYMO_USUAL_TICK_NS / rest;
	}
}

/* From one bound to the next, what lies between them keeps its place in proportion. */
static void move_steps(struct kymo_spread *spread, size_t first, size_t end, int64_t from_ns, int64_t to_ns, int64_t new_from_ns,
		       int64_t new_to_ns)
{
	for (size_t i = first; i < end; i++) {
		struct kymo_call *step = &spread->steps[i];
		double part = to_ns > from_ns ? (double)(step->t_ns - from_ns) / (double)(to_ns - from_ns) : 1;

		part = part < 0 ? 0 : part > 1 ? 1 : part;
		step->t_ns = new_from_ns + (int64_t)(part * (double)(new_to_ns - new_from_ns));
	}
}

static void place_steps(struct kymo_spread *spread)
{
	int64_t from_ns = spread->low_ns, at_ns = spread->low_ns;
	double sum = 0;
	size_t first = 0;

	for (size_t i = 0; i < spread->gap_count; i++) {
		const struct kymo_spread_gap *gap = &spread->gaps[i];
		bool is_last = gap->step == spread->count;
		int64_t to_ns = is_last ? spread->high_ns : spread->steps[gap->step].t_ns, until_ns;

		sum += gap->ns;
		until_ns = is_last ? spread->high_ns : spread->low_ns + (int64_t)sum;
		until_ns = until_ns > spread->high_ns ? spread->high_ns : until_ns;
		move_steps(spread, first, gap->step, from_ns, to_ns, at_ns, until_ns);
		if (!is_last)
			spread->steps[gap->step].t_ns = until_ns;
		from_ns = to_ns;
		at_ns = until_ns;
		first = gap->step + 1;
	}
}

/* The gaps between the bounds of the window.  0 or -ENOMEM. */
static int find_gaps(struct kymo_spread *spread)
{
	uint32_t passed = 0;

	spread->gap_count = 0;
	for (size_t i = 0; i < spread->count; i++) {
		const struct kymo_call *step = &spread->steps[i];

		if (!is_bound(step))
			continue;
		/* Calls that are returned together happen at the same time. */
		if (step->window_at > passed && add_gap(spread, step->window_at - passed, i))
			return -ENOMEM;
		passed = step->window_at > passed ? step->window_at : passed;
		if (go_on(spread, step))
			return -ENOMEM;
	}
	if (!spread->gap_count)
		return 0;
	return spread->events > passed ? add_gap(spread, spread->events - passed, spread->count) : 0;
}

int kymo_spread_settle(struct kymo_spread *spread, const struct kymo_call *next)
{
	double width;

	if (find_gaps(spread))
		return -ENOMEM;
	if (!spread->gap_count) {
		/* One gap alone, from a reading of the clock to the next. */
		if (spread->count && next && spread->pace && is_read(next) && is_read(&spread->steps[0]) &&
		    next->n == spread->steps[0].n + 1)
			learn(spread, &(struct kymo_spread_gap){1, (double)(next->low_ns - spread->low_ns), spread->pace, 0}, 1);
		return 0;
	}
	width = (double)(spread->high_ns - spread->low_ns);
	if (width <= 0)
		return 0;
	share_out(spread, width);
	place_steps(spread);
	for (size_t i = 0; i < spread->gap_count; i++)
		if (spread->gaps[i].pace)
			learn(spread, &spread->gaps[i], 1 / (double)spread->events);
	return 0;
}
