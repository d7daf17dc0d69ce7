# SPDX-License-Identifier: Apache-2.0
"""What tests of `flow` recordings share: what a tool in Python sees of a program, and readings of events."""
import marshal
import subprocess

import pytest

from conftest import environment
from flow_oracle import EVENTS, OBSERVER
from streams import lost


def lines_of(events, *files):
    return [(event["function"], event["line"]) for event in events
            if event["event"] == "LINE" and event["file"].endswith(files)]


def without_ends(events):
    """What may have run after the last event of a thread: test_end.py has that."""
    return [event for event in events if "first_line" not in event]


def check_no_gaps(events):
    assert not lost(events) and not any(event["event"] == "UNKNOWN" for event in events)


@pytest.fixture
def observe(python, tmp_path):
    """observe(text): what a tool in Python sees of a program in a process of its own: main thread, all events."""
    def run(text, name="program.py"):
        program, output = tmp_path / name, tmp_path / "seen"
        program.write_text(text)
        subprocess.run([python, OBSERVER, output, ",".join([*EVENTS, "TRACEBACKS"]), name, program], env=environment(), timeout=300,
                       stdout=subprocess.DEVNULL, check=True)
        return next(iter(marshal.loads(output.read_bytes()).values()))
    return run
