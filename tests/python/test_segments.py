# SPDX-License-Identifier: Apache-2.0
"""Segments that are kept or dropped, against recordings of the same program without them."""
import os
import signal
import subprocess
from itertools import groupby
from pathlib import Path

import pytest
from conftest import KYMO, TIMEOUT, environment

from kymo_model import Trace
from streams import shape, threads_of

# `begin` and `end` are callables in C, with segments or without: they leave no event of their own in `flow` and `calls`.
START = """\
import os, sys, threading, signal
import kymo
begin, end = {"segments": (kymo.begin_segment, kymo.end_segment), "plain": (int, dict)}[sys.argv[1]]
def mark(text):
    kymo.mark(text)
def work(n):
    total = 0
    for i in range(n):
        if i % 3:
            total += i
        else:
            total -= 1
    return total
"""

EVERYTHING = START + """
def numbers(n):
    for i in range(n):
        if i & 1:
            yield i
        else:
            yield -i
def fails(depth):
    if depth:
        try:
            fails(depth - 1)
        finally:
            work(depth)
    else:
        raise ValueError(depth)
def opens(keep):
    mark("before")
    begin()
    return work(3)
def closes(depth, keep):
    if depth:
        return closes(depth - 1, keep)
    work(4)
    end(keep=keep)
    mark("after")
def body(keep):
    opens(keep)
    for n in across:
        if n > 4:
            break
    try:
        fails(3)
    except ValueError:
        work(10)
    mark("inside")
    closes(5, keep)
across = numbers(1000)
for turn in range(12):
    body(turn in (2, 3, 7))
    if turn & 1:
        next(across)
print(sum(across))
"""

THREADS = START + """
steps = [threading.Barrier(4) for _ in range(10)]
def worker(name):
    for turn, step in enumerate(steps):
        mark(f"out {turn}")
        work(50)
        step.wait()  # it begins
        step.wait()
        mark(f"in {turn}")
        work(5)
        step.wait()  # it ends
        step.wait()
def short(name):
    mark(f"short {name}")
    work(20)
workers = [threading.Thread(target=worker, args=(name,)) for name in "abc"]
for thread in workers:
    thread.start()
for turn, step in enumerate(steps):
    step.wait()
    if turn & 1:
        begin()
    step.wait()
    for name in range(3):
        thread = threading.Thread(target=short, args=(f"{turn} {name}",))
        thread.start()
        thread.join()
    step.wait()
    if turn & 1:
        end(keep=turn == 5)
    step.wait()
for thread in workers:
    thread.join()
"""


@pytest.fixture
def run(record, importing, tmp_path):
    """run(program, "segments" or "plain", options…): the trace of it; both have the same name of the program."""
    def of(program, how, *options, **more):
        path = tmp_path / "program.py"
        path.write_text(program)
        return record([path, how], "--include=program.py", *options, env=importing, **more)
    return of


@pytest.fixture
def compare(run, events):
    """Record with segments and without: the events of both, a list for each thread in the order of their start."""
    def of(program, *options):
        return tuple(in_order(events(run(program, how, *options))) for how in ("segments", "plain"))
    return of


def in_order(events):
    """Threads as they were made: their numbers grow until they begin anew, below the process's."""
    threads = threads_of(events)
    return [threads[pid, tid] for pid, tid in sorted(threads, key=lambda thread: (thread[0], thread[1] < thread[0], thread[1]))]


def same(event):
    """What segments leave as it is: the callables that begin and end them are not the same."""
    return tuple(value for value, name in zip(shape(event), ("event", "file", "function", "line", "offset", "dest")))


def by_ordinal(events):
    return {n: [*group] for n, group in groupby(events, key=lambda event: event["n"])}


def check_thread(events, reference):
    """@events are those of @reference, but for gaps on purpose; returns [(first ordinal, last)] of these."""
    seen, expected = by_ordinal(events), by_ordinal(reference)
    gaps, next_n = [], 1
    for n, group in seen.items():
        assert n == next_n, f"after {next_n - 1} comes {group[0]}"
        last = group[-1]
        if last["event"] == "GAP":
            assert last["why"] == "discarded", last
            assert len(group) == 1 or all(e["event"] != "GAP" for e in group[:-1])
            gaps.append((n, n + last["lost"] - 1))
            next_n += last["lost"]
            continue
        next_n += 1
        if gaps and gaps[-1][1] == n - 1:
            # What was rebuilt before the first event behind a gap may begin in the middle, never be another.
            rebuilt = [same(e) for e in group if e["event"] != "UNKNOWN"]
            assert rebuilt == [same(e) for e in expected[n]][-len(rebuilt):], n
        else:
            assert [same(e) for e in group] == [same(e) for e in expected[n]], n
    assert next_n == max(expected) + 1
    return gaps


