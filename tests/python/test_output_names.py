# SPDX-License-Identifier: Apache-2.0
"""The file that a recording writes: nobody else's is taken, and where it cannot have its name, that is said."""
import os
import stat
import subprocess
import sys

import pytest

from conftest import KYMO, TIMEOUT, environment

WAITS = "import os, sys\ndef {0}(): pass\n{0}()\nprint(os.environ['KYMO_SESSION'], flush=True)\nsys.stdin.read()\n"


def functions_of(events):
    return {event["function"] for event in events}


@pytest.fixture
def begin(tmp_path):
    """begin("first", "-f"): a recording under way of a program that has the function `first`, into t.kymo."""
    begun = []

    def run(function, *options):
        words = [KYMO, "record", *options, "-o", tmp_path / "t.kymo", "-c", WAITS.format(function)]
        recording = subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
        begun.append(recording)
        recording.session = recording.stdout.readline().strip()
        assert os.path.isdir(recording.session)
        return recording

    yield run
    for recording in begun:
        if recording.poll() is None:
            recording.kill()
            recording.wait()


def test_a_trace_that_is_being_written_is_not_replaced(begin, kymo, events, tmp_path):
    first = begin("first")
    done = kymo("record", "-f", "-o", tmp_path / "t.kymo", "-c", "print('runs')", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kymo: {tmp_path}/t.kymo.incomplete is being written by another process\n"
    assert first.communicate("", timeout=TIMEOUT)[1].startswith("kymo: recorded ") and first.returncode == 0
    assert "first" in functions_of(events(tmp_path / "t.kymo"))


def test_what_a_killed_recording_left_is_not_replaced_without_force(begin, kymo, events, tmp_path):
    (tmp_path / "t.kymo.incomplete").write_bytes(b"left")
    done = kymo("record", "-o", tmp_path / "t.kymo", "-c", "print('runs')", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "-f to replace it" in done.stderr and "kymo salvage" in done.stderr and done.stderr.count("\n") == 1
    kymo("record", "-f", "-o", tmp_path / "t.kymo", "-c", "def second(): pass\nsecond()")
    assert "second" in functions_of(events(tmp_path / "t.kymo"))


def test_of_many_at_once_each_gets_a_trace_or_none_begins(kymo, events, tmp_path):
    """With one name, forced, one at a time; each that says it recorded has its trace, or a later one replaced it."""
    words = [KYMO, "record", "-f", "-o", tmp_path / "t.kymo", "-c", "print('runs')"]
    runs = [subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    for run in runs:
        out, errors = run.communicate(timeout=TIMEOUT)
        assert (run.returncode, out) in ((0, "runs\n"), (1, ""))
        assert errors.startswith("kymo: recorded ") if out else "is being written by another process" in errors, errors
    kymo("verify", tmp_path / "t.kymo")
    assert os.listdir(tmp_path) == ["t.kymo"]


@pytest.mark.parametrize("how", ["kymo record", "KYMO=1"])
def test_names_of_recordings_that_begin_at_once_differ(how, importing, tmp_path):
    words = [KYMO, "record", "-c", "pass"] if how == "kymo record" else [
        sys.executable, "-c", "import kymo._startup; kymo._startup.main()"]
    more = {} if how == "kymo record" else importing | {"KYMO": 1}
    runs = [subprocess.Popen(list(map(str, words)), cwd=tmp_path, env=environment(more), stderr=subprocess.PIPE, text=True)
            for _ in range(12)]
    errors = [run.communicate(timeout=TIMEOUT)[1] for run in runs]
    assert [run.returncode for run in runs] == [0] * 12, errors
    assert not any("not recorded" in error for error in errors), errors
    while any(name.endswith(".incomplete") for name in os.listdir(tmp_path)):
        os.sched_yield()  # those that nobody waits for
    assert len(os.listdir(tmp_path)) == 12


def make(kind, path):
    {"pipe": os.mkfifo, "folder": os.mkdir,
     "device": lambda path: os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7)),
     "link": lambda path: os.symlink("/dev/full", path),
     "link to nothing": lambda path: os.symlink("nothing", path)}[kind](path)


@pytest.mark.parametrize("place", ["t.kymo", "t.kymo.incomplete"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link", "link to nothing"])
def test_only_regular_files_are_replaced(kind, place, kymo, tmp_path):
    try:
        make(kind, tmp_path / place)
    except PermissionError:
        pytest.skip("needs root")
    before = os.lstat(tmp_path / place)
    for force in ([], ["-f"]):
        done = kymo("record", *force, "-o", "t.kymo", "-c", "print('runs')", check=False, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("kymo: ") and done.stderr.count("\n") == 1 and place in done.stderr
        assert f"a {kind.split()[0].replace('link', 'symbolic link')}" in done.stderr or not force
    assert os.lstat(tmp_path / place) == before and os.listdir(tmp_path) == [place]


def test_of_a_loop_until_it_fails_too(kymo, tmp_path):
    os.mkfifo(tmp_path / "t-passed.kymo")
    done = kymo("record", "-f", "--until-failure=2", "-o", tmp_path / "t.kymo", "-c", "print('runs')", check=False)
    assert (done.returncode, done.stdout) == (1, "") and "t-passed.kymo: it is a pipe" in done.stderr
    assert stat.S_ISFIFO(os.stat(tmp_path / "t-passed.kymo").st_mode)


def take_name(kind, path):
    os.mkdir(path) if kind == "folder" else path.write_text("mine")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_name_that_is_taken_meanwhile(kind, begin, kymo, events, tmp_path):
    recording = begin("first", *(["-f"] if kind == "folder" else []))
    take_name(kind, tmp_path / "t.kymo")
    errors = recording.communicate("", timeout=TIMEOUT)[1]
    assert recording.returncode == 1 and "recorded" not in errors
    why, where = errors.splitlines()
    assert f"{tmp_path}/t.kymo" in why and ("folder" if kind == "folder" else "File exists") in why
    assert where == "kymo: the trace is complete, but is still called " + f"{tmp_path}/t.kymo.incomplete"
    assert kind == "folder" or (tmp_path / "t.kymo").read_text() == "mine"
    kymo("verify", tmp_path / "t.kymo.incomplete")
    assert "first" in functions_of(events(tmp_path / "t.kymo.incomplete"))
    assert not os.path.exists(recording.session)


def test_a_trace_that_somebody_removes_meanwhile(begin, tmp_path):
    recording = begin("first")
    (tmp_path / "t.kymo.incomplete").unlink()
    why, = recording.communicate("", timeout=TIMEOUT)[1].splitlines()
    assert recording.returncode == 1 and "was removed or replaced while it was being written" in why


def test_the_programs_own_status_goes_first(kymo, tmp_path):
    done = kymo("record", "-o", "t.kymo", "-c", "import os; os.mkdir('t.kymo'); raise SystemExit(5)", check=False, cwd=tmp_path)
    assert done.returncode == 5 and "the trace is complete, but is still called t.kymo.incomplete" in done.stderr


def test_a_command_that_cannot_be_run_replaces_nothing(kymo, tmp_path):
    (tmp_path / "t.kymo").write_text("mine")
    (tmp_path / "command").write_text("no first line\n")
    (tmp_path / "command").chmod(0o755)
    done = kymo("record", "-f", "-o", "t.kymo", "--", "./command", check=False, cwd=tmp_path)
    assert done.returncode == 126 and done.stderr.count("\n") == 1
    assert (tmp_path / "t.kymo").read_text() == "mine" and sorted(os.listdir(tmp_path)) == ["command", "t.kymo"]


def test_the_program_that_records_itself_is_told(python, importing, tmp_path):
    program = """
import kymo, os, sys
kymo.start("t.kymo")
session = os.environ["KYMO_SESSION"]
os.mkdir("t.kymo")
kymo.stop()
print(os.path.exists(session))
"""
    done = subprocess.run([python, "-c", program], cwd=tmp_path, env=environment(importing), capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (0, "False\n")
    assert "RuntimeWarning: kymo: " in done.stderr and "t.kymo" in done.stderr


def test_one_that_cannot_be_recorded_replaces_nothing(python, importing, tmp_path):
    (tmp_path / "t.kymo").write_text("mine")
    program = """
import kymo, sys
for tool in range(6):
    sys.monitoring.use_tool_id(tool, "other")
try:
    kymo.start("t.kymo", force=True)
except RuntimeError as error:
    print("refused")
"""
    done = subprocess.run([python, "-c", program], cwd=tmp_path, env=environment(importing), capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
    assert (tmp_path / "t.kymo").read_text() == "mine" and os.listdir(tmp_path) == ["t.kymo"]
