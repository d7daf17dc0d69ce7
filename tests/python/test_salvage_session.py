# SPDX-License-Identifier: Apache-2.0
"""What a killed reader left is found wherever the session lies, or its absence is said."""
import json
import os
import shutil
import signal
import subprocess

import pytest

from conftest import KYMO, TIMEOUT, environment

WAITS = """
import os, signal, struct, sys
def before(): pass
def after(n): pass
before()
session = os.environ["KYMO_SESSION"]
with open(session + "/session", "rb") as page:  # reader_pid of struct kymo_session_page
    reader = struct.unpack_from("<I", page.read(80), 76)[0]
print(session, reader, flush=True)
sys.stdin.readline()
for n in range(5000): after(n)
"""


@pytest.fixture
def left(tmp_path):
    """A session in a folder of its own whose reader was killed, and whose program went on without it."""
    (tmp_path / "sessions").mkdir()
    words = [KYMO, "record", f"--session-dir={tmp_path}/sessions", "-o", tmp_path / "t.kymo", "--events=calls",
             "--policy=drop", "-c", WAITS]
    recording = subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)
    session, reader = recording.stdout.readline().split()
    os.kill(int(reader), signal.SIGKILL)
    recording.communicate("\n", timeout=TIMEOUT)
    assert session.startswith(f"{tmp_path}/sessions/")
    return session


def calls(events, trace):
    seen = events(trace)
    assert not any(event["event"] == "GAP" for event in seen)
    return sum(event["function"] == "after" and event["event"] == "PY_START" for event in seen)


def test_a_session_folder_of_its_own_is_found(left, kymo, events, tmp_path):
    done = kymo("salvage", tmp_path / "t.kymo.incomplete")
    assert done.stderr == "" and calls(events, tmp_path / "t.kymo") == 5000
    assert not os.path.exists(left) and not (tmp_path / "t.kymo.incomplete").exists()


def test_the_file_may_have_another_name(left, kymo, events, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "moved.kymo.incomplete"
    (tmp_path / "t.kymo.incomplete").rename(moved)
    kymo("salvage", moved)
    seen = {event["function"] for event in events(tmp_path / "elsewhere" / "moved.kymo")}
    assert {"before", "after"} <= seen and not moved.exists() and not os.path.exists(left)


def test_a_session_that_is_gone_is_said(left, kymo, tmp_path):
    shutil.rmtree(left)
    done = kymo("salvage", tmp_path / "t.kymo.incomplete")
    assert "the session of " in done.stderr and "which were not written yet, are missing" in done.stderr
    assert "not written yet are missing" in json.loads(kymo("info", "--json", tmp_path / "t.kymo").stdout)["ending"]


def test_another_recordings_session_is_not_taken(left, kymo, tmp_path):
    """Though it writes to the same name."""
    (tmp_path / "t.kymo.incomplete").rename(tmp_path / "first.kymo.incomplete")
    words = [KYMO, "record", f"--session-dir={tmp_path}/sessions", "-o", tmp_path / "t.kymo", "-c", WAITS]
    second = subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    session, _ = second.stdout.readline().split()
    shutil.rmtree(left)
    (tmp_path / "first.kymo.incomplete").rename(tmp_path / "x.kymo.incomplete")
    assert "not written yet" in kymo("salvage", tmp_path / "x.kymo.incomplete").stderr
    assert os.path.isdir(session)
    second.communicate("\n", timeout=TIMEOUT)
    assert second.returncode == 0


@pytest.mark.parametrize("has_session", [True, False])
def test_what_is_being_written_is_not_salvaged(has_session, kymo, tmp_path):
    (tmp_path / "sessions").mkdir()
    words = [KYMO, "record", f"--session-dir={tmp_path}/sessions", "-o", tmp_path / "t.kymo", "-c", WAITS]
    recording = subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    session, reader = recording.stdout.readline().split()
    name = tmp_path / "t.kymo.incomplete"
    if not has_session:
        os.rename(session, session + "-hidden")
        os.rename(f"{session}-hidden/run", f"{session}-hidden/walk")
    done = kymo("salvage", name, check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert (f"this session still has a reader: process {reader}" if has_session else "is being written by another process") in done.stderr
    if not has_session:
        os.rename(session + "-hidden", session)
    recording.communicate("\n", timeout=TIMEOUT)
    assert recording.returncode == 0 and sorted(os.listdir(tmp_path)) == ["sessions", "t.kymo"]


def test_a_trace_that_cannot_be_read_is_not_left_out(left, kymo, tmp_path):
    """Of a session whose NAME.incomplete is there; and without it, that is said."""
    name = tmp_path / "t.kymo.incomplete"
    name.rename(tmp_path / "kept")
    name.symlink_to(tmp_path / "kept")
    assert "t.kymo.incomplete" in kymo("salvage", left, check=False).stderr
    assert not (tmp_path / "t.kymo").exists()
    name.unlink()
    kymo("salvage", left)
    assert "written to it are missing" in json.loads(kymo("info", "--json", tmp_path / "t.kymo").stdout)["ending"]


def test_ps_and_top_see_a_session_in_a_folder_of_its_own(kymo, tmp_path):
    words = [KYMO, "record", f"--session-dir={tmp_path}", "-o", tmp_path / "t.kymo", "-c", WAITS]
    recording = subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    session, _ = recording.stdout.readline().split()
    assert f"{session}  [recording]" in kymo("ps").stdout
    recording.communicate("\n", timeout=TIMEOUT)
    assert recording.returncode == 0