def marks(events, text):
    return [event["n"] for event in events if event.get("mark") == text]


@pytest.mark.parametrize("profile", ["flow", "calls", "full"])
@pytest.mark.parametrize("memory", ["64M", "1K"])
def test_what_is_kept_is_what_happened(profile, memory, compare):
    (events,), (reference,) = compare(EVERYTHING, f"--events={profile}", f"--segment-memory={memory}", "--ring-size=64K")
    gaps = check_thread(events, reference)
    before, inside, after = (marks(reference, text) for text in ("before", "inside", "after"))
    dropped = [turn for turn in range(12) if turn not in (2, 3, 7)]
    assert len(gaps) == len(dropped)
    for (first, last), turn in zip(gaps, dropped):
        assert before[turn] < first < inside[turn] < last < after[turn]
        if profile != "full":  # there, lines and calls lie between a mark and the bounds
            # The function that marks returns before the begin, and is called again after the end.
            assert (before[turn] + 2, after[turn] - 2) == (first, last)


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_threads(profile, compare):
    """Of threads under one GIL the bounds are exact, also of those that begin and end within a segment."""
    segments, plain = compare(THREADS, f"--events={profile}")
    assert len(segments) == len(plain) == 34
    for thread, (events, reference) in enumerate(zip(segments, plain)):
        short = thread - 4
        gaps = check_thread(events, reference)
        if short < 0:
            assert len(gaps) == 4, thread
        if thread in (1, 2, 3):
            for turn in range(10):
                assert marks(events, f"out {turn}") and bool(marks(events, f"in {turn}")) == (turn not in (1, 3, 7, 9))
        if short < 0:
            continue
        if short // 3 in (1, 3, 7, 9):
            assert gaps == [(1, reference[-1]["n"])], thread
        else:
            assert not gaps, thread


def test_the_model_agrees(run, events):
    """Threads that ended in a dropped segment are told by their ends only."""
    path = run(THREADS, "segments", "--events=full")
    model = {}
    for (_, thread), stream in Trace(path).events().items():
        model[thread] = [(event["n"], event["event"], event.get("lost"), event.get("why")) for event in stream]
    seen = [[(event["n"], event["event"], event.get("lost"), event.get("why")) for event in thread]
            for thread in in_order(events(path))]
    assert seen == [model[thread] for thread in sorted(model)]
    assert sum(len(thread) == 1 for thread in seen) == 12


def test_beyond_the_limit_they_lie_in_a_file(run, events, tmp_path):
    """The program itself sees the reader hold it, and nothing is left of it."""
    path = run(START + """
def files():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                if ".kymo.incomplete.held-" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                    yield os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
for turn in range(4):
    begin()
    mark(f"begin {turn}")
    while not (found := list(files())):
        for _ in range(20_000):
            work(1)
    assert found[0].endswith(" (deleted)"), found
    mark(f"segment {turn}")
    end(keep=turn == 2)
    mark(f"after {turn}")
    while list(files()):
        pass
""", "segments", "--events=calls", "--segment-memory=1")
    seen = [event["mark"] for event in events(path, "--kind", "MARK")]
    assert seen == ["after 0", "after 1", "begin 2", "segment 2", "after 2", "after 3"]
    assert {file.name for file in tmp_path.iterdir()} == {path.name, "program.py"}


ENDINGS = {
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    "exits": ("pass", 0),
    "exits at once": ("os._exit(3)", 3),
    "raises": ("raise SystemExit(4)", 4),
    "execs": ("os.execv(sys.executable, [sys.executable, '-c', 'pass'])", 0),
}


@pytest.mark.parametrize("memory", ["64M", "1K"])
@pytest.mark.parametrize("how", ENDINGS)
def test_a_segment_that_never_ends_is_kept(how, memory, run, events):
    last, status = ENDINGS[how]
    program = START + f"""
begin()
work(1000)
end(keep=False)
begin()
work(2000)
thread = threading.Thread(target=work, args=(2000,))
thread.start()
thread.join()
mark("last")
{last}
"""
    options = ["--events=flow", f"--segment-memory={memory}", "--ring-size=8K"]
    recorded, whole = (in_order(events(run(program, each, *options, status=status))) for each in ("segments", "plain"))
    (first, end), = check_thread(recorded[0], whole[0])
    assert end < marks(recorded[0], "last")[0] and end - first > 1000
    assert check_thread(recorded[1], whole[1]) == []


