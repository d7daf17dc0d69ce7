# SPDX-License-Identifier: Apache-2.0
"""Processes that could not be recorded, or nearly came too late: each is in the trace, or named with its cause."""
import json
import os
import re

import pytest

from conftest import KYMO
from rooms import in_mounts, needs_mounts, needs_root

FORKS = """
import os, sys
def parent(): pass
def child(): pass
parent()
CHANGE
for _ in range(TIMES):
    pid = os.fork()
    if not pid:
        child()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
"""


def program(change, times=2):
    return FORKS.replace("CHANGE", change).replace("TIMES", str(times))


def check(trace, kymo, cause, count=2):
    """Each verb names the children, whose fork they are, and why they are not recorded."""
    info = json.loads(kymo("info", "--json", trace).stdout)
    process, = info["processes"]
    unrecorded = info["unrecorded"]
    assert sum(one["processes"] for one in unrecorded) == count
    assert all(cause in one["reason"] for one in unrecorded if one["pid"]), unrecorded
    named = [one for one in unrecorded if one["pid"]]
    assert {one["parent"] for one in named} == {process["process"]} and len({one["pid"] for one in named}) == len(named)
    assert json.loads(kymo("tail", "--json", trace).stdout)["unrecorded"] == unrecorded
    for verb in ("info", "tail"):
        told = re.findall(r"^process (\d+)  fork of (\d+): .*\n  not recorded: (.*)$", kymo(verb, trace).stdout, re.M)
        assert told == [(str(one["pid"]), str(process["pid"]), one["reason"]) for one in named]
    told = re.findall(r"^(\d+) +fork of .*  \[not recorded: (.*)\]$", kymo("ps", trace).stdout, re.M)
    assert told == [(str(one["pid"]), one["reason"]) for one in named]
    return unrecorded


@needs_root
@pytest.mark.parametrize("change, cause", [
    ("os.setgroups([]); os.setgid(65534); os.setuid(65534)", "it runs as another user"),
    ("os.chroot(sys.argv[1])", "it is in a chroot"),
], ids=["another user", "chroot"])
def test_privileges_that_are_dropped(change, cause, record, kymo, tmp_path):
    script = tmp_path / "forks.py"
    script.write_text(program(change))
    check(record([script, tmp_path], "--events=PY_START"), kymo, cause)


def test_a_session_that_is_removed(record, kymo):
    trace = record(program("import shutil; shutil.rmtree(os.environ['KYMO_SESSION'])"), "--events=PY_START")
    check(trace, kymo, "the session's folder was removed")


def test_no_descriptors(record, kymo):
    change = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
"""
    check(record(program(change), "--events=PY_START"), kymo, "it has no free file descriptor")


@needs_mounts
def test_a_full_session_directory(kymo, tmp_path):
    script, trace = tmp_path / "forks.py", tmp_path / "trace.kymo"
    script.write_text(program("""
with open("/mnt/full", "wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
"""))
    done = in_mounts("mount -t tmpfs -o size=8m tmpfs /mnt",
                     [KYMO, "record", "-q", "-o", trace, "--session-dir=/mnt", "--events=PY_START", script])
    assert done.returncode == 0, done.stderr
    check(trace, kymo, "the session's file system is full")


def test_more_than_there_is_room_for_are_counted(record, kymo):
    """While the reader is stopped, they cannot be taken."""
    text = program("""
import shutil, signal, struct
session = os.environ["KYMO_SESSION"]
with open(session + "/session", "rb") as file:
    reader = struct.unpack_from("<II", file.read(4096), 72)[1]
shutil.rmtree(session)
os.kill(reader, signal.SIGSTOP)
""", 50) + "os.kill(reader, signal.SIGCONT)\n"
    unrecorded = check(record(text, "--events=PY_START", "--policy=drop"), kymo, "the session's folder was removed", 50)
    assert len(unrecorded) == 33 and unrecorded[-1]["processes"] == 18


def test_what_a_killed_reader_did_not_tell_is_salvaged(kymo, tmp_path):
    text = program("""
import resource, signal, struct
session = os.environ["KYMO_SESSION"]
with open(session + "/session", "rb") as file:
    reader = struct.unpack_from("<II", file.read(4096), 72)[1]
os.kill(reader, signal.SIGKILL)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
""")
    (tmp_path / "forks.py").write_text(text)
    kymo("record", "-o", tmp_path / "t.kymo", "--events=PY_START", tmp_path / "forks.py", check=False)
    kymo("salvage", tmp_path / "t.kymo.incomplete")
    check(tmp_path / "t.kymo", kymo, "it has no free file descriptor")


# It records nothing before all others have ended and the reader has moved on for some time.
DAEMON = """
import os, struct
def daemon(): pass
page = os.open(os.environ["KYMO_SESSION"] + "/session", os.O_RDONLY)
if not os.fork():
    if not os.fork():
        os.setsid()
        until = None
        while os.fstat(page).st_nlink:
            data = os.pread(page, 160, 0)
            tick, ended = struct.unpack_from("<Q", data, 64)[0], struct.unpack_from("<I", data, 148)[0]
            if ended and until is None:
                until = tick + 50
            if until is not None and tick >= until:
                break
        daemon()
    os._exit(0)
"""


@pytest.mark.parametrize("events_", ["PY_START", "flow"])
def test_the_grandchild_of_a_double_fork(events_, record, events):
    trace = record(DAEMON, f"--events={events_}")
    assert "daemon" in {event["function"] for event in events(trace)}


def test_a_python_that_starts_while_the_command_ends(record, events):
    trace = record("""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "def late(): pass\\nlate()"], start_new_session=True)
import os
os._exit(0)
""")
    assert "late" in {event["function"] for event in events(trace)}


def test_a_fork_that_does_nothing_is_named(record, kymo):
    """It cannot be waited for for ever; this one goes on until the session is gone."""
    trace = record("""
import os
page = os.open(os.environ["KYMO_SESSION"] + "/session", os.O_RDONLY)
if not os.fork():
    while os.fstat(page).st_nlink:
        os.sched_yield()
    os._exit(0)
""", "--events=PY_START")
    one, = json.loads(kymo("info", "--json", trace).stdout)["unrecorded"]
    assert one["reason"].startswith("a fork that had done nothing")


def test_a_python_of_another_recording_is_not_waited_for(record, kymo, tmp_path):
    """It ends when both have: the trace of the outer recording is there before."""
    read, write = os.pipe()
    other = tmp_path / "other.kymo"
    trace = record(f"""
import subprocess
with open({str(tmp_path / "said")!r}, "wb") as said:
    subprocess.Popen([{str(KYMO)!r}, "record", "-fo", {str(other)!r}, "-c", "import sys; sys.stdin.read()"],
                     stdout=said, stderr=said, start_new_session=True)
while not os.path.exists({str(other) + ".incomplete"!r}):
    os.sched_yield()
""".replace("import subprocess", "import os, subprocess", 1), stdin=read)
    os.close(read)
    assert not other.exists()
    assert json.loads(kymo("info", "--json", trace).stdout)["unrecorded"] == []
    os.close(write)
    while not other.exists():
        os.sched_yield()
    assert json.loads(kymo("info", "--json", other).stdout)["unrecorded"] == []
