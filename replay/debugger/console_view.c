// SPDX-License-Identifier: Apache-2.0
/*
 * The view of a terminal: source with the current line, variables, watches and the stack above what is typed, drawn again
 * after each command.  What a command says stands below it; what is longer than the screen is shown without the view.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "replay/debugger/console_state.h"
#include "replay/debugger/python_words.h"
#include "replay/debugger/screen_row.h"
#include "replay/trace/describe.h"
#include "replay/trace/line_table.h"

#define LEAST_ROWS 16U
#define LEAST_COLUMNS 40U
#define SOURCE_ROWS 7U	  /* at least, or there is no view */
#define WIDE_COLUMNS 100U /* with these the other panes are beside the source */
#define MOST_ROWS 200U

struct view {
	struct kymo_console *console;
	unsigned rows, columns;
	bool has_colour;
	const char *current; /* background of the current line */
	struct kymo_stack stack;
	/* panes but the source, a row each */
	unsigned limit, count;
	char *texts[MOST_ROWS];
};

bool kymo_console_can_view(const struct kymo_console *console)
{
	const char *type = getenv("TERM");

	return console->is_terminal && type && *type && strcmp(type, "dumb") != 0;
}

static bool begin_row(struct view *view, struct kymo_row *row, unsigned limit, const char *background)
{
	return kymo_row_begin(row, limit, view->has_colour, background);
}

static void keep_row(struct view *view, struct kymo_row *row)
{
	kymo_row_end(row);
	if (view->count < MOST_ROWS && row->text)
		view->texts[view->count++] = row->text;
	else
		free(row->text);
}

static void add_text(struct view *view, const char *style, int indent, const char *text)
{
	struct kymo_row row;

	if (!begin_row(view, &row, view->limit, ""))
		return;
	kymo_row_print(&row, style, "%*s%s", indent, "", text);
	keep_row(view, &row);
}

static void add_value(void *context, const char *name, const char *value, bool is_new)
{
	struct view *view = context;
	struct kymo_row row;

	if (!begin_row(view, &row, view->limit, ""))
		return;
	kymo_row_print(&row, is_new ? KYMO_STYLE_CHANGED : KYMO_STYLE_NAME, "  %s", name);
	kymo_row_print(&row, KYMO_STYLE_NONE, " = ");
	kymo_row_print(&row, is_new ? KYMO_STYLE_BOLD : KYMO_STYLE_NONE, "%s", value);
	keep_row(view, &row);
}

static void add_stack(struct view *view)
{
	add_text(view, KYMO_STYLE_HEAD, 0, "Stack");
	for (uint32_t i = view->stack.count; i-- > 0;) {
		const struct kymo_stack_frame *frame = &view->stack.frames[i];
		bool is_selected = view->stack.count - 1 - i == view->console->selected;
		const char *file = frame->code ? frame->code->content->file : "?", *slash = strrchr(file, '/');
		struct kymo_row row;

		if (!begin_row(view, &row, view->limit, ""))
			return;
		kymo_row_print(&row, is_selected ? KYMO_STYLE_BOLD : KYMO_STYLE_NONE, "%c %s", is_selected ? '>' : ' ',
			       frame->code ? frame->code->content->function : "?");
		kymo_row_print(&row, KYMO_STYLE_DIM, "  %s:%" PRId64, slash ? slash + 1 : file, frame->line > 0 ? frame->line : 0);
		keep_row(view, &row);
	}
}

/* All but the source, the stack last: it is what is cut where there is no room. */
static void add_panes(struct view *view)
{
	const char *missing;

	add_text(view, KYMO_STYLE_HEAD, 0, "Variables");
	missing = kymo_console_each_variable(view->console, add_value, view);
	if (missing)
		add_text(view, KYMO_STYLE_DIM, 2, missing);
	if (view->console->replay->watch_count) {
		add_text(view, KYMO_STYLE_HEAD, 0, "Watches");
		kymo_console_each_watch(view->console, add_value, view);
	}
	add_stack(view);
}

