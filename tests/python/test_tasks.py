# SPDX-License-Identifier: Apache-2.0
"""asyncio's tasks: which one enters a coroutine, as asyncio itself has it in the same run."""
import json
import re
import subprocess
import sys
from pathlib import Path

import kymo as library
import pytest

from conftest import TIMEOUT, environment
from kymo_model import Trace
from streams import threads_of

PROGRAM = Path(__file__).parent / "programs" / "awaiting.py"
ENTRIES = "--kind=PY_START,PY_RESUME,PY_THROW"


def escaped(name):
    """As definitions have a str."""
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c < "\ue000" else "\\x00" if c == "\0" else c for c in name)


@pytest.mark.parametrize("options", [
    "--events=calls",
    "--events=calls --clock=exact",
    "--events=flow",
    "--events=flow --clock=exact --ring-size=8K",
    "--events=full",
    "--events=branch-bits --include=awaiting.py",
])
def test_tasks_are_those_that_asyncio_says_run(options, record, events, tmp_path):
    told = tmp_path / "told.json"
    trace = record([PROGRAM, told], *options.split())
    told = json.loads(told.read_text())
    coroutines = {function for _, _, function, _ in told["seen"]}
    assert {event["event"] for event in events(trace, "--file=awaiting.py") if "task" in event} == {"PY_START", "PY_RESUME", "PY_THROW"}
    entries = [event for event in events(trace, ENTRIES, "--file=awaiting.py") if event["function"] in coroutines]
    numbers = {}
    for (_, thread), stream in threads_of(entries).items():
        of_thread = [seen[1:] for seen in told["seen"] if seen[0] == thread]
        assert [(event["event"], event["function"]) for event in stream] == [(kind, name) for kind, name, _ in of_thread]
        for event, (_, _, number) in zip(stream, of_thread):
            assert ("task" in event) == (number is not None), event
            if number is not None:
                assert numbers.setdefault(event["task"], number) == number, event
                assert event["task_name"] == escaped(told["names"][str(number)])
    assert len(numbers) == len(set(numbers.values())) == len(told["names"])
    assert {kind for _, kind, _, _ in told["seen"]} == {"PY_START", "PY_RESUME", "PY_THROW"}


def tasks_of(events):
    return [(event.get("task"), event.get("task_name")) for event in events]


def test_tasks_whose_own_coroutine_is_left_out(record, events, tmp_path):
    (tmp_path / "wrapping.py").write_text("async def run(coroutine):\n    return await coroutine()\n")
    trace = record("""
import asyncio
from wrapping import run
async def leaf():
    await asyncio.sleep(0)
async def main():
    for _ in range(20):
        await asyncio.create_task(run(leaf))
asyncio.run(main())
""", "--include=program-1.py")
    seen = tasks_of(events(trace, "--kind=PY_START", "--function=leaf"))
    assert [name for _, name in seen] == [f"Task-{n}" for n in range(2, 22)]
    assert len(set(seen)) == 20


NOTHING_SEEN = """
import sys
async def by_hand():
    return 1
try:
    by_hand().send(None)
except StopIteration as stop:
    print(stop.value, "asyncio" in sys.modules, "_asyncio" in sys.modules)
import asyncio, weakref
async def leaf():
    await asyncio.sleep(0)
    print(sys.getrefcount(asyncio.current_task()), asyncio.current_task().get_name())
async def main():
    for name in None, "x" * 3:
        task = asyncio.create_task(leaf(), name=name)
        await task
        print(task.get_name(), sys.getrefcount(task), sys.getrefcount(task.get_coro()))
        gone = weakref.ref(task)
        del task
        print(gone())
    print(asyncio.create_task(leaf()), asyncio.all_tasks() == {asyncio.current_task()})
asyncio.run(main())
"""


