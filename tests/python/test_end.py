# SPDX-License-Identifier: Apache-2.0
"""What a thread did after its last event, where a `flow` recording cannot tell: bounds that hold, and no word where nothing is missing."""
import json
import os
import signal
import subprocess
import textwrap

import pytest

import kymo as api
from conftest import environment
from streams import lost, threads_of

# next(fuse) ends the process at its turn, in C, without an event.
PROGRAM = """
import ctypes, os, signal, sys
from itertools import chain
WAYS = {
    "exit": map(os._exit, [0]),
    "kill": map(os.kill, [os.getpid()], [signal.SIGKILL]),
    "crash": map(ctypes.memmove, [8], [16], [8]),
    "exec": map(os.execv, ["/bin/true"], [["true"]]),
}
fuse = chain([0] * int(sys.argv[1]), WAYS[sys.argv[2]])

class Manager:
    def __enter__(self):
        next(fuse)

    def __exit__(self, *error):
        next(fuse)
        return True

def count(limit):
    for n in range(limit):
        next(fuse)
        yield n

def leaf(n):
    if n % 2:
        next(fuse)
        value = n
    else:
        value = next(fuse)
        value += (
            next(fuse) +
            n)
    return value

def main():
    for n in count(2):
        leaf(n)
    with Manager():
        next(fuse)
        n += 1
        raise KeyError(next(fuse))
    try:
        next(fuse)
        [next(fuse) for _ in range(2)]
        assert next(fuse)
    except AssertionError:
        next(fuse)
        n = None
    finally:
        next(fuse)
    while n is None:
        n = next(fuse)
        next(fuse) if n else next(fuse)
    next(fuse)

main()
"""
STATUS = {"exit": 0, "kill": -signal.SIGKILL, "crash": -signal.SIGSEGV, "exec": 0}
TURNS = 18

# Writes each line before it runs.
OBSERVER = """
import os, sys
output, program = sys.argv[1:3]
del sys.argv[:2]
file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def line(code, number):
    if code.co_filename == program:
        os.write(file, f"{number} {code.co_qualname}\\n".encode())

tools = sys.monitoring
tools.use_tool_id(4, "seen")
for event in tools.events.LINE, tools.events.PY_START:
    tools.register_callback(4, event, line if event == tools.events.LINE else lambda *_: None)
tools.set_events(4, tools.events.LINE | tools.events.PY_START)
exec(compile(open(program).read(), program, "exec"), {"__name__": "__main__"})
"""


@pytest.fixture
def observe(python, tmp_path):
    """observe(program, …): the lines that ran, as (function, number); it may end as it likes."""
    def run(program, *args):
        seen, observer = tmp_path / "seen", tmp_path / "observer.py"
        seen.unlink(missing_ok=True)
        observer.write_text(OBSERVER)
        subprocess.run([python, observer, seen, program, *map(str, args)], env=environment(), timeout=300, check=False)
        return [(function, int(number)) for number, function in (line.split(" ", 1) for line in seen.read_text().splitlines())]
    return run


def ends_of(events):
    return [event for event in events if event["event"] == "UNKNOWN"]


def lines_of(events, name="program.py"):
    return [(event["function"], event["line"]) for event in events
            if event["event"] == "LINE" and event["file"].endswith(name)]


