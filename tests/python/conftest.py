# SPDX-License-Identifier: Apache-2.0
"""The build under test, and what most tests do with it.

The build is the folder that KYMO_BUILD_DIR names; the interpreter under test is the one that
pytest runs on.  Nothing of the machine's own settings of Kymo or Python reaches a test.
"""
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("KYMO_BUILD_DIR", "build/dev")
KYMO = BUILD / "bin" / "kymo"
TIMEOUT = 300
NEEDS_CXX = pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")

sys.path[:0] = [str(ROOT / "tests" / "model"), str(BUILD / "python")]
pytest.register_assert_rewrite("streams")
# Who runs the tests in the background may have it ignored, and so would every program here.
signal.signal(signal.SIGINT, signal.default_int_handler)


def environment(more=None):
    """The environment of every process that a test starts; a value of None takes a variable out."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("KYMO", "PYTHON")) or name == "PYTHONMALLOC"}  # which a sanitizer needs
    kept |= {"KYMO_PYTHON": sys.executable} | (more or {})
    return {name: str(value) for name, value in kept.items() if value is not None}


@pytest.fixture(scope="session")
def python():
    """The interpreter under test."""
    return sys.executable


@pytest.fixture(scope="session")
def build():
    if not KYMO.exists():
        pytest.exit(f"{KYMO} is missing: build first, or set KYMO_BUILD_DIR", returncode=2)
    return BUILD


@pytest.fixture(scope="session")
def importing(build):
    """The `env` with which a program can import kymo, which is not installed."""
    return {"PYTHONPATH": build / "python"}


@pytest.fixture(scope="session")
def kymo(build):
    """kymo("info", trace): run a verb; returns a CompletedProcess with text in stdout and stderr."""
    def run(*args, check=True, env=None, **options):
        options = {"capture_output": True, "text": True, "timeout": TIMEOUT} | options
        words = [str(KYMO), *map(str, args)]
        done = subprocess.run(words, env=environment(env), **options)
        assert not check or done.returncode == 0, f"{shlex.join(words)}: status {done.returncode}\n{done.stderr}"
        return done
    return run


@pytest.fixture
def record(kymo, tmp_path):
    """record("print(1)", "--events=LINE"): run a program under Kymo; returns the path of the trace.

    The program is its text or a list: a script and its arguments, or any command.  `status` is the
    exit status that it must have, and `output` where the trace goes.
    """
    traces = 0

    def run(program, *options, status=0, output=None, env=None, **how):
        nonlocal traces
        traces += 1
        output = Path(output or tmp_path / f"trace-{traces}.kymo")
        if isinstance(program, str):
            script = tmp_path / f"program-{traces}.py"
            script.write_text(program)
            program = [script]
        done = kymo("record", "-q", "-o", output, *options, "--", *program, check=False, env=env, **how)
        assert done.returncode == status, f"status {done.returncode} of {program}\n{done.stdout}{done.stderr}"
        return output
    return run


@pytest.fixture(scope="session")
def events(kymo):
    """events(trace): the dicts that `kymo events --jsonl` prints."""
    def read(trace, *options):
        return [json.loads(line) for line in kymo("events", "--jsonl", *options, trace).stdout.splitlines()]
    return read
