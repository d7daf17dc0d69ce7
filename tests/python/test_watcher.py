# SPDX-License-Identifier: Apache-2.0
"""`kymo record --exact-end` where watching is refused, shared or late; and the program that must not notice."""
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from conftest import KYMO, TIMEOUT, environment
from streams import threads_of
from terminal import Terminal

NEEDS_STRACE = pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")
REFUSED = "kymo: --exact-end: cannot watch the program: Operation not permitted; what it does last is not known exactly\n"

# Allows everything but ptrace, then becomes the command.
WITHOUT_PTRACE = """
import ctypes, os, struct, sys
number, command = int(sys.argv[1]), sys.argv[2:]
load, jump_if, give = 0x20, 0x15, 0x06
program = b"".join(struct.pack("HBBI", *each) for each in [
    (load, 0, 0, 0), (jump_if, 0, 1, number), (give, 0, 0, 0x00050001), (give, 0, 0, 0x7fff0000)])
buffer = ctypes.create_string_buffer(program)
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, filter, 0, 0)
os.execv(command[0], command)
"""
LEAVES = """
import os
def leave():
    a = 1
    try:
        os.execv("/nowhere", ["nowhere"])
    except OSError:
        b = 2
    print("running", flush=True)
    os._exit(3)
    c = 3
leave()
"""


@pytest.fixture
def leaves(tmp_path):
    program = tmp_path / "leaves.py"
    program.write_text(LEAVES)
    return program


def last_lines(events):
    """The line that each thread ran last, and whether it is certain."""
    return sorted(([event["line"] for event in each if event["event"] == "LINE"][-1], each[-1]["event"] != "UNKNOWN")
                  for each in threads_of(events).values())


def assert_bounds(events):
    """As without the watcher: the last statements may have run."""
    assert last_lines(events) == [(9, False)] or (9, True) not in last_lines(events)
    end = events[-1]
    assert end["event"] == "UNKNOWN" and end["first_line"] <= 10 <= end["last_line"]


def run(words, **options):
    return subprocess.run([str(word) for word in words], **{"capture_output": True, "text": True, "timeout": TIMEOUT, "check": False,
                                                             "env": environment()} | options)


@pytest.fixture
def record_without_ptrace(tmp_path):
    """What the program said, and its trace."""
    numbers = {"x86_64": 101, "aarch64": 117}
    if platform.machine() not in numbers:
        pytest.skip("the number of ptrace is not known here")

    def record(program):
        trace = tmp_path / "trace.kymo"
        done = run([sys.executable, "-c", WITHOUT_PTRACE, numbers[platform.machine()], KYMO, "record", "-q", "--exact-end",
                    f"--include={program.name}", "-o", trace, program])
        assert (done.returncode, done.stderr) == (3, REFUSED)
        return done.stdout, trace
    return record


def test_a_filter_that_forbids_ptrace(leaves, events, record_without_ptrace):
    said, trace = record_without_ptrace(leaves)
    assert said == "running\n"
    assert_bounds(events(trace))


def test_exec_that_failed_is_not_where_the_thread_ended(events, tmp_path, record_without_ptrace):
    program = tmp_path / "tries.py"
    program.write_text(textwrap.dedent("""
        import os
        from itertools import chain
        paths = chain(["/nowhere"], map(os._exit, [3]))
        def leave():
            while True:
                try:
                    path = next(paths)
                    os.execv(path, ["x"])
                except OSError:
                    pass
        leave()
    """))
    read = events(record_without_ptrace(program)[1])
    assert [event["line"] for event in read if event["event"] == "LINE"].count(9) == 1
    assert read[-1]["event"] == "UNKNOWN" and read[-1]["first_line"] <= 8 <= read[-1]["last_line"]


@NEEDS_STRACE
def test_a_program_that_another_tracer_has(leaves, events, tmp_path):
    trace = tmp_path / "trace.kymo"
    done = run(["strace", "-f", "-o", os.devnull, "-e", "trace=ptrace", KYMO, "record", "-q", "--exact-end", "--include=leaves.py",
                "-o", trace, leaves])
    assert (done.returncode, done.stdout, done.stderr) == (3, "running\n", REFUSED)
    assert_bounds(events(trace))


