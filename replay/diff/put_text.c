// SPDX-License-Identifier: Apache-2.0
/* The report for people. */
#include <inttypes.h>
#include <string.h>

#include "replay/diff/diff.h"
#include "replay/trace/text.h"

#define FRAMES 8U

struct printer {
	FILE *out;
	bool has_colour;
};

static const char *const side_names[] = {"pass", "fail"};
static const char *const labels[] = {"PASS", "FAIL"};
static const char *const colours[] = {"\033[32m", "\033[31m"};

static const char *string_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t integer_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void put(const struct printer *printer, const char *value)
{
	kymo_text_put(printer->out, value ? value : "?");
}

static void put_colour(const struct printer *printer, const char *colour)
{
	if (printer->has_colour)
		fputs(colour, printer->out);
}

static void put_label(const struct printer *printer, size_t side)
{
	put_colour(printer, colours[side]);
	fputs(labels[side], printer->out);
	put_colour(printer, "\033[0m");
}

static void put_count(const struct printer *printer, json_int_t count, const char *what)
{
	char text[KYMO_TEXT_BYTES];

	fprintf(printer->out, "%s %s%s", kymo_text_count((uint64_t)count, text), what, count == 1 ? "" : "s");
}

/* #n or #n.k, as kymo replay's goto takes the first part. */
static void put_position(const struct printer *printer, const json_t *position)
{
	fprintf(printer->out, "#%" JSON_INTEGER_FORMAT, integer_of(position, "n"));
	if (integer_of(position, "k"))
		fprintf(printer->out, ".%" JSON_INTEGER_FORMAT, integer_of(position, "k"));
}

static void put_place(const struct printer *printer, const json_t *place)
{
	if (!string_of(place, "file")) {
		fputs("below all frames", printer->out);
		return;
	}
	put(printer, string_of(place, "file"));
	if (json_is_integer(json_object_get(place, "line")))
		fprintf(printer->out, ":%" JSON_INTEGER_FORMAT, integer_of(place, "line"));
	fputc(' ', printer->out);
	put(printer, string_of(place, "function"));
}

static void put_line(const struct printer *printer, const json_t *place)
{
	const char *text = string_of(place, "text");

	if (json_is_integer(json_object_get(place, "line")))
		fprintf(printer->out, "%5" JSON_INTEGER_FORMAT "  ", integer_of(place, "line"));
	else
		fputs("    ?  ", printer->out);
	if (text)
		put(printer, text + strspn(text, " \t"));
}

#define VALUE_COLUMNS 72U

static void put_value(const struct printer *printer, const json_t *told)
{
	const char *text = string_of(json_object_get(told, "value"), "text");
	size_t bytes = text ? strlen(text) : 0, shown = bytes > VALUE_COLUMNS ? VALUE_COLUMNS : bytes;
	char few[VALUE_COLUMNS + 1];

	while (shown < bytes && shown && (text[shown] & 0xc0) == 0x80)
		shown--;
	if (shown)
		memcpy(few, text, shown);
	few[shown] = '\0';
	put(printer, text ? few : NULL);
	if (shown < bytes)
		fputs("…", printer->out);
}

/* `name.path`, or what is returned, yielded or raised. */
static void put_variable(const struct printer *printer, const json_t *variable)
{
	put(printer, string_of(variable, "name") ? string_of(variable, "name") : string_of(variable, "what"));
	put(printer, string_of(variable, "path"));
}

/* What the frame's variables held on both sides where these parted. */
static void put_values(const struct printer *printer, const json_t *values)
{
	for (size_t i = 0; i < json_array_size(values); i++) {
		const json_t *variable = json_array_get(values, i);

		fputs(i ? "             " : "     values: ", printer->out);
		put_variable(printer, variable);
		fputs(" = ", printer->out);
		put_value(printer, json_object_get(variable, "pass"));
		fputs(" | ", printer->out);
		put_value(printer, json_object_get(variable, "fail"));
		fputc('\n', printer->out);
	}
}

static void put_finding(const struct printer *printer, const json_t *finding)
{
	const json_t *fail = json_object_get(finding, "fail"), *pass = json_object_get(finding, "pass");
	json_int_t lines = integer_of(finding, "lines_before");

	put_variable(printer, finding);
	fputs(" at ", printer->out);
	put_place(printer, fail);
	fputs(": ", printer->out);
	put_value(printer, pass);
	fputs(" in ", printer->out);
	put_label(printer, 0);
	fputs(", ", printer->out);
	put_value(printer, fail);
	fputs(" in ", printer->out);
	put_label(printer, 1);
	if (json_is_integer(json_object_get(finding, "lines_before"))) {
		fputs(", ", printer->out);
		put_count(printer, lines, "line");
		fputs(" before", printer->out);
	}
	fputs("   ", printer->out);
	put_position(printer, json_object_get(fail, "position"));
	fputc('\n', printer->out);
}

