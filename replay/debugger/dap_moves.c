// SPDX-License-Identifier: Apache-2.0
/* Going through the run: steps, and on to breakpoints, in both directions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay/debugger/dap_files.h"
#include "replay/debugger/dap_points.h"
#include "replay/trace/describe.h"
#include "replay/moves/named_places.h"
#include "replay/moves/replay_hits.h"
#include "replay/trace/text.h"

/* Most lines of log points that are shown for one move. */
#define MAX_LOGGED 10000U

struct logged {
	struct kymo_moment moment;
	char *line;
	const struct kymo_content *content;
	int64_t at_line;
};

struct log_output {
	const struct kymo_timeline *timeline;
	struct logged *items;
	size_t count, capacity;
	size_t thread; /* where the current one begins */
	bool is_cut;
};

static bool take_hit(void *context, const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits)
{
	struct log_output *output = context;
	const struct kymo_event *event = &walker->event;
	struct logged logged = {
		.moment = kymo_moment_of(output->timeline, event),
		.content = event->code ? event->code->content : NULL,
		.at_line = kymo_event_line(event),
	};

	if (output->thread < output->count && output->items[output->thread].moment.stream != logged.moment.stream)
		output->thread = output->count;
	if (output->count - output->thread == MAX_LOGGED ||
	    kymo_grow(&output->items, &output->capacity, output->count + 1, sizeof(logged))) {
		output->is_cut = true;
		return false;
	}
	logged.line = kymo_dap_point_log(at->context, walker, hits);
	output->items[output->count++] = logged;
	return true;
}

static int compare_logged(const void *left, const void *right, void *timeline)
{
	const struct logged *a = left, *b = right;

	return kymo_moment_compare(timeline, &a->moment, &b->moment);
}

static void print_logged(struct kymo_dap *dap, const struct logged *logged)
{
	json_t *body = json_pack("{s:s, s:o}", "category", "console", "output",
				 kymo_dap_text(logged->line ? logged->line : "\n"));

	if (logged->content)
		json_object_set_new(body, "source", kymo_dap_source_of(dap, kymo_dap_file(dap, logged->content)));
	if (logged->at_line > 0)
		json_object_set_new(body, "line", json_integer(logged->at_line - 1 + dap->lines_from));
	kymo_dap_event(dap, "output", body);
}

/*
 * Print what log points have to say between @from, where it stood, and here: in the order in which it happened, also
 * when going backwards.  What is said of a moment comes when it is arrived at, from either side.
 */
static int print_log(struct kymo_dap *dap, const struct kymo_moment *from, struct kymo_error *error)
{
	struct kymo_timeline *timeline = &dap->trace.timeline;
	struct kymo_moment here = kymo_moment_of(timeline, kymo_replay_event(&dap->replay));
	bool is_back = kymo_moment_compare(timeline, &here, from) < 0;
	struct log_output output = {.timeline = timeline};
	const struct kymo_hits_asked asked = {
		.first = is_back ? here : *from,
		.last = is_back ? *from : here,
		.with_first = is_back,
		.with_last = !is_back,
		.on_hit = take_hit,
		.context = &output,
	};
	int result = dap->logs.breaks.count ? kymo_replay_each_hit(&dap->logs, &asked, error) : 0;

	if (output.count)
		qsort_r(output.items, output.count, sizeof(*output.items), compare_logged, timeline);
	for (size_t i = 0; i < output.count; i++) {
		if (i < MAX_LOGGED)
			print_logged(dap, &output.items[i]);
		free(output.items[i].line);
	}
	if (output.is_cut || output.count > MAX_LOGGED)
		kymo_dap_output(dap, "important",
				"log points had more to say: only the first 10000 lines of this move are shown\n");
	free(output.items);
	return result;
}

static void tell_break(struct kymo_dap *dap)
{
	static const char *const reasons[] = {
		[KYMO_BREAK_LINE] = "breakpoint",
		[KYMO_BREAK_FUNCTION] = "function breakpoint",
		[KYMO_BREAK_EXCEPTION] = "exception",
		[KYMO_BREAK_UNCAUGHT] = "exception",
	};
	const struct kymo_break *hit = dap->replay.hit;
	const struct kymo_dap_point *point = hit->context;
	const char *name = kymo_replay_event(&dap->replay)->name;
	json_t *more = json_pack("{s:[I]}", "hitBreakpointIds", (json_int_t)point->shown_id);

	if ((hit->kind == KYMO_BREAK_EXCEPTION || hit->kind == KYMO_BREAK_UNCAUGHT) && name)
		json_object_set_new(more, "text", kymo_dap_text(name));
	kymo_dap_stopped(dap, reasons[hit->kind], NULL, more);
}

/*
 * The client made no request to move, so it assumes that its threads are stopped. It may then take a stop in another thread for that
 * thread's own, and continue it, for ever: nvim-dap does.
 */
void kymo_dap_tell_leaving(struct kymo_dap *dap, size_t stream)
{
	kymo_dap_event(dap, "continued",
		       json_pack("{s:I, s:b}", "threadId", (json_int_t)kymo_dap_thread_id(stream), "allThreadsContinued", 1));
}

void kymo_dap_arrived(struct kymo_dap *dap)
{
	if (dap->replay.hit)
		tell_break(dap);
	else if (dap->replay.watched)
		kymo_dap_tell_watch(dap, kymo_dap_is_at_edge(dap) ? KYMO_STOP_WATCH_OVER : KYMO_STOP_WATCH);
	else
		kymo_dap_stopped(dap, "goto", NULL, NULL);
}

