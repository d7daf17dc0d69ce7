# SPDX-License-Identifier: Apache-2.0
"""Threads, interpreters and signals: everything happens where, and in the order in which, it happened."""
import json
import sys
from collections import Counter

import pytest

from streams import lost, threads_of


@pytest.fixture
def threads(kymo):
    """threads(trace): what `kymo info` knows of the threads of the only process."""
    def read(trace):
        process, = json.loads(kymo("info", "--json", trace).stdout)["processes"]
        return process["threads"]
    return read


def test_thousands_of_threads_that_come_and_go(record, events, threads, capfd):
    trace = record("""
import os, threading
def work(n):
    return n + 1
def run(n):
    work(n)
for batch in range(30):
    workers = [threading.Thread(target=run, args=(n,), name=f"worker {batch} {n}") for n in range(100)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
session = os.environ["KYMO_SESSION"]
folder, = [entry.path for entry in os.scandir(session) if entry.is_dir()]
assert len([name for name in os.listdir(folder) if name.startswith("ring-")]) <= 101
""", "--include=program-1.py")
    seen = threads(trace)
    assert {thread["name"] for thread in seen} == {"MainThread"} | {
        f"worker {batch} {n}" for batch in range(30) for n in range(100)}
    assert all(thread["lost"] == 0 for thread in seen)
    streams = threads_of(events(trace, "--function", "work"))
    assert len(streams) == 3000
    assert all([event["event"] for event in stream] == ["PY_START", "LINE", "PY_RETURN"] for stream in streams.values())


def test_hundreds_of_threads_at_once(record, events, threads):
    trace = record("""
import threading
barrier = threading.Barrier(300)
def work(n):
    for i in range(20):
        barrier.wait() if i in (0, 10) else abs(i)
workers = [threading.Thread(target=work, args=(n,)) for n in range(300)]
for worker in workers: worker.start()
for worker in workers: worker.join()
""", "--events=LINE", "--include=program-1.py")
    streams = threads_of(events(trace, "--function", "work"))
    assert len(streams) == 300
    # 3.13 on gives no LINE at a function's entry, but all lines have their own.
    assert {tuple(Counter(event["line"] for event in stream).values()) for stream in streams.values()} == {(21, 20)}


def test_names(record, threads):
    trace = record("""
import threading, _thread
def work(): pass
def rename():
    threading.current_thread().name = "later \\N{SNOWMAN}"
    for n in range(100_000): work()
for name in ("first", "with 'quotes' and\\nlines", "x" * 300):
    thread = threading.Thread(target=work, name=name)
    thread.start()
    thread.join()
thread = threading.Thread(target=rename, name="early")
thread.start()
thread.join()
done = _thread.allocate_lock()
done.acquire()
_thread.start_new_thread(lambda: (work(), done.release()), ())
done.acquire()
""")
    names = [thread["name"] for thread in threads(trace)]
    assert names[:3] == ["MainThread", "first", "with 'quotes' and\nlines"]
    assert "x" * 300 == names[3] or names[3] == "x" * len(names[3]) and len(names[3]) > 60
    assert names[4] == "later \N{SNOWMAN}"
    assert len(names) == 6 and names[5] is None


@pytest.mark.parametrize("policy", ["block", "drop", "overwrite"])
def test_daemon_threads_at_shutdown(policy, record, events):
    trace = record("""
import atexit, threading
def spin():
    n = 0
    while True:
        n += 1
        running.set()
def at_exit():
    return "end"
atexit.register(at_exit)
for _ in range(6):
    running = threading.Event()
    threading.Thread(target=spin, daemon=True).start()
    running.wait()
""", "--events=calls,LINE", f"--policy={policy}", "--ring-size=256K")
    seen = events(trace)
    assert any(event.get("function") == "at_exit" for event in seen)
    for stream in threads_of(seen).values():
        n = 0
        for event in stream:
            assert event["n"] == n + 1
            n += event.get("lost", 1)
        assert policy != "block" or not lost(stream)


def test_threads_are_interleaved_as_they_ran(record, events, tmp_path):
    """Between a LINE event and a C function that the line calls first, no other thread runs."""
    trace = record(f"""
import itertools, os, sys, threading
sys.setswitchinterval(1e-5)
counter, together = itertools.count(), threading.Barrier(4)
turns = {{}}
def step():
    return next(counter)
def work():
    mine = []
    together.wait()
    for n in range(5000):
        mine.append(step())
        if n % 7 == 0:
            os.sched_yield()
    turns.update(dict.fromkeys(mine, threading.get_native_id()))
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
with open({str(tmp_path / "turns")!r}, "w") as file:
    print(*(turns[n] for n in range(20000)), file=file)
""", "--events=calls,LINE")
    recorded = [event["tid"] for event in events(trace, "--function", "step", "--kind", "LINE")]
    ran = list(map(int, (tmp_path / "turns").read_text().split()))
    assert sum(a != b for a, b in zip(ran, ran[1:])) > 200
    assert recorded == ran


