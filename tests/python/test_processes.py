# SPDX-License-Identifier: Apache-2.0
"""Processes of every origin: one file per run, all of them in it, each with its end."""
import json
import subprocess
import sys
import venv
import zipapp
from collections import Counter
from pathlib import Path

import pytest

from conftest import KYMO, environment

PROGRAMS = Path(__file__).parent / "programs"
HEAD = "import os, subprocess, sys\nfrom family import present\n"
# Of a process that its parent waited for before the reader had seen it.
UNKNOWN = "ended; its status is not known"


@pytest.fixture
def processes(kymo):
    """processes(trace): what `kymo info` knows of them, in the order in which they were seen."""
    def read(trace):
        return json.loads(kymo("info", "--json", trace).stdout)["processes"]
    return read


@pytest.fixture
def family(record, events, processes, tmp_path):
    """Record a program of which each process presents itself; check that all and nobody else are there.

    Returns what they called themselves with how they ended, and the list of processes.
    """
    def run(program, *options, status=0, env=None, others=()):
        presented = tmp_path / "family"
        presented.unlink(missing_ok=True)
        text = program if isinstance(program, list) else HEAD + program
        trace = record(text, *options, status=status,
                       env={"FAMILY": presented, "PYTHONPATH": PROGRAMS} | (env or {}))
        names = [line.split(" ", 1) for line in presented.read_text().splitlines()]
        pids = Counter(int(pid) for pid, _ in names)
        seen = processes(trace)
        assert all(each["end"] and "not known: " not in each["end"] for each in seen)
        strangers = [each for each in seen if each["pid"] not in pids]
        assert all(any(word in " ".join(each["argv"]) for word in others) for each in strangers)
        seen = [each for each in seen if each not in strangers]
        assert pids == Counter(each["pid"] for each in seen)
        recorded = Counter(e["pid"] for e in events(trace, "--function", "present", "--kind", "PY_START"))
        assert recorded == pids
        ends = {}
        for pid, name in names:
            ends.setdefault(name, []).extend(each["end"] for each in seen if each["pid"] == int(pid))
        return ends, seen
    return run


def ended(ends, expected):
    return ends and {*ends} <= {expected, UNKNOWN}


EXITED = "exited with status {}".format


def test_fork_without_exec(family):
    ends, seen = family("""
def child(depth):
    present(f"depth {depth}")
    if depth < 3:
        pid = os.fork()
        if not pid:
            child(depth + 1)
        os.waitpid(pid, 0)
    os._exit(10 + depth)
present("root")
pids = [os.fork() or child(0) for _ in range(3)]
for pid in pids:
    os.waitpid(pid, 0)
""")
    assert ends.pop("root") == [EXITED(0)]
    assert all(len(each) == 3 and ended(each, EXITED(10 + int(name[-1]))) for name, each in ends.items())
    by_number = {each["process"]: each for each in seen}
    assert Counter(by_number[each["parent"]]["pid"] for each in seen if each["parent"]).most_common(1)[0][1] == 3
    assert sum(each["parent"] is None for each in seen) == 1


def test_a_child_that_outlives_its_parent(family):
    ends, _ = family("""
alive, parent = os.pipe()
if os.fork():
    present("parent")
    os._exit(3)
os.close(parent)
os.read(alive, 1)
present("orphan")
os._exit(4)
""", status=3)
    assert ends["parent"] == [EXITED(3)]
    assert ended(ends["orphan"], EXITED(4))


def test_fork_in_a_thread_and_in_many(family):
    ends, _ = family("""
import threading
def work(number):
    for turn in range(3):
        pid = os.fork()
        if not pid:
            present(f"child {number}")
            os._exit(number)
        os.waitpid(pid, 0)
present("root")
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""")
    for number in range(4):
        assert len(ends[f"child {number}"]) == 3 and ended(ends[f"child {number}"], EXITED(number))


def test_fork_and_exec(family):
    ends, seen = family("""
present("root")
pid = os.fork()
if not pid:
    present("old")
    os.execv(sys.executable, [sys.executable, "-c", "from family import present; present('new'); raise SystemExit(6)"])
os.waitpid(pid, 0)
subprocess.run([sys.executable, "-c", "from family import present; present('run'); raise SystemExit(7)"])
words = [sys.executable, "-c", "from family import present; present('spawn'); raise SystemExit(8)"]
os.waitpid(os.posix_spawn(sys.executable, words, os.environ), 0)
os.system(f"{sys.executable} -c 'from family import present; present(\\"system\\")'")
""")
    assert ends["old"] == ends["new"]
    assert ends["old"][0] == "replaced by exec" and ended(ends["old"][1:], EXITED(6))
    assert ended(ends["run"], EXITED(7)) and ended(ends["spawn"], EXITED(8)) and ended(ends["system"], EXITED(0))


def test_exec_in_a_loop(family, tmp_path):
    program = tmp_path / "again.py"
    program.write_text(HEAD + """
turn = int(sys.argv[1])
present(f"turn {turn}")
if turn < 20:
    os.execv(sys.executable, [sys.executable, __file__, str(turn + 1)])
sys.exit(5)
""")
    _, seen = family([program, "0"], status=5)
    assert len({each["pid"] for each in seen}) == 1
    assert [each["end"] for each in seen] == ["replaced by exec"] * 20 + [EXITED(5)]
    assert [each["argv"][-1] for each in seen] == [str(turn) for turn in range(21)]
    assert [each["parent"] for each in seen] == [None] + [each["process"] for each in seen[:-1]]


