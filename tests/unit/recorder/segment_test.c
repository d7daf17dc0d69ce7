// SPDX-License-Identifier: Apache-2.0
/* What chunk headers and the definitions stream say of segments. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/recording.h"

static struct recording r;

static void set_up(void)
{
	recording_make(&r, KYMO_POLICY_DROP, 16);
	recording_start(&r);
}

static void tear_down(void)
{
	recording_remove(&r);
}

TestSuite(segment, .init = set_up, .fini = tear_down, .timeout = 20);

static void record(const struct kymo_host *host)
{
	struct kymo_producer *p = kymo_producer;

	if (!kymo_is_ready(p))
		p = kymo_refill(host);
	cr_assert(p);
	kymo_append1(p, KYMO_PY_RETURN, 1);
}

Test(segment, its_chunks_begin_and_end_with_it)
{
	const uint64_t segments[] = {0, 1, 0, 2, 0};
	const struct kymo_chunk *chunks;
	struct stream_walk walk;
	Kymo__Definition *definition;
	uint64_t ended = 0;
	uint32_t count;
	int folder = recording_open_folder(&r, getpid());

	record(&r.host);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(kymo_segment_begin(&r.host), 0);
		cr_assert_eq(kymo_segment_begin(&r.host), -EBUSY);
		record(&r.host);
		record(&r.host);
		cr_assert_eq(kymo_segment_end(&r.host, i), 0);
		cr_assert_eq(kymo_segment_end(&r.host, i), -EINVAL);
		record(&r.host);
	}
	chunks = recording_chunks(folder, 1, &count);
	cr_assert_eq(count, 5);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(chunks[i].segment, segments[i]);
		cr_assert_eq(chunks[i].is_open, i == 4);
		cr_assert_eq(chunks[i].lost_before, 0);
	}
	cr_assert_eq(chunks[3].last_ordinal, 6);
	walk = stream_walk_begin(folder);
	while ((definition = stream_walk_next(&walk))) {
		if (definition->kind_case == KYMO__DEFINITION__KIND_SEGMENT_END) {
			cr_assert_eq(definition->segment_end->segment, ++ended);
			cr_assert_eq(definition->segment_end->keep, ended == 2);
		}
		kymo__definition__free_unpacked(definition, NULL);
	}
	cr_assert_eq(ended, 2);
	close(folder);
}

Test(segment, where_nothing_is_recorded_no_chunk_is_opened)
{
	uint32_t count;
	int folder = recording_open_folder(&r, getpid());

	record(&r.host);
	for (int i = 0; i < 100; i++) {
		cr_assert_eq(kymo_segment_begin(&r.host), 0);
		cr_assert_eq(kymo_segment_end(&r.host, false), 0);
	}
	recording_chunks(folder, 1, &count);
	cr_assert_eq(count, 1);
	close(folder);
}

Test(segment, a_chunk_of_another_gil_that_goes_on_after_the_end_lies_in_none)
{
	struct kymo_gil other_gil = {0};
	struct kymo_host other = r.host;
	const struct kymo_chunk *chunks;
	uint32_t count;
	int folder = recording_open_folder(&r, getpid());

	other.gil = &other_gil;
	cr_assert_eq(kymo_segment_begin(&other), 0);
	record(&r.host); /* no thread of @other's GIL */
	cr_assert_eq(kymo_segment_end(&other, false), 0);
	record(&r.host);
	cr_assert_eq(kymo_segment_begin(&r.host), 0);
	record(&r.host);
	cr_assert_eq(kymo_segment_end(&other, false), 0);
	chunks = recording_chunks(folder, 1, &count);
	cr_assert_eq(count, 2);
	cr_assert_eq(chunks[0].last_ordinal, 2);
	cr_assert_eq(chunks[0].segment, 0);
	cr_assert(chunks[1].is_open && !chunks[1].segment);
	close(folder);
}

Test(segment, a_forked_child_begins_without_one_and_may_end_its_parents_once)
{
	pid_t child;
	int status;

	record(&r.host);
	cr_assert_eq(kymo_segment_begin(&r.host), 0);
	record(&r.host);
	child = fork();
	if (!child) {
		record(&r.host);
		if (kymo_segment_end(&r.host, false) || kymo_segment_end(&r.host, false) != -EINVAL)
			_exit(1);
		if (kymo_segment_begin(&r.host) || kymo_segment_end(&r.host, false))
			_exit(2);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(kymo_segment_end(&r.host, true), 0);
}

Test(segment, where_nothing_is_recorded_there_is_none)
{
	record(&r.host);
	cr_assert_eq(kymo_segment_begin(&r.host), 0);
	kymo_process_stop(&r.gil);
	cr_assert_eq(kymo_segment_end(&r.host, true), 0);
	cr_assert_eq(kymo_segment_begin(&r.host), 0);
	recording_start(&r);
	cr_assert_eq(kymo_segment_end(&r.host, true), -EINVAL);
}
