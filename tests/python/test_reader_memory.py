# SPDX-License-Identifier: Apache-2.0
"""A reader that finds no memory once goes on as soon as there is some."""
import os
import shutil
import subprocess

import pytest

# One that has got more than a mebibyte does not get just that afterwards, once.
NO_MEMORY = """
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <string.h>
enum { NONE, LARGE, FAILED };
extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t);
static int state;
static int fails(size_t bytes)
{
	if (strcmp(program_invocation_short_name, "kymo"))
		return 0;
	if (bytes > 1 << 20 && state == NONE)
		state = LARGE;
	if (bytes != 1 << 20 || state != LARGE)
		return 0;
	state = FAILED;
	errno = ENOMEM;
	return 1;
}
void *malloc(size_t bytes) { return fails(bytes) ? NULL : __libc_malloc(bytes); }
void *realloc(void *block, size_t bytes) { return fails(bytes) ? NULL : __libc_realloc(block, bytes); }
"""


@pytest.mark.skipif(not shutil.which("cc") or "LD_PRELOAD" in os.environ, reason="there is no C compiler, or memory is watched")
def test_definitions_go_on_after_one_that_was_long(record, events, tmp_path):
    (tmp_path / "no_memory.c").write_text(NO_MEMORY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "no_memory.so", tmp_path / "no_memory.c"], check=True)
    trace = record("""
exec("name_" + 1_500_000 * "a" + " = 1")
for number in range(500):
    exec(f"def after_{number}(): pass\\nafter_{number}()")
""", "--events=PY_START", env={"LD_PRELOAD": tmp_path / "no_memory.so"})
    called = [event.get("function") for event in events(trace) if event.get("function", "").startswith("after_")]
    assert called == [f"after_{number}" for number in range(500)]