def test_ends_of_every_kind(family):
    """Exact, as long as nobody waits for the process before the reader has seen its end."""
    ends, _ = family("""
import signal
from family import wait_when_seen
def end(how):
    present(how)
    if how == "returns":
        return
    if how == "exits":
        sys.exit(9)
    if how == "raises":
        sys.stderr = open(os.devnull, "w")
        raise ValueError
    if how == "_exits":
        os._exit(11)
    if how == "aborts":
        os.abort()
    os.kill(os.getpid(), getattr(signal, how))
present("root")
for how in ("returns", "exits", "raises", "_exits", "aborts", "SIGKILL", "SIGSEGV", "SIGTERM"):
    pid = os.fork()
    if not pid:
        end(how)
        sys.exit()
    wait_when_seen(pid)
""")
    expected = {"returns": EXITED(0), "exits": EXITED(9), "raises": EXITED(1), "_exits": EXITED(11), "root": EXITED(0),
                "aborts": "killed by SIGABRT"}
    for how, end in ends.items():
        assert end == [expected.get(how, f"killed by {how}")]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, family):
    ends, _ = family(f"""
import multiprocessing
def work(n):
    if n < 3:
        gate.wait()
    return n * n
def begin(shared):
    global gate
    gate = shared
    present("worker")
if __name__ == "__main__":
    present("root")
    context = multiprocessing.get_context({method!r})
    with context.Pool(3, begin, [context.Barrier(3)]) as pool:
        assert pool.map(work, range(10), 1) == [n * n for n in range(10)]
        pool.close()
        pool.join()
    process = context.Process(target=present, args=("process",))
    process.start()
    process.join()
    assert process.exitcode == 0
""", others=("resource_tracker", "forkserver") if method != "fork" else ())
    assert len(ends["worker"]) == 3 and len(ends["process"]) == 1
    assert ended(ends["worker"] + ends["process"], EXITED(0)) and ends["root"] == [EXITED(0)]


def test_process_pool_executor(family):
    ends, _ = family("""
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
if __name__ == "__main__":
    present("root")
    with ProcessPoolExecutor(2, get_context("spawn"), present, ["worker"]) as pool:
        assert list(pool.map(abs, range(-20, 0))) == list(range(20, 0, -1))
""", others=("resource_tracker",))
    assert ended(ends["worker"], EXITED(0))


def test_environments_of_children(family, tmp_path):
    """A child is recorded as long as it is given what says so, and only then."""
    ends, _ = family("""
code = "from family import present; present('%s')"
def run(what, env):
    return subprocess.run([sys.executable, "-c", code % what if env.get("FAMILY") else "pass"], env=env, check=True)
present("root")
run("same", os.environ)
run("copy", {**os.environ, "MORE": "1"})
run("first in the path", {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + ":/nowhere"})
run("cleared", {"PATH": os.environ["PATH"]})
run("without the session", {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ["PYTHONPATH"]})
""")
    assert set(ends) == {"root", "same", "copy", "first in the path"}


@pytest.mark.parametrize("option, reason", [("-S", "option -S"), ("-I", "option -I"), ("-E", "option -E")])
def test_pythons_that_are_not_recorded_are_named(option, reason, kymo, tmp_path):
    """The reader looks for them while they run."""
    trace = tmp_path / "trace.kymo"
    program = f"import subprocess, sys; subprocess.run([sys.executable, {option!r}, '-c', 'input()'])"
    recording = subprocess.Popen([KYMO, "record", "-q", "-o", trace, "-c", program], env=environment(),
                                 stdin=subprocess.PIPE)
    while "not recorded" not in kymo("ps", f"{trace}.incomplete", check=False).stdout:
        assert recording.poll() is None
    recording.communicate(b"\n", timeout=60)
    assert recording.returncode == 0
    line, = [line for line in kymo("ps", trace).stdout.splitlines() if "not recorded" in line]
    assert f" {option} -c input()" in line and reason in line


def test_a_virtual_environment(family, tmp_path):
    venv.create(tmp_path / "venv", symlinks=True)
    _, seen = family("present('root')", env={"KYMO_PYTHON": tmp_path / "venv" / "bin" / "python"})
    assert seen[0]["executable"] == str(tmp_path / "venv" / "bin" / "python")


def test_a_zipapp(family, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "__main__.py").write_text(HEAD + "present('zipped')\n")
    zipapp.create_archive(tmp_path / "source", tmp_path / "app.pyz")
    ends, _ = family([tmp_path / "app.pyz"])
    assert ends == {"zipped": [EXITED(0)]}


def test_a_command_that_starts_pythons(family, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HEAD + "present(sys.argv[1])\n")
    ends, seen = family(["sh", "-c", f"{sys.executable} {program} one; {sys.executable} {program} two & wait; exit 3"],
                        status=3)
    assert set(ends) == {"one", "two"} and all(each["parent"] is None for each in seen)


def test_no_subprocesses(family):
    ends, _ = family("""
present("root")
subprocess.run([sys.executable, "-c", "pass"], check=True)
""", "--no-subprocesses")
    assert ends == {"root": [EXITED(0)]}