@pytest.mark.parametrize("words", [["strace", "-p"], ["gdb", "-nx", "-batch", "-ex", "quit", "-p"]], ids=["strace", "gdb"])
def test_a_program_that_has_itself_traced(words, record, events, tmp_path):
    """One tracer a process: the second one is refused, and the program and its end are as ever."""
    if not shutil.which(words[0]):
        pytest.skip(f"there is no {words[0]}")
    output = tmp_path / "said"
    trace = record(f"""
import os, subprocess
def leave():
    said = subprocess.run([*{words!r}, str(os.getpid())], capture_output=True, text=True)
    open({str(output)!r}, "w").write(said.stdout + said.stderr)
    os._exit(3)
leave()
""", "--exact-end", "--include=program-1.py", status=3)
    assert "not permitted" in output.read_text()
    assert last_lines(events(trace)) == [(6, True)]


def test_a_program_that_hides_its_memory(record, events, tmp_path):
    """As root it can be read all the same; as another user the end is not known exactly, which costs no word on stderr."""
    trace = record("""
import ctypes, os
assert not ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
def leave():
    a = 1
    os._exit(3)
leave()
""", "--exact-end", "--include=program-1.py", status=3)
    read = events(trace)
    assert last_lines(read) == [(6, True)] or read[-1]["event"] == "UNKNOWN"


@NEEDS_STRACE
def test_threads_and_children_from_before_the_watcher_came(events, tmp_path):
    """Its call waits until they have all begun: strace holds it up, and the program's last byte comes from the test."""
    program, trace = tmp_path / "early.py", tmp_path / "trace.kymo"
    program.write_text(textwrap.dedent("""
        import os, threading
        begun, say_begun = os.pipe()
        def leave(status):
            os.write(say_begun, b"x")
            os.read(0, 1)
            os._exit(status)
        def grow():
            if not os.fork():
                leave(3)
            leave(4)
        if not os.fork():
            leave(2)
        if not os.fork():
            grow()
        threading.Thread(target=leave, args=[5], daemon=True).start()
        for _ in range(4):
            os.read(begun, 1)
        print("begun", flush=True)
        leave(5)
    """))
    words = ["strace", "-o", os.devnull, "-e", "trace=ptrace", "-e", "inject=ptrace:delay_enter=2000000:when=1", KYMO, "record", "-q",
             "--exact-end", "--include=early.py", "-o", trace, program]
    with subprocess.Popen([str(word) for word in words], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"begun\n"
        # Nothing may leave before it is watched.
        root = int(open(f"/proc/{running.pid}/task/{running.pid}/children").read().split()[0])
        while True:
            pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit()]
            watched = [pid for pid in pids if tracer_of(pid) == root]
            if len(watched) >= 4:
                break
            os.sched_yield()
        running.stdin.write(b"xxxxx")
        running.stdin.close()
        assert running.wait(TIMEOUT) == 5
    assert all(line in (6, 7, 18) for line, _ in last_lines(events(trace)))
    assert all(is_certain for _, is_certain in last_lines(events(trace)))
    assert len(last_lines(events(trace))) == 5


