# SPDX-License-Identifier: Apache-2.0
"""kymo replay --follow: going through a recording while the program runs."""
import re
import subprocess

import pytest
from conftest import KYMO, environment
from terminal import Terminal

PROGRAM = """\
import os
import sys

def work(n):
    return n

print(os.getpid(), flush=True)
for line in sys.stdin:
    for n in range(int(line)):
        work(n)
    print("done", flush=True)
"""


class Running:
    """A program under Kymo that works when it is told to; what it did then is in the trace."""

    def __init__(self, kymo, folder):
        (folder / "program.py").write_text(PROGRAM)
        self.kymo, self.path = kymo, folder / "run.kymo"
        self.process = subprocess.Popen([KYMO, "record", "-q", "-o", "run.kymo", "--include=program.py", "program.py"],
                                        cwd=folder, env=environment(), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)  # fmt: skip
        self.pid = int(self.process.stdout.readline())

    def work(self, times):
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"
        self.kymo("snapshot", self.pid)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture
def running(kymo, tmp_path):
    started = Running(kymo, tmp_path)
    started.work(10)
    yield started
    if started.process.poll() is None:
        started.end()
    started.process.stdout.close()


def ran(console):
    return int(re.search(r"called (\d+) in all", console.ask("hits work").replace(",", ""))[1])


def event_of(info):
    return int(re.search(r"^event +(\d+)", info, re.M)[1])


def without_time(info):
    """The more of the run is known, the better its clock is."""
    return re.sub(r"^time .*\n", "", info, flags=re.M)


def test_the_same_event_and_a_newer_end(running):
    with Terminal([str(KYMO), "replay", "--follow", f"{running.path}.incomplete"], environment(), b"(kymo) ") as console:
        console.answer()
        assert ran(console) == 10
        console.ask("hits work 7")
        console.ask("up")
        here = without_time(console.ask("info"))
        assert console.ask("break work if hits > 12").startswith("1   work()  called 10 times")
        running.work(10000)
        assert ran(console) == 10010
        assert without_time(console.ask("info")) == here
        # What was set before is hit in what came after; the frame that was selected still is.
        assert console.ask("where").startswith("> ")
        assert console.ask("break") == "1   work()  called 10,010 times, if hits > 12\n"
        assert console.ask("continue").startswith("Breakpoint 1\n--Call--\n")
        assert event_of(console.ask("info")) > event_of(here)
        end = console.ask("goto end") + console.ask("info")
        running.work(5)
        assert console.ask("goto end") + console.ask("info") != end
        assert ran(console) == 10015
        # It is found under its final name.
        running.end()
        assert "exited with status 0" in console.ask("info")
        console.type("quit\n")
        console.end()
        assert console.status == 0
    # An index of what was still written would be of no use to anybody.
    assert not [path for path in running.path.parent.iterdir() if "index" in path.name]


def test_a_trace_that_went_away(running, tmp_path):
    with Terminal([str(KYMO), "replay", "--follow", f"{running.path}.incomplete"], environment(), b"(kymo) ") as console:
        console.answer()
        here = console.ask("where")
        incomplete = tmp_path / "run.kymo.incomplete"
        whole = incomplete.read_bytes()
        incomplete.rename(tmp_path / "elsewhere")
        assert console.ask("where") == here
        incomplete.write_bytes(whole[:50])
        assert re.match(r"the trace has changed: .*\n", console.ask("info"))
        (tmp_path / "elsewhere").rename(incomplete)
        assert console.ask("where") == here


def test_without_follow_the_trace_stays_what_it_was(running):
    with Terminal([str(KYMO), "replay", f"{running.path}.incomplete"], environment(), b"(kymo) ") as console:
        console.answer()
        running.work(20000)
        assert ran(console) == 10
