// SPDX-License-Identifier: Apache-2.0
/* The console's commands about breakpoints. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/describe.h"
#include "replay/trace/line_table.h"
#include "replay/moves/replay_uncaught.h"
#include "replay/trace/text.h"

/* What the user wants of a breakpoint, in kymo_break.context. */
struct wanted {
	struct kymo_condition *condition; /* NULL: none */
	char *text;			  /* of it */
	uint64_t ignored;		  /* hits of each thread, the first ones */
};

static bool is_wanted(const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits)
{
	const struct wanted *wanted = at->context;

	return (!wanted->ignored || hits > wanted->ignored) &&
	       (!wanted->condition || kymo_condition_holds(wanted->condition, walker, hits));
}

static void release_wanted(struct wanted *wanted)
{
	if (!wanted)
		return;
	kymo_condition_free(wanted->condition);
	free(wanted->text);
	free(wanted);
}

void kymo_console_release_breaks(struct kymo_console *console)
{
	for (uint32_t i = 0; i < console->replay->breaks.count; i++) {
		release_wanted(console->replay->breaks.items[i].context);
		console->replay->breaks.items[i].context = NULL;
	}
}

void kymo_console_move_breaks(struct kymo_console *console)
{
	for (uint32_t i = 0; i < console->replay->breaks.count; i++) {
		const struct wanted *wanted = console->replay->breaks.items[i].context;

		if (wanted && wanted->condition)
			kymo_condition_move(wanted->condition, console->replay->index);
	}
}

void kymo_console_put_unknown(struct kymo_console *console)
{
	char count[KYMO_TEXT_BYTES];
	const char *why;

	for (uint32_t i = 0; i < console->replay->breaks.count && !console->is_in_editor; i++) {
		const struct kymo_break *at = &console->replay->breaks.items[i];
		const struct wanted *wanted = at->context;
		uint64_t times = wanted && wanted->condition ? kymo_condition_unknown(wanted->condition, &why) : 0;

		if (!times)
			continue;
		fprintf(console->out, "condition of breakpoint %" PRIu32 ": not known at %s on the way: ", at->id,
			kymo_text_counted(times, "place", count));
		kymo_text_put(console->out, why);
		putc('\n', console->out);
	}
}

static struct wanted *wanted_of(struct kymo_break *at)
{
	if (!at->context)
		at->context = calloc(1, sizeof(struct wanted));
	at->wants = at->context ? is_wanted : NULL;
	return at->context;
}

static void update(struct kymo_break *at)
{
	const struct wanted *wanted = at->context;

	at->needs_hits = wanted && (wanted->ignored || (wanted->condition && kymo_condition_needs_hits(wanted->condition)));
	at->search_number = 0;
}

static bool set_condition(struct kymo_console *console, struct kymo_break *at, const char *text)
{
	struct wanted *wanted = wanted_of(at);
	struct kymo_condition *condition = NULL;
	struct kymo_error error;

	if (*text && !(condition = kymo_condition_new(text, console->replay->index, &error))) {
		kymo_console_fail(console, "condition %s", error.message);
		return false;
	}
	if (!wanted) {
		kymo_condition_free(condition);
		return false;
	}
	kymo_condition_free(wanted->condition);
	free(wanted->text);
	wanted->condition = condition;
	wanted->text = *text ? strdup(text) : NULL;
	update(at);
	return true;
}

