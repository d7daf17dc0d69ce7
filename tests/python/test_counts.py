# SPDX-License-Identifier: Apache-2.0
"""What ran, by kymo.coverage.counts: equal to what a tool in pure Python counts in the recorded program itself."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NEEDS_CXX, environment
from generated_programs import programs
from hypothesis import HealthCheck, given, settings
from kymo_model import KINDS
from trace_builder import TraceBuilder

import kymo as library
from kymo.coverage import counts

PROGRAMS = Path(__file__).parent / "programs"
COUNTER = PROGRAMS / "count_lines.py"
ORACLE = sorted(path.stem for path in (PROGRAMS / "oracle").glob("*.py"))


# A thread's last chunk is read event by event, those before it are counted by moves: small chunks make it have such.
WAYS = {"flow": ("flow",), "full": ("full",), "flow in small chunks": ("flow", "--ring-size=4K")}


@pytest.fixture
def count(record, tmp_path):
    """count(program, way): the counts of its file, and what the program counted itself."""

    def run(program, way="flow", contexts=False, env=None):
        output = tmp_path / "counted"
        events, *options = WAYS.get(way, (way,))
        rounds = 25 if options and not contexts else 1
        trace = record([COUNTER, output, rounds, program], f"--events={events}", *options, env=env)
        told = counts.read([trace], contexts=contexts)
        (file,) = (each for each in told.files if each.file == str(program))
        if options:
            with library.open(trace) as opened:
                assert max(thread["chunks"] for thread in opened.threads) > 3
        seen = json.loads(output.read_text())
        seen["branches"] = {(line, first, tuple(trail), is_exit): times
                            for line, first, trail, is_exit, times in seen["branches"]}
        return told, file, seen | {"lines": dict(seen["lines"])}

    return run


def ran(file):
    return {line: hits for line, hits in file.lines.items() if hits}


@pytest.mark.parametrize("events", WAYS)
@pytest.mark.parametrize("program", ORACLE)
def test_hits_are_those_that_the_program_counts(program, events, count):
    if program == "traced" and events != "full":
        pytest.skip("it moves frames: see test_flow_stacks.py")
    told, file, seen = count(PROGRAMS / f"oracle/{program}.py", events)
    assert ran(file) == seen["lines"] != {}
    assert file.branches == seen["branches"] != {}
    assert not file.is_incomplete and told.are_hits_counted and told.has_branches and not told.undefined
    assert file.version == sys.version_info[:2]
    assert file.source == (PROGRAMS / f"oracle/{program}.py").read_bytes() and file.is_verified


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=programs())
def test_hits_of_generated_programs(text, count, tmp_path):
    program = tmp_path / "generated.py"
    program.write_text(text)
    for events in WAYS:
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        (tmp_path / "counted").unlink(missing_ok=True)
        for trace in tmp_path.glob("*.kymo"):
            trace.unlink()
        _, file, seen = count(program, events)
        assert ran(file) == seen["lines"]
        assert file.branches == seen["branches"]


ASYNC_LOOPS = """\
import asyncio

async def numbers(n):
    for i in range(n):
        yield i

async def loops(n):
    async for i in numbers(n):
        x = i
    async for i in numbers(n): x = i
    async for i in numbers(n):
        if i: break
    else:
        x = 1
    return x

for n in (0, 1, 2):
    try: asyncio.run(loops(n))
    except UnboundLocalError: pass
"""


@pytest.mark.parametrize("events", WAYS)
def test_the_ends_of_async_loops(events, count, script):
    """From 3.14 on their events name one of two instructions, as the compiler has laid out the loop."""
    _, file, seen = count(script(ASYNC_LOOPS), events)
    assert file.branches == seen["branches"] and ran(file) == seen["lines"]
    if sys.version_info >= (3, 14):
        assert {(way.line, way.trail[0]) for way in file.branches} >= {(8, 10), (10, 11), (11, 14)}


LINES = """\
def never():
    return 1

def often(n):
    if n > 1:
        return "large"
    for i in range(n):
        pass
    return i

class Thing:
    def method(self):
        x = 1
        return x

if len(often.__name__) == 3:
    never()