/* Values that differ while both still did the same. */
static void put_findings(const struct printer *printer, const json_t *findings)
{
	for (size_t i = 0; i < json_array_size(findings); i++) {
		fputs(i ? "  then " : "The first value that differs: ", printer->out);
		put_finding(printer, json_array_get(findings, i));
	}
}

static void put_thread(const struct printer *printer, const json_t *thread)
{
	fprintf(printer->out, "thread %" JSON_INTEGER_FORMAT, integer_of(thread, "number"));
	if (string_of(thread, "name")) {
		fputs(" '", printer->out);
		put(printer, string_of(thread, "name"));
		fputc('\'', printer->out);
	}
	fprintf(printer->out, " of process %" JSON_INTEGER_FORMAT, integer_of(thread, "process"));
}

static const char *title_of(const char *kind)
{
	static const char *const titles[][2] = {
		{"branch", "went another way"},
		{"loop", "a loop went around more often"},
		{"call", "called something else"},
		{"exception", "raised an exception"},
		{"left", "left in another way"},
		{"thread", "a thread that the other run does not have"},
		{"process", "a process that the other run does not have"},
		{"ending", "the process ended in another way"},
		{"order", "threads in another order"},
		{"unknown", "not known: something is missing here"},
	};

	for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
		if (kind && !strcmp(titles[i][0], kind))
			return titles[i][1];
	return "?";
}

/* Code of libraries is not told where it only follows. */
static bool is_own(const json_t *place)
{
	return json_is_object(place) && !json_is_true(json_object_get(place, "library"));
}

static void put_next(const struct printer *printer, size_t side, const json_t *described)
{
	const json_t *next = json_object_get(described, "next");
	const json_t *may_have_run = json_object_get(next, "may_have_run");
	const char *what = string_of(next, "what");

	fputs("     ", printer->out);
	put_label(printer, side);
	put_line(printer, next);
	if (what && !strcmp(what, "call") && string_of(next, "called")) {
		fputs("   calls ", printer->out);
		put(printer, string_of(next, "called"));
	} else if (what && (!strcmp(what, "return") || !strcmp(what, "yield") || !strcmp(what, "unwind"))) {
		fprintf(printer->out, "   (%s)", !strcmp(what, "unwind") ? "left by an exception" : what);
	} else if (what && !strcmp(what, "end")) {
		fputs("   (nothing more was recorded here)", printer->out);
	} else if (what && !strcmp(what, "missing") && !json_is_object(may_have_run)) {
		fputs("   (lost, or not known)", printer->out);
	}
	if (json_is_object(may_have_run))
		fprintf(printer->out, "   (the thread ended here: lines %lld to %lld may have run)",
			(long long)json_integer_value(json_object_get(may_have_run, "first_line")),
			(long long)json_integer_value(json_object_get(may_have_run, "last_line")));
	fputs("   ", printer->out);
	put_position(printer, json_object_get(described, "position"));
	fputc('\n', printer->out);
	if (is_own(json_object_get(next, "body"))) {
		fputs("            begins at ", printer->out);
		put_place(printer, json_object_get(next, "body"));
		fputs("\n            ", printer->out);
		put_line(printer, json_object_get(next, "body"));
		fputc('\n', printer->out);
	}
}

static void put_handler(const struct printer *printer, const json_t *lines)
{
	if (!json_array_size(lines))
		return;
	fputs("            it went to ", printer->out);
	put_place(printer, json_array_get(lines, 0));
	fputc('\n', printer->out);
	for (size_t i = 0; i < json_array_size(lines); i++) {
		fputs("            ", printer->out);
		put_line(printer, json_array_get(lines, i));
		fputc('\n', printer->out);
	}
}

