# SPDX-License-Identifier: Apache-2.0
"""Where the index of a trace is left, and where none is: it was cancelled, or the recording is not over."""
import os
import re
import signal
import subprocess

import pytest

from conftest import KYMO, TIMEOUT, environment
from terminal import Terminal


@pytest.fixture(scope="module")
def long(kymo, tmp_path_factory):
    """A trace of some million events."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "long.py").write_text("def f(n):\n    return n\n\nfor n in range(400000):\n    f(n)\n")
    kymo("record", "-q", "--events=full", "-o", "run.kymo", "--include=long.py", "long.py", cwd=folder)
    return folder / "run.kymo"


def is_making(pid, folder):
    """It writes to a file there that has no name yet."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return any(link.startswith(f"{folder}/#") for link in links)


@pytest.mark.parametrize("verb", ["index", "replay"])
def test_ctrl_c_leaves_nothing(long, verb):
    with subprocess.Popen([KYMO, verb, long], env=environment(), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        while not is_making(process.pid, long.parent):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
    assert (out, err) == ("", "kymo: interrupted while the index was made; nothing of it is kept\n")
    assert process.returncode == -signal.SIGINT
    assert sorted(os.listdir(long.parent)) == ["long.py", "run.kymo"]


def test_where_it_is_ignored_it_goes_on(long, tmp_path):
    copy = tmp_path / "run.kymo"
    os.link(long, copy)
    command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", KYMO, "index", copy]
    with subprocess.Popen(command, env=environment(), text=True, stdout=subprocess.PIPE) as process:
        while not is_making(process.pid, tmp_path):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=TIMEOUT)[0].endswith(" of index, made\n")
    assert (tmp_path / "run.kymo-index").exists()


def test_one_chunk_and_a_line(kymo, record):
    trace = record("x = 1\n", "--include=program-1.py", "--events=LINE")
    told = re.fullmatch(r"(\d+) chunks?, (\d+) lines? run: \d+ bytes of index, made\n", kymo("index", trace).stdout)
    assert told and told[1] == "1"
    assert told[0].startswith("1 chunk, 1 line run:")
    assert kymo("index", trace).stdout == told[0].replace("made", "already there")


PROGRAM = """\
import os, sys
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def test_a_recording_that_is_not_over_keeps_none(kymo, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    trace = tmp_path / "run.kymo.incomplete"
    with subprocess.Popen([KYMO, "record", "-q", "-o", "run.kymo", "--include=program.py", "program.py"], cwd=tmp_path,
                          env=environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        kymo("snapshot", process.stdout.readline().strip())
        assert kymo("index", trace).stdout.endswith("of index, not kept, because the recording is not over\n")
        kymo("replay", trace, input="where\n")
        process.communicate(timeout=TIMEOUT)
    kymo("replay", tmp_path / "run.kymo", input="where\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py", "run.kymo", "run.kymo-index"]


def test_the_terminal_is_left_tidy(long):
    """What shows how far it is goes away with it."""
    with Terminal([str(KYMO), "index", str(long)], environment(), b"$") as terminal:
        while not is_making(terminal.pid, long.parent):
            os.sched_yield()
        terminal.type("\x03")
        shown = terminal.end()
    assert shown.replace("^C", "") == "kymo: interrupted while the index was made; nothing of it is kept\n"
    assert terminal.status == -signal.SIGINT