static void tell_missing(struct kymo_dap *dap, const char *reason)
{
	const struct kymo_event *event = kymo_replay_event(&dap->replay);
	char why[KYMO_LOSS_TEXT_BYTES], count[KYMO_TEXT_BYTES], lines[KYMO_DESCRIBE_BYTES], text[160] = "not recorded: what happened here cannot be rebuilt";

	if (event->kind == KYMO_EVENT_GAP)
		snprintf(text, sizeof(text), "not recorded: %s lost (%s)", kymo_text_counted(event->lost, "event", count),
			 kymo_loss_text(event->lost_reasons, why));
	else if (kymo_event_may_have_run(event, lines))
		snprintf(text, sizeof(text), "not recorded: %s", lines);
	kymo_dap_stopped(dap, reason, text, NULL);
}

/* Where conditions could not be computed on the way. */
static void tell_unknown(struct kymo_dap *dap)
{
	for (uint32_t i = 0; i < dap->replay.breaks.count; i++) {
		const struct kymo_break *at = &dap->replay.breaks.items[i];
		const struct kymo_dap_point *point = at->context;
		char count[KYMO_TEXT_BYTES], text[512];
		const char *why;
		uint64_t times = point && point->condition ? kymo_condition_unknown(point->condition, &why) : 0;

		if (!times)
			continue;
		snprintf(text, sizeof(text), "the condition of %s:%" PRId64 " is not known at %s on the way: %s\n", at->name, at->line,
			 kymo_text_counted(times, "place", count), why);
		kymo_dap_output(dap, "console", text);
	}
}

/* Report a move from @from that ended with @stop, an enum kymo_stop or a negative errno. */
static int finish(struct kymo_dap *dap, const struct kymo_moment *from, int stop, bool is_forwards, const char *reason,
		  struct kymo_error *error)
{
	int result = stop < 0 ? stop : print_log(dap, from, error);

	tell_unknown(dap);
	if (result < 0) {
		kymo_dap_forget_views(dap);
		return result;
	}
	if (stop == KYMO_STOP_BREAK)
		tell_break(dap);
	else if (stop == KYMO_STOP_WATCH || stop == KYMO_STOP_WATCH_OVER)
		kymo_dap_tell_watch(dap, stop);
	else if (stop == KYMO_STOP_MISSING)
		tell_missing(dap, reason);
	else
		kymo_dap_stopped(dap, reason,
				 stop != KYMO_STOP_END ? NULL
				 : is_forwards         ? "end of the recording"
						       : "start of the recording",
				 NULL);
	return 0;
}

/* Stand in the thread that the request names, at the same moment. */
static int take_thread(struct kymo_dap *dap, const json_t *arguments, struct kymo_moment *from,
		       struct kymo_error *error)
{
	size_t stream;
	int result = kymo_dap_thread(dap, arguments, &stream, error);

	if (!result && stream != kymo_replay_stream(&dap->replay)) {
		result = kymo_replay_switch(&dap->replay, stream, error);
		if (!result)
			return kymo_fail(error, -ENOENT, "this thread has not begun here");
		kymo_dap_forget_views(dap);
		result = result < 0 ? result : 0;
	}
	*from = kymo_moment_of(&dap->trace.timeline, kymo_replay_event(&dap->replay));
	return result;
}

static int step(struct kymo_dap *dap, const json_t *arguments, enum kymo_go go, bool is_forwards,
		struct kymo_error *error)
{
	struct kymo_moment from;
	int result = take_thread(dap, arguments, &from, error);

	if (result)
		return result;
	result = is_forwards ? kymo_replay_forward(&dap->replay, go, error)
			     : kymo_replay_backward(&dap->replay, go, error);
	return finish(dap, &from, result, is_forwards, "step", error);
}

int kymo_dap_next(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)body;
	return step(dap, arguments, KYMO_GO_OVER, true, error);
}

int kymo_dap_step_in(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)body;
	return step(dap, arguments, KYMO_GO_INTO, true, error);
}

int kymo_dap_step_back(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)body;
	return step(dap, arguments, KYMO_GO_OVER, false, error);
}

/* To where the frame is left, and on to the next line of its caller. */
int kymo_dap_step_out(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	struct kymo_moment from;
	int result = take_thread(dap, arguments, &from, error);

	(void)body;
	if (result)
		return result;
	result = KYMO_STOP_MOVED;
	if (!dap->replay.walker.stack.is_leaving)
		result = kymo_replay_forward(&dap->replay, KYMO_GO_OUT, error);
	if (result == KYMO_STOP_MOVED)
		result = kymo_replay_forward(&dap->replay, KYMO_GO_OVER, error);
	return finish(dap, &from, result, true, "step", error);
}

int kymo_dap_run(struct kymo_dap *dap, bool is_forwards, struct kymo_error *error)
{
	struct kymo_moment from = kymo_moment_of(&dap->trace.timeline, kymo_replay_event(&dap->replay));
	int result = is_forwards ? kymo_replay_forward(&dap->replay, KYMO_GO_CONTINUE, error)
				 : kymo_replay_backward(&dap->replay, KYMO_GO_CONTINUE, error);

	if (result == KYMO_STOP_END && is_forwards) {
		int left = kymo_replay_leave_shutdown(&dap->replay, &from, error);

		result = left ? left : result;
	}
	return finish(dap, &from, result, is_forwards, "pause", error);
}

/* All threads continue from the current moment, whichever the client looks at. */
int kymo_dap_continue(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	int result = kymo_dap_run(dap, true, error);

	(void)arguments;
	return result ? result : kymo_dap_answer(body, json_pack("{s:b}", "allThreadsContinued", 1), error);
}

int kymo_dap_reverse_continue(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)arguments, (void)body;
	return kymo_dap_run(dap, false, error);
}

/* It stands already. */
int kymo_dap_pause(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	(void)arguments, (void)body, (void)error;
	kymo_dap_stopped(dap, "pause", NULL, NULL);
	return 0;
}
