# SPDX-License-Identifier: Apache-2.0
"""Who is who: code, callables and exceptions keep their names, however many there are and whatever became of them."""
import json
import os
import random
import signal
import subprocess

import pytest

from conftest import KYMO, environment
from rooms import in_mounts, needs_mounts

# A million takes minutes.
MANY = 1_000_000 if os.environ.get("KYMO_LONG") == "1" else 100_000
POLICIES = ["block", "drop", "overwrite"]


@pytest.fixture
def info(kymo):
    def read(trace):
        return json.loads(kymo("info", "--json", trace).stdout)
    return read


def shuffled():
    order = [("known_", n) for n in range(10_000)] + [("new_", n) for n in range(100)]
    random.Random(5).shuffle(order)
    return order


def test_a_forked_child_knows_what_its_dead_parent_defined(record, events):
    """10 000 functions; the parent is killed before the child calls the first of them."""
    trace = record(f"""
import os, random, signal
names = {{}}
def define(prefix, count):
    text = "\\n".join(f"def {{prefix}}{{n}}():\\n    return {{n}}" for n in range(count))
    exec(compile(text, prefix, "exec"), names)
define("known_", 10_000)
for n in range(10_000):
    names[f"known_{{n}}"]()
parent = os.getpid()
if os.fork():
    signal.pause()
os.kill(parent, signal.SIGKILL)
while os.getppid() == parent:
    os.sched_yield()
define("new_", 100)
for prefix, n in {shuffled()}:
    names[f"{{prefix}}{{n}}"]()
""", "--events=PY_START,LINE", status=-signal.SIGKILL)
    child = events(trace)[-1]["pid"]
    alone = [(event["function"], event["line"]) for event in events(trace, "--process", child, "--kind", "LINE")
             if event["function"].startswith(("known_", "new_"))]
    assert alone == [(f"{prefix}{n}", 2 * n + 2) for prefix, n in shuffled()]


def test_recordings_one_after_the_other(python, build, events, tmp_path):
    """What one defined means nothing in the next, and what it defined first is last in it."""
    program = """
import kymo
functions = []
def define(first, last):
    names = {}
    exec("\\n".join(f"def f{n}(): return {n}" for n in range(first, last)), names)
    functions.extend(names[f"f{n}"] for n in range(first, last))
for turn in range(20):
    define(50 * turn, 50 * turn + 50)
    with kymo.record(f"{turn}.kymo", events="PY_START"):
        for function in functions[::-1]:
            function()
"""
    subprocess.run([python, "-c", program], cwd=tmp_path, env=environment({"PYTHONPATH": build / "python"}), check=True)
    for turn in range(20):
        names = [event["function"] for event in events(tmp_path / f"{turn}.kymo")]
        assert [name for name in names if name.startswith("f")] == [f"f{n}" for n in reversed(range(50 * turn + 50))]


def each_event(trace):
    """As the fixture events, for more of them than memory should hold."""
    with subprocess.Popen([KYMO, "events", "--jsonl", trace], stdout=subprocess.PIPE) as printer:
        yield from map(json.loads, printer.stdout)
    assert printer.returncode == 0


@pytest.fixture
def compiled(tmp_path, info):
    """Record a program that compiles and runs @MANY texts, with 64 MB for the session; check what is there."""
    def run(text, file, policy):
        program, trace = tmp_path / "program.py", tmp_path / "trace.kymo"
        program.write_text(f"""
import resource
for n in range({MANY}):
    exec(compile({text}, {file}, "exec"), {{}})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
""")
        done = in_mounts("mount -t tmpfs -o size=64m tmpfs /mnt", [
            KYMO, "record", "-q", "-o", trace, "--session-dir=/mnt", f"--policy={policy}", "--include=<made *",
            "--events=PY_START,PY_RETURN", program])
        assert done.returncode == 0 and done.stderr == ""
        name = eval(f"lambda n: {file}")
        end = lost = undefined = 0
        for event in each_event(trace):
            assert event["n"] == end + 1
            end += event.get("lost", 1)
            lost += event.get("lost", 0)
            if event["event"] != "GAP":
                undefined += event["file"] is None
                assert event["file"] in (name((end - 1) // 2), None)
        assert end == 2 * MANY
        assert info(trace)["lost"] == lost and info(trace)["undefined"] >= undefined
        return int(done.stdout), lost, undefined
    return run


@needs_mounts
@pytest.mark.parametrize("policy", POLICIES)
def test_many_distinct_pieces_of_code(policy, compiled):
    megabytes, lost, undefined = compiled('f"x = {n}"', 'f"<made {n}>"', policy)
    assert megabytes < 200
    if policy == "block":
        assert (lost, undefined) == (0, 0)


@needs_mounts
@pytest.mark.parametrize("policy", POLICIES)
def test_many_equal_pieces_of_code(policy, compiled):
    megabytes, lost, undefined = compiled('"x = 1"', '"<made alike>"', policy)
    assert megabytes < 200
    if policy == "block":
        assert (lost, undefined) == (0, 0)


def test_classes_that_come_and_go_at_the_same_addresses(record, events):
    trace = record("""
import gc, sys
addresses = set()
for n in range(100_000):
    made = type(f"Made{n}", (Exception,), {})
    try:
        raise made()
    except made as error:
        addresses.add(id(made))
    del made
assert len(addresses) < 20_000
""", "--events=RAISE,CALL,C_RETURN", "--include=program-1.py")
    calls, returns, raised = ([event[name] for event in events(trace, "--kind", kind)] for kind, name in (
        ("CALL", "callable"), ("C_RETURN", "callable"), ("RAISE", "exception")))
    expected = [f"Made{n}" for n in range(100_000)]
    assert raised == expected
    assert [name for name in calls if name.startswith("Made")] == expected
    assert [name for name in returns if name.startswith("Made")] == expected