[often(n) for n in (1, 2, 3)]
"""


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def of_file(told, path):
    return [each for each in told.files if each.file == str(path)]


@pytest.mark.parametrize("events", ["flow", "full"])
def test_lines_that_did_not_run_of_code_that_did_have_no_hits(events, record, script):
    path = script(LINES)
    (file,) = of_file(counts.read([record([path], f"--events={events}")]), path)
    without = {line for line, hits in file.lines.items() if not hits}
    assert without == {17}
    assert not file.lines.keys() & {2, 13, 14}, "their code objects never ran"
    assert file.lines[5] == 3 and file.lines[6] == 2
    assert file.functions == {("<module>", 1): 1, ("often", 4): 3, ("Thing", 11): 1}


def test_a_branch_is_told_with_where_it_leads(record, script):
    path = script(LINES)
    (file,) = of_file(counts.read([record([path])]), path)
    of_if = {way: hits for way, hits in file.branches.items() if (way.line, way.first_line) == (5, 4)}
    assert {(way.trail, way.is_exit): hits for way, hits in of_if.items()} == {((6,), True): 2, ((7,), False): 1}
    of_for = {way: hits for way, hits in file.branches.items() if (way.line, way.first_line) == (7, 4)}
    assert {(way.trail[-1], way.is_exit): hits for way, hits in of_for.items()} == {(7, False): 1, (9, True): 1}


def test_counts_of_equal_and_of_other_sources(record, script):
    path = script(LINES)
    once = counts.read([record([path])])
    again = record([path])
    (twice,) = of_file(counts.read([again, again]), path)
    (file,) = of_file(once, path)
    assert twice.lines == {line: 2 * hits for line, hits in file.lines.items()}
    assert twice.branches == {way: 2 * hits for way, hits in file.branches.items()}
    assert twice.functions == {name: 2 * calls for name, calls in file.functions.items()}
    path.write_text("# moved\n" + LINES)
    both = of_file(counts.read([again, record([path])]), path)
    assert [each.lines for each in both] == [file.lines, {line + 1: hits for line, hits in file.lines.items()}]


FAMILY = """\
import os, subprocess, sys

def work(n):
    for i in range(n):
        if i % 2:
            continue
    return n

if len(sys.argv) > 1:
    work(5)
    os._exit(0)
pid = os.fork()
if pid == 0:
    work(7)
    os._exit(0)
