# SPDX-License-Identifier: Apache-2.0
"""`kymo export` as a command: what it refuses, what it leaves behind, and which part of a trace it writes."""
import json
import os
import pty
import re
import signal
import subprocess

import pytest

from conftest import KYMO, environment

FORMATS = ["perfetto", "chrome", "speedscope", "gecko", "pprof", "callgrind", "gprof", "pstats", "collapsed", "flamegraph", "arrow",
           "parquet"]
PROGRAM = """
import threading, kymo

def leaf(n):
    return n

def work(n):
    return sum(leaf(i) for i in range(n))

for n in (1, 2):
    for phase in "setup", "run":
        with kymo.context(f"test_{n}|{phase}"):
            work(n)
thread = threading.Thread(target=work, args=[5], name="helper")
thread.start()
thread.join()
"""


@pytest.fixture(scope="module")
def trace(kymo, importing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "run.kymo", "--events=calls", folder / "program.py", env=importing)
    return folder / "run.kymo"


@pytest.fixture
def chrome(kymo, trace):
    """The events of a part of the trace, as Chrome has them."""
    def read(*options):
        return json.loads(kymo("export", "--format=chrome", *options, trace).stdout)["traceEvents"]
    return read


def names(events, phase="B"):
    return [event["name"] for event in events if event["ph"] == phase and event["name"] in ("work", "leaf")]


def test_help_lists_every_format(kymo):
    assert re.findall(r"^  ([a-z]+)\*? +[A-Z a-z]", kymo("export", "--help").stdout.partition("Timelines")[2], re.M) == FORMATS
    for name in FORMATS:
        assert kymo("export", f"--format={name}", "--help").stdout == kymo("export", "--help").stdout


def test_formats_that_there_are_not(kymo, trace):
    for words in (["--format=svg"], ["--format", "svg"], []):
        done = kymo("export", *words, trace, check=False)
        assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
        assert done.stderr.startswith(f"kymo export: --format: 'svg' is not one of {' '.join(FORMATS)}\n" if words else "kymo export: missing option --format=FORMAT;")


@pytest.mark.parametrize("words", [
    ["--format=chrome"], ["--format=chrome", "/nowhere.kymo"], ["--format=chrome", "/dev/null"], ["--format=chrome", "--from=soon", "{trace}"],
    ["--format=chrome", "--nothing", "{trace}"], ["--format=chrome", "{trace}", "{trace}"], ["--format=chrome", "--test=nothing", "{trace}"],
    ["--format=chrome", "--process=1", "{trace}"], ["--format=chrome", "--from=1000s", "{trace}"],
    ["--format=perfetto", "-o", "/nowhere/x", "{trace}"], ["--format=perfetto", "-o", "/tmp", "{trace}"],
    ["--format=perfetto", "-o", "{trace}", "{trace}"],
])
def test_one_line_says_what_is_wrong(words, kymo, trace):
    before = trace.read_bytes()
    done = kymo("export", *(word.format(trace=trace) for word in words), check=False)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("kymo") and done.stderr.count("\n") == 1, done.stderr
    assert trace.read_bytes() == before


def test_a_file_is_there_when_it_is_whole(kymo, trace, tmp_path):
    output = tmp_path / "run.json"
    kymo("export", "--format=chrome", "-o", output, trace)
    written = output.read_text()
    assert written == kymo("export", "--format=chrome", trace).stdout == kymo("export", "--format=chrome", "-o", "-", trace).stdout
    done = kymo("export", "--format=gecko", "-o", output, trace, check=False)
    assert done.returncode == 1 and "-f" in done.stderr and output.read_text() == written
    kymo("export", "--format=gecko", "-f", "-o", output, trace)
    assert "meta" in json.loads(output.read_text())
    # What fails leaves nothing.
    assert kymo("export", "--format=chrome", "--from=1000s", "-o", tmp_path / "none.json", trace, check=False).returncode == 1
    assert os.listdir(tmp_path) == ["run.json"]


@pytest.mark.parametrize("name", FORMATS[:4])
def test_a_full_disk(name, kymo, trace):
    for words in (["-o", "/dev/full"], []):
        with open("/dev/full", "w") as full:
            done = kymo("export", f"--format={name}", *words, trace, check=False, capture_output=False, stdout=full,
                        stderr=subprocess.PIPE)
        assert done.returncode == 1
        assert re.fullmatch(r"kymo: cannot write(?: /dev/full)?: No space left on device\n", done.stderr), done.stderr


def test_a_signal_leaves_nothing(record, tmp_path):
    trace = record("def f(): pass\nfor _ in range(300_000): f()", "--events=calls")
    (tmp_path / "to").mkdir()
    status = 0
    while status == 0: # it may be over before the signal comes
        child = subprocess.Popen([KYMO, "export", "--format=gecko", "-f", "-o", tmp_path / "to" / "x.json", trace], env=environment())
        while child.poll() is None and len(os.listdir(tmp_path / "to")) != (tmp_path / "to" / "x.json").exists() + 1:
            pass
        child.send_signal(signal.SIGINT)
        status = child.wait()
    assert status == -signal.SIGINT
    assert not [name for name in os.listdir(tmp_path / "to") if name != "x.json"]


def test_what_is_binary_is_not_for_a_terminal(trace):
    ours, theirs = pty.openpty()
    done = subprocess.run([KYMO, "export", "--format=perfetto", trace], env=environment(), stdout=theirs, stderr=subprocess.PIPE,
                          text=True)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2 and "-o" in done.stderr


def test_slices(chrome):
    everything = names(chrome())
    assert everything.count("leaf") == 2 * (1 + 2) + 5 and everything.count("work") == 5
    assert names(chrome("--test=test_2|run")) == ["work", "leaf", "leaf"]
    assert names(chrome("--test=test_2")) == 2 * ["work", "leaf", "leaf"]
    assert names(chrome("--thread=helper")) == ["work"] + 5 * ["leaf"]
    assert names(chrome("--function=leaf")) == everything.count("leaf") * ["leaf"]
    (setup,) = [event for event in chrome() if event["ph"] == "i" and event["name"] == "context:test_1|setup"]
    assert names(chrome(f"--to={int(setup['ts'] * 1000)}ns")) == []
    assert 0 < len(chrome("--min-duration=100us")) < len(chrome())


def test_events_of_a_test(kymo, trace, events):
    everything = events(trace)
    begin, = (i for i, event in enumerate(everything) if event["event"] == "MARK" and event["mark"] == "context:test_2|run")
    end = next(i for i, event in enumerate(everything) if i > begin and event["event"] == "MARK")
    assert events(trace, "--test=test_2|run") == everything[begin:end + 1]
    functions = [event["function"] for event in events(trace, "--test=test_1", "--kind=PY_START")]
    assert functions.count("leaf") == 2 and functions.count("work") == 2
    done = kymo("events", "--test=test_3", trace, check=False)
    assert done.returncode == 1 and "test_1|run" in done.stderr
