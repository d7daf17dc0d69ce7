# SPDX-License-Identifier: Apache-2.0
"""The verbs that read traces, held against what `kymo events --jsonl` says of the same trace."""
import fnmatch
import json
import os
import pty
import re
import stat
import subprocess
from collections import Counter

import pytest

from conftest import KYMO, environment
from streams import threads_of

PROGRAM = """
import os, threading
class Trouble(Exception):
    pass
def down(n):
    if n:
        return down(n - 1)
    raise Trouble(n)
def up(times):
    for n in range(times):
        try:
            down(n % 5)
        except Trouble:
            pass
def last():
    return "words"
up(200)
thread = threading.Thread(target=up, args=(100,), name="second")
thread.start()
thread.join()
pid = os.fork()
if not pid:
    up(50)
    os._exit(3)
os.waitpid(pid, 0)
last()
"""


@pytest.fixture(scope="module")
def trace(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "program.py").write_text(PROGRAM)
    kymo("record", "-q", "-o", folder / "trace.kymo", "--events=calls,LINE", folder / "program.py", "--token=secret")
    return folder / "trace.kymo"


@pytest.fixture(scope="module")
def everything(trace, events):
    return events(trace)


def key(event):
    return event["pid"], event["tid"], event["n"]


def numbers(text):
    """The numbers of a line, thousands' commas left out."""
    return [int(number) for number in re.findall(r"\d+", text.replace(",", ""))]


def test_info(trace, everything, kymo):
    about = json.loads(kymo("info", "--json", trace).stdout)
    assert about["complete"] and about["ending"] == "complete" and about["lost"] == 0
    assert about["events"] == len(everything) and about["bytes"] == trace.stat().st_size
    assert about["kinds"] == Counter(event["event"] for event in everything)
    counts = {(process["pid"], thread["tid"]): thread["events"]
              for process in about["processes"] for thread in process["threads"]}
    assert counts == {thread: len(stream) for thread, stream in threads_of(everything).items()}
    assert about["session"]["argv"][-1] == "--token=[redacted]"
    text = kymo("info", trace).stdout
    for kind, count in about["kinds"].items():
        line, = [line for line in text.splitlines() if line.split()[:1] == [kind]]
        assert numbers(line) == [count]
    assert "'second'" in text and "exited with status 0" in text and "secret" not in text


def test_info_of_many_threads(record, kymo):
    """The first ones by name, the rest as a sum."""
    trace = record("""
from threading import Thread
def run(): pass
for number in range(50):
    thread = Thread(target=run, name=f"worker {number}")
    thread.start()
    thread.join()
""")
    about = json.loads(kymo("info", "--json", trace).stdout)
    threads = about["processes"][0]["threads"]
    lines = kymo("info", trace).stdout.splitlines()
    rest, = [line for line in lines if "more threads" in line]
    assert len(threads) == 51 and sum("thread" in line and ": " in line for line in lines) == 21
    assert numbers(rest) == [31, sum(thread["events"] for thread in threads[20:]), 0]


def test_ps(trace, everything, kymo):
    parent, child = kymo("ps", trace).stdout.splitlines()
    pids = list(dict.fromkeys(event["pid"] for event in everything))
    assert parent.split()[0] == str(pids[0]) and parent.endswith("[exited with status 0]")
    assert child.split()[0] == str(pids[1]) and child.startswith("  ")


def test_ps_of_recordings_that_run(python, kymo, tmp_path):
    command = [KYMO, "record", "-q", "-o", tmp_path / "t.kymo", f"--session-dir={tmp_path}", "-c",
               "import os; print(os.environ['KYMO_SESSION'], os.getpid(), flush=True); input()"]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recording:
        session, pid = recording.stdout.readline().decode().split()
        assert stat.S_IMODE(os.stat(session).st_mode) == 0o700
        assert {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for folder, _, files in os.walk(session)
                for name in files} == {0o600}
        assert stat.S_IMODE(os.stat(tmp_path / "t.kymo.incomplete").st_mode) == 0o600
        recording.communicate(b"\n")
    assert recording.returncode == 0
    assert not os.path.exists(session)
    assert stat.S_IMODE(os.stat(tmp_path / "t.kymo").st_mode) == 0o600


