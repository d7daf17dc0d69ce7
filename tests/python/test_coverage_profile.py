# SPDX-License-Identifier: Apache-2.0
"""--events=coverage: the sets of lines and branches that ran, of every process, whatever became of it."""
import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from conftest import TIMEOUT, environment
from generated_programs import programs

ORACLE = sorted((Path(__file__).parent / "programs" / "oracle").glob("*.py"))
LATE = Path(__file__).parent / "programs" / "late_arms.py"
WITNESS = """import os
seen = os.open({seen!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def w(line): os.write(seen, b'%d %d\\n' % (os.getpid(), line))
"""
# Not the profile `full`: from 3.14 on, INSTRUCTION events change the offsets, too.
EVERY = "PY_START,LINE,BRANCH"
BRANCHES = ("BRANCH", "BRANCH_LEFT", "BRANCH_RIGHT")


def lines_of(events):
    """By file: in code of a single line, PY_START stands for it."""
    return {(event["file"], event["line"]) for event in events if event["event"] == "LINE"}


def branches_of(events):
    """BRANCH_LEFT is known by where it goes: of `async for`, LINE events change what offset it is said to have."""
    return {(event["file"], event["function"], event["event"] != "BRANCH_LEFT" and event["offset"], event["dest"])
            for event in events if event["event"] in BRANCHES}


def starts_of(events):
    return {(event["file"], event["function"], event["line"]) for event in events if event["event"] == "PY_START"}


@pytest.fixture
def check_same_sets(record, events):
    def check(program):
        """What `coverage` records of @program is the same events, without those that came again."""
        every, once = (events(record(program, f"--events={profile}", "--no-stdlib")) for profile in (EVERY, "coverage"))
        assert {event["event"] for event in once} <= {"PY_START", "LINE", *BRANCHES}
        assert lines_of(once) == lines_of(every) != set()
        assert branches_of(once) == branches_of(every)
        assert starts_of(once) == starts_of(every)
        return once
    return check


@pytest.mark.parametrize("program", ORACLE, ids=lambda path: path.stem)
def test_sets_are_those_of_the_interpreters_own_stream(program, check_same_sets):
    assert len(check_same_sets([program])) > 10


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck),
          phases=[Phase.generate])
@given(programs())
def test_sets_of_generated_programs(check_same_sets, tmp_path, text):
    program = tmp_path / "generated.py"
    program.write_text(text)
    check_same_sets([program])


def test_arms_that_are_taken_late(check_same_sets):
    once = check_same_sets([LATE])
    assert len(once) > 400


@pytest.mark.parametrize("tool", [1, 4])
@pytest.mark.parametrize("is_late, event", [(False, "LINE"), (True, "LINE"), (True, "INSTRUCTION")])
def test_another_tool_sees_all_of_code_that_runs_often(is_late, event, tool, record, tmp_path):
    """Beside Kymo, which is called after it, no fewer places than alone: where a call is instrumented, CPython has more."""
    script, seen = tmp_path / "beside.py", tmp_path / "seen"
    script.write_text(f"""
import runpy, sys
LATE, seen, tools = {str(LATE)!r}, set(), sys.monitoring
def begin():
    tools.use_tool_id({tool}, "other")
    tools.register_callback({tool}, tools.events.{event}, look)
    tools.set_events({tool}, tools.events.{event})
def look(code, where):
    if code.co_filename == LATE: seen.add(f"{{code.co_name}} {{where}}\\n")
if not {is_late}: begin()
late = runpy.run_path(LATE)
if {is_late}: begin()
for function, usual, rare in late["CALLS"]:
    for n in usual + rare: late["call"](function, n)
tools.set_events({tool}, 0)
open(sys.argv[1], "w").writelines(seen)
""")
    subprocess.run([sys.executable, script, seen], check=True, timeout=TIMEOUT, env=environment())
    alone = {*seen.read_text().splitlines()}
    record([script, seen], "--events=coverage", "--no-stdlib")
    assert {*seen.read_text().splitlines()} >= alone and len(alone) > 150


def test_a_recording_after_one_in_which_code_ran_often(build, events, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent("""
        import kymo
        def f(x):
            if x:
                return 1
            for y in range(x, 3):
                if y > 5:
                    y += 1
            return 2
        for number, calls in enumerate(([0] * 90, [0, 0, 1], [1, 0] * 50)):
            with kymo.record(f"{number}.kymo", events="coverage"):
                for x in calls:
                    f(x)
        """))
    subprocess.run([sys.executable, script], cwd=tmp_path, check=True, timeout=TIMEOUT,
                   env=environment({"PYTHONPATH": build / "python"}))
    first, second, third = ([event for event in events(tmp_path / f"{number}.kymo") if event.get("function") == "f"]
                            for number in range(3))
    assert lines_of(second) == lines_of(third) and lines_of(second) - lines_of(first) == {(str(script), 5)}
    assert branches_of(second) == branches_of(third) and len(branches_of(second)) == len(branches_of(first)) + 1 == 5


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck),
          phases=[Phase.generate])
@given(programs())
def test_sets_of_generated_programs_that_repeat_themselves(check_same_sets, tmp_path, text):
    """Each function often with the one arguments, then with the others, and with both of them."""
    frame, calls = text.replace("budget < 150", "budget < 9000"), []
    for line in text.splitlines():
        if line.startswith(("call_safely(", "drain(", "drive(")):
            first, second = line.split("; ")
            calls += [f"for _ in range(40):\n    {first}", *[second, first] * 20]
    program = tmp_path / "generated.py"
    program.write_text(frame + "\n".join(calls) + "\n")
    check_same_sets([program])


