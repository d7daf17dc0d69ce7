# SPDX-License-Identifier: Apache-2.0
"""Calls over time in as many boxes as are asked for: nothing is counted twice, or not at all, however few they are."""

from collections import Counter

import pytest
from kymo.profile import timeline
from kymo.profile._tree import Slice

import kymo as package

PROGRAM = """
import threading

def leaf(x):
    return x

def middle(count):
    for i in range(count):
        leaf(i)

def numbers(count):
    yield from range(count)

def work(rounds):
    for i in range(rounds):
        middle(i)
        list(numbers(3))

def deep(n):
    return deep(n - 1) if n else 0

threads = [threading.Thread(target=work, args=(60,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
deep(300)
try:
    leaf()
except TypeError:
    pass
"""


@pytest.fixture(scope="module")
def trace(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slices")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "--events=calls", "-o", folder / "run.kymo", folder / "program.py")
    return folder / "run.kymo"


def check(found, most):
    """Boxes come behind what lies in them, and lie in what comes next and is less deep."""
    assert len(found.boxes) <= most
    for box in found.boxes:
        assert box.begin_ns <= box.end_ns and box.calls >= 1 and (box.calls == 1) == (not box.flags & timeline.MERGED)
        if box.flags & timeline.MERGED:
            assert box.end_ns - box.begin_ns < found.merged_ns or box.depth == max(most // 4, 1) - 1
    for thread in found.threads:
        around = []
        for box in reversed([box for box in found.boxes if box.thread is thread]):
            del around[box.depth :]
            assert len(around) == box.depth, "something around it is missing"
            if around:
                assert around[-1].begin_ns <= box.begin_ns and box.end_ns <= around[-1].end_ns
            around.append(box)
    assert sum(box.calls for box in found.boxes) == found.calls


def test_with_room_every_call_is_a_box(trace):
    found = timeline.read(trace, most=1_000_000)
    check(found, 1_000_000)
    assert found.merged_ns == 0
    with package.open(trace) as read:
        begun = Counter(event.function for event in read.events(kinds="PY_START,PY_RESUME,PY_THROW"))
    begun["<module>"] = 0
    told = Counter(box.function.name for box in found.boxes)
    for name in ("leaf", "middle", "numbers", "work", "deep"):
        assert told[name] == begun[name] > 0, name
    assert all(not box.flags & timeline.RESUMED for box in found.boxes if box.function.name == "leaf")
    assert (
        sum(bool(box.flags & timeline.RESUMED) for box in found.boxes if box.function.name == "numbers") == 3 * 60 * 3
    )


@pytest.mark.parametrize("most", [4, 5, 10, 100, 1000])
def test_with_little_room_calls_are_told_together(trace, most):
    whole = timeline.read(trace, most=1_000_000)
    found = timeline.read(trace, most=most)
    check(found, most)
    assert found.calls == whole.calls and found.merged_ns > 0
    assert (found.begin_ns, found.end_ns) == (whole.begin_ns, whole.end_ns)
    # What is long is told by itself, as it was.
    long = {
        (box.thread.number, box.begin_ns, box.end_ns, box.depth)
        for box in whole.boxes
        if box.end_ns - box.begin_ns >= found.merged_ns and box.depth < max(most // 4, 1)
    }
    assert long == {
        (box.thread.number, box.begin_ns, box.end_ns, box.depth)
        for box in found.boxes
        if box.end_ns - box.begin_ns >= found.merged_ns
    }


def test_there_is_a_box_for_each_thread(trace):
    with pytest.raises(package.Error, match="more threads than boxes"):
        timeline.read(trace, most=1)


def test_a_part_of_it(trace):
    found = timeline.read(trace, Slice(function="middle"), most=10_000)
    assert {box.function.name for box in found.boxes} == {"middle", "leaf"}
    assert all(box.depth == 0 for box in found.boxes if box.function.name == "middle")


def test_what_is_no_trace(tmp_path):
    (tmp_path / "x").write_bytes(b"no trace")
    for path in tmp_path / "x", tmp_path / "none":
        with pytest.raises(package.Error):
            timeline.read(path)


def test_gaps(record):
    trace = record(
        "def f():\n    pass\nfor i in range(200000):\n    f()\n",
        "--policy=overwrite",
        "--ring-size=64k",
        "--events=full",
    )
    found = timeline.read(trace, most=100)
    check(found, 100)
    with package.open(trace) as read:
        lost = sum(event.lost for event in read.losses)
    assert sum(gap.lost for gap in found.gaps) == lost > 0
    assert {gap.reasons for gap in found.gaps} == {"overwritten"}


TASKS = """
import asyncio, threading

async def turn():
    await asyncio.sleep(0)

async def turns(count):
    for _ in range(count):
        await turn()

async def main():
    tasks = [asyncio.create_task(turns(count), name=f"turns-{count}") for count in (0, 3, 40)]
    await asyncio.gather(*tasks)

asyncio.run(main())
thread = threading.Thread(target=lambda: asyncio.run(main()), name="other")
thread.start()
thread.join()
"""


@pytest.fixture(scope="module", params=["calls", "flow"])
def tasks_trace(kymo, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "program.py").write_text(TASKS)
    kymo("record", "-q", f"--events={request.param}", "-o", folder / "run.kymo", folder / "program.py")
    return folder / "run.kymo"


def times_of(found):
    """How often each named task ran: from its start to each of its waits."""
    times = {}
    for run in found.runs:
        if run.task.name.startswith("turns-"):
            key = run.task.thread.name, run.task.name
            times[key] = times.get(key, 0) + run.times
    return times


EXPECTED = {(thread, f"turns-{count}"): count + 1 for thread in ("MainThread", "other") for count in (0, 3, 40)}


def check_runs(found):
    last = {}
    for run in found.runs:
        assert run.begin_ns <= run.end_ns and (run.times > 1) == bool(run.flags & timeline.MERGED)
        assert last.get(run.task, run.begin_ns) <= run.begin_ns, "two at a time"
        last[run.task] = run.end_ns
    assert last.keys() == set(found.tasks)


def test_tasks_run_from_wait_to_wait(tasks_trace):
    found = timeline.read(tasks_trace, most=1_000_000)
    check_runs(found)
    assert found.runs_merged_ns == found.runs_left_out == 0 and times_of(found) == EXPECTED
    assert {run.function.name for run in found.runs if run.task.name.startswith("turns-")} == {"turns"}
    boxes = {(box.thread, box.begin_ns, box.end_ns, box.function) for box in found.boxes}
    assert all((run.task.thread, run.begin_ns, run.end_ns, run.function) in boxes for run in found.runs)


def test_with_little_room_runs_are_told_together(tasks_trace):
    found = timeline.read(tasks_trace, most=12)
    check_runs(found)
    assert len(found.runs) <= 12 and found.runs_merged_ns > 0 and found.runs_left_out == 0
    assert times_of(found) == EXPECTED
    found = timeline.read(tasks_trace, most=3)
    check_runs(found)
    whole = timeline.read(tasks_trace, most=1_000_000)
    assert len(found.tasks) == 3 and found.runs_left_out > 0
    assert sum(run.times for run in found.runs) + found.runs_left_out == len(whole.runs)
