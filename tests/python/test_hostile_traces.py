# SPDX-License-Identifier: Apache-2.0
"""Traces made to hurt: what they cost is in proportion to their size, and what was left out is said."""
import json
import subprocess
import sys

import pytest
from conftest import KYMO, environment
from trace_builder import META, TraceBuilder, lz4_repeat
from wire import put_leb128

MB = 1 << 20


def field(number, length):
    """The key and the length of a field that holds bytes."""
    return bytes([number << 3 | 2]) + put_leb128(length)


def one_message(kind, number, count):
    """A definition with nothing but an empty field, `count` times."""
    inner = field(kind, 2 * count)
    return put_leb128(len(inner) + 2 * count) + inner, field(number, 0)


# Definition.process = 1, .content = 4, .process_end = 18; what is repeated in them; and definitions of nothing
MESSAGES = {
    "other_tools": (*one_message(1, 14, 20_000_000), 20_000_000),
    "argv": (*one_message(1, 9, 20_000_000), 20_000_000),
    "varnames": (*one_message(4, 10, 20_000_000), 20_000_000),
    "contents": (b"", put_leb128(2) + field(4, 0), 15_000_000),
    "names": (b"", put_leb128(2) + field(7, 0), 15_000_000),
    "threads": (b"", put_leb128(2) + field(2, 0), 15_000_000),
    "snapshots": (b"", put_leb128(3) + put_leb128(21 << 3 | 2) + b"\0", 15_000_000),
}


def write_packed(path, head, unit, count, process=1):
    builder = TraceBuilder().meta(0, ("session", {"kymo_version": "0"}))
    stored = lz4_repeat(head, unit, count)
    builder.frame(META, stored, process=process, flags=1, raw_bytes=len(head) + len(unit) * count,
                  seq=builder.ends.get(process, 0))
    path.write_bytes(builder.close().data)
    return path


# A child's largest size is at least that of the process that forked it: a small one does that here.
RUN = """
import json, resource, subprocess, sys
limit, *words = json.load(sys.stdin)
done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                      preexec_fn=lambda: limit and resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
print(json.dumps([done.returncode, done.stdout, done.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


def run(*words, memory=0):
    """Run kymo; its status, output, errors and the most memory that it had."""
    command = json.dumps([memory, str(KYMO), *map(str, words)])
    done = subprocess.run([sys.executable, "-c", RUN], input=command, env=environment(), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("what", MESSAGES)
def test_memory_follows_the_size_of_a_trace(what, tmp_path):
    trace = write_packed(tmp_path / "t.kymo", *MESSAGES[what], process=0 if what == "snapshots" else 1)
    assert trace.stat().st_size < MB // 2
    for verb in "info", "verify", "ps":
        status, out, err, memory = run(verb, trace)
        assert status == (verb == "verify"), err
        assert memory < 500 * MB
        assert "definitions that take too much memory, left out" in err


def test_many_threads_are_found_by_their_numbers(tmp_path):
    count = 1_500_000
    ids = range(2 * count, 0, -2)  # nowhere in the order in which they are numbered
    messages = b"".join(b"%c%c%c\x08%s" % (len(n) + 3, 2 << 3 | 2, len(n) + 1, n) for n in map(put_leb128, ids))
    builder = TraceBuilder().meta(1, ("process", {"pid": 1, "folder": "1-1-a"}))
    trace = tmp_path / "t.kymo"
    trace.write_bytes(builder.frame(META, messages, process=1, seq=builder.ends[1]).close().data)
    status, _, err, _ = run("info", trace)
    assert (status, err) == (0, "")


def test_too_little_memory_is_said(tmp_path):
    trace = write_packed(tmp_path / "t.kymo", *one_message(1, 14, 200_000), 200_000)
    whole = run("info", trace)
    assert whole[:1] + whole[2:3] == [0, ""]
    statuses = set()
    for memory in range(64 * MB, 2 * MB, -MB):
        status, out, err, _ = run("info", trace, memory=memory)
        if status == 127:  # too little for the program itself
            break
        assert [status, out, err] == whole[:3] or (status == 1 and "memory" in err), memory
        statuses.add(status)
    assert len(statuses) > 1