void kymo_console_put_break(struct kymo_console *console, const struct kymo_break *at)
{
	const struct wanted *wanted = at->context;
	char count[KYMO_TEXT_BYTES];

	fprintf(console->out, "%-3" PRIu32 " ", at->id);
	if (at->kind == KYMO_BREAK_EXCEPTION)
		fputs(*at->name ? "exception " : "any exception", console->out);
	else if (at->kind == KYMO_BREAK_UNCAUGHT)
		fputs(*at->name ? "uncaught " : "uncaught exceptions", console->out);
	kymo_text_put(console->out, at->name);
	if (at->kind == KYMO_BREAK_LINE)
		fprintf(console->out, ":%" PRId64, at->line);
	if (at->kind != KYMO_BREAK_EXCEPTION)
		fprintf(console->out, "%s  %s %s", at->kind == KYMO_BREAK_FUNCTION ? "()" : "",
			at->kind == KYMO_BREAK_FUNCTION ? "called"
			: at->kind == KYMO_BREAK_UNCAUGHT ? "raised"
							   : "ran",
			kymo_text_counted(at->all_hits, "time", count));
	if (wanted && wanted->text) {
		fputs(", if ", console->out);
		kymo_text_put(console->out, wanted->text);
	}
	if (wanted && wanted->ignored)
		fprintf(console->out, ", not the first %" PRIu64, wanted->ignored);
	fputs(at->is_off ? ", disabled\n" : "\n", console->out);
}

/* Name and line of FILE:LINE or LINE, which is changed; false: it is a function's name. */
static bool is_line(struct kymo_console *console, char *where, const char **file, uint64_t *line)
{
	char *colon = strrchr(where, ':');

	if (colon && kymo_console_number(colon + 1, line)) {
		*colon = '\0';
		*file = where;
		return true;
	}
	if (kymo_console_number(where, line)) {
		struct kymo_stack stack;
		const struct kymo_stack_frame *frame = kymo_console_frame(console, &stack);

		*file = frame && frame->code ? frame->code->content->file : NULL;
		if (frame)
			kymo_stack_release(&stack);
		return true;
	}
	return false;
}

/* A breakpoint at @where, in @breaks; NULL: reported. */
static struct kymo_break *set(struct kymo_console *console, struct kymo_breaks *breaks, char *where)
{
	struct kymo_break *at;
	const char *file;
	uint64_t line;
	bool is_function = !is_line(console, where, &file, &line);

	if (is_function && strchr(where, ' '))
		return kymo_console_fail(console, "'%s' is not FILE:LINE, LINE or FUNCTION", where), NULL;
	if (is_function)
		at = kymo_break_at_function(breaks, where);
	else if (!file)
		return kymo_console_fail(console, "which file this is is not known here; write FILE:LINE"), NULL;
	else
		at = kymo_break_at_line(breaks, file, line <= INT32_MAX ? (int64_t)line : INT32_MAX);
	if (!at)
		kymo_console_fail(console, "out of memory");
	return at;
}

/* Why @at is never hit. */
static void put_never(struct kymo_console *console, const struct kymo_break *at)
{
	int64_t nearest;

	if (at->kind == KYMO_BREAK_FUNCTION) {
		fprintf(console->out, at->content_count ? "    it was not called while this was recorded\n"
							 : "    no function of this name was recorded\n");
		return;
	}
	nearest = kymo_nearest_line(console->replay->index, at->name, at->line);
	if (nearest == KYMO_LINE_NONE)
		fprintf(console->out, "    no line of such a file ran while this was recorded\n");
	else
		fprintf(console->out, "    %s; the nearest line that ran is %" PRId64 "\n",
			at->content_count ? "it never ran" : "no code on this line", nearest);
}

/* So that none is set, and no number used up, by a line that is refused. */
static bool is_condition(struct kymo_console *console, const char *text)
{
	struct kymo_error error;
	struct kymo_condition *condition = kymo_condition_new(text, console->replay->index, &error);

	if (!condition)
		kymo_console_fail(console, "condition %s", error.message);
	kymo_condition_free(condition);
	return condition;
}

static void list(struct kymo_console *console)
{
	const struct kymo_breaks *breaks = &console->replay->breaks;

	if (!breaks->count && !console->replay->watch_count)
		fputs("no breakpoints\n", console->out);
	for (uint32_t i = 0; i < breaks->count; i++)
		kymo_console_put_break(console, &breaks->items[i]);
	kymo_console_put_watches(console);
}