def test_children_are_processes_of_their_own(run, events):
    """Forked in a segment: they begin without one, may end it for nothing, and have their own."""
    path = run(START + """
begin()
mark("parent's")
child = os.fork()
if not child:
    mark("child's")
    end(keep=False)
    mark("child's after that")
    begin()
    mark("child's own")
    end(keep=False)
    mark("child's last")
    os._exit(0)
os.waitpid(child, 0)
end(keep=False)
mark("after")
""", "segments", "--events=calls")
    parent, child = sorted((marked(thread) for thread in threads_of(events(path)).values()), key=len)
    assert (parent, child) == (["after"], ["child's", "child's after that", "child's last"])


def marked(events):
    return [event["mark"] for event in events if event["event"] == "MARK"]


@pytest.mark.parametrize("calls, error", [
    ("begin(); begin()", "RuntimeError: kymo: begin_segment() in a segment; call end_segment() first"),
    ("end(keep=True)", "RuntimeError: kymo: end_segment() without begin_segment()"),
    ("begin(); end(keep=True); end(keep=True)", "RuntimeError: kymo: end_segment() without begin_segment()"),
    ("begin(); end()", "TypeError: end_segment() missing required argument 'keep' (pos 1)"),
])
def test_misuse_is_an_error(calls, error, run, python, importing, kymo, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(START + f"""
try:
    {calls}
except Exception as error:
    print(type(error).__name__, error, sep=": ")
""")
    done = kymo("record", "-q", "-o", tmp_path / "t.kymo", program, "segments", env=importing)
    assert done.stdout == error + "\n"
    # Where nothing is recorded, they may stay in the program.
    words = [python, program, "segments"]
    plain = subprocess.run(words, env=environment(importing), capture_output=True, text=True, check=True)
    assert plain.stdout == (done.stdout if "TypeError" in error else "") and plain.stderr == ""


@pytest.mark.parametrize("policy", ["drop", "overwrite"])
def test_other_policies(policy, run, events):
    """What is there is where it was, every gap has its cause, and nothing of a dropped segment is left."""
    path = run(START + """
for turn in range(40):
    mark(f"out {turn}")
    begin()
    mark(f"in {turn}")
    work(200)
    end(keep=turn % 2)
""", "segments", "--events=full", f"--policy={policy}", "--ring-size=" + {"drop": "8K", "overwrite": "1M"}[policy])
    thread, = threads_of(events(path)).values()
    n = 0
    for event in thread:
        assert event["n"] == n + 1
        n += event.get("lost", 1)
    lost = {"drop": "full", "overwrite": "overwritten"}[policy]
    assert {why for e in thread if e["event"] == "GAP" for why in e["why"].split(",")} <= {"discarded", lost}
    seen = marked(thread)
    assert seen and not any(mark == f"in {turn}" for mark in seen for turn in range(0, 40, 2))
    if policy == "overwrite":
        assert "in 39" in seen and any(e.get("why") == "discarded" for e in thread)


def test_a_snapshot_keeps_what_the_segment_has_so_far(run, events):
    path = run(START + """
begin()
mark("before")
kymo.snapshot("now")
mark("behind")
end(keep=False)
mark("after")
""", "segments", "--events=calls")
    thread, = threads_of(events(path)).values()
    assert marked(thread) == ["before", "after"]
    assert [event["why"] for event in thread if event["event"] == "GAP"] == ["discarded"]


@pytest.mark.parametrize("policy", ["block", "overwrite"])
def test_a_snapshot_behind_a_dropped_segment_leaves_its_cause(policy, run, events):
    """What it takes is still open, and is taken again when there is more in it."""
    path = run(START + """
for turn in range(3):
    begin()
    work(3)
    end(keep=False)
    mark(f"before {turn}")
    kymo.snapshot("now")
    mark(f"behind {turn}")
""", "segments", "--events=calls", f"--policy={policy}")
    thread, = threads_of(events(path)).values()
    assert marked(thread) == [f"{where} {turn}" for turn in range(3) for where in ("before", "behind")]
    assert [event["why"] for event in thread if event["event"] == "GAP"] == ["discarded"] * 3


def test_a_recording_that_is_stopped_in_a_segment(python, importing, events, tmp_path):
    (tmp_path / "p.py").write_text(START + """
for turn in range(2):
    with kymo.record(f"{turn}.kymo", events="calls", include="p.py", segment_memory="4K"):
        begin()
        mark("inside")
    end(keep=False)
""")
    subprocess.run([python, "p.py", "segments"], cwd=tmp_path, env=environment(importing), check=True)
    for turn in range(2):
        assert marked(events(tmp_path / f"{turn}.kymo")) == ["inside"]


def test_threads_that_end_in_dropped_segments_are_all_counted(run, events):
    """More than one definition tells."""
    threads = THREADS[:THREADS.index("workers =")] + """
for turn in range(700):
    begin()
    thread = threading.Thread(target=short, args=(turn,))
    thread.start()
    thread.join()
    end(keep=False)
"""
    threads = in_order(events(run(threads, "segments", "--events=calls")))[1:]
    assert len(threads) == 700
    assert all([(e["event"], e["n"], e["why"]) for e in thread] == [("GAP", 1, "discarded")] for thread in threads)
    assert len({thread[0]["lost"] for thread in threads}) == 1


def start(program, importing, tmp_path, *options):
    """Have it recorded in the background; it says "ready" when it is."""
    (tmp_path / "program.py").write_text(program)
    words = [KYMO, "record", "-o", tmp_path / "t.kymo", "--include=program.py", *options, "program.py", "segments"]
    return subprocess.Popen(words, cwd=tmp_path, env=environment(importing), text=True, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


WAITS = START + """
begin()
work(20_000)
mark("dropped")
end(keep=False)
begin()
work(60_000)
mark("inside")
session = os.environ["KYMO_SESSION"]
print(os.getpid(), session, flush=True)
sys.stdin.readline()
mark("later")
end(keep=True)
mark("after")
"""


@pytest.mark.parametrize("memory", ["64M", "1K"])
def test_kymo_is_told_to_stop(memory, importing, events, tmp_path):
    """SIGTERM goes to the program, and ends it in a segment: what the reader holds is written."""
    recording = start(WAITS, importing, tmp_path, f"--segment-memory={memory}")
    assert recording.stdout.readline()
    recording.send_signal(signal.SIGTERM)
    assert recording.wait(TIMEOUT) == -signal.SIGTERM
    recording.communicate()
    seen = [event["mark"] for event in events(tmp_path / "t.kymo", "--kind", "MARK")]
    assert seen == ["inside"]


@pytest.mark.parametrize("memory", ["64M", "1K"])
def test_the_trace_is_sealed_while_a_process_is_in_a_segment(memory, python, importing, events, tmp_path):
    (tmp_path / "p.py").write_text(START + f"""
kymo.start("t.kymo", events="calls", include="p.py", segment_memory="{memory}")
is_ready, is_sealed = os.pipe(), os.pipe()
if not os.fork():
    begin()
    work(10)
    for n in range(20_000):
        work(1)
    mark("inside")
    os.write(is_ready[1], b".")
    os.read(is_sealed[0], 1)
    os._exit(0)
os.read(is_ready[0], 1)
kymo.stop()
os.write(is_sealed[1], b".")
""")
    subprocess.run([python, "p.py", "segments"], cwd=tmp_path, env=environment(importing), check=True)
    child, = [thread for thread in threads_of(events(tmp_path / "t.kymo")).values() if marked(thread) == ["inside"]]
    assert [event["n"] for event in child] == [*range(1, len(child) + 1)] and len(child) > 40_000


def reader_of(session):
    """The process that has the session's folder open, and is not the program."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
            opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            if name.endswith(b"kymo") and session in opened:
                yield int(pid)
        except OSError:
            pass


def test_the_reader_is_killed_while_it_holds_a_segment(importing, kymo, events, tmp_path):
    """What the ring still has is salvaged; what is gone is counted, and said to be the reader's."""
    recording = start(WAITS, importing, tmp_path, "--events=calls,LINE", "--ring-size=64K")
    pid, session = recording.stdout.readline().split()
    reader, = reader_of(session)
    os.kill(reader, signal.SIGKILL)
    recording.communicate("go\n", timeout=TIMEOUT)
    kymo("salvage", session)
    kymo("verify", tmp_path / "t.kymo")
    seen = events(tmp_path / "t.kymo")
    n = 0
    for event in seen:
        assert event["n"] == n + 1
        n += event.get("lost", 1)
    gaps = [event["why"] for event in seen if event["event"] == "GAP"]
    assert gaps == ["discarded", "reader"]
    assert marked(seen) == ["inside", "later", "after"]