os.waitpid(pid, 0)
subprocess.run([sys.executable, __file__, "child"], check=True)
work(3)
"""


@pytest.mark.parametrize("events", ["flow", "full"])
def test_processes_add_up(events, record, script):
    path = script(FAMILY)
    (file,) = of_file(counts.read([record([path], f"--events={events}")]), path)
    assert file.functions[("work", 3)] == 3
    assert file.lines[5] == 3 + 5 + 7 and file.lines[6] == 1 + 2 + 3
    assert file.lines[1] == 2 and file.lines[10] == file.lines[14] == file.lines[18] == 1
    assert file.is_incomplete == (events == "flow"), "nothing is recorded that tells that os._exit was reached"


@pytest.mark.parametrize(("events", "checks", "kills"), [("flow", 1000, 0), ("full", 1001, 1)])
def test_a_killed_process_has_all_that_is_known_of_it(events, checks, kills, record, script):
    """What it ran after its last event that is recorded by flow, a call, cannot be rebuilt."""
    path = script("import os, signal\ndef work(n):\n    if n == 1000:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
                  "[work(n) for n in range(2000)]\n")
    (file,) = of_file(counts.read([record([path], f"--events={events}", status=-signal.SIGKILL)]), path)
    assert file.functions[("work", 2)] == 1001 and file.lines[3] == checks and file.lines[4] == kills
    assert file.is_incomplete == (events == "flow")


@pytest.mark.parametrize("events", ["coverage", "coverage,PY_START"])
def test_the_coverage_profile_tells_sets(events, count):
    told, file, seen = count(PROGRAMS / "oracle/loops.py", events)
    assert ran(file) == dict.fromkeys(seen["lines"], 1)
    assert set(file.functions.values()) == {1}
    assert not told.are_hits_counted and told.has_branches
    assert set(file.branches) <= set(seen["branches"]) and set(file.branches.values()) == {1}


def test_lines_alone_have_no_branches_and_no_calls(record, script):
    path = script(LINES)
    told = counts.read([record([path], "--events=LINE")])
    (file,) = of_file(told, path)
    assert file.lines[5] == 3 and not file.branches and not file.functions
    assert told.are_hits_counted and not told.has_branches
    full = counts.read([record([path])])
    mixed = counts.read([record([path], "--events=LINE"), record([path], "--events=coverage")])
    assert full.has_branches and not mixed.has_branches and not mixed.are_hits_counted
    assert set(of_file(mixed, path)[0].lines.values()) == {0, 1}


def test_a_trace_without_lines_is_refused(record, script):
    trace = record([script(LINES)], "--events=calls")
    message = r"no lines were recorded \(--events=calls\): coverage needs flow, full"
    with pytest.raises(library.Error, match=message) as failed:
        counts.read([trace])
    assert failed.value.filename == str(trace) and "\n" not in str(failed.value)


def test_what_is_no_trace_is_refused(tmp_path):
    with pytest.raises(library.Error, match="No such file"):
        counts.read([tmp_path / "none.kymo"])
    (tmp_path / "text.kymo").write_text("text" * 1000)
    with pytest.raises(library.Error):
        counts.read([tmp_path / "text.kymo"])


SUMS = """\
#include <kymo/coverage.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const struct kymo_coverage *coverage;
	uint64_t lines = 0, ways = 0;
	char error[512];

	if (kymo_coverage_read(argv[argc - 1], 0, &coverage, error, sizeof error)) {
		fprintf(stderr, "%s\\n", error);
		return 1;
	}
	for (uint64_t i = 0; i < coverage->line_count; i++)
		lines += coverage->lines[i].hits;
	for (uint64_t i = 0; i < coverage->branch_count; i++)
		ways += coverage->branches[i].hits;
	printf("%d %d\\n", (int)lines, (int)ways);
	kymo_coverage_free(coverage);
	return 0;
}
"""


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="there is no pkg-config")
@pytest.mark.parametrize("language", ["c", pytest.param("c++", marks=NEEDS_CXX)])
def test_other_programs_have_the_same_counts(language, record, script, build, tmp_path):
    trace, source = record([script(LINES)]), script(SUMS, "sums.c")
    subprocess.run(["cmake", "--install", build, "--prefix", tmp_path / "installed"], capture_output=True, check=True)
    configured = next(tmp_path.rglob("kymo-replay.pc")).parent
    command = f"cc -Wall -Werror -x {language} {source} -o {tmp_path}/sums $(pkg-config --cflags --libs kymo-replay)"
    subprocess.run(["sh", "-ec", command], env=environment({"PKG_CONFIG_PATH": configured}), check=True)

    def sums(path):
        return subprocess.run([tmp_path / "sums", path], env=environment({"LD_LIBRARY_PATH": configured.parent}),
                              capture_output=True, text=True)

    told = counts.read([trace])
    assert sums(trace).stdout == "{} {}\n".format(*(
        sum(sum(getattr(file, part).values()) for file in told.files) for part in ("lines", "branches")))
    assert (sums("none").returncode, sums("none").stderr) == (1, "none: No such file or directory\n")


# Contexts

CONTEXTS = """\
import kymo

def work(n):
    if n:
        return n
    return 0

work(0)
with kymo.context("first"):
    work(1)
with kymo.context("second"):
    work(0)
    with kymo.context("inner"):
        work(1)
    x = 1
work(0)
"""


def lines_of(told, file):
    return {told.contexts[number]: lines for number, lines in file.context_lines.items()}


@pytest.mark.parametrize("events", ["flow", "full"])
def test_contexts(events, record, script, importing):
    path = script(CONTEXTS)
    trace = record([path], f"--events={events}", env=importing)
    told = counts.read([trace], contexts=True)
    (file,) = of_file(told, path)
    assert sorted(told.contexts) == ["", "first", "inner", "second"] and told.contexts[0] == ""
    # The line of a `with` runs again where it ends.
    assert lines_of(told, file) == {
        "": {1, 3, 8, 4, 6, 9, 11, 16},
        "first": {10, 4, 5, 9},
        "second": {12, 4, 6, 13, 15, 11},
        "inner": {14, 4, 5, 13},
    }
    taken = {told.contexts[number]: {way.trail for way in ways} for number, ways in file.context_branches.items()}
    assert taken == {"": {(6,)}, "first": {(5,)}, "second": {(6,)}, "inner": {(5,)}}
    (without,) = of_file(counts.read([trace]), path)
    assert without.lines == file.lines and without.branches == file.branches and not without.context_lines


TURNS = """\
import threading
from count_lines import Context, Turns

