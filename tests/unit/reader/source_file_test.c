// SPDX-License-Identifier: Apache-2.0
/* When a text is taken to be what ran. */
#include "reader/source_file.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT "x = 1\n"

static char folder[64], source[96], cached[128];
static struct kymo_source_state state;
static struct kymo_source_code code = {
	.cache_tag = "cpython-313",
	.bytecode = (const uint8_t *)"bytecode",
	.bytecode_bytes = 8,
	.line_table = (const uint8_t *)"lines",
	.line_table_bytes = 5,
};

static void put(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert_eq(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

static void begin(void)
{
	bool is_steady;
	uint8_t *text;

	strcpy(folder, "/tmp/kymo-test-XXXXXX");
	cr_assert(mkdtemp(folder));
	snprintf(source, sizeof source, "%s/module.py", folder);
	snprintf(cached, sizeof cached, "%s/__pycache__", folder);
	mkdir(cached, 0700);
	snprintf(cached, sizeof cached, "%s/__pycache__/module.cpython-313.pyc", folder);
	put(source, TEXT, strlen(TEXT));
	text = kymo_source_read(source, &state, &is_steady);
	cr_assert(text && is_steady && state.bytes == strlen(TEXT) && !memcmp(text, TEXT, state.bytes));
	free(text);
	code.image_ns = 0;
}

static void finish(void)
{
	unlink(source);
	unlink(cached);
	*strrchr(cached, '/') = '\0';
	rmdir(cached);
	rmdir(folder);
}

/* A .pyc that is a second younger than the source, or as old. */
static void cache(uint32_t flags, uint32_t size, const char *bytes, bool is_younger)
{
	uint8_t file[64] = "magc";
	uint32_t words[] = {flags, (uint32_t)(state.modified_ns / 1000000000U), size};

	memcpy(file + 4, words, sizeof words);
	strcpy((char *)file + 16, bytes);
	put(cached, file, sizeof file);
	/* Its own clock may be the same tick: the text's is turned back instead. */
	state.changed_ns -= is_younger ? 1000000000U : 0;
	if (!is_younger)
		state.changed_ns += 1000000000U;
}

TestSuite(source_file, .init = begin, .fini = finish, .timeout = 60);

Test(source_file, without_cached_bytecode_age_decides)
{
	cr_assert_not(kymo_source_verify(source, &state, &code));
	code.image_ns = state.changed_ns;
	cr_assert_not(kymo_source_verify(source, &state, &code));
	code.image_ns = state.changed_ns + 1;
	cr_assert(kymo_source_verify(source, &state, &code));
	state.modified_ns = code.image_ns;
	cr_assert_not(kymo_source_verify(source, &state, &code));
}

Test(source_file, cached_bytecode_decides)
{
	cache(0, state.bytes, "-bytecode-lines", true);
	cr_assert(kymo_source_verify(source, &state, &code));
	code.cache_tag = "cpython-314";
	cr_assert_not(kymo_source_verify(source, &state, &code));
}

Test(source_file, other_bytecode_speaks_against_it)
{
	code.image_ns = UINT64_MAX;
	cache(0, state.bytes, "-bytecode-", true);
	cr_assert_not(kymo_source_verify(source, &state, &code));
	cache(0, state.bytes, "-lines-", true);
	cr_assert_not(kymo_source_verify(source, &state, &code));
}

Test(source_file, cached_bytecode_that_is_older_than_the_last_change_says_nothing)
{
	cache(0, state.bytes, "-bytecode-lines", false);
	cr_assert_not(kymo_source_verify(source, &state, &code));
	code.image_ns = UINT64_MAX;
	cr_assert(kymo_source_verify(source, &state, &code));
}

Test(source_file, cached_bytecode_of_another_state_does_not_count)
{
	cache(0, state.bytes + 1, "-bytecode-lines", true);
	cr_assert_not(kymo_source_verify(source, &state, &code));
	cache(1, state.bytes, "-bytecode-lines", true);
	cr_assert_not(kymo_source_verify(source, &state, &code));
	code.image_ns = UINT64_MAX;
	cr_assert(kymo_source_verify(source, &state, &code));
}

Test(source_file, a_start_is_never_later_than_it_was)
{
	const uint64_t second = 1000000000U, boot = 1000 * second;
	uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);

	cr_assert_eq(kymo_source_start_ns(0, boot), 0);
	cr_assert_leq(kymo_source_start_ns(10 * ticks, boot), boot + 10 * second);
	cr_assert_geq(kymo_source_start_ns(10 * ticks, boot), boot + 10 * second - second / 50);
	cr_assert_eq(kymo_source_start_ns(UINT64_MAX, boot), 0);
}