def test_stats(trace, everything, kymo):
    lines = kymo("stats", trace).stdout.splitlines()
    for kind, count in Counter(event["event"] for event in everything).items():
        line, = [line for line in lines if line.split()[:1] == [kind]]
        assert numbers(line) == [count]
    line, = [line for line in lines if re.search(r"program\.py:\d+ down$", line)]
    assert numbers(line)[0] == sum(event["function"] == "down" for event in everything)


SLICES = [
    (["--kind=RAISE"], lambda e: e["event"] == "RAISE"),
    (["--kind=raise,py_unwind"], lambda e: e["event"] in ("RAISE", "PY_UNWIND")),
    (["--function=down"], lambda e: e["function"] == "down"),
    (["--function=*own"], lambda e: fnmatch.fnmatchcase(e["function"], "*own")),
    (["--file=program.py"], lambda e: e["file"].endswith("/program.py")),
    (["--file=*/threading.py"], lambda e: e["file"].endswith("/threading.py")),
    (["--file=program.py", "--kind=LINE", "--function=up"],
     lambda e: e["file"].endswith("/program.py") and e["event"] == "LINE" and e["function"] == "up"),
]


@pytest.mark.parametrize("options, is_wanted", SLICES, ids=[" ".join(options) for options, _ in SLICES])
def test_slices(options, is_wanted, trace, everything, events):
    wanted = [event for event in everything if is_wanted(event)]
    assert wanted and events(trace, *options) == wanted


def test_slices_by_thread_process_and_number(trace, everything, events):
    child = next(event["pid"] for event in everything if event["pid"] != everything[0]["pid"])
    second = next(event["tid"] for event in everything if event["tid"] != event["pid"])
    assert events(trace, "--process", child) == [event for event in everything if event["pid"] == child]
    for name in ("second", second):
        assert events(trace, "--thread", name) == [event for event in everything if event["tid"] == second]
    assert events(trace, "--limit", 7) == everything[:7]