@pytest.mark.skipif(sys.version_info < (3, 13), reason="compiled code has no events before 3.13")
@pytest.mark.parametrize("profile", ["full", "calls", "flow"])
def test_compiled_code_with_events_in_a_thread_without_a_frame(profile, record, events):
    """What Cython makes may be what a thread begins with: nothing of Python's runs there."""
    read = events(record("""
import _thread, ctypes, functools
def function(): return 1
functions = ctypes.pythonapi._PyMonitoring_FirePyStartEvent, ctypes.pythonapi._PyMonitoring_FireJumpEvent
functions[0].argtypes = ctypes.c_char_p, ctypes.py_object, ctypes.c_int
functions[1].argtypes = *functions[0].argtypes, ctypes.py_object
for fire, more in zip(functions, ((), (8,))):
    fire(b"\\xff\\0", function.__code__, 0, *more)
    _thread.start_joinable_thread(functools.partial(fire, b"\\xff\\0", function.__code__, 0, *more)).join()
function()
""", f"--events={profile}", "--include=program-1.py"))
    assert [event["event"] for event in read if event["function"] == "function"][-1] == "PY_RETURN"


def test_signals_at_any_time(record, events, tmp_path):
    """A timer's handler runs Python, and raises now and then, wherever the program is."""
    trace = record("""
import signal, sys
class Alarm(Exception): pass
calls = raised = 0
def handler(number, frame):
    global calls
    calls += 1
    if calls % 3 == 0:
        raise Alarm
def inner(n):
    return [x for x in range(n % 7)]
def outer():
    n = 0
    while True:
        n += 1
        try:
            inner(n)
        finally:
            inner(n)
signal.signal(signal.SIGALRM, handler)
while calls < 300:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        outer()
    except Alarm:
        raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
with open(sys.argv[0] + ".txt", "w") as file:
    print(calls, raised, file=file)
""")
    calls, raised = map(int, (tmp_path / "program-1.py.txt").read_text().split())
    kinds = Counter(event["event"] for event in events(trace, "--function", "handler"))
    # A handler may be interrupted, too, even before it has counted, and then passes on what the other one raises; from 3.13 on
    # also before its PY_START, as the interpreter looks for signals first.
    passed_on = kinds["PY_UNWIND"] - calls // 3
    assert 0 <= kinds["PY_RETURN"] + kinds["PY_UNWIND"] - kinds["PY_START"] <= passed_on
    assert kinds["PY_START"] >= calls >= 300
    assert kinds["RAISE"] == kinds["PY_UNWIND"] >= calls // 3 >= raised > 0


INTERPRETERS = """
import sys, threading
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    def run(id, text):
        assert interpreters.run_string(id, text) is None
else:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
"""


def test_turns_of_interpreters_in_one_thread(record, events):
    trace = record(INTERPRETERS + """
ids = [interpreters.create(), interpreters.create()]
for id in ids:
    run(id, "def inner(n):\\n    return n\\n")
def outer(n):
    run(ids[n % 2], f"inner({n})")
for n in range(50):
    outer(n)
""", "--events=PY_START,PY_RETURN")
    seen = [(event["event"], event["function"]) for event in events(trace) if event["function"] in ("inner", "outer")]
    assert seen == [("PY_START", "outer"), ("PY_START", "inner"), ("PY_RETURN", "inner"), ("PY_RETURN", "outer")] * 50


def test_interpreters_in_threads_at_once(record, events):
    """Each with a GIL of its own; the order within each is exact."""
    trace = record(INTERPRETERS + """
text = "def inner(n):\\n    if n:\\n        inner(n - 1)\\nfor i in range(100): inner(i % 5)"
def work():
    for _ in range(3):
        id = interpreters.create()
        run(id, text)
        interpreters.destroy(id)
workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers: worker.start()
for worker in workers: worker.join()
""", "--events=calls,LINE")
    once = []
    for depth in [i % 5 for i in range(100)]:
        once += [e for n in range(depth) for e in ("PY_START", "LINE", "LINE")] + ["PY_START", "LINE"]
        once += ["PY_RETURN"] * (depth + 1)
    streams = threads_of(events(trace, "--function", "inner"))
    assert len(streams) == 4
    for stream in streams.values():
        assert [event["event"] for event in stream] == once * 3
