# SPDX-License-Identifier: Apache-2.0
"""Going through a long trace: what opening, seeking and stepping take, and how much memory."""
import json
import random
import re
import subprocess
import sys
import time

from measure import BUILD, HERE, KYMO, progress, run, scratch, table

EVENTS = 1_000_000_000
PROFILES = {"flow": [], "full": ["--events=PY_START,PY_RESUME,PY_THROW,PY_RETURN,PY_YIELD,PY_UNWIND,RAISE,RERAISE,LINE"]}


def make(trace, profile, events):
    """Record the program for as long as it takes to have so many events."""
    def record(rounds):
        # What the reader cannot keep up with is dropped: a trace with gaps.
        run([KYMO, "record", "-q", "-f", "-o", trace, "--policy=drop", "--ring-size=1M", f"--events={profile}",
             *PROFILES[profile], sys.executable, HERE / "replay_program.py", str(rounds)])
        return count(trace)

    few, more = record(2), record(13)
    record(round(2 + (events - few) / (more - few) * 11))


def count(trace):
    info = subprocess.run([KYMO, "info", "--jsonl", trace], capture_output=True, text=True)
    raise NotImplementedError(info)