def test_slices_by_time(trace, everything, events):
    times = sorted(event["t_ns"] for event in everything)
    first, last = times[len(times) // 3], times[len(times) // 2]
    between = [key(event) for event in everything if first <= event["t_ns"] <= last]
    assert [key(event) for event in events(trace, f"--from={first}ns", f"--to={last}ns")] == between
    assert 0 < len(between) < len(everything)
    assert events(trace, "--from=1000s") == []


def test_text_and_jsonl_tell_the_same(trace, everything, kymo):
    lines = kymo("events", trace).stdout.splitlines()
    assert len(lines) == len(everything)
    for line, event in zip(lines, everything):
        time, _, rest = line.partition("±")
        assert abs(float(time) * 1e9 - event["t_ns"]) < 2
        assert f" {event['pid']} " in rest and f" {event['n']} " in rest and f" {event['event']} " in rest
        assert event["function"] in rest and event.get("exception", "") in rest


def test_tail(trace, everything, kymo):
    text = kymo("tail", "-n", 4, trace).stdout
    for stream in threads_of(everything).values():
        at = 0
        for event in stream[-4:]:
            at = text.index(f"{event['event']} ", at) + 1
    assert len(re.findall(r"^process \d+ ", text, re.M)) == 2 and len(re.findall(r"^  thread \d+", text, re.M)) == 3
    assert "exited with status 0" in text  # the child's is known only if it was seen before the parent took it
    assert len(re.findall(r"^ +\d+\.\d+ ", text, re.M)) == 12


@pytest.mark.parametrize("options, wanted", [
    ([], lambda event, end: True),
    (["--kind=LINE,RAISE"], lambda event, end: event["event"] in ("LINE", "RAISE")),
    (["--omit=*/program.py"], lambda event, end: not event["file"].endswith("/program.py")),
    (["--kind=RAISE", "--last=2ms"], lambda event, end: event["event"] == "RAISE" and event["t_ns"] >= end - 2e6),
    (["--last=1000"], lambda event, end: True),
    (["--omit=*/nothing", "--omit=*"], lambda event, end: False),
])
@pytest.mark.parametrize("count", [1, 30, 5000])
def test_tail_as_json(options, wanted, count, trace, everything, kymo):
    told = json.loads(kymo("tail", "--json", "-n", count, *options, trace).stdout)["processes"]
    ends = {process["pid"]: process["end"] for process in json.loads(kymo("info", "--json", trace).stdout)["processes"]}
    assert {process["pid"]: process["end"] for process in told} == ends
    # The trace ends with the last chunk, and that a little after its last event.
    end = max(event["t_ns"] for event in everything)
    for stream in threads_of(everything).values():
        expected = [event for event in stream if wanted(event, end)][-count:]
        seen, = (thread["events"] for process in told for thread in process["threads"]
                 if (process["pid"], thread["tid"]) == (stream[0]["pid"], stream[0]["tid"]))
        # What --last leaves out was longer ago: the rest are the newest.
        assert seen == expected[len(expected) - len(seen):] if "--last=2ms" in options else seen == expected


def test_tail_up_to_a_mark(importing, record, kymo, events):
    trace = record("""
import kymo, threading
def f(n): return n
def other(): f("other")
for n in range(3):
    f(n)
    kymo.mark("here")
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
kymo.mark("there")
""", "--events=calls,LINE", env=importing)
    seen = events(trace)
    main = [event for event in seen if event["tid"] == event["pid"]]
    last = max(at for at, event in enumerate(main) if event.get("mark") == "here")
    threads = json.loads(kymo("tail", "--json", "--until-mark=here", "-n", 1000000, trace).stdout)["processes"][0]["threads"]
    assert [thread["events"] for thread in threads if thread["tid"] == seen[0]["pid"]] == [main[:last]]
    assert len(threads) > 1
    done = kymo("tail", "--until-mark=her", trace, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "kymo: no mark 'her'\n")


def test_tail_of_one_process(trace, everything, kymo):
    for pid in {event["pid"] for event in everything}:
        told = json.loads(kymo("tail", "--json", "--process", pid, trace).stdout)["processes"]
        assert [process["pid"] for process in told] == [pid]
    assert kymo("tail", "--json", "--process", 1, trace).stdout == '{"processes":[],"unrecorded":[]}\n'


def test_verify_and_a_cut_trace(trace, everything, kymo, events, tmp_path):
    assert kymo("verify", trace).stdout.rstrip().endswith("good")
    cut, whole = tmp_path / "cut.kymo", trace.read_bytes()
    cut.write_bytes(whole[:len(whole) * 2 // 3])
    assert kymo("verify", cut, check=False).returncode == 1
    kept = kymo("events", "--jsonl", cut, check=False).stdout.splitlines()

    def key(event):  # a Clock that was cut off made its time more exact
        return tuple((name, value) for name, value in event.items() if name not in ("t_ns", "t_err_ns"))
    assert {key(json.loads(line)) for line in kept if '"GAP"' not in line} < {key(event) for event in everything}
    kymo("salvage", "-o", tmp_path / "new.kymo", cut)
    assert kymo("verify", tmp_path / "new.kymo").returncode == 0
    assert len(events(tmp_path / "new.kymo")) == len(kept)


NASTY = "a\x1b[31mred\x07\x9b\u202eback\n\t\x00end"


def read_terminal(*words):
    """What the command writes to a terminal."""
    pid, fd = pty.fork()
    if not pid:
        os.execve(KYMO, [str(KYMO), *map(str, words)], environment({"TERM": "xterm"}))
    text = b""
    try:
        while read := os.read(fd, 65536):
            text += read
    except OSError:  # the other side is closed
        pass
    assert os.waitpid(pid, 0)[1] == 0
    return text


@pytest.mark.parametrize("verb", ["events", "info", "ps", "stats", "tail -n 20000"])
def test_names_are_escaped_on_a_terminal(verb, record, events, tmp_path):
    trace = record(f"""
import threading
nasty = {NASTY!r}
def f(): raise type(nasty.replace("\\0", ""), (Exception,), {{}})
f.__code__ = f.__code__.replace(co_name=nasty, co_qualname=nasty, co_filename=nasty)
def run():
    for _ in range(2000):
        try: f()
        except Exception: pass
thread = threading.Thread(target=run, name=nasty)
thread.start()
thread.join()
""", "--events=calls,LINE")
    shown = read_terminal(*verb.split(), trace).replace(b"\r\n", b"\n")
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]", shown)
    if verb != "ps":
        assert rb"\x1b[31mred\x07" in shown and rb"\x9b" in shown and rb"\u202eback" in shown
    assert any("\x1b[31mred" in (event["function"] or "") for event in events(trace))


ERRORS = [
    ["nothing"], ["events"], ["info"], ["events", "/nowhere.kymo"], ["info", "/dev/null"], ["stats", "/etc/passwd"],
    ["events", "--kind=NOTHING", "{trace}"], ["events", "--limit=x", "{trace}"], ["events", "--from=soon", "{trace}"],
    ["events", "{trace}", "{trace}"], ["tail", "-n", "-1", "{trace}"], ["tail", "--last=soon", "{trace}"], ["info", "--nothing", "{trace}"],
    ["record"], ["record", "--events=NOTHING", "-c", "pass"], ["record", "--policy=none", "-c", "pass"],
    ["record", "--ring-size=huge", "-c", "pass"], ["record", "/nowhere.py"], ["record", "-o", "{trace}", "-c", "pass"],
    ["salvage", "/nowhere"], ["snapshot", "1"], ["verify", "{folder}"],
]


@pytest.mark.parametrize("words", ERRORS, ids=" ".join)
def test_errors_are_one_line(words, trace, kymo, tmp_path):
    before = trace.read_bytes()
    words = [word.format(trace=trace, folder=tmp_path) for word in words]
    done = kymo(*words, check=False, cwd=tmp_path)
    assert done.returncode in (1, 2, 127) and done.stdout == ""
    assert done.stderr.startswith("kymo") and done.stderr.count("\n") == 1
    assert trace.read_bytes() == before and not list(tmp_path.iterdir())


def test_force_replaces_a_trace(kymo, events, tmp_path):
    for number in (1, 2):
        kymo("record", "-qfo", tmp_path / "t.kymo", "-c", f"def f{number}(): pass\nf{number}()")
    functions = {event["function"] for event in events(tmp_path / "t.kymo")}
    assert "f2" in functions and "f1" not in functions


def test_a_new_name_each_time(kymo, tmp_path):
    messages = [kymo("record", "-c", "pass", cwd=tmp_path).stderr for _ in range(3)]
    names = [re.fullmatch(r"kymo: recorded (kymo-\S+\.kymo) \(.*\)\n", message)[1] for message in messages]
    assert sorted(names) == sorted(os.listdir(tmp_path)) and len(set(names)) == 3


def test_output_that_nobody_reads(trace):
    """`kymo events | head` ends quietly."""
    command = f"{KYMO} events {trace} | head -n 1 >/dev/null"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=environment(), capture_output=True, timeout=60)
    assert done.stderr == b""


OVERWRITTEN = """
import sys, os
def early(): pass
def late(): pass
def fill(n):
    for i in range(n): pass
early(); early()
print(os.getpid(), flush=True)
sys.stdin.readline()
fill(300_000)
late(); late()
"""


def test_snapshot(events, kymo, tmp_path):
    """The newest chunks at that moment, and those at the end."""
    trace = tmp_path / "t.kymo"
    (tmp_path / "program.py").write_text(OVERWRITTEN)
    command = [KYMO, "record", "-q", "-o", trace, "--policy=overwrite", "--ring-size=64K", "--events=calls,LINE",
               "--include=program.py", tmp_path / "program.py"]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as recording:
        kymo("snapshot", recording.stdout.readline().strip())
        recording.communicate("go\n", timeout=60)
    assert recording.returncode == 0
    calls = [event["function"] for event in events(trace) if event["event"] in ("PY_START", "PY_RETURN")]
    assert [name for name in calls if name in ("early", "late")] == ["early"] * 4 + ["late"] * 4
