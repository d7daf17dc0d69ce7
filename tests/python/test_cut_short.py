# SPDX-License-Identifier: Apache-2.0
"""A trace that could not be written to its end: what is missing is counted to the event, and each verb says it."""
import json
import os
import re
from pathlib import Path

import pytest

from conftest import KYMO, environment
from rooms import in_mounts, needs_mounts

PROGRAM = """
import os, threading
def step(n): return n * n
def work():
    t = 0
    for n in range(20_000): t += step(n)
work()
for _ in range(30):
    t = threading.Thread(target=work); t.start(); t.join()
for _ in range(3):
    if not os.fork():
        work(); os._exit(0)
    os.wait()
"""
OPTIONS = ["--events=calls,LINE", "--include=program*"]


@pytest.fixture(scope="module")
def all_events(kymo, tmp_path_factory):
    """How many events there are: the whole trace of the same program."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-qo", folder / "whole.kymo", *OPTIONS, folder / "program.py")
    about = json.loads(kymo("info", "--json", folder / "whole.kymo").stdout)
    assert about["lost"] == 0
    return about["events"]


def check(kymo, trace, cause, all_events):
    about = json.loads(kymo("info", "--json", trace).stdout)
    assert about["lost_is_least"] is False
    assert list(about["lost_why"]) == ["storage"] and about["lost"] > all_events // 4
    assert about["events"] + about["lost"] == all_events
    counted = re.search(r"([\d,]+) events, ([\d,]+) lost, .*: good, but cut short: (.*)$", kymo("verify", trace).stdout.strip())
    assert [int(counted[n].replace(",", "")) for n in (1, 2)] == [about["events"], about["lost"]] and cause in counted[3]
    assert re.search(rf"lost +{about['lost']:,}\n", kymo("stats", trace).stdout)


def test_a_size_limit(record, kymo, all_events):
    check(kymo, record(PROGRAM, *OPTIONS, "--max-size=128K"), "size limit", all_events)


@needs_mounts
def test_a_full_disk(kymo, all_events, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = in_mounts("mount -t tmpfs -o size=128k tmpfs /mnt", [
        "sh", "-c", '"$0" "$@"; status=$?; cp /mnt/t.kymo "$KEEP"; exit $status',
        KYMO, "record", "-q", "-o", "/mnt/t.kymo", *OPTIONS, tmp_path / "program.py"], env=environment({"KEEP": tmp_path / "t.kymo"}))
    assert done.returncode == 0, done.stderr
    check(kymo, tmp_path / "t.kymo", "disk full", all_events)


def test_verbs_say_which_events_they_count(record, kymo):
    trace = record("def f(): return 1\nf()\n", "--include=program*")
    about = json.loads(kymo("info", "--json", trace).stdout)
    told = kymo("info", trace).stdout
    assert f"{about['events']:,} events recorded, {about['rebuilt']:,} rebuilt" in told and "recorded and rebuilt, by kind" in told
    assert sum(about["kinds"].values()) == about["events"] + about["rebuilt"]
    assert kymo("stats", trace).stdout.startswith("events, recorded and rebuilt\n")
    assert "events of calls" in kymo("top", trace).stdout


def test_a_total_that_is_a_lower_bound_says_so(record, kymo, tmp_path):
    """Of a gap with two causes nobody knows how much the reader has left out, so what else it left out is at least the rest."""
    programs = os.fspath(Path(__file__).parent / "programs")
    trace = record(f"""
import os, signal, sys, threading
sys.path.append({programs!r})
from family import reader_pid
def step(n): return n * n
def work():
    for n in range(20_000): step(n)
reader = reader_pid()
while os.stat({os.fspath(tmp_path / "t.kymo.incomplete")!r}).st_size < 128 << 10:
    step(1)
os.kill(reader, signal.SIGSTOP)
for _ in range(10):
    work()
os.kill(reader, signal.SIGCONT)
for _ in range(10):
    work()
for _ in range(10):
    t = threading.Thread(target=work); t.start(); t.join()
""", *OPTIONS, "--max-size=256K", "--policy=drop", "--ring-size=256K", output=tmp_path / "t.kymo")
    about = json.loads(kymo("info", "--json", trace).stdout)
    assert any("storage" in why and why != "storage" for why in about["lost_why"]), about["lost_why"]
    assert about["lost_is_least"] is True
    assert re.search(r"at least [\d,]+ lost: storage|and perhaps more: storage", kymo("info", trace).stdout)
    assert f"at least {about['lost']:,} lost" in kymo("verify", trace).stdout
    assert re.search(rf"lost, at least +{about['lost']:,}\n", kymo("stats", trace).stdout)
