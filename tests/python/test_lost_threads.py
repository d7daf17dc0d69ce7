# SPDX-License-Identifier: Apache-2.0
"""Threads that lost all they did: going through a run in which a thread has a gap and nothing else."""
import json
import re

import pytest

from dap_client import Client
from rooms import needs_root

PROGRAM = """\
import os, shutil, sys, threading
def work(n):
    return n + 1
def run():
    for n in range(50):
        work(n)
work(1)
CHANGE
threads = [threading.Thread(target=run) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
work(2)
"""
CHANGES = {
    "another user": "os.setgroups([]); os.setgid(65534); os.setuid(65534)",
    "chroot": "os.chroot(sys.argv[1])",
    "session deleted": "shutil.rmtree(os.environ['KYMO_SESSION'])",
}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=() if name == "session deleted" else needs_root) for name in CHANGES])
def lost(request, kymo, tmp_path_factory):
    """(trace, numbers of the threads of which nothing was recorded, events that each lost)"""
    folder = tmp_path_factory.mktemp("lost")
    (folder / "program.py").write_text(PROGRAM.replace("CHANGE", CHANGES[request.param]))
    kymo("record", "-q", "--include=program.py", "-o", folder / "run.kymo", "program.py", folder, cwd=folder)
    threads = json.loads(kymo("info", "--json", folder / "run.kymo").stdout)["processes"][0]["threads"]
    numbers = [at for at, thread in enumerate(threads, 1) if not thread["events"]]
    # Of the last one nothing may be known where the session is gone.
    assert numbers and numbers == list(range(2, len(threads) + 1)), "each of them is to lose all it did"
    return folder / "run.kymo", numbers, [threads[at - 1]["lost"] for at in numbers]


COMMANDS = ["threads", "thread 2", "threads", "info", "where", "reverse-step", "step", "next", "return", "reverse-return", "next-switch",
            "reverse-switch", "goto start", "goto end", "goto 50%", "goto 0.001s", "break work", "continue", "thread 2", "reverse-continue",
            "thread 3", "catch", "catch uncaught", "continue", "hits work", "goto #1"]  # fmt: skip


def test_in_the_terminal(lost, kymo):
    trace, numbers, counts = lost
    for number, count in zip(numbers, counts):
        done = kymo("replay", trace, input=f"thread {number}\nthreads\n", check=False)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^\[thread \d '.*'\]\n--Missing-- {count} events lost: no-ring$", done.stdout, re.M)
        assert re.search(rf"^\* {number}  thread \d '.*'  not recorded$", done.stdout, re.M)
    for first in range(len(COMMANDS)):  # from wherever they lead, in an index that is made and in one that is read
        lines = COMMANDS[first:] + COMMANDS[:first]
        assert kymo("replay", trace, input="\n".join(lines), check=False).returncode in (0, 1)


def test_in_an_editor(lost):
    trace, numbers, counts = lost
    with Client() as client:
        client.start(trace)
        assert [thread["id"] for thread in client.threads()["threads"]] == [1, *numbers]
        for number, count in zip(numbers, counts):
            frame, = client.frames(number)
            assert frame["name"] == f"not recorded: {count} events lost (no-ring)"
            client.go("stepBack", number)
            assert (client.stopped["threadId"], client.stopped["description"]) == (number, "start of the recording")
            client.go("continue")
            client.go("reverseContinue")
