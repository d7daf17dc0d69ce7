// SPDX-License-Identifier: Apache-2.0
/* Which word of a Python's command line is code. */
#include "reader/source_command.h"

#include <criterion/criterion.h>

static const char *command(size_t count, const char **argv)
{
	Kymo__Process facts = KYMO__PROCESS__INIT;

	facts.argv = (char **)(uintptr_t)argv;
	facts.n_argv = count;
	return kymo_source_command(&facts);
}

#define COMMAND(...) \
	command(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

Test(source_command, code_stands_behind_c)
{
	cr_assert_str_eq(COMMAND("python", "-c", "code", "-c", "other"), "code");
	cr_assert_str_eq(COMMAND("python", "-ccode"), "code");
	cr_assert_str_eq(COMMAND("python", "-Bbc", "code"), "code");
	cr_assert_str_eq(COMMAND("python", "-W", "-c", "-c", "code"), "code");
	cr_assert_str_eq(COMMAND("python", "-Wc", "-X", "cpu_count=1", "-c", "code"), "code");
	cr_assert_str_eq(COMMAND("python", "--check-hash-based-pycs", "never", "-c", "code"), "code");
}

Test(source_command, a_script_or_module_takes_the_rest)
{
	cr_assert_null(COMMAND("python", "script.py", "-c", "code"));
	cr_assert_null(COMMAND("python", "-m", "module", "-c", "code"));
	cr_assert_null(COMMAND("python", "-mmodule", "-c", "code"));
	cr_assert_null(COMMAND("python", "-", "-c", "code"));
	cr_assert_null(COMMAND("python", "-c"));
	cr_assert_null(COMMAND("python"));
	cr_assert_null(command(0, NULL));
}

Test(source_command, a_redacted_word_is_told)
{
	cr_assert(kymo_source_is_redacted("[redacted]"));
	cr_assert(kymo_source_is_redacted("-token=[redacted]"));
	cr_assert_not(kymo_source_is_redacted("x = '[redacted]'"));
	cr_assert_not(kymo_source_is_redacted("x"));
}
