# SPDX-License-Identifier: Apache-2.0
"""`kymo record --until-failure`: what is kept, and how it ends."""
import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import KYMO, environment

# Ends with the status that the n-th line of the file `plan` says, and takes that line off.
PROGRAM = """
import os, signal
from pathlib import Path
first, *rest = Path("plan").read_text().split()
Path("plan").write_text(" ".join(rest))
def attempt_ends_with(status):
    print("status", status, flush=True)
    if status < 0:
        os.kill(os.getpid(), -status)
    raise SystemExit(status)
attempt_ends_with(int(first))
"""


@pytest.fixture
def attempts(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(limit, plan, *options):
        (tmp_path / "plan").write_text(" ".join(map(str, plan)))
        return subprocess.run([KYMO, "record", f"--until-failure={limit}", "-o", "run.kymo", *options, "--", sys.executable,
                               "program.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True)

    run.folder = tmp_path
    return run


def traces(folder):
    return {path.name for path in folder.iterdir() if ".kymo" in path.name and not path.name.endswith("-index")}


def end_of(kymo, path):
    return json.loads(kymo("info", "--json", path).stdout)["processes"][0]["end"]


@pytest.mark.parametrize("status", [1, 3, -signal.SIGKILL, -signal.SIGABRT])
def test_the_failing_and_the_last_passing_trace_are_kept(attempts, kymo, status):
    done = attempts(10, [0, 0, status, 0])
    assert done.returncode == status
    assert done.stdout == f"status 0\nstatus 0\nstatus {status}\n"
    assert traces(attempts.folder) == {"run.kymo", "run-passed.kymo"}
    assert "attempt 3 " in done.stderr and "attempt 2 passed: run-passed.kymo" in done.stderr
    assert "status 0" in end_of(kymo, attempts.folder / "run-passed.kymo")
    assert "status 0" not in end_of(kymo, attempts.folder / "run.kymo")


def test_all_pass(attempts):
    done = attempts(3, [0, 0, 0, 1])
    assert done.returncode == 0
    assert traces(attempts.folder) == {"run-passed.kymo"}
    assert (attempts.folder / "plan").read_text() == "1"


def test_the_first_fails(attempts):
    done = attempts(3, [2])
    assert done.returncode == 2
    assert traces(attempts.folder) == {"run.kymo"}
    assert "none passed before it" in done.stderr


def test_nothing_is_replaced_unasked(attempts):
    (attempts.folder / "run-passed.kymo").write_text("precious")
    done = attempts(2, [0, 0])
    assert done.returncode == 1 and "run-passed.kymo already exists" in done.stderr
    assert (attempts.folder / "run-passed.kymo").read_text() == "precious"
    assert attempts(2, [1], "-f").returncode == 1
    assert traces(attempts.folder) == {"run.kymo"}  # the old one is of another run


@pytest.mark.parametrize("limit", ["0", "x", "-1"])
def test_a_number_of_attempts_is_needed(attempts, limit):
    done = attempts(limit, [0])
    assert done.returncode == 2 and "--until-failure" in done.stderr
    assert not traces(attempts.folder)


def test_what_cannot_be_recorded_is_no_failure(attempts):
    done = attempts(5, [0], "--session-dir=/dev/null")
    assert done.returncode == 1 and done.stdout == ""
    assert "/dev/null" in done.stderr and "attempt" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_being_told_to_end_says_nothing_of_the_command(tmp_path, number):
    program = "print('begun', flush=True)\nwhile True: pass"
    with subprocess.Popen([KYMO, "record", "--until-failure=3", "-o", "run.kymo", "--", sys.executable, "-c", program],
                          cwd=tmp_path, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == b"begun\n"
        os.kill(process.pid, number)
        process.wait(60)
        assert process.returncode == -number
        assert b"attempt" not in process.stderr.read()
    assert not (tmp_path / "run-passed.kymo").exists()
