# SPDX-License-Identifier: Apache-2.0
"""Large traces, damaged ones and salvaged ones, through the verbs that read them."""
import os
import signal
import struct
import subprocess

import pytest

from conftest import KYMO, TIMEOUT, environment
from kymo_model import Trace

LOOP = """
import sys
def f(n):
    for i in range(n):
        x = i
        y = x
f(int(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def long_trace(kymo, tmp_path_factory):
    """long_trace(1000): the trace of a program with 3000 events and a few more."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "loop.py").write_text(LOOP)

    def make(rounds):
        trace = folder / f"{rounds}.kymo"
        if not trace.exists():
            kymo("record", "-q", "-o", trace, "--events=LINE", "--include=loop.py", folder / "loop.py", rounds)
        return trace
    return make


@pytest.mark.parametrize("verb", ["info", "stats", "verify", "tail", "events --kind=GAP"])
def test_memory_does_not_follow_the_length_of_a_trace(verb, long_trace):
    """Ten bytes for each of six million events would not fit."""
    command = f"ulimit -v 40000 && exec '{KYMO}' {verb} '{long_trace(2_000_000)}'"
    subprocess.run(["sh", "-c", command], env=environment(), stdout=subprocess.DEVNULL, timeout=TIMEOUT, check=True)


WAITS = """
import os, sys
def before(): pass
def after(): pass
before()
print(os.environ["KYMO_SESSION"], flush=True)
sys.stdin.read()
after()
"""


@pytest.fixture
def killed_reader(tmp_path):
    """Record WAITS and kill its reader; a function that lets the program go on and returns what was said."""
    (tmp_path / "waits.py").write_text(WAITS)
    command = [KYMO, "record", "-o", tmp_path / "t.kymo", "--policy=drop", "--events=calls",
               tmp_path / "waits.py"]
    recording = subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)

    def go_on():
        return recording.communicate("", timeout=TIMEOUT)[1]
    go_on.pid, go_on.session = recording.pid, recording.stdout.readline().strip()
    with open(f"{go_on.session}/session", "rb") as page:  # reader_pid of struct kymo_session_page
        reader = struct.unpack_from("<I", page.read(80), 76)[0]
    os.kill(reader, signal.SIGKILL)
    return go_on


def test_what_a_killed_reader_left_is_salvaged(killed_reader, kymo, events, tmp_path):
    session = killed_reader.session
    assert killed_reader() == f"kymo: the reader was killed; kymo salvage {session} makes a trace of what it left\n"
    kymo("salvage", tmp_path / "t.kymo.incomplete")
    seen = events(tmp_path / "t.kymo")
    assert {"before", "after"} <= {event.get("function") for event in seen}
    assert not any(event["event"] == "GAP" for event in seen)
    kymo("verify", tmp_path / "t.kymo")
    assert not os.path.exists(session)


@pytest.mark.parametrize("how", ["salvaged", "started again"])
def test_the_time_without_a_reader_is_told(how, killed_reader, kymo, tmp_path):
    """From the last Clock of the one that was killed until before the next one."""
    if how == "salvaged":
        killed_reader()
        kymo("salvage", killed_reader.session)
    else:
        while kymo("_read", "--session", killed_reader.session, "--owner", killed_reader.pid, check=False).returncode:
            pass  # the first one is not gone yet
        assert killed_reader().startswith("kymo: recorded ")
    trace = Trace(tmp_path / "t.kymo")
    clocks = [clock["counter"] for clock in trace.of_run("clock")]
    stall = next(stall for stall in trace.of_run("clock_stall") if stall["from_counter"] in clocks)
    assert stall["from_counter"] < stall["to_counter"] <= clocks[clocks.index(stall["from_counter"]) + 1]


def test_a_salvaged_trace_is_the_trace(long_trace, kymo, tmp_path):
    whole = long_trace(100_000)
    data = whole.read_bytes()
    cut = tmp_path / "cut.kymo.incomplete"
    cut.write_bytes(data[:len(data) * 2 // 3])
    done = kymo("verify", cut, check=False)
    assert done.returncode == 1 and "the trace has no end" in done.stderr
    kymo("salvage", cut)
    kymo("verify", tmp_path / "cut.kymo")
    salvaged, original = (kymo("events", "--jsonl", trace).stdout.splitlines() for trace in (tmp_path / "cut.kymo", whole))
    assert len(salvaged) > len(original) // 3
    assert [line.split('"event"')[1] for line in salvaged] == [
        line.split('"event"')[1] for line in original[:len(salvaged)]]


def test_lines_of_a_salvaged_trace_can_be_rebuilt(record, kymo, events, tmp_path):
    whole = record(LOOP.replace("int(sys.argv[1])", "9"), "--events=flow", "--include=program*")
    assert any(event["event"] == "LINE" for event in events(whole))
    kymo("salvage", "-o", tmp_path / "salvaged.kymo", whole)
    assert events(tmp_path / "salvaged.kymo") == events(whole)