/* What stands behind WHERE, which may have spaces in it: pdb has a comma before the condition, gdb an `if`. */
static char *cut_condition(char *where)
{
	char *comma = strstr(where, ", "), *word = strstr(where, " if ");
	char *end = comma && (!word || comma < word) ? comma : word;

	if (!end)
		return where + strlen(where);
	*end = '\0';
	end += end == comma ? 2 : 4;
	return end + strspn(end, " \t");
}

void kymo_console_break(struct kymo_console *console, char *argument)
{
	struct kymo_breaks *breaks = &console->replay->breaks;
	char *where = argument;
	struct kymo_break *at;

	if (!*where) {
		list(console);
		return;
	}
	argument = cut_condition(where);
	if (*argument && !is_condition(console, argument))
		return;
	at = set(console, breaks, where);
	if (!at || (*argument && !set_condition(console, at, argument)))
		return;
	kymo_console_put_break(console, at);
	if (!at->all_hits)
		put_never(console, at);
}

void kymo_console_catch(struct kymo_console *console, char *argument)
{
	const char *type = argument + strlen("uncaught");
	struct kymo_error error = {.message = "out of memory"};
	struct kymo_break *at;

	if (!strncmp(argument, "uncaught", strlen("uncaught")) && (!*type || isblank((unsigned char)*type)))
		at = kymo_replay_break_at_uncaught(console->replay, type + strspn(type, " \t"), &error);
	else
		at = kymo_break_at_exception(&console->replay->breaks, argument);
	if (at)
		kymo_console_put_break(console, at);
	else
		kymo_console_fail(console, "%s", error.message);
}

/* The breakpoint whose number begins *@argument; NULL: reported. */
static struct kymo_break *find(struct kymo_console *console, char **argument)
{
	const char *word = kymo_console_word(argument);
	struct kymo_break *at = NULL;
	uint64_t number;

	if (kymo_console_number(word, &number) && number <= UINT32_MAX)
		at = kymo_break_find(&console->replay->breaks, (uint32_t)number);
	if (!at)
		kymo_console_fail(console, *word ? "no breakpoint '%s'; break lists them" : "which breakpoint? break lists them",
				  word);
	return at;
}

void kymo_console_condition(struct kymo_console *console, char *argument)
{
	struct kymo_break *at = find(console, &argument);

	if (at && set_condition(console, at, argument))
		kymo_console_put_break(console, at);
}

void kymo_console_ignore(struct kymo_console *console, char *argument)
{
	struct kymo_break *at = find(console, &argument);
	struct wanted *wanted = at ? wanted_of(at) : NULL;
	uint64_t count;

	if (!wanted)
		return;
	if (!kymo_console_number(argument, &count)) {
		kymo_console_fail(console, "ignore: write ignore N COUNT");
		return;
	}
	wanted->ignored = count;
	update(at);
	kymo_console_put_break(console, at);
}

void kymo_console_delete(struct kymo_console *console, char *argument)
{
	struct kymo_breaks *breaks = &console->replay->breaks;
	struct kymo_break *at;
	uint64_t id;

	console->replay->hit = NULL;
	if (!*argument) {
		kymo_console_release_watches(console);
		while (breaks->count) {
			release_wanted(breaks->items[0].context);
			kymo_break_remove(breaks, breaks->items[0].id);
		}
		return;
	}
	if (kymo_console_number(argument, &id) && kymo_console_remove_watch(console, id))
		return;
	at = find(console, &argument);
	if (at) {
		release_wanted(at->context);
		kymo_break_remove(breaks, at->id);
	}
}

static void turn(struct kymo_console *console, char *argument, bool is_off)
{
	struct kymo_break *at = find(console, &argument);

	if (!at)
		return;
	at->is_off = is_off;
	kymo_breaks_update(&console->replay->breaks);
	kymo_console_put_break(console, at);
}

void kymo_console_disable(struct kymo_console *console, char *argument)
{
	turn(console, argument, true);
}

