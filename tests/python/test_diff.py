# SPDX-License-Identifier: Apache-2.0
"""kymo diff: the first divergence is where it was planted, and what is the same is told to be the same."""
import json
import os
import random
import re
import shutil

import pytest
from conftest import BUILD, ROOT
from generated_programs import programs
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

PROFILES = ["flow", "full", "calls"]


@pytest.fixture
def run(kymo, tmp_path):
    """run("program", 1, "--events=full"): a recording of the program with this argument; of the same script each time."""
    runs = 0

    def record(program, argument=0, *options, status=None, env=None, name="program.py"):
        nonlocal runs
        runs += 1
        folder = tmp_path / "here"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(program)
        trace = tmp_path / f"run-{runs}.kymo"
        done = kymo("record", "-q", "-o", trace, *options, "--", name, str(argument), cwd=folder, check=False, env=env)
        assert status is None or done.returncode == status, done.stderr
        return trace

    return record


@pytest.fixture
def diff(kymo):
    """diff(passed, failed, "--limit=5"): the report, and the exit status in "status"."""
    def compare(passed, failed, *options):
        done = kymo("diff", "--json", *options, passed, failed, check=False)
        assert done.returncode in (0, 1), done.stderr
        report = json.loads(done.stdout)
        assert report["same"] == (done.returncode == 0)
        return report

    return compare


def line_of(program, mark="# planted"):
    return next(i for i, line in enumerate(program.splitlines(), 1) if mark in line)


def last_line(difference, side="fail"):
    """The last line that both sides ran, or, of an exception that leaves a line, where it was raised."""
    told = difference[side]
    return (told["last_common"] or told["next"])["line"]