static void put_alone(const struct printer *printer, size_t side, const json_t *described)
{
	const json_t *alone = json_object_get(described, "alone"), *called = json_object_get(alone, "called"),
		     *raised = json_object_get(described, "exception");
	json_int_t lines = integer_of(alone, "lines"), calls = integer_of(alone, "calls"), rounds = integer_of(alone, "rounds");

	if (lines || calls) {
		fputs("     ", printer->out);
		put_label(printer, side);
		fputs(" alone: ", printer->out);
		if (rounds) {
			put_count(printer, rounds, "time");
			fputs(" around, ", printer->out);
		}
		put_count(printer, lines, "line");
		if (calls) {
			fputs(", ", printer->out);
			put_count(printer, calls, "call");
		}
		for (size_t i = 0; i < json_array_size(called); i++) {
			fputs(i ? ", " : ": ", printer->out);
			put(printer, json_string_value(json_array_get(called, i)));
		}
		fputs(calls > (json_int_t)json_array_size(called) ? ", …\n" : "\n", printer->out);
	}
	if (json_is_object(raised)) {
		fputs("     ", printer->out);
		put_label(printer, side);
		fputs(" raised ", printer->out);
		if (json_is_object(json_object_get(raised, "value")))
			put_value(printer, raised);
		else
			put(printer, string_of(raised, "type"));
		fputs(" at ", printer->out);
		put_place(printer, raised);
		fputs("   ", printer->out);
		put_position(printer, json_object_get(raised, "position"));
		fputc('\n', printer->out);
		put_handler(printer, json_object_get(raised, "handler"));
	}
}

static void put_loops(const struct printer *printer, const json_t *loops)
{
	for (size_t i = 0; i < json_array_size(loops); i++) {
		const json_t *loop = json_array_get(loops, i);

		fputs("     in ", printer->out);
		if (json_is_integer(json_object_get(loop, "round")))
			fprintf(printer->out, "round %" JSON_INTEGER_FORMAT " of ", integer_of(loop, "round"));
		fputs("the loop\n         ", printer->out);
		put_line(printer, loop);
		fputc('\n', printer->out);
	}
}

static void put_stack(const struct printer *printer, const json_t *described)
{
	const json_t *stack = json_object_get(described, "stack");
	size_t count = json_array_size(stack), told = 2;

	/* Up to the outermost that is of no library. */
	for (size_t i = 1; i < count && i <= FRAMES; i++)
		if (!json_is_true(json_object_get(json_array_get(stack, i), "library")))
			told = i + 1;
	if (told > count)
		told = count;
	for (size_t i = 1, next; i < told; i = next) {
		for (next = i; next < told && json_is_true(json_object_get(json_array_get(stack, next), "library")); next++)
			;
		fputs(i == 1 ? "     called from " : "                 ", printer->out);
		if (next > i + 1) {
			fprintf(printer->out, "%zu frames of libraries\n", next - i);
			continue;
		}
		next = i + 1;
		put_place(printer, json_array_get(stack, i));
		fputc('\n', printer->out);
	}
	if (told && integer_of(described, "depth") > (json_int_t)told)
		fprintf(printer->out, "                 … and %" JSON_INTEGER_FORMAT " more\n",
			integer_of(described, "depth") - (json_int_t)told);
}

static void put_order(const struct printer *printer, const json_t *order)
{
	size_t side = string_of(order, "side") && !strcmp(string_of(order, "side"), "fail");
	const json_t *other = json_object_get(order, "other");

	fputs("     ", printer->out);
	put_label(printer, side);
	fputs(" alone: ", printer->out);
	put_thread(printer, json_object_get(order, "thread"));
	fputs("\n       stopped between ", printer->out);
	put_place(printer, json_object_get(order, "before"));
	fputs("\n         ", printer->out);
	put_line(printer, json_object_get(order, "before"));
	fputs("   ", printer->out);
	put_position(printer, json_object_get(order, "before_position"));
	fputs("\n         ", printer->out);
	put_line(printer, json_object_get(order, "after"));
	fputs("   ", printer->out);
	put_position(printer, json_object_get(order, "position"));
	fputs("\n       while ", printer->out);
	put_thread(printer, json_object_get(order, "other_thread"));
	fputs(" ran ", printer->out);
	put_place(printer, other);
	fprintf(printer->out, " to line %" JSON_INTEGER_FORMAT "   ", integer_of(other, "last_line"));
	put_position(printer, json_object_get(order, "other_position"));
	fputc('\n', printer->out);
}

static void put_process(const struct printer *printer, size_t side, const json_t *process)
{
	const json_t *words = json_object_get(process, "argv");

	if (!json_is_object(process))
		return;
	fputs("     ", printer->out);
	put_label(printer, side);
	fprintf(printer->out, " process %" JSON_INTEGER_FORMAT, integer_of(process, "pid"));
	for (size_t i = 0; i < json_array_size(words); i++) {
		fputc(' ', printer->out);
		put(printer, json_string_value(json_array_get(words, i)));
	}
	fputs(": ", printer->out);
	put(printer, string_of(process, "ending"));
	fputc('\n', printer->out);
}