@pytest.fixture
def witnessed(record, events, tmp_path):
    """Record a program whose every line `w(n)`, which is line n, says so in a file before anything else can happen.

    Returns ({(pid, line)} of the file, the same of the trace).
    """
    def run(text, *options, **how):
        seen = tmp_path / "seen"
        text = WITNESS.format(seen=str(seen)) + text
        text = "\n".join(line.replace("w()", f"w({number})") for number, line in enumerate(text.splitlines(), 1))
        trace = record(text + "\n", "--events=coverage", *options, **how)
        wanted = {number for number, line in enumerate(text.splitlines(), 1) if f"w({number})" in line}
        recorded = {(event["pid"], event["line"]) for event in events(trace, "--kind", "LINE")
                    if event["line"] in wanted and event["file"].endswith("program-1.py")}
        return {tuple(map(int, line.split())) for line in seen.read_text().splitlines()}, recorded
    return run


def test_a_forked_child_records_what_its_parent_had_not_seen(witnessed):
    said, recorded = witnessed("""
w()
pid = os.fork()
if not pid:
    w()
    for n in range(3):
        if n == 2:
            w()
    os._exit(0)
os.waitpid(pid, 0)
w()
""")
    assert recorded == said
    assert len({pid for pid, _ in said}) == 2 and len(said) == 4


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_of_multiprocessing(method, witnessed):
    said, recorded = witnessed(f"""
import multiprocessing
def work(n):
    w()
    if n % 2:
        w()
    else:
        w()
    return n
if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map(work, range(8)) == list(range(8))
    w()
""")
    assert said >= recorded and {line for _, line in said} == {line for _, line in recorded}
    assert len({pid for pid, _ in said}) > 1


def test_a_process_that_leaves_at_once_and_one_that_is_run(witnessed):
    said, recorded = witnessed("""
import subprocess, sys
if len(sys.argv) == 1:
    w()
    subprocess.run([sys.executable, __file__, "child"], close_fds=False, check=True)
    w()
    os._exit(0)
w()
os._exit(0)
""")
    assert recorded == said and len({pid for pid, _ in said}) == 2


@pytest.mark.parametrize("seed", range(4))
def test_a_process_that_is_killed(seed, witnessed):
    """Each line is the first and the last of its kind, so that nothing but the line itself tells of it."""
    limit = random.Random(seed).randrange(1, 900)
    body = "\n".join("    w()" if n % 7 else f"    n = {n} if n else 0; w()" for n in range(1000))
    said, recorded = witnessed(f"""
import signal
rest, n = {limit}, 0
write = w
def w(line):
    global rest
    write(line)
    rest -= 1
    if not rest:
        os.kill(os.getpid(), signal.SIGKILL)
def work():
    global n
{body}
work()
""", status=-9)
    assert recorded == said and len(said) == limit


def test_what_an_earlier_tool_with_the_same_id_switched_off_is_seen(build, events, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent("""
        import sys, kymo
        def f(x):
            if x:
                return 1
            return 2
        def use(tool):
            tools, event = sys.monitoring, sys.monitoring.events
            tools.use_tool_id(tool, "earlier")
            wanted = event.LINE | (event.BRANCH_LEFT | event.BRANCH_RIGHT if hasattr(event, "BRANCH_LEFT") else 0)
            for bit in range(20):
                if wanted >> bit & 1:
                    tools.register_callback(tool, 1 << bit, lambda *args: tools.DISABLE)
            tools.set_events(tool, wanted)
            f(0), f(1)
            tools.set_events(tool, 0)
            tools.free_tool_id(tool)
        for profile in sys.argv[1:]:
            use(5)
            with kymo.record(profile + ".kymo", events=profile):
                assert sys.monitoring.get_tool(5) == "kymo"
                f(0), f(1)
        """))
    subprocess.run([sys.executable, script, "coverage", EVERY, "flow"], cwd=tmp_path, check=True, timeout=TIMEOUT,
                   env=environment({"PYTHONPATH": build / "python"}))
    seen = [[event for event in events(tmp_path / f"{profile}.kymo") if event.get("function") == "f"]
            for profile in ("coverage", EVERY, "flow")]
    assert {line for _, line in lines_of(seen[0])} == {4, 5, 6}
    for other in seen[1:]:
        assert lines_of(other) == lines_of(seen[0]) and branches_of(other) == branches_of(seen[0])


def test_coverage_py_beside_it(record, events, tmp_path):
    """Neither sees less for the other."""
    program = tmp_path / "program.py"
    program.write_text("def f(n):\n    for m in range(n):\n        if m > 1:\n            return m\n    return 0\n"
                       "print(f(0), f(1), f(9))\nif not f(1):\n    x = 1\nelse:\n    x = 2\n")

    def measure(words, run):
        out = tmp_path / "coverage.json"
        run([*words, "-m", "coverage", "run", "--data-file", tmp_path / "data", program])
        subprocess.run([*words, "-m", "coverage", "json", "-q", "--data-file", tmp_path / "data", "-o", out],
                       cwd=tmp_path, check=True, env=environment())
        return json.loads(out.read_text())["files"]

    alone = measure([sys.executable], lambda words: subprocess.run(words, check=True, env=environment(
        {"COVERAGE_CORE": "sysmon"}), cwd=tmp_path))
    traces = []
    beside = measure([sys.executable], lambda words: traces.append(
        record(words, "--events=coverage", f"--include={program}", env={"COVERAGE_CORE": "sysmon"}, cwd=tmp_path)))
    assert beside == alone
    (file,) = alone.values()
    assert {line for _, line in lines_of(events(traces[0]))} - {0} == {*file["executed_lines"]} - {0}
