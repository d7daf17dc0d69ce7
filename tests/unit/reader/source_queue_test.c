// SPDX-License-Identifier: Apache-2.0
/* The queue of sources, from definitions to the trace. */
#include "reader/source_queue.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/metadata.pb-c.h"
#include "format/varint.h"
#include "replay/trace/sources.h"

static char folder[] = "/tmp/kymo-queue-XXXXXX";
static char output[64], file[64];
static struct kymo_trace_writer writer;
static struct kymo_sources *sources;
static struct kymo_timeline timeline;
static uint32_t process = 1;
static uint64_t position; /* in its stream */

static void begin(void)
{
	const struct kymo_trace_options options = {.may_replace = true};
	FILE *stream;

	cr_assert(mkdtemp(folder));
	snprintf(output, sizeof output, "%s/a.kymo", folder);
	snprintf(file, sizeof file, "%s/a.py", folder);
	stream = fopen(file, "w");
	fputs("x = 1\n", stream);
	fclose(stream);
	cr_assert_eq(kymo_trace_writer_create(&writer, output, &options, NULL), 0);
	sources = kymo_sources_make(&writer, 0);
	cr_assert(sources);
	kymo_sources_begin_process(sources, 1, 0, 0);
}

static void finish(void)
{
	unlink(output);
	unlink(file);
	rmdir(folder);
}

/* The process defines code of the file @name. */
static void define(const char *name)
{
	Kymo__Definition definition = KYMO__DEFINITION__INIT;
	Kymo__Content content = KYMO__CONTENT__INIT;
	uint8_t bytes[PATH_MAX];
	size_t length;

	content.file = (char *)(uintptr_t)name;
	definition.kind_case = KYMO__DEFINITION__KIND_CONTENT;
	definition.content = &content;
	length = kymo_varint_put(bytes, kymo__definition__get_packed_size(&definition));
	length += kymo__definition__pack(&definition, bytes + length);
	kymo_sources_scan(sources, process, position, bytes, length, false);
	position += length;
}

/* Write what is queued, and open the trace. */
static size_t close_trace(uint64_t patience_ns)
{
	kymo_sources_finish(sources, patience_ns);
	kymo_sources_free(sources);
	cr_assert_eq(kymo_trace_writer_close(&writer, NULL), 0);
	cr_assert_eq(kymo_timeline_open(&timeline, output, 0, NULL), 0);
	return timeline.definitions.source_count;
}

static const char *missing(const char *name)
{
	struct kymo_source source;
	const char *why;

	cr_assert_eq(kymo_traced_source(&timeline, NULL, name, &source, NULL), 0);
	why = source.missing;
	kymo_source_release(&source);
	return why;
}

TestSuite(source_queue, .init = begin, .fini = finish, .timeout = 60);

Test(source_queue, a_file_is_read_once)
{
	define(file);
	define(file);
	define("<made up>");
	cr_assert(kymo_sources_work(sources, 0));
	define(file);
	cr_assert_not(kymo_sources_work(sources, UINT64_MAX));
	cr_assert_eq(close_trace(0), 2);
	cr_assert_null(missing(file));
	cr_assert_str_eq(missing("<made up>"), "not recorded");
}

Test(source_queue, what_is_left_when_patience_ends_is_told)
{
	define(file);
	define("<made up>");
	cr_assert_eq(close_trace(0), 2);
	cr_assert_str_eq(missing(file), "not read in time");
	cr_assert_str_eq(missing("<made up>"), "not recorded");
}

Test(source_queue, definitions_that_were_scanned_are_passed_over)
{
	define(file);
	cr_assert_eq(kymo_sources_scanned(sources, 1), position);
	kymo_sources_end_process(sources, 1);
	cr_assert_not(kymo_sources_work(sources, UINT64_MAX));
	process = 2;
	position = 0;
	kymo_sources_begin_process(sources, process, 0, 1000);
	define("never");
	cr_assert_eq(kymo_sources_scanned(sources, 2), 1000);
	cr_assert_eq(kymo_sources_scanned(sources, 1), UINT64_MAX);
	cr_assert_eq(close_trace(1000000000), 1);
}

Test(source_queue, a_program_may_make_up_names_without_end)
{
	char name[32];

	for (unsigned i = 0; i < 70000; i++) {
		snprintf(name, sizeof name, "<made up %u>", i);
		define(name);
	}
	cr_assert_eq(close_trace(UINT64_MAX / 2), 65536);
}
