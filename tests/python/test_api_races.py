# SPDX-License-Identifier: Apache-2.0
"""Starts and stops at any moment: of other threads, and of interpreters with a GIL of their own."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import KYMO, TIMEOUT, environment

PROGRAM = Path(__file__).parent / "programs" / "api_races.py"
BEGIN_AND_END = "start", "stop", "join", "record"
OTHERS = ("is_recording", "mark", "snapshot", "begin_segment", "end_segment", "encode_value", "fingerprint_value",
          "is_project_file")


def test_every_function_of_the_extension_is_among_them(build):
    text = "from kymo import _kymo; print(*(name for name in dir(_kymo) if callable(getattr(_kymo, name))))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=TIMEOUT, check=True,
                          env=environment({"PYTHONPATH": build / "python"}))
    assert set(done.stdout.split()) - {"__loader__"} == {*BEGIN_AND_END, *OTHERS} - {"record"}


@pytest.mark.parametrize("turns, policy, functions", [
    (100, "overwrite", BEGIN_AND_END + OTHERS), (100, "block", BEGIN_AND_END + OTHERS),
    # One that is stopped elsewhere leaves its registers behind, and the next one is of another kind.
    (150, "block", ("start", "stop", "record", "mark")),
    (150, "overwrite", (*BEGIN_AND_END, "begin_segment", "end_segment")),
])
def test_all_functions_at_once(kymo, tmp_path, importing, turns, policy, functions):
    done = subprocess.run([sys.executable, "-X", "faulthandler", PROGRAM, tmp_path, str(turns), policy, ",".join(functions)],
                          capture_output=True, text=True, timeout=TIMEOUT,
                          env=environment({"KYMO_PROGRAM": KYMO} | importing))
    assert done.returncode == 0, done.stderr
    # Each session has come to its end, and is whole.
    assert os.listdir(tmp_path / "sessions") == []
    names = sorted(os.listdir(tmp_path))
    assert len(names) > 10 and all(name.endswith(".kymo") or name == "sessions" for name in names)
    for name in names:
        if name != "sessions":
            kymo("verify", tmp_path / name)