PLANTS = {
    "branch": "    if FLAG * (COUNT == WHEN):  # planted\n        n += 1\n",
    "else": "    if FLAG * (COUNT == WHEN):  # planted\n        n += 1\n    else:\n        n -= 0\n",
    "inline": "    n = n + 1 if FLAG * (COUNT == WHEN) else n - 0  # planted\n",
    "exception": "    if FLAG * (COUNT == WHEN):  # planted\n        raise KeyError(n)\n",
    "implicit": "    {0: n}[FLAG * (COUNT == WHEN)]  # planted\n",
    "call": "    if FLAG * (COUNT == WHEN):  # planted\n        extra(n)\n",
    "loop": "    for _ in range(2 + 3 * FLAG * (COUNT == WHEN)):  # planted\n        extra(_)\n",
    "while": "    m = 8 + 2 * (FLAG * (COUNT == WHEN))\n    while m > 8: m -= 1  # planted\n",
    "return": "    if FLAG * (COUNT == WHEN): return n  # planted\n",
}
PLANTED = """
import sys
FLAG = int(sys.argv[1])
COUNT, WHEN = 0, {when}
def extra(n): return n
def planted(n):
    global COUNT
    COUNT += 1
    if COUNT == WHEN: print("reached")
{plant}    return n
"""


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_a_planted_change_is_the_first_divergence(profile, kymo, tmp_path_factory, diff):
    @seed(6)
    @settings(max_examples=12, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(programs(), st.sampled_from(sorted(PLANTS)), st.integers(1, 12))
    def check(program, plant, when):
        program = PLANTED.format(when=when, plant=PLANTS[plant]) + program.replace(
            "def call(n): return", "def call(n):\n    planted(n)\n    return")
        folder = tmp_path_factory.mktemp("planted")
        (folder / "program.py").write_text(program)
        traces, output = [], None
        for i, (flag, size) in enumerate([(0, "8K"), (0, "64K"), (1, "16K")]):
            traces.append(folder / f"{i}.kymo")
            output = kymo("record", "-q", "-o", traces[-1], f"--events={profile}", f"--ring-size={size}", "--", "program.py",
                          str(flag), cwd=folder, env={"PYTHONHASHSEED": i}, check=False).stdout
        assert diff(traces[0], traces[1])["same"]
        report = diff(traces[0], traces[2], "--limit=1000")
        assert report["same"] == ("reached" not in output)
        if "reached" in output:
            assert last_line(report["differences"][0]) == line_of(program), plant
            assert report["differences"][0]["fail"]["stack"][0]["function"] == "planted"
        # The other way around they are the same differences.
        back = diff(traces[2], traces[0], "--limit=1000")
        assert sorted(shape(each, "pass", "fail") for each in report["differences"]) == \
            sorted(shape(each, "fail", "pass") for each in back["differences"])

    check()


def shape(difference, left, right):
    """What of a difference does not depend on which run is called which."""
    def of(told):
        return told and (told.get("next") or told).get("line"), told and told.get("alone")
    return str((difference["kind"], difference["count"], of(difference[left]), of(difference[right])))


RECURSION = """
import sys
sys.setrecursionlimit(5000)
def down(n):
    if n:
        return down(n - 1) + 1
    if int(sys.argv[1]):  # planted
        raise ValueError
    return 0
try:
    down(2000)
except ValueError:
    pass
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_an_exception_through_many_frames_is_one_difference(profile, run, diff):
    report = diff(run(RECURSION, 0, f"--events={profile}", "--ring-size=8K"), run(RECURSION, 1, f"--events={profile}"))
    first, *others = report["differences"]
    assert first["fail"]["exception"]["type"] == "ValueError"
    assert first["fail"]["exception"]["line"] == line_of(RECURSION) + 1
    assert first["fail"]["depth"] == 2002
    if profile != "calls":
        assert last_line(first) == line_of(RECURSION)
    assert not others


GENERATORS = """
import sys
def numbers():
    for n in range(30):
        if n == 17 and int(sys.argv[1]):  # planted
            n = -1
        yield n
def through():
    yield from numbers()
print(sum(n for n in through()))
"""
ASYNC = """
import asyncio, sys
async def say(name):
    for step in range(3):
        await asyncio.sleep(0)
    if name == 2 and int(sys.argv[1]):  # planted
        return None
    return name
async def main():
    await asyncio.gather(*(say(n) for n in range(4)))
asyncio.run(main())
"""


@pytest.mark.parametrize("program", [GENERATORS, ASYNC])
@pytest.mark.parametrize("profile", ["flow", "full"])
def test_generators_and_coroutines(program, profile, run, diff):
    passed, again, failed = (run(program, flag, f"--events={profile}") for flag in (0, 0, 1))
    assert diff(passed, again)["same"]
    report = diff(passed, failed)
    assert last_line(report["differences"][0]) == line_of(program)


def test_what_a_scheduler_runs_later_is_still_found(run, diff):
    program = """
import asyncio, sys
rows = []
async def fill():
    await asyncio.sleep(0.05 if int(sys.argv[1]) else 0)
    rows.append(1)
async def ask():
    await asyncio.sleep(0.02)
    if rows:  # planted
        return 1
    return 0
async def main():
    await asyncio.gather(fill(), ask())
asyncio.run(main())
"""
    report = diff(run(program, 0), run(program, 1))
    assert line_of(program) in [last_line(each) for each in report["differences"][:3] if each["kind"] == "branch"]


@pytest.mark.parametrize("way", ["gather", "group"])
def test_in_which_order_tasks_run_comes_behind_what_they_do(way, run, diff, kymo):
    program = f"""
import asyncio, sys
flag = int(sys.argv[1])
async def fetch(n):
    await asyncio.sleep(0.01 * (n * (1 + 2 * flag) % 5))
    if n == 2 and flag:  # planted
        raise ValueError(n)
    return n
async def gather():
    await asyncio.gather(*map(fetch, range(5)))
async def group():
    async with asyncio.TaskGroup() as tasks:
        for n in range(5):
            tasks.create_task(fetch(n))
asyncio.run({way}())
"""
    passed, failed = run(program, 0), run(program, 1, status=1)
    first, *others = diff(passed, failed)["differences"]
    assert last_line(first) == line_of(program)
    exceptions = [each for each in (first, *others) if (each["fail"].get("exception") or {}).get("type") == "ValueError"]
    assert exceptions and not exceptions[0]["library"]
    text = kymo("diff", passed, failed, check=False).stdout
    assert "runners.py" not in text.split("\n\n")[1] and "frames of libraries" in text


THREADS = """
import sys, threading
first, second = threading.Event(), threading.Event()
def work(mine, other):
    if mine: mine.wait()
    total = 0
    for n in range(200):
        total += n
    if other: other.set()
order = int(sys.argv[1])
a = threading.Thread(target=work, name="a", args=(second if order else threading.Event(), first))
b = threading.Thread(target=work, name="b", args=(first if not order else threading.Event(), second))
if not order: a._args[0].set()
else: b._args[0].set()
for thread in ((a, b), (b, a))[order]: thread.start()
for thread in (a, b): thread.join()
"""


def test_threads_in_another_order_without_effect(run, diff):
    report = diff(run(THREADS, 0), run(THREADS, 1), "--limit=50")
    # The main thread does not do the same, and says so; `work` does.
    assert {each["fail"]["next"]["function"] for each in report["differences"] if each["kind"] != "order"} == {"<module>"}
    assert report["compared"]["threads"] == 3


LOST_UPDATE = """
import sys, threading
total = 0
go, gone = threading.Event(), threading.Event()
def add(interrupted):
    global total
    before = total
    if interrupted is not None:
        step(interrupted)
    total = before + 1  # cause
def step(interrupted):
    if interrupted:
        go.set(); gone.wait()
def other():
    go.wait()
    add(None)
    gone.set()
thread = threading.Thread(target=other)
thread.start()
add(int(sys.argv[1]))
go.set()
thread.join()
assert total == 2
"""


def test_a_thread_that_was_interrupted(run, diff):
    """Another thread ran `add` while this one was in the middle of it."""
    report = diff(run(LOST_UPDATE, 0, status=0), run(LOST_UPDATE, 1, status=1), "--limit=50")
    kinds = {each["kind"] for each in report["differences"]}
    assert "order" in kinds and "ending" in kinds
    orders = [each["order"] for each in report["differences"] if each["kind"] == "order"]
    assert orders[0]["side"] == "fail"


@pytest.mark.parametrize("profile", PROFILES)
def test_identical_runs_are_the_same(profile, run, diff, kymo):
    program = """
import argparse, collections, dataclasses, enum, json, re, threading, weakref
class Thing:
    def __del__(self): pass
words = {"a", "bb", "ccc"}
print(len(words), json.dumps({"x": [1, 2]}), re.sub("a+", "b", "caat"))
cycle = [Thing()]; cycle.append(cycle)
"""
    traces = [run(program, 0, f"--events={profile}", f"--ring-size={size}", env={"PYTHONHASHSEED": n, "PYTHONPYCACHEPREFIX": None})
              for n, size in ((1, "8K"), (2, "64K"))]
    shown = diff(*traces, "--limit=20")
    assert not [each for each in shown["differences"] if not each["library"]]
    same = run(program, 0, f"--events={profile}", env={"PYTHONHASHSEED": 1})
    assert diff(traces[0], same)["same"]
    done = kymo("diff", traces[0], same)
    assert done.returncode == 0 and "The same: 1 thread compared" in done.stdout


def test_a_trace_and_itself(run, diff):
    trace = run(GENERATORS)
    report = diff(trace, trace)
    assert report["same"] and report["compared"]["common"] == report["compared"]["steps"] and not report["differences"]


def test_nothing_in_common(run, diff):
    report = diff(run("def f():\n    return 1\nf()\n"), run("class A:\n    x = 2\n    def g(self): pass\nA().g()\n", name="other.py"))
    assert "the two have nothing in common" in report["notes"]
    assert not report["same"]


def test_ignored_files(run, diff, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "helper.py").write_text("def help(flag):\n    if flag:\n        return 1\n    return 2\n")
    program = "import sys, helper\nhelper.help(int(sys.argv[1]))\n"
    passed, failed = run(program, 0), run(program, 1)
    assert diff(passed, failed)["differences"][0]["fail"]["last_common"]["file"].endswith("helper.py")
    for glob in ("helper.py", "*/helper.py", "here/*.py", str(tmp_path / "here" / "helper.*")):
        assert diff(passed, failed, f"--ignore={glob}")["same"], glob
    assert not diff(passed, failed, "--ignore=nothing.py")["same"]


def test_a_cold_cache_is_no_difference(run, diff, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "helper.py").write_text("x = 1\n")
    cold, warm = run("import helper\n"), run("import helper\n")
    assert (tmp_path / "here" / "__pycache__").exists()
    assert diff(cold, warm)["same"]
    assert not diff(cold, warm, "--no-default-ignore")["same"]


def test_a_changed_source_is_compared_by_its_text(run, diff):
    before = "def f(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\ndef g():\n    return f(3)\ng()\n"
    after = "# new\n\n" + before.replace("        total += i\n", "        total += i\n        total -= 0  # planted\n")
    report = diff(run(before), run(after))
    first = report["differences"][0]
    assert (first["kind"], first["fail"]["next"]["line"]) == ("branch", line_of(after))
    assert any("program.py is not the same" in note for note in report["notes"])
    # Lines that only moved are the same lines.
    assert diff(run(before), run("# new\n\n" + before))["same"]


@pytest.mark.parametrize("older, newer", [("3.12", "3.13"), ("3.13", "3.14"), ("3.14", "3.15")])
def test_other_versions_of_cpython(older, newer, diff, tmp_path):
    for version in older, newer:
        shutil.copy(ROOT / "tests" / "golden" / "v1" / f"full-{version}.kymo", tmp_path)
    report = diff(tmp_path / f"full-{older}.kymo", tmp_path / f"full-{newer}.kymo")
    assert report["same"] and report["compared"]["steps"] > 100
    assert report["notes"] == [f"Python {older} and {newer}: compared by the text of lines"]


def test_what_only_one_side_has(run, diff):
    program = """
import os, subprocess, sys, threading
def work(): pass
if int(sys.argv[1]) == 1:
    thread = threading.Thread(target=work); thread.start(); thread.join()
if int(sys.argv[1]) == 2:
    subprocess.run([sys.executable, "-c", "pass"])
if int(sys.argv[1]) == 3:
    os._exit(3)
"""
    passed = run(program, 0)
    kinds = [{each["kind"] for each in diff(passed, run(program, n), "--limit=500")["differences"]} for n in (1, 2, 3)]
    assert ["thread" in kinds[0], "process" in kinds[1], "ending" in kinds[2]] == [True, True, True]
    assert "process" not in kinds[0] and "thread" not in kinds[2]


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_a_lost_chunk_is_not_a_difference(profile, run, diff):
    program = "def f(n):\n    return n\ndef main():\n    for n in range(30000):\n        f(n)\nmain()\n"
    whole, other = (run(program, 0, f"--events={profile}", "--include=program.py", "--ring-size=8K") for _ in range(2))
    assert diff(whole, other)["same"]
    sound = other.read_bytes()
    for part in range(4, 28): # a chunk begins anywhere, also in the middle of a call
        at = len(sound) * part // 32
        other.write_bytes(sound[:at] + bytes(byte ^ 0xFF for byte in sound[at:at + 8]) + sound[at + 8:])
        report = diff(whole, other, "--limit=100")
        assert report["unknown"] and {each["kind"] for each in report["differences"]} <= {"unknown"}, at
        assert any("it is not known whether they differ" in note for note in report["notes"])


def test_tests_are_found_by_their_marks(run, diff, kymo):
    program = """
import sys
import kymo
def test(flag):
    if flag:  # planted
        return 1
    return 2
def run(name, flag):
    for phase in "setup", "call", "teardown":
        kymo.mark(f"context:{name}|{phase}")
        if phase == "call":
            test(flag)
        kymo.mark("context:")
        kymo.mark("between phases")
run("one", 0)
run("two", 1)
run("one", 1)
"""
    trace = run(program, 0, env={"PYTHONPATH": BUILD / "python"}, status=0)
    report = diff(trace, trace, "--pass-test=one", "--fail-test=two")
    assert report["same"]  # the last attempt at `one` is like `two`
    report = diff(trace, trace, "--test=one")
    assert last_line(report["differences"][0]) == line_of(program) and len(report["differences"]) == 1
    done = kymo("diff", "--test=three", trace, trace, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "no test 'three'" in done.stderr


def test_positions_are_those_of_replay(run, diff, kymo):
    failed = run(GENERATORS, 1)
    told = diff(run(GENERATORS, 0), failed)["differences"][0]["fail"]
    done = kymo("replay", failed, input=f"goto #{told['position']['n']}\ninfo\n")
    assert f"event    {told['position']['n']}:" in done.stdout and "numbers()" in done.stdout


def test_trouble_is_told_in_one_line(run, kymo, tmp_path):
    flow, full = run("pass\n"), run("pass\n", 0, "--events=full")
    done = kymo("diff", flow, full, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kymo: the traces hold different things: one was recorded with --events=flow, the other with --events=full\n"
    for words in ([flow], [flow, tmp_path / "nothing"], [flow, full, full], ["--limit=x", flow, flow], ["--nonsense", flow, flow]):
        done = kymo("diff", *words, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), words
    coverage = run("pass\n", 0, "--events=coverage")
    assert "cannot be compared" in kymo("diff", coverage, coverage, check=False).stderr


@pytest.fixture(scope="module")
def hostile(kymo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "program.py").write_text("import sys, threading\ndef f(n):\n    if n % 7 == int(sys.argv[1]): raise KeyError\n    return n\n"
                                       "def g():\n    for n in range(3000):\n        try: f(n)\n        except KeyError: pass\n"
                                       "threads = [threading.Thread(target=g) for _ in range(3)]\n"
                                       "for thread in threads: thread.start()\n")
    for n in 0, 1:
        for profile in "flow", "full":
            kymo("record", "-q", "-o", folder / f"{profile}-{n}.kymo", f"--events={profile}", "--ring-size=8K", "--include=program.py",
                 "program.py", str(n), cwd=folder)
    return folder


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_damaged_traces(profile, hostile, kymo, tmp_path):
    sound = (hostile / f"{profile}-1.kymo").read_bytes()
    choose, other = random.Random(7), tmp_path / "run.kymo"
    for round in range(24):
        bytes_of = bytearray(sound[:choose.randrange(1, len(sound))] if round % 3 == 0 else sound)
        for _ in range(choose.choice([0, 1, 5, 50])):
            bytes_of[choose.randrange(len(bytes_of))] ^= 1 << choose.randrange(8)
        other.write_bytes(bytes_of)
        for words in ([hostile / f"{profile}-0.kymo", other], [other, hostile / f"{profile}-0.kymo"]):
            done = kymo("diff", *words, check=False)
            assert done.returncode in (0, 1, 2) and "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
            if done.returncode == 2:
                assert re.search(r"^kymo: ", done.stderr, re.M)


def test_the_page(run, kymo, tmp_path):
    """Everything that a program made up is text in it, and it needs nothing else."""
    import html.parser

    program = """
import sys
def f(n):
    if int(sys.argv[1]):  # planted <script>alert("&")</script>
        raise type("<b>Odd</b>", (Exception,), {})
    return "</pre>"
try: f(1)
except Exception: pass
"""
    page = tmp_path / "page.html"
    done = kymo("diff", f"--html={page}", run(program, 0), run(program, 1), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    found, texts = [], []

    class Parser(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, dict(attrs)))

        def handle_data(self, data):
            texts.append(data)

    text = page.read_text()
    Parser().feed(text)
    tags = {tag for tag, _ in found}
    assert "script" not in tags and "b" not in tags and "html" in tags
    assert not [attrs for _, attrs in found if "src" in attrs or attrs.get("href", "#")[0] != "#"]
    assert "".join(texts).count('# planted <script>alert("&")</script>') >= 2
    assert "<b>Odd</b>" in "".join(texts)
    done = kymo("diff", f"--html={tmp_path}/no/page.html", run(program, 0), run(program, 1), check=False)
    assert done.returncode == 2 and done.stderr == f"kymo: cannot write {tmp_path}/no/page.html: No such file or directory\n"


def test_colour_is_for_terminals(run, kymo):
    done = kymo("diff", run(GENERATORS, 0), run(GENERATORS, 1), check=False)
    assert "\033" not in done.stdout and "went another way" in done.stdout


def test_folders_may_differ(kymo, tmp_path, diff):
    """The same program in two checkouts."""
    traces = []
    for name in "one", "two":
        (tmp_path / name).mkdir()
        (tmp_path / name / "program.py").write_text(GENERATORS)
        traces.append(tmp_path / f"{name}.kymo")
        kymo("record", "-q", "-o", traces[-1], "program.py", "0", cwd=tmp_path / name)
    assert diff(*traces)["same"]
    shutil.rmtree(tmp_path / "one")
    assert diff(*traces)["same"] and os.path.exists(f"{traces[0]}-index")
