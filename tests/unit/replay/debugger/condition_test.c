// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/condition.h"
#include "replay/trace/line_table.h"

#define HITS 12

static struct kymo_traced_process process = {.pid = 4711};
static struct kymo_traced_thread thread = {.name = (char *)"worker"};
static const struct kymo_stream stream = {.process = &process, .thread = &thread, .number = 3};
static struct kymo_content content = {.file = (char *)"/srv/app.py", .function = (char *)"Shop.sell", .first_line = 7};
static struct kymo_content caller_content = {.file = (char *)"/srv/app.py", .function = (char *)"main", .first_line = 1};
static const struct kymo_code code = {.content = &content}, caller = {.content = &caller_content};

/* At a line of Shop.sell, which main called. */
static struct kymo_walker at_line(struct kymo_stack_frame frames[2])
{
	frames[0] = (struct kymo_stack_frame){.code = &caller, .line = 2};
	frames[1] = (struct kymo_stack_frame){.code = &code, .line = 9};
	return (struct kymo_walker){
		.event = {.stream = &stream, .kind = KYMO_LINE, .line = 9, .code = &code, .t_ns = 1500000000},
		.stack = {.frames = frames, .count = 2, .hidden = 4},
	};
}

static bool holds(const char *text)
{
	struct kymo_stack_frame frames[2];
	struct kymo_walker walker = at_line(frames);
	struct kymo_error error;
	struct kymo_condition *condition = kymo_condition_new(text, NULL, &error);
	bool result;

	cr_assert(condition, "%s: %s", text, error.message);
	result = kymo_condition_holds(condition, &walker, HITS);
	/* It comes to the same each time. */
	cr_assert_eq(kymo_condition_holds(condition, &walker, HITS), result);
	kymo_condition_free(condition);
	return result;
}

static const char *value(const char *text)
{
	static char out[64];
	struct kymo_stack_frame frames[2];
	struct kymo_walker walker = at_line(frames);
	struct kymo_condition *condition = kymo_condition_new(text, NULL, NULL);

	cr_assert(condition, "%s", text);
	kymo_condition_value(condition, &walker, HITS, NULL, out, sizeof out);
	kymo_condition_free(condition);
	return out;
}

Test(condition, every_name_is_what_the_walker_knows)
{
	cr_assert(holds("hits == 12 and hits % 5 = 2"));
	cr_assert(holds("depth == 6"));
	cr_assert(holds("line = 9"));
	cr_assert(holds("file == '/srv/app.py' and function == 'Shop.sell' and caller == 'main'"));
	cr_assert(holds("exception is null"));
	cr_assert(holds("thread == 3 and thread_name like 'work%'"));
	cr_assert(holds("pid == 4711"));
	cr_assert(holds("time == 1.5"));
	cr_assert(holds("function in ('a', 'Shop.sell') and not (depth < 6 or line > 9)"));
	cr_assert(holds("caller == \"main\""));
	cr_assert(!holds("caller == 'nobody'"));
	cr_assert(!holds("exception == 'ValueError'"));
	cr_assert(!holds("null"));
	cr_assert_str_eq(value("function || ':' || line"), "Shop.sell:9");
	cr_assert_str_eq(value("exception"), "None");
	cr_assert_str_eq(value("hex(zeroblob(100))"), "000000000000000000000000000000000000000000000000000000000000000");
}

Test(condition, python_comes_before_sql)
{
	cr_assert(holds("0 < depth < 7"));
	cr_assert(!holds("9 < line < 3")); /* in SQL, 0 < 3 */
	cr_assert(holds("exception is None and exception == None and caller != None"));
	cr_assert(holds("exception != 'ValueError'"));
	cr_assert(holds("'Shop' in function and caller not in [\"Shop\", 'x']"));
	cr_assert(holds("hits / 8 == 1.5 and -7 // 2 == -4 and -7 % 3 == 2"));
	cr_assert(!holds("1 < 'a'"));
	cr_assert(!holds("not 1 < 'a'"));
	cr_assert(!holds("1 / 0 == 1 / 0"));
	cr_assert(holds("len(caller) == 4 or 1 / 0"));
	cr_assert_str_eq(value("depth > 3"), "True");
	cr_assert_str_eq(value("caller or line"), "main");
	cr_assert_str_eq(value("time"), "1.5");
	cr_assert_str_eq(value("1 / 0"), "<it is divided by 0>");
}

Test(condition, who_asks_for_hits_is_known)
{
	struct kymo_condition *with = kymo_condition_new("HITS > 3", NULL, NULL), *without = kymo_condition_new("depth > 3", NULL, NULL);

	cr_assert(kymo_condition_needs_hits(with));
	cr_assert(!kymo_condition_needs_hits(without));
	kymo_condition_free(with);
	kymo_condition_free(without);
}

Test(condition, what_is_no_expression_of_these_names_is_refused)
{
	static const char *const refused[] = {
		"",
		" ",
		"--",
		"/*",
		"(",
		")",
		"'",
		"depth >",
		"depth, line",
		"depth; line",
		"nobody > 3",
		"1) from hit; drop table x --",
		"1) from hit; select (1",
		"1), (2",
		"1) from hit where (1",
		"1) from hit union select (2",
		"?12",
		"load_extension('x')",
		"(select name from sqlite_master)",
		"(select 1 from pragma_table_info('hit'))",
		"readfile('/etc/passwd')",
		"(with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n)",
		"(insert into hit values (1))",
		"(attach 'x' as y)",
	};

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct kymo_error error = {{0}};
		struct kymo_condition *condition = kymo_condition_new(refused[i], NULL, &error);

		cr_assert_null(condition, "%s", refused[i]);
		cr_assert(*error.message && !strchr(error.message, '\n'), "%s: %s", refused[i], error.message);
	}
}

Test(condition, what_would_never_end_is_given_up)
{
	static const char two[] = "(select 1 union all select 2)";
	char text[4096] = "(select count(*) from ";
	struct kymo_stack_frame frames[2];
	struct kymo_walker walker = at_line(frames);
	struct kymo_condition *condition;
	struct kymo_error error;
	char out[16];

	for (int i = 0; i < 60; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", two);
	strcat(text, ") > 0");
	condition = kymo_condition_new(text, NULL, &error);
	cr_assert(condition, "%s", error.message);
	cr_assert(!kymo_condition_holds(condition, &walker, 1));
	kymo_condition_value(condition, &walker, 1, NULL, out, sizeof out);
	cr_assert_str_eq(out, "null");
	kymo_condition_free(condition);
	/* The limit is of one hit, not of all. */
	condition = kymo_condition_new("hits > 0", NULL, NULL);
	for (uint64_t i = 1; i < 200000; i++)
		cr_assert(kymo_condition_holds(condition, &walker, i));
	kymo_condition_free(condition);
}

Test(condition, any_text_is_refused_or_computed)
{
	static const char *const words[] = {"(", ")", "hits", "depth", "and", "select", "from hit", ";", "'", "\"", "--", "*",
					    "1", "null", ",", "case when", "then", "end", "union", "/*", "like", "||", "with"};
	struct kymo_stack_frame frames[2];
	struct kymo_walker walker = at_line(frames);

	srand(1);
	for (int turn = 0; turn < 3000; turn++) {
		char text[256] = "";
		struct kymo_condition *condition;

		for (int i = rand() % 12; i >= 0; i--)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
				 words[(size_t)rand() % (sizeof words / sizeof *words)]);
		condition = kymo_condition_new(text, NULL, NULL);
		if (condition)
			kymo_condition_holds(condition, &walker, 1);
		kymo_condition_free(condition);
	}
}