static void put_words(struct kymo_row *row, struct kymo_word_state *state, const char *line, size_t bytes)
{
	static const char *const styles[] = {
		[KYMO_WORD_OTHER] = KYMO_STYLE_NONE,	 [KYMO_WORD_KEYWORD] = KYMO_STYLE_KEYWORD, [KYMO_WORD_STRING] = KYMO_STYLE_STRING,
		[KYMO_WORD_NUMBER] = KYMO_STYLE_NUMBER, [KYMO_WORD_COMMENT] = KYMO_STYLE_COMMENT,
	};
	enum kymo_word_kind kind, run_kind = KYMO_WORD_OTHER;
	size_t length, run = 0;

	/* Neighbours of one kind together: most of a line is OTHER. */
	for (size_t at = 0; at < bytes; at += length) {
		kind = kymo_word_at(state, line, bytes, at, &length);
		if (kind != run_kind) {
			kymo_row_put(row, styles[run_kind], line + run, at - run);
			run = at;
			run_kind = kind;
		}
	}
	kymo_row_put(row, styles[run_kind], line + run, bytes - run);
}

static const char *break_mark(const struct kymo_breaks *breaks, const char *file, int64_t line)
{
	for (uint32_t i = 0; i < breaks->count; i++)
		if (breaks->items[i].kind == KYMO_BREAK_LINE && breaks->items[i].line == line &&
		    kymo_names_file(breaks->items[i].name, file))
			return breaks->items[i].is_off ? "o" : "*";
	return " ";
}

/* The source around the selected frame's line, in rows of @limit columns, to @texts; their number. */
static unsigned make_source(struct view *view, char **texts, unsigned rows, unsigned limit)
{
	const struct kymo_stack *stack = &view->stack;
	const struct kymo_stack_frame *frame =
		view->console->selected < stack->count ? &stack->frames[stack->count - 1 - view->console->selected] : NULL;
	const struct kymo_source *source = frame && frame->code ? kymo_console_source(view->console, frame->code) : NULL;
	struct kymo_word_state state = {0};
	int64_t first = 1;
	unsigned count = 0;

	if (source && frame->line > (int64_t)rows / 2)
		first = frame->line - (int64_t)rows / 2;
	if (source && first + (int64_t)rows > (int64_t)source->line_count + 1)
		first = (int64_t)source->line_count + 1 > (int64_t)rows ? (int64_t)source->line_count + 1 - (int64_t)rows : 1;
	for (int64_t line = 1; count < rows; line++) {
		size_t bytes = 0;
		const char *text = source ? kymo_source_line(source, (uint64_t)line, &bytes) : NULL;
		bool is_current = text && line == frame->line;
		struct kymo_row row;

		if (text && line < first) { /* where strings begin and end */
			for (size_t at = 0, length; at < bytes; at += length)
				kymo_word_at(&state, text, bytes, at, &length);
			continue;
		}
		if (!begin_row(view, &row, limit, is_current ? view->current : ""))
			break;
		if (text) {
			const char *mark = break_mark(&view->console->replay->breaks, frame->code->content->file, line);

			kymo_row_print(&row, KYMO_STYLE_BREAK, "%s", mark);
			kymo_row_print(&row, is_current ? KYMO_STYLE_BOLD : KYMO_STYLE_DIM, "%5" PRId64 "%s ", line, is_current ? " ->" : "   ");
			put_words(&row, &state, text, bytes);
		} else if (!source && !count) {
			kymo_row_print(&row, KYMO_STYLE_DIM, "  the trace does not hold this source");
		}
		kymo_row_end(&row);
		texts[count++] = row.text;
	}
	return count;
}