def tracer_of(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            return int(next(line for line in status if line.startswith("TracerPid:")).split()[1])
    except OSError:
        return 0


@pytest.mark.parametrize("who", ["main", "thread"])
def test_exec_while_other_threads_run(who, record, events):
    """The kernel ends the others first, and tells of the one that executes when its memory is gone: that one has told itself."""
    read = events(record(f"""
import os, threading
begun = threading.Barrier(2)
lock = threading.Lock()
lock.acquire()
def leave():
    a = 1
    begun.wait()
    os.execv("/bin/sh", ["sh", "-c", "exit 7"])
def wait():
    begun.wait()
    lock.acquire()
first, second = (leave, wait) if {who == "main"} else (wait, leave)
threading.Thread(target=second, daemon=True).start()
first()
""", "--exact-end", "--include=program-1.py", status=7))
    (leaves, is_certain), (waits, _) = last_lines(read)
    assert (leaves, is_certain) == (9, True) and waits in (11, 12)
    assert not [event for event in read if event["event"] == "UNKNOWN" and event["function"] == "leave"]


def test_threads_that_run_on_when_the_recording_is_stopped(python, importing, events, tmp_path):
    """What stops it holds their GIL, and sees where each of them is."""
    trace = tmp_path / "trace.kymo"
    program = f"""
import kymo, threading
def wait():
    a = 1
    begun.set()
    lock.acquire()
    b = 2
def main():
    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    while not lock.locked() or threading.main_thread() is not threading.current_thread():
        pass
    a = 1
    kymo.stop()
    lock.release()
    thread.join()
begun, lock = threading.Event(), threading.Lock()
lock.acquire()
kymo.start({str(trace)!r}, events="flow", include=["*stops.py"])
main()
"""
    (tmp_path / "stops.py").write_text(program)
    done = run([python, tmp_path / "stops.py"], env=environment(importing))
    assert (done.returncode, done.stderr) == (0, "")
    read = events(trace)
    lines = [[event["line"] for event in each if event["event"] == "LINE"] for each in threads_of(read).values()]
    assert sorted(each[-1] for each in lines)[-1] == 15
    waits, = (each for each in lines if 4 in each)
    assert waits in ([4, 5], [4, 5, 6])
    assert not [event for event in read if event["event"] == "UNKNOWN"]


def test_a_thread_with_another_gil_when_the_recording_is_stopped(python, importing, events, tmp_path):
    """It goes on meanwhile: what it may have run is bounded."""
    trace = tmp_path / "trace.kymo"
    program = f"""
import kymo, os, threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
reading, writing = os.pipe()
resumed, resume = os.pipe()
kymo.start({str(trace)!r}, events="flow")
other = interpreters.create()
def run():
    interpreters.run_string(other, '''
import kymo, os
kymo.start()
def leave():
    os.write({{}}, b"x")
    os.read({{}}, 1)
    a = 1
leave()
'''.format(writing, resumed))
thread = threading.Thread(target=run)
thread.start()
os.read(reading, 1)
kymo.stop()
os.write(resume, b"x")
thread.join()
"""
    (tmp_path / "stops.py").write_text(program)
    done = run([python, tmp_path / "stops.py"], env=environment(importing))
    assert done.returncode == 0, done.stderr
    of_leave = [event for event in events(trace) if event["function"] == "leave"]
    assert of_leave[-1]["event"] == "UNKNOWN" and of_leave[-1]["first_line"] <= 6 <= of_leave[-1]["last_line"]


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("options", [[], ["--exact-end"]], ids=["alone", "watched"])
def test_job_control(options, tmp_path):
    """^Z stops the program and its launcher, `fg` continues both; with a watcher no differently."""
    program = tmp_path / "stops.py"
    program.write_text("import os, sys\nprint('pid', os.getpid(), flush=True)\n"
                       "for line in sys.stdin:\n    print('got', line, end='', flush=True)\n")  # fmt: skip
    words = f"{KYMO} record -q {' '.join(options)} -o {tmp_path}/trace.kymo {program}"
    with Terminal(["/bin/bash", "--norc", "-i"], environment({"PS1": "$ "}), b"$ ") as shell:
        shell.answer()
        shell.type(words + "\n")
        pid = int(re.search(r"\npid (\d+)\n", shell.read(rb"\r\npid \d+\r\n"))[1])
        for turn in range(3):
            shell.type(f"line {turn}\n")
            shell.read(rb"got line %d\r\n" % turn)
            shell.type("\x1a")
            assert "Stopped" in shell.answer()
            # Until it has stopped, too, a program that was reading may get what is typed for the shell.
            while state_of(pid) not in ("T", "t"):
                os.sched_yield()
            assert "Stopped" in shell.ask("jobs -l")
            shell.run("fg")
        shell.type("last\n")  # it has the terminal again when it answers
        shell.read(rb"got last\r\n")
        shell.type("\x03")
        assert "KeyboardInterrupt" in shell.answer()
        assert shell.ask("echo $?").strip() == str(128 + signal.SIGINT)
        shell.type("exit\n")
        shell.end()