static void put_sides(const struct printer *printer, const json_t *difference)
{
	const json_t *sides[] = {json_object_get(difference, "pass"), json_object_get(difference, "fail")};
	const json_t *told = json_is_object(sides[1]) ? sides[1] : sides[0], *common = json_object_get(told, "last_common");

	if (!json_is_object(told))
		return;
	fputs("     ", printer->out);
	put_place(printer, json_is_object(common) ? common : json_object_get(told, "next"));
	fputs(", ", printer->out);
	put_thread(printer, json_object_get(told, "thread"));
	fputc('\n', printer->out);
	for (size_t i = 0; i < json_array_size(json_object_get(told, "before")); i++) {
		fputs("         ", printer->out);
		put_line(printer, json_array_get(json_object_get(told, "before"), i));
		fputc('\n', printer->out);
	}
	if (json_is_object(common)) {
		fputs("         ", printer->out);
		put_line(printer, common);
		fputs("   ", printer->out);
		put_position(printer, json_object_get(common, "position"));
		fputc('\n', printer->out);
	}
	for (size_t s = 0; s < 2; s++)
		if (json_is_object(sides[s]))
			put_next(printer, s, sides[s]);
	for (size_t s = 0; s < 2; s++)
		put_alone(printer, s, sides[s]);
	put_values(printer, json_object_get(difference, "values"));
	put_loops(printer, json_object_get(told, "loops"));
	put_stack(printer, told);
}

static void put_difference(const struct printer *printer, const json_t *difference)
{
	const char *kind = string_of(difference, "kind");
	json_int_t number = integer_of(difference, "number"), count = integer_of(difference, "count");

	fputc('\n', printer->out);
	put_colour(printer, "\033[1m");
	fprintf(printer->out, "%3" JSON_INTEGER_FORMAT ". %s%s", number, number == 1 && kind && strcmp(kind, "unknown") != 0 ? "first divergence: " : "", title_of(kind));
	put_colour(printer, "\033[0m");
	if (count > 1) {
		fputs(", ", printer->out);
		put_count(printer, count, "time");
	}
	if (json_is_integer(json_object_get(difference, "beneath")))
		fprintf(printer->out, " (after %" JSON_INTEGER_FORMAT ")", integer_of(difference, "beneath"));
	fputs(json_is_true(json_object_get(difference, "library")) ? " (library)\n" : "\n", printer->out);
	if (kind && !strcmp(kind, "order")) {
		put_order(printer, json_object_get(difference, "order"));
	} else if (kind && (!strcmp(kind, "ending") || !strcmp(kind, "process"))) {
		for (size_t s = 0; s < 2; s++)
			put_process(printer, s, json_object_get(difference, side_names[s]));
	} else {
		put_sides(printer, difference);
	}
}

void kymo_diff_put_text(FILE *out, const json_t *report, bool has_colour)
{
	const struct printer printer = {out, has_colour};
	const json_t *differences = json_object_get(report, "differences"), *notes = json_object_get(report, "notes"),
		     *compared = json_object_get(report, "compared");

	for (size_t s = 0; s < 2; s++) {
		const json_t *run = json_object_get(report, side_names[s]);

		put_label(&printer, s);
		fputc(' ', out);
		put(&printer, string_of(run, "trace"));
		if (string_of(run, "test")) {
			fputs(", ", out);
			put(&printer, string_of(run, "test"));
		}
		fputs(": ", out);
		put(&printer, string_of(run, "ending"));
		fputc('\n', out);
	}
	for (size_t i = 0; i < json_array_size(notes); i++) {
		put(&printer, json_string_value(json_array_get(notes, i)));
		fputc('\n', out);
	}
	if (json_is_true(json_object_get(report, "same")))
		fputs(integer_of(report, "unknown") ? "No difference is known: " : "The same: ", out);
	else
		fputs("They differ: ", out);
	put_count(&printer, integer_of(compared, "threads"), "thread");
	fputs(" compared, ", out);
	put_count(&printer, integer_of(compared, "steps"), "step");
	fprintf(out, ", %.4g %% the same on both sides\n",
		integer_of(compared, "steps") ? 100.0 * (double)integer_of(compared, "common") / (double)integer_of(compared, "steps") : 100.0);
	put_findings(&printer, json_object_get(json_object_get(report, "values"), "first"));
	for (size_t i = 0; i < json_array_size(differences); i++)
		put_difference(&printer, json_array_get(differences, i));
	if (integer_of(report, "more")) {
		fputc('\n', out);
		put_count(&printer, integer_of(report, "more"), "more difference");
		fputs("; --limit shows more\n", out);
	}
}