static void put_title(struct view *view)
{
	const struct kymo_replay *replay = view->console->replay;
	const struct kymo_event *event = kymo_replay_event(replay);
	const struct kymo_stack_frame *top = kymo_stack_top(&view->stack);
	struct kymo_row row;
	char *name = NULL;
	size_t bytes;
	FILE *out = open_memstream(&name, &bytes);

	if (!out)
		return;
	if (replay->timeline->definitions.process_count > 1)
		fprintf(out, "process %" PRIu32 ", ", event->stream->process->pid);
	kymo_stream_put_name(out, event->stream);
	fclose(out);
	if (name && begin_row(view, &row, view->columns, KYMO_STYLE_TITLE)) {
		kymo_row_print(&row, KYMO_STYLE_NONE, " %s   %s   %.6f s   #%" PRIu64 " %s", top && top->code ? top->code->content->file : "?",
			       name, (double)event->t_ns / 1e9, event->n, kymo_event_kind_name(event->kind));
		kymo_row_end(&row);
		puts(row.text);
		free(row.text);
	}
	free(name);
}

static void put_rule(const struct view *view)
{
	if (view->has_colour)
		printf("\033[%sm", KYMO_STYLE_DIM);
	for (unsigned i = 0; i < view->columns; i++)
		putchar('-');
	puts(view->has_colour ? "\033[m" : "");
}

/* @rows of source, and the other panes beside it or below. */
static void put_panes(struct view *view, unsigned rows)
{
	bool is_wide = view->columns >= WIDE_COLUMNS;
	unsigned side = is_wide ? view->columns * 2 / 5 : 0, below = 0, count;
	char *source[MOST_ROWS];

	view->limit = is_wide ? side - 3 : view->columns;
	add_panes(view);
	if (!is_wide) {
		below = view->count < rows / 2 ? view->count : rows / 2;
		rows -= below;
	}
	count = make_source(view, source, rows, view->columns - side);
	for (unsigned i = 0; i < count; i++) {
		fputs(source[i] ? source[i] : "", stdout);
		if (is_wide)
			printf(" | %s", i < view->count ? view->texts[i] : "");
		putchar('\n');
		free(source[i]);
	}
	for (unsigned i = 0; i < below; i++)
		puts(view->texts[i]);
	for (unsigned i = 0; i < view->count; i++)
		free(view->texts[i]);
}

/* The rows that @text takes. */
static unsigned rows_of(const char *text, unsigned columns)
{
	unsigned rows = 0;

	for (; *text; rows++) {
		size_t length = strcspn(text, "\n");

		rows += (unsigned)(length / columns);
		text += length + (text[length] == '\n');
	}
	return rows;
}

void kymo_console_put_view(struct kymo_console *console, const char *said)
{
	const char *type = getenv("TERM"), *no_colour = getenv("NO_COLOR");
	struct view view = {.console = console, .has_colour = !no_colour || !*no_colour};
	struct winsize size;
	struct kymo_error error;
	unsigned taken, rows;

	view.current = type && strstr(type, "256color") ? "48;5;238" : "7";
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < LEAST_ROWS || size.ws_col < LEAST_COLUMNS) {
		fputs(said, stdout);
		return;
	}
	view.rows = size.ws_row;
	view.columns = size.ws_col;
	taken = rows_of(said, view.columns) + 3; /* the title, the rule and what is typed */
	if (taken + SOURCE_ROWS > view.rows || kymo_replay_stack(console->replay, &view.stack, &error)) {
		fputs(said, stdout);
		return;
	}
	rows = view.rows - taken;
	if (rows > view.rows * 3 / 4)
		rows = view.rows * 3 / 4;
	if (rows > MOST_ROWS)
		rows = MOST_ROWS;
	fputs("\033[H\033[2J", stdout);
	put_title(&view);
	put_panes(&view, rows);
	put_rule(&view);
	fputs(said, stdout);
	kymo_stack_release(&view.stack);
}

void kymo_console_view(struct kymo_console *console, char *argument)
{
	if (!kymo_console_can_view(console))
		kymo_console_fail(console, "view: this is not a terminal that can show it");
	else if (*argument && strcmp(argument, "on") != 0 && strcmp(argument, "off") != 0)
		kymo_console_fail(console, "view: on or off");
	else
		console->has_view = *argument ? !strcmp(argument, "on") : !console->has_view;
}