void kymo_console_enable(struct kymo_console *console, char *argument)
{
	turn(console, argument, false);
}

#define SHOWN_HITS 10U

static bool put_hit(struct kymo_console *console, struct kymo_breaks *breaks, size_t stream, uint64_t number)
{
	struct kymo_moment moment;
	struct kymo_error error;

	if (kymo_replay_find_hit(console->replay, breaks, stream, number, &moment, &error) <= 0)
		return false;
	fprintf(console->out, "  %6" PRIu64 "  %14.6f s  event %" PRIu64 "\n", number, (double)moment.t_ns / 1e9,
		moment.at.n);
	return true;
}

static void put_hits(struct kymo_console *console, struct kymo_breaks *breaks, const struct kymo_break *at)
{
	const struct kymo_timeline *timeline = console->replay->timeline;
	size_t stream = kymo_replay_stream(console->replay);
	uint64_t here = kymo_replay_count_hits(console->replay, breaks, stream);
	char count[KYMO_TEXT_BYTES];
	uint64_t shown = 0;

	fprintf(console->out, "%s %s in all, %s", at->kind == KYMO_BREAK_LINE ? "ran" : "called",
		kymo_text_count(at->all_hits, count), at->all_hits == here ? "" : "of them ");
	fprintf(console->out, "%s in ", kymo_text_count(here, count));
	kymo_stream_put_name(console->out, &timeline->streams[stream]);
	fputs(here ? ":\n" : "\n", console->out);
	while (shown < here && shown < SHOWN_HITS && put_hit(console, breaks, stream, shown + 1))
		shown++;
	if (shown == SHOWN_HITS && here > shown)
		fprintf(console->out, "  … up to\n"), put_hit(console, breaks, stream, here);
}

/* What stands behind WHERE, a file's name in which may have spaces: "" unless the last word is no FILE:LINE. */
static char *cut_number(char *where)
{
	size_t length = strlen(where), head = length;
	const char *colon;
	uint64_t line;

	while (head && !isblank((unsigned char)where[head - 1]))
		head--;
	colon = strrchr(where + head, ':');
	if (!head || (colon && kymo_console_number(colon + 1, &line)))
		return where + length;
	for (length = head; length && isblank((unsigned char)where[length - 1]); length--)
		where[length - 1] = '\0';
	return where + head;
}

void kymo_console_hits(struct kymo_console *console, char *argument)
{
	struct kymo_replay *replay = console->replay;
	size_t stream = kymo_replay_stream(replay);
	char *where = argument, here[32];
	struct kymo_breaks breaks;
	struct kymo_moment moment;
	struct kymo_error error;
	const struct kymo_break *at;
	uint64_t number;
	int result;

	argument = cut_number(where);
	if (!*where) {
		int64_t line = kymo_event_line(kymo_replay_event(replay));

		snprintf(here, sizeof here, "%" PRId64, line < 0 ? 0 : line);
		where = here;
	}
	kymo_breaks_init(&breaks, replay->index);
	at = set(console, &breaks, where);
	if (at && !*argument) {
		if (at->all_hits)
			put_hits(console, &breaks, at);
		else
			put_never(console, at);
	} else if (at && !kymo_console_number(argument, &number)) {
		kymo_console_fail(console, "hits: '%s' is not a number", argument);
	} else if (at) {
		result = kymo_replay_find_hit(replay, &breaks, stream, number, &moment, &error);
		if (result > 0)
			result = kymo_replay_seek(replay, stream, moment.at, &error) ? -1 : 1;
		if (result < 0)
			kymo_console_fail(console, "%s", error.message);
		else if (!result)
			kymo_console_fail(console, "hits: no hit %" PRIu64 "; this thread has %" PRIu64,
					  number, kymo_replay_count_hits(replay, &breaks, stream));
		else
			kymo_console_put_place(console, 0);
	}
	kymo_breaks_release(&breaks);
}