@pytest.mark.parametrize("way", STATUS)
def test_what_ran_after_the_last_event_lies_between_its_bounds(way, observe, record, events, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    missed = 0
    for turn in range(TURNS + 1) if way == "exit" else range(0, TURNS, 5):
        ran = observe(program, turn, way)
        read = events(record([program, turn, way], "--events=flow", "--include=program.py", status=STATUS[way]))
        rebuilt = lines_of(read)
        assert rebuilt and rebuilt == ran[:len(rebuilt)] and not lost(read)
        rest = ran[len(rebuilt):]
        end, = ends_of(read) or [None]
        assert not end or turn < TURNS
        missed += len(rest)
        if rest:
            assert end, f"{rest} is missing without a word"
        if end:
            assert read[-1] == end and end["file"] == str(program)
            assert all(function == end["function"] and end["first_line"] <= line <= end["last_line"] for function, line in rest)
            size = end["last_line"] - end["first_line"]
            assert size < 30, "it says hardly anything"
    assert missed, "nothing was ever missing"


@pytest.mark.parametrize("way", STATUS)
def test_a_watcher_knows_what_ran_up_to_the_end(way, observe, record, events, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    for turn in range(TURNS + 1) if way == "exit" else range(0, TURNS, 5):
        ran = observe(program, turn, way)
        read = events(record([program, turn, way], "--exact-end", "--events=flow", "--include=program.py", status=STATUS[way]))
        assert lines_of(read) == ran and not ends_of(read)


def test_the_watcher_follows_threads_and_children(record, events, tmp_path):
    """All that are blocked, or leave, at a known line."""
    read = events(record("""
import os, subprocess, sys, threading, time
begun = threading.Barrier(4)
def work(n):
    a = n
    begun.wait()
    b = n
    time.sleep(1000)
    c = n
def leave():
    a = 1
    os._exit(3)
    b = 2
if len(sys.argv) > 1:
    leave()
child = os.fork()
if not child:
    leave()
os.waitpid(child, 0)
assert subprocess.call([sys.executable, __file__, "child"]) == 3
assert subprocess.call(["/bin/sh", "-c", f"true; {sys.executable} {__file__} child; exit $?"]) == 3
for n in range(3):
    threading.Thread(target=work, args=[n], daemon=True).start()
begun.wait()
os._exit(0)
""", "--exact-end", "--events=flow", "--include=program-1.py"))
    assert not ends_of(read)
    last = sorted(lines_of(each, "program-1.py")[-1] for each in threads_of(read).values())
    assert last[:4] == [("<module>", 25), *[("leave", 12)] * 3]
    assert len(last) == 7 and set(last[4:]) <= {("work", 6), ("work", 7), ("work", 8)}


def test_a_watched_thread_that_is_killed_between_two_instructions(record, events):
    """The interpreter writes down where it is once an instruction, or less often: what may have followed is told."""
    read = events(record("""
import os, signal
reading, writing = os.pipe()
if not os.fork():
    os.read(reading, 1)
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)
def spin():
    n = 0
    while True:
        n += 1
        n -= 1
os.write(writing, b"x")
spin()
""", "--exact-end", "--events=flow", "--include=program-1.py", status=-signal.SIGKILL))
    killed, = (each for each in threads_of(read).values() if ("<module>", 13) in lines_of(each, "program-1.py"))
    function, line = lines_of(killed, "program-1.py")[-1]
    assert (function, line) in [("<module>", 13), ("<module>", 14), *(("spin", line) for line in range(9, 13))]
    for end in ends_of(killed):
        assert killed[-1] == end and end["function"] == function
        assert end["first_line"] >= (9 if function == "spin" else 13)


SIGNALS = """
import os, signal, sys, time
seen = []
for number in signal.SIGUSR1, signal.SIGTRAP, signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGRTMIN:
    signal.signal(number, lambda number, frame: seen.append(number))
for number in signal.SIGUSR1, signal.SIGTRAP, signal.SIGRTMIN, signal.SIGWINCH:
    for _ in range(50):
        os.kill(os.getpid(), number)
child = os.fork()
if not child:
    time.sleep(1000)
for number, flag in (signal.SIGSTOP, os.WUNTRACED), (signal.SIGCONT, os.WCONTINUED), (signal.SIGTERM, 0):
    os.kill(child, number)
    print(os.waitpid(child, flag)[1])
before = time.monotonic()
helper = os.fork()
if not helper:
    time.sleep(.2)
    os.kill(os.getppid(), signal.SIGCONT)
    os._exit(0)
os.kill(os.getpid(), signal.SIGSTOP)
print(time.monotonic() - before > .15, os.waitpid(helper, 0)[1])
signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, .01)
signal.signal(signal.SIGALRM, lambda *_: seen.append("alarm"))
time.sleep(.1)
print([(number, seen.count(number)) for number in sorted(set(map(str, seen)))], [seen.count(n) for n in (signal.SIGUSR1, signal.SIGTRAP, signal.SIGRTMIN)])
print(signal.getsignal(signal.SIGINT), len(os.listdir("/proc/self/task")), sorted(os.listdir("/proc/self/fd")))
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_watched_program_has_its_signals_unchanged(python, record, kymo, tmp_path):
    program = tmp_path / "signals.py"
    program.write_text(SIGNALS)
    alone = subprocess.run([python, program], env=environment(), capture_output=True, text=True, timeout=300, check=False)
    watched = kymo("record", "-q", "--exact-end", "-o", tmp_path / "trace.kymo", program, check=False)
    assert alone.returncode == watched.returncode == -signal.SIGTERM
    assert watched.stdout == alone.stdout and "True" in alone.stdout


def test_threads_that_end_by_themselves_have_nothing_missing(record, events):
    read = events(record("""
import threading
def work():
    for n in range(3):
        n += 1
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
""", "--events=flow"))
    assert len(threads_of(read)) == 4 and not ends_of(read)


def test_a_thread_that_is_blocked_when_the_process_ends(record, events):
    read = events(record("""
import threading, time
begun = threading.Event()
def work():
    begun.set()
    a = 1
    time.sleep(1000)
    b = 2
threading.Thread(target=work, daemon=True).start()
begun.wait()
""", "--events=flow", "--include=program-1.py"))
    end, = ends_of(read)
    assert (end["function"], end["first_line"], end["last_line"]) == ("work", 5, 8)


def test_all_verbs_tell_of_it(record, kymo, tmp_path):
    """tail, events, info, stats, replay, dap's sibling, diff, coverage and the Python API."""
    text = textwrap.dedent("""
        import os
        def callee():
            pass
        def main():
            callee()
            a = 1
            os._exit(0)
            b = 2
        main()
    """)
    trace = record(text, "--events=flow", "--include=program-1.py")
    program = tmp_path / "program-1.py"
    told = "lines 7 to 9 may have run"
    assert kymo("tail", "-n", "1", trace).stdout.splitlines()[-1].split(None, 1)[1] == f"UNKNOWN           {program} main  {told}"
    assert told in kymo("events", trace).stdout.splitlines()[-1]
    assert json.loads(kymo("tail", "-n", "1", "--json", trace).stdout)["processes"][0]["threads"][0]["events"][-1]["last_line"] == 9
    assert "UNKNOWN" in kymo("stats", trace).stdout
    console = kymo("replay", trace, input="where\nreverse-step\nstep\n").stdout
    assert told in console
    with api.open(trace) as history:
        end, = history.losses
        assert (end.event, end.function, end.line, end.first_line, end.last_line) == ("UNKNOWN", "main", None, 7, 9)
        with history.cursor() as cursor:
            assert cursor.event == end
    coverage = json.loads(kymo("coverage", "--format=json", "-o", "-", trace).stdout)
    assert coverage["files"]
    assert os.fspath(program) in kymo("coverage", trace).stdout or "incomplete" in kymo("coverage", trace).stdout


def test_diff_says_what_a_killed_thread_may_have_run(record, kymo, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import os, signal, sys
from itertools import chain
fuse = chain([0] * int(sys.argv[1]), map(os.kill, [os.getpid()], [signal.SIGKILL]))
def work():
    a = 1
    b = next(fuse)
    c = 1
    return c
for n in range(5):
    work()
""")
    whole = record([program, 9], "--include=program.py")
    told = "(the thread ended here: lines 6 to 9 may have run)"
    for options, is_told in ([], True), (["--exact-end"], False):
        killed = record([program, 3], "--include=program.py", *options, status=-signal.SIGKILL)
        text = kymo("diff", whole, killed, check=False).stdout
        assert text.count(told) == is_told, text
        ends = [next["may_have_run"] for each in json.loads(kymo("diff", "--json", whole, killed, check=False).stdout)["differences"]
                for next in [(each.get("fail") or {}).get("next") or {}] if next.get("may_have_run")]
        assert ends == [{"first_line": 6, "last_line": 9}] * is_told
        if not is_told:
            assert "7  b = next(fuse)   (nothing more was recorded here)" in text
        kymo("diff", "--html", tmp_path / f"{is_told}.html", whole, killed, check=False)
        assert (tmp_path / f"{is_told}.html").read_text().count("lines 6 to 9 may have run") == is_told


def test_a_trace_whose_end_is_not_written_says_nothing_of_it(record, kymo, events, tmp_path):
    """More may come: the newest events of each thread are written later."""
    trace = record("import os\nos._exit(0)\n", "--events=flow")
    cut = tmp_path / "cut.kymo"
    whole = trace.read_bytes()
    cut.write_bytes(whole[:len(whole) * 2 // 3])
    assert not ends_of(events(cut))
