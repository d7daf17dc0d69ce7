# SPDX-License-Identifier: Apache-2.0
"""`kymo top`: of traces, and of recordings that run."""

import re
import subprocess
import sys

import pytest
from conftest import KYMO, environment
from terminal import Terminal

PROGRAM = """
import sys, time

def quick():
    return 1

def often(count):
    for _ in range(count):
        quick()

def long():
    time.sleep(0.05)

often(500)
long()
"""
STEPS = """
import os, sys

def first():
    pass

def second():
    pass

for step in first, second:
    for _ in range(700):
        step()
    print(os.getpid(), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def trace(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("top")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "run.kymo", folder / "program.py")
    return folder / "run.kymo"


def listed(text):
    """Calls, times and functions, in the order in which they are shown."""
    return re.findall(r"^ *(\d+)[* ]  +(\S+(?: ns| us| ms| s)) +(\S+(?: ns| us| ms| s))  (\S+)", text, re.M)


def rows(text):
    return {name: (int(calls), self, total) for calls, self, total, name in listed(text)}


def in_ns(text):
    number, unit = text.lstrip("<~").split()
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def test_what_took_most(kymo, trace):
    found = rows(kymo("top", "-n", "500", trace).stdout)
    assert found["quick"][0] == 500 and found["often"][0] == 1 and found["long"][0] == 1
    # It slept for 50 ms; the clock is not read at each event.
    assert in_ns(found["long"][1]) >= 40e6 and list(found)[0] == "long"


@pytest.mark.parametrize(("column", "at"), [("calls", 0), ("total", 2), ("self", 1)])
def test_sorted(kymo, trace, column, at):
    found = listed(kymo("top", "--all", f"--sort={column}", "-n", "10", trace).stdout)
    assert len(found) == 10
    if column == "calls":
        assert [int(row[0]) for row in found] == sorted((int(row[0]) for row in found), reverse=True)
    else:
        known = [in_ns(row[at]) for row in found if not row[at].startswith(("<", "~"))]
        # Each is rounded to its own error, which is less than it.
        assert known and all(after <= 1.5 * before for before, after in zip(known, known[1:]))


def test_a_part_of_it(kymo, trace):
    assert rows(kymo("top", "--function", "often", trace).stdout).keys() == {"often", "quick"}


def test_less_of_what_recording_took(kymo, trace):
    shown = kymo("top", "--function", "often", "--overhead=1s", trace).stdout
    assert "less 1.000 s for each recorded call and return" in shown
    assert all(in_ns(self) == 0 or self.startswith(("<", "~")) for _, self, _ in rows(shown).values())


@pytest.mark.parametrize(("words", "status"), [
    (["none.kymo"], 1), ([], 2), (["--sort=size", "x.kymo"], 2), (["-n", "0", "x.kymo"], 2), (["a.kymo", "b.kymo"], 2),
])  # fmt: skip
def test_what_is_wrong_is_one_line(kymo, tmp_path, words, status):
    done = kymo("top", *words, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "") and done.stderr.count("\n") == 1


def test_processes_that_are_not_recorded(kymo):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        done = kymo("top", process.pid, check=False)
        assert (done.returncode, done.stderr) == (1, f"kymo: process {process.pid} is not recorded\n")
        process.stdin.close()
    done = kymo("top", process.pid, check=False)
    assert (done.returncode, done.stderr) == (1, f"kymo: no process {process.pid}\n")


class Running:
    """A recorded program that goes on when it is told."""

    def __init__(self, folder):
        (folder / "steps.py").write_text(STEPS)
        self.trace = folder / "steps.kymo"
        self.record = subprocess.Popen([KYMO, "record", "-q", "-o", self.trace, folder / "steps.py"], env=environment(),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.pid = int(self.record.stdout.readline())

    def go_on(self):
        self.record.stdin.write("\n")
        self.record.stdin.flush()
        return self.record.stdout.readline()

    def end(self):
        self.record.stdin.close()
        assert self.record.wait() == 0
        self.record.stdout.close()


@pytest.fixture
def running(tmp_path):
    made = Running(tmp_path)
    yield made
    if made.record.poll() is None:
        made.record.communicate()  # it goes on to its end


def test_a_recording_that_runs(kymo, running):
    kymo("snapshot", running.pid)
    for named in running.pid, running.record.pid, f"{running.trace}.incomplete":
        done = kymo("top", "-n", "500", named)
        assert rows(done.stdout)["first"][0] == 700 and "second" not in rows(done.stdout), named
        assert "it still runs: what its rings hold is not in the file yet" in done.stdout
    running.go_on()
    kymo("snapshot", running.pid)
    assert rows(kymo("top", "-n", "500", running.pid).stdout)["second"][0] == 700
    running.go_on()
    running.end()
    assert "it still runs" not in kymo("top", running.trace).stdout


def test_it_is_printed_anew_on_a_terminal(kymo, running):
    kymo("snapshot", running.pid)
    words = [str(KYMO), "top", "--interval=1000", "-n", "400", str(running.pid)]
    with Terminal(words, environment(), b"") as terminal:
        shown = terminal.read(rb"700 .* first ")
        assert "second" not in shown
        running.go_on()
        kymo("snapshot", running.pid)
        terminal.type("\n")
        terminal.read(rb"700 .* second ")
        running.go_on()
        running.end()
        # The recording is over, and so is this.
        terminal.type("\n")
        assert "it still runs" not in terminal.end()
    assert terminal.status == 0


def test_q_ends_it(kymo, running):
    kymo("snapshot", running.pid)
    with Terminal([str(KYMO), "top", "--interval=1000", str(running.pid)], environment(), b"") as terminal:
        terminal.read(rb"function")
        terminal.type("q")
        terminal.end()
    assert terminal.status == 0 and running.record.poll() is None


def test_it_is_printed_again_by_itself(kymo, running):
    kymo("snapshot", running.pid)
    with Terminal([str(KYMO), "top", "--interval=1ms", str(running.pid)], environment(), b"") as terminal:
        terminal.read(rb"(?s)function.*function.*function")
        terminal.type("q")
        terminal.end()
    assert terminal.status == 0