@pytest.mark.parametrize("profile", ["calls", "flow", "full"])
def test_the_program_sees_nothing_of_it(profile, kymo, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(NOTHING_SEEN)
    plain = subprocess.run([sys.executable, program], env=environment(), capture_output=True, text=True, timeout=TIMEOUT)
    recorded = kymo("record", "-q", "-o", tmp_path / "t.kymo", f"--events={profile}", program)
    at = re.compile("0x[0-9a-f]+")
    assert plain.stdout.startswith("1 False False\n")
    assert at.sub("", recorded.stdout) == at.sub("", plain.stdout)


HOSTILE = """
import asyncio, sys
async def leaf():
    await asyncio.sleep(0)
class Loop(asyncio.SelectorEventLoop):
    def __eq__(self, other):
        raise AssertionError("nobody compares")
    __hash__ = asyncio.SelectorEventLoop.__hash__
class Odd:
    name = property(lambda self: 1 / 0)
    def __getattr__(self, name):
        raise AssertionError("nobody asks")
async def main():
    await leaf()
    module, loop, task = sys.modules["_asyncio"], asyncio.get_running_loop(), asyncio.current_task()
    for other in Odd(), 5, None:
        sys.modules["_asyncio"] = other
        await leaf()
    del sys.modules["_asyncio"]
    await leaf()
    sys.modules["_asyncio"] = module
    asyncio.tasks._leave_task(loop, task)
    for other in Odd(), 5, leaf, type("_asyncio.Task", (), {"get_name": None})(), asyncio.Task.__new__(asyncio.Task):
        asyncio.tasks._enter_task(loop, other)
        try:
            leaf().send(None)
        finally:
            asyncio.tasks._leave_task(loop, other)
    asyncio.tasks._enter_task(loop, task)
    await leaf()
    print("done")
with asyncio.Runner(loop_factory=Loop) as runner:
    runner.run(main())
"""


@pytest.mark.parametrize("profile", ["calls", "flow"])
def test_what_looks_like_a_task_and_is_none(profile, record, events):
    trace = record(HOSTILE, f"--events={profile}")
    seen = [event.get("task_name") for event in events(trace, "--kind=PY_START", "--function=leaf")]
    assert seen[0] == seen[-1] == "Task-1"
    assert set(seen[5:9]) == {None}
    assert not seen[9]  # it has no name yet


def test_forked_children(record, events, tmp_path):
    told = tmp_path / "told"
    trace = record([sys.executable, "-c", """
import asyncio, os, sys
async def leaf():
    try:
        name = asyncio.current_task().get_name()
    except RuntimeError:
        name = None
    os.write(out, f"{os.getpid()} {name}\\n".encode())
async def main():
    await leaf()
    child = os.fork()
    await leaf()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
asyncio.run(main())
child = os.fork()
asyncio.run(asyncio.wait_for(leaf(), 1000))
if child:
    os.waitpid(child, 0)
""", told])
    seen = [(event["pid"], event.get("task"), event.get("task_name")) for event in events(trace, "--kind=PY_START", "--function=leaf")]
    assert sorted(f"{pid} {name}" for pid, _, name in seen) == sorted(told.read_text().splitlines())
    assert len(seen) == 5
    for pid in {pid for pid, _, _ in seen}:
        of_process = {(task, name) for its, task, name in seen if its == pid}
        assert len({task for task, _ in of_process}) == len({name for _, name in of_process})


def test_each_recording_of_a_process_has_its_tasks(events, importing, tmp_path):
    program = tmp_path / "parts.py"
    program.write_text("""
import asyncio, kymo, sys
async def leaf(n):
    await asyncio.sleep(0)
async def main():
    for part in 1, 2:
        with kymo.record(f"{sys.argv[1]}/{part}.kymo", events="calls"):
            await leaf(1)
            await asyncio.create_task(leaf(2), name=f"part {part}")
asyncio.run(main())
""")
    subprocess.run([sys.executable, program, tmp_path], env=environment(importing), check=True, timeout=TIMEOUT)
    for part in 1, 2:
        first, second = tasks_of(events(tmp_path / f"{part}.kymo", "--kind=PY_START", "--function=leaf"))
        assert [first[1], second[1]] == ["Task-1", f"part {part}"]
        assert {first} == {*tasks_of(events(tmp_path / f"{part}.kymo", "--kind=PY_RESUME", "--function=main"))}


def test_a_loop_of_another_interpreter(record, events):
    trace = record("""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
program = '''
import asyncio
async def leaf():
    await asyncio.sleep(0)
async def main():
    await asyncio.create_task(leaf(), name=NAME)
asyncio.run(main())
'''
exec(program, {"NAME": "here"})
other = interpreters.create()
interpreters.run_string(other, "NAME = 'there'" + program)
interpreters.destroy(other)
exec(program, {"NAME": "here"})
""", "--include=<*")
    seen = tasks_of(events(trace, "--kind=PY_START", "--function=leaf"))
    assert [name for _, name in seen] == ["here", "there", "here"]
    assert len(set(seen)) == 3


def test_where_starts_are_not_recorded_no_task_is_told(record, events):
    told, silent = (record(NOTHING_SEEN, events) for events in ("--events=calls", "--events=coverage,PY_RESUME"))
    assert [Trace(trace).header.required_features for trace in (told, silent)] == [2, 0]
    assert not [event for event in events(silent) if "task" in event]


def test_they_are_told_to_readers(kymo, events):
    golden = PROGRAM.parents[2] / "golden" / "v1" / "awaiting-3.14.kymo"
    with library.open(golden) as trace:
        seen = [(event.n, event.task, event.task_name) for event in trace.events()]
    assert seen == [(event["n"], event.get("task"), event.get("task_name")) for event in events(golden)]
    line, = (line for line in kymo("events", golden).stdout.splitlines() if "PY_THROW" in line)
    assert line.endswith("leaf  CancelledError  in task 5 'never runs'")