def add(x):
    total = 0
    for i in range(3):
        if i == x:
            total += 1
    return total

def other(turns, n):
    x = n
    turns.hand_over()
    while not turns.is_over:
        x = add(x) + 2 * (x % 2)
        if x > 2:
            x = n
        turns.hand_over()

def begin(n):
    turns = Turns()
    thread = threading.Thread(target=other, args=(turns, n))
    thread.start()
    turns.wait()
    return turns, thread

threads = [begin(n) for n in range(3)]
for name in "abcdefgh" * 40:
    with Context(name):
        for n in range(ord(name) % 3 + 1):
            threads[n][0].give()
            add(n)
    threads[2][0].give()
for turns, thread in threads:
    turns.is_over = True
    turns.go.set()
    thread.join()
"""


@pytest.mark.parametrize("events", WAYS)
def test_contexts_of_threads_are_those_that_the_program_sees(events, count, script, importing):
    told, file, seen = count(script(TURNS), events, contexts=True, env=importing)
    assert lines_of(told, file) == {name: set(lines) for name, lines in seen["contexts"].items()}
    assert len(seen["contexts"]) == 9 and ran(file) == seen["lines"]


CHILDREN = """\
import os, subprocess, sys
import kymo

def work():
    return 1

def inner():
    return 2

def deep():
    return 3

def child(use):
    pid = os.fork()
    if pid == 0:
        use()
        with kymo.context("own"):
            inner()
        os._exit(0)
    os.waitpid(pid, 0)

if len(sys.argv) > 1:
    deep()
    sys.exit()
with kymo.context("first"):
    child(work)
with kymo.context("second"):
    subprocess.run([sys.executable, __file__, "child"], check=True)
"""


@pytest.mark.parametrize("events", ["flow", "full"])
def test_a_child_is_in_the_context_of_its_parent_until_it_has_its_own(events, record, script, importing):
    path = script(CHILDREN)
    told = counts.read([record([path], f"--events={events}", env=importing)], contexts=True)
    (file,) = of_file(told, path)
    by_name = lines_of(told, file)
    assert [[name for name in by_name if line in by_name[name]] for line in (5, 8, 11)] == [["first"], ["own"], ["second"]]


def test_contexts_of_several_traces_have_one_number_each(record, script, importing):
    one, two = script(CONTEXTS), script(CONTEXTS.replace('"first"', '"third"'), "other.py")
    told = counts.read([record([one], env=importing), record([two], env=importing)], contexts=True)
    assert sorted(told.contexts) == ["", "first", "inner", "second", "third"] and told.contexts[0] == ""
    ((first,), (second,)) = of_file(told, one), of_file(told, two)
    assert set(lines_of(told, first)) == {"", "first", "inner", "second"}
    assert {**lines_of(told, second), "first": lines_of(told, second)["third"]}.keys() == set(told.contexts)
    assert lines_of(told, first)["first"] == lines_of(told, second)["third"]


def test_contexts_of_the_coverage_profile_are_refused(record, script):
    trace = record([script(LINES)], "--events=coverage")
    with pytest.raises(library.Error, match="only the first context to run it is known: record with --events=flow"):
        counts.read([trace], contexts=True)


def test_a_context_has_a_name():
    with pytest.raises(TypeError, match=r"context\(\) argument must be str, not int"):
        library.context(1)
    with library.context("nothing is recorded"):
        pass


# What is missing, and what is damaged

LONG = """\
import other
def work(n):
    total = 0
    for i in range(n):
        if i % 3:
            total += i
    return total
