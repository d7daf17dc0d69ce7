# SPDX-License-Identifier: Apache-2.0
"""Another user, without HOME, in a folder that may only be read: results, or one line that says what is not permitted."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import KYMO, TIMEOUT, environment

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
TO_STDOUT = [["info"], ["ps"], ["stats"], ["events"], ["tail"], ["verify"], ["top"], ["source"], ["coverage"],
             ["coverage", "--format=lcov", "-o", "-"], ["export", "--format=chrome", "-o", "-"], ["export", "--format=collapsed", "-o", "-"],
             ["replay"]]
TO_FOLDER = [["coverage", "--format=html"], ["coverage", "--format=coverage-db"], ["report", "-o", "run.html"],
             ["export", "--format=chrome", "-o", "run.json"], ["export", "--format=pstats", "-o", "run.prof"], ["combine", "-o", "all.kymo"],
             ["export", "--format=perfetto", "-o", "run.pftrace"]]
DENIED = re.compile(r"kymo[^\n]*: [^\n]*Permission denied[^\n]*\n")


def _can(*words):
    return not os.geteuid() and shutil.which("setpriv") and not subprocess.run([*NOBODY, *words], capture_output=True, cwd="/").returncode


pytestmark = pytest.mark.skipif(not (_can(sys.executable, "-c", "") and _can(KYMO, "--version")),
                                reason="needs root, and an interpreter and a kymo that others may run")


@pytest.fixture(scope="module")
def folder(kymo):
    """Root's, with a trace for all to read and one for root alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "program.py").write_text("def step(n):\n    return n\n\nfor n in range(9):\n    step(n)\n")
        kymo("record", "-qo", folder / "own.kymo", folder / "program.py", cwd=folder)
        shutil.copy(folder / "own.kymo", folder / "open.kymo")
        (folder / "own.kymo").chmod(0o600)
        (folder / "open.kymo").chmod(0o644)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def as_nobody(folder):
    def run(*words, folder=folder):
        return subprocess.run([*NOBODY, KYMO, *map(str, words)], cwd=folder, env=environment({"HOME": None, "USER": None, "XDG_CACHE_HOME": None}),
                              input="where\n", capture_output=True, text=True, timeout=TIMEOUT, check=False)
    before = sorted(os.listdir(folder))
    yield run
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("words", TO_STDOUT, ids=" ".join)
def test_what_may_be_read_is_read(words, as_nobody):
    done = as_nobody(*words, "open.kymo")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout


@pytest.mark.parametrize("words", TO_STDOUT + TO_FOLDER, ids=" ".join)
def test_what_may_not_be_read_is_one_line(words, as_nobody):
    done = as_nobody(*words, "own.kymo")
    assert done.returncode and not done.stdout and DENIED.fullmatch(done.stderr), done.stderr


@pytest.mark.parametrize("words", TO_FOLDER, ids=" ".join)
def test_a_folder_that_may_not_be_written_is_one_line(words, as_nobody):
    done = as_nobody(*words, "open.kymo")
    assert done.returncode and not done.stdout and DENIED.fullmatch(done.stderr), done.stderr


def test_a_recording_where_nothing_can_be_written_does_not_begin(as_nobody, folder):
    for options in [], ["-o", folder / "mine.kymo"]:
        done = as_nobody("record", *options, "program.py")
        assert done.returncode and DENIED.fullmatch(done.stderr), done.stderr


def test_a_recording_elsewhere(as_nobody, kymo):
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, 65534, 65534)
        done = as_nobody("record", "-q", "-o", f"{name}/mine.kymo", "program.py")
        assert (done.returncode, done.stderr) == (0, "")
        trace = Path(name) / "mine.kymo"
        assert trace.stat().st_uid == 65534 and trace.stat().st_mode & 0o777 == 0o600
        assert "9" in kymo("stats", trace).stdout
        assert as_nobody("verify", trace).returncode == 0
