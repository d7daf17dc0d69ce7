// SPDX-License-Identifier: Apache-2.0
#include "replay/trace/sources.h"

#include <errno.h>

#include "tests/unit/replay/trace_maker.h"

static struct maker maker;
static struct payload stream;
static struct kymo_timeline timeline;
static struct kymo_source source;
static struct kymo_error error;

static void add_source(const char *file, uint32_t process, const char *text, const char *missing)
{
	Kymo__Source message = KYMO__SOURCE__INIT;

	message.file = (char *)(uintptr_t)file;
	message.process = process;
	message.text = (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
	message.verified = true;
	message.missing = (char *)(uintptr_t)missing;
	ADD(&stream, SOURCE, source, &message);
}

/* A process that was forked from that of make_definitions(). */
static void make_child(uint32_t number)
{
	struct payload definitions = {.length = 0};
	Kymo__Process process = KYMO__PROCESS__INIT;

	process.pid = 200;
	process.parent_pid = 100;
	process.folder = "200-1-b";
	process.forked_from = "100-1-a";
	ADD(&definitions, PROCESS, process, &process);
	make_meta(&maker, number, &definitions);
}

static void open_made(void)
{
	make_meta(&maker, 0, &stream);
	cr_assert_eq(kymo_timeline_open(&timeline, make_file(&maker), 0, &error), 0, "%s", error.message);
	unlink(maker.path);
}

/* The text that process @number has by @file. */
static const char *text(uint32_t number, const char *file)
{
	kymo_source_release(&source);
	cr_assert_eq(kymo_traced_source(&timeline, kymo_traced_find(&timeline.definitions, number), file, &source,
					&error),
		     0, "%s", error.message);
	return source.text;
}

static bool is_line(uint64_t number, const char *wanted)
{
	size_t bytes;
	const char *line = kymo_source_line(&source, number, &bytes);

	return line && bytes == strlen(wanted) && !memcmp(line, wanted, bytes);
}

Test(sources, a_process_has_its_own_then_its_ancestors_then_that_of_all)
{
	make_start(&maker);
	make_child(2);
	add_source("a.py", 0, "all", "");
	add_source("b.py", 0, "all", "");
	add_source("b.py", 1, "parent", "");
	add_source("b.py", 2, "child", "");
	add_source("c.py", 0, "all", "");
	add_source("c.py", 1, "parent", "");
	add_source("c.py", 1, "never", "");
	open_made();
	cr_assert_str_eq(text(1, "a.py"), "all");
	cr_assert_str_eq(text(2, "a.py"), "all");
	cr_assert_str_eq(text(1, "b.py"), "parent");
	cr_assert_str_eq(text(2, "b.py"), "child");
	cr_assert_str_eq(text(2, "c.py"), "parent");
	cr_assert_str_eq(text(0, "c.py"), "all");
	cr_assert(source.is_verified);
	kymo_source_release(&source);
	cr_assert_eq(kymo_traced_source(&timeline, NULL, "d.py", &source, &error), -ENOENT);
	kymo_timeline_close(&timeline);
}

Test(sources, a_missing_text_says_why_and_is_never_verified)
{
	make_start(&maker);
	add_source("a.py", 0, "text all the same", "no such file");
	open_made();
	cr_assert_null(text(1, "a.py"));
	cr_assert_str_eq(source.missing, "no such file");
	cr_assert_not(source.is_verified || source.bytes);
	cr_assert_not(is_line(1, ""));
	kymo_timeline_close(&timeline);
}

Test(sources, lines_end_as_python_has_it)
{
	make_start(&maker);
	add_source("a.py", 0, "one\n\ntwo\r\nthree\rfour\f\n\r\nlast", "");
	add_source("b.py", 0, "", "");
	add_source("c.py", 0, "one\r", "");
	open_made();
	text(1, "a.py");
	cr_assert(is_line(1, "one") && is_line(2, "") && is_line(3, "two") && is_line(4, "three"));
	cr_assert(is_line(5, "four\f") && is_line(6, "") && is_line(7, "last"));
	cr_assert_not(is_line(0, "") || is_line(8, ""));
	cr_assert_str_eq(text(1, "b.py"), "");
	cr_assert_eq(source.line_count, 0);
	text(1, "c.py");
	cr_assert(is_line(1, "one") && !is_line(2, ""));
	kymo_source_release(&source);
	kymo_timeline_close(&timeline);
}

Test(sources, a_damaged_frame_is_an_error_when_it_is_read)
{
	make_start(&maker);
	add_source("a.py", 0, "text", "");
	open_made();
	timeline.definitions.sources->offset++;
	cr_assert_eq(kymo_traced_source(&timeline, NULL, "a.py", &source, &error), -EBADMSG);
	timeline.definitions.sources->offset = UINT64_MAX;
	cr_assert_eq(kymo_traced_source(&timeline, NULL, "a.py", &source, &error), -EBADMSG);
	kymo_timeline_close(&timeline);
}

static void add_kept(struct payload *definitions, uint64_t id, const char *file, const char *kept, const char *missing)
{
	Kymo__Source message = KYMO__SOURCE__INIT;

	message.id = id;
	message.file = (char *)(uintptr_t)file;
	message.text = (ProtobufCBinaryData){strlen(kept), (uint8_t *)(uintptr_t)kept};
	message.missing = (char *)(uintptr_t)missing;
	ADD(definitions, SOURCE, source, &message);
}

/* The text of code of process @number that names source @id of @file. */
static const char *kept_text(uint32_t number, uint64_t id, const char *file)
{
	const struct kymo_content content = {.file = file, .process = number, .source = id};
	const struct kymo_traced_process *process = kymo_traced_find(&timeline.definitions, number);

	kymo_source_release(&source);
	return kymo_content_source(&timeline, process, &content, &source, &error) ? "none" : source.text;
}

Test(sources, code_has_the_text_that_its_process_kept_for_it)
{
	struct payload parent = {.length = 0}, child = {.length = 0};
	Kymo__Process process = KYMO__PROCESS__INIT;

	make_start(&maker);
	process.pid = 300;
	process.folder = "300-1-c";
	ADD(&parent, PROCESS, process, &process);
	add_kept(&parent, 1, "<a>", "one", "");
	add_kept(&parent, 2, "<a>", "two", "");
	add_kept(&parent, 3, "<b>", "", "larger");
	process.forked_at = parent.length;
	add_kept(&parent, 4, "<a>", "later", "");
	add_kept(&parent, 0, "<none>", "of nothing", "");
	make_meta(&maker, 3, &parent);
	process.pid = 400;
	process.parent_pid = 300;
	process.folder = "400-1-d";
	process.forked_from = "300-1-c";
	ADD(&child, PROCESS, process, &process);
	add_kept(&child, 5, "<a>", "child", "");
	add_kept(&child, 6, "<c>", "alone", "");
	make_meta(&maker, 4, &child);
	add_source("<a>", 0, "", "not recorded");
	add_source("<b>", 0, "file", "");
	open_made();
	cr_assert_str_eq(kept_text(3, 1, "<a>"), "one");
	cr_assert(source.is_kept && !source.is_verified);
	cr_assert_str_eq(kept_text(3, 2, "<a>"), "two");
	cr_assert_str_eq(kept_text(4, 2, "<a>"), "two");
	cr_assert_str_eq(kept_text(3, 4, "<a>"), "later");
	cr_assert_str_eq(kept_text(4, 4, "<a>"), "none");
	cr_assert_str_eq(kept_text(4, 5, "<a>"), "child");
	cr_assert_str_eq(kept_text(3, 5, "<a>"), "none");
	cr_assert_str_eq(kept_text(3, 1, "<b>"), "none");
	cr_assert_null(kept_text(3, 3, "<b>"));
	cr_assert_str_eq(source.missing, "larger");
	cr_assert_null(kept_text(3, 0, "<a>"));
	cr_assert_str_eq(source.missing, "not recorded");
	cr_assert_not(source.is_kept);
	/* By the name alone. */
	cr_assert_str_eq(text(3, "<b>"), "file");
	cr_assert_str_eq(text(4, "<c>"), "alone");
	kymo_source_release(&source);
	cr_assert_eq(kymo_traced_source(&timeline, kymo_traced_find(&timeline.definitions, 4), "<a>", &source, &error), -ENOTUNIQ);
	cr_assert_eq(kymo_traced_source(&timeline, kymo_traced_find(&timeline.definitions, 3), "<none>", &source, &error), -ENOENT);
	kymo_timeline_close(&timeline);
}