work({})
"""


@pytest.mark.parametrize("events", ["flow", "full"])
def test_a_gap_marks_the_files_that_the_process_had(events, record, script, tmp_path):
    script("def nothing():\n    return 0\nnothing()\n", "other.py")
    path = script(LONG.format(300_000))
    trace = record([path], f"--events={events}", "--policy=overwrite", "--ring-size=64K")
    told = counts.read([trace])
    assert {os.path.basename(each.file) for each in told.files if each.is_incomplete} >= {"script.py", "other.py"}
    (file,) = of_file(told, path)
    assert 0 < file.lines[6] < 200_000
    (whole,) = of_file(counts.read([record([path], f"--events={events}")]), path)
    assert whole.lines[6] == 200_000 and not whole.is_incomplete


@pytest.mark.parametrize("events", ["flow", "full"])
def test_damaged_traces_are_counted_as_far_as_they_go(events, record, script, tmp_path):
    """Whatever is cut or changed: an error, or counts that are no more than there were."""
    path = script(CONTEXTS + "for i in range(30000):\n    work(i)\n")
    trace = record([path], f"--events={events}", env={"PYTHONPATH": os.fspath(Path(library.__file__).parents[1])})
    whole = counts.read([trace], contexts=True)
    (file,) = of_file(whole, path)
    data, choose, damaged = trace.read_bytes(), random.Random(3), tmp_path / "damaged.kymo"
    for round in range(120):
        broken = bytearray(data)
        if round % 3 == 0:
            del broken[choose.randrange(len(broken)):]
        else:
            for _ in range(choose.choice((1, 3, 40))):
                broken[choose.randrange(len(broken))] = choose.randrange(256)
        damaged.write_bytes(broken)
        try:
            told = counts.read([damaged], contexts=bool(round % 2))
        except library.Error:
            continue
        for each in of_file(told, path):
            assert all(hits <= file.lines.get(line, 0) for line, hits in each.lines.items())
            assert each.is_incomplete or each.lines == file.lines or round % 3 == 0


def built(tmp_path, features, config, version, *records):
    """What is told of a trace of one thread with @records, in which code 1 is defined."""
    content = {"id": 1, "file": "a.py", "name": "f", "qualname": "f", "first_line": 3, "bytecode": bytes(2),
               "line_table": bytes([0x80, 1, 0])}
    builder = TraceBuilder(required_features=features)
    builder.meta(0, ("session", {"config": config}), ("process_seen", {"process": 1, "folder": "1-1-a"}),
                 ("process_end", {"process": 1, "how": 1}))
    process = [("process", {"pid": 1, "folder": "1-1-a", "python_hex": version})] if version else []
    builder.meta(1, *process, ("content", content), ("code", {"id": 1, "content": 1}), ("thread", {"thread": 1}))
    builder.chunk(*records, first_ordinal=1, last_ordinal=2).close()
    (tmp_path / "built.kymo").write_bytes(builder.data)
    told = counts.read([tmp_path / "built.kymo"])
    return told, {each.file: (each.lines, each.is_incomplete) for each in told.files}


def test_events_of_code_that_is_not_defined_are_counted(tmp_path):
    line = 1 << KINDS.index("LINE")
    told, files = built(tmp_path, 0, {"events": line}, sys.hexversion,
                        ("CODE", 1), ("LINE", 3), ("CODE", 7), ("LINE", 3))
    assert told.undefined == 1 and files == {"a.py": ({3: 1}, True)}
    told, files = built(tmp_path, 0, {"events": line}, sys.hexversion, ("CODE", 1), ("LINE", 3), ("LINE", 3))
    assert told.undefined == 0 and files == {"a.py": ({3: 2}, False)}


def test_lines_that_cannot_be_rebuilt_are_missing(tmp_path):
    """A trace of a CPython that this program does not know."""
    told, files = built(tmp_path, 1, {"events": 1 << KINDS.index("PY_START"), "flow": True}, 0x03630000,
                        ("PY_START", 1), ("PY_RETURN", 0))
    assert files == {"a.py": ({3: 0}, True)}


def test_files_of_a_process_that_is_not_defined_are_incomplete(tmp_path):
    """Which lines there are depends on the version of its CPython."""
    _, files = built(tmp_path, 0, {"events": 1 << KINDS.index("LINE")}, None, ("CODE", 1), ("LINE", 3))
    assert files == {"a.py": ({3: 1}, True)}
