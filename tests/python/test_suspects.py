# SPDX-License-Identifier: Apache-2.0
"""`kymo suspects`: planted differences are found, with the counts that the plan of the attempts has."""
import json
import math
import random

import pytest
from conftest import BUILD, ROOT

FLAKY = ROOT / "tests" / "flaky"


@pytest.fixture
def suspects(kymo, tmp_path):
    """suspects(program, [words, …], [words, …], *options): record it with each words, and rank what differs."""
    def run(program, passing, failing, *options, check=True, record=(), **how):
        (tmp_path / "program.py").write_text(program)
        traces = {}
        for side, attempts in (("pass", passing), ("fail", failing)):
            traces[side] = [f"{side}-{number}.kymo" for number in range(len(attempts))]
            for trace, words in zip(traces[side], attempts):
                kymo("record", "-q", "-f", "-o", trace, *record, "program.py", *words, cwd=tmp_path,
                     env={"PYTHONPATH": BUILD / "python"})
        done = kymo("suspects", "--json", "--limit=1000", *options, "--pass", *traces["pass"], "--fail", *traces["fail"],
                    cwd=tmp_path, check=False, **how)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["suspects"]
    return run


def places(suspect):
    """Kinds of its facts, with the source lines that they show."""
    return [(fact["kind"], *(line["source"] for line in fact["lines"])) for fact in suspect["facts"]]


CHOICES = """\
import sys

def one():
    return 1

def two():
    return 2

def three():
    return 3

def four():
    return 4

for name in sys.argv[1:]:
    {"one": one, "two": two, "three": three, "four": four}[name]()
"""
MEASURES = {
    "ochiai": lambda f, p, F, P: f / math.sqrt(F * (f + p)),
    "tarantula": lambda f, p, F, P: (f / F) / (f / F + p / P),
    "dstar": lambda f, p, F, P: f**2 / (p + F - f) if p + F - f else None,
}


@pytest.mark.parametrize("measure", MEASURES)
def test_scores_and_counts_are_those_of_the_plan(suspects, measure):
    chance = random.Random(measure)
    functions = ["one", "two", "three", "four"]
    attempts = [[name for name in functions if chance.random() < 0.6] for _ in range(9)]
    passing, failing = attempts[:5], attempts[5:]
    found = suspects(CHOICES, passing, failing, f"--measure={measure}")
    expected = {}
    for name in functions:
        f, p = sum(name in each for each in failing), sum(name in each for each in passing)
        if f * len(passing) > p * len(failing):
            expected[name] = f, len(failing), p, len(passing)
    told = {each["function"]: each for each in found if each["facts"][0]["kind"] in ("call", "line")}
    assert expected and set(told) - {"<module>"} == set(expected)
    for name, counts in expected.items():
        f, F, p, P = counts
        suspect = told[name]
        assert [suspect[key] for key in ("failing", "failing_known", "passing", "passing_known")] == list(counts)
        assert suspect["score"] == pytest.approx(MEASURES[measure](f, p, F, P))
    scores = [math.inf if each["score"] is None else each["score"] for each in found]
    assert scores == sorted(scores, reverse=True)


def test_a_branch_its_line_and_its_call_are_one_suspect(suspects):
    found = suspects("""\
import sys
def check(value):
    if value > 2:
        helper()
    return value
def helper():
    pass
check(int(sys.argv[1]))
""", [["1"], ["2"]], [["3"], ["4"]])
    assert [(each["function"], each["score"]) for each in found] == [("check", 1), ("helper", 1)]
    assert places(found[0]) == [("branch", "if value > 2:", "helper()")]
    assert places(found[1])[0] == ("call", "def helper():")


def test_a_branch_whose_line_raised_led_nowhere(suspects):
    """The case was that of the attempts that failed, but what follows it did not begin."""
    found = suspects("""\
import sys
def work(n):
    match n > 2:
        case True: n = n // 0
        case False: n = 1
    return n
try: work(int(sys.argv[1]))
except ZeroDivisionError: pass
""", [["1"], ["2"]], [["3"], ["4"]])
    assert [place for suspect in found for place in places(suspect) if "return n" in place] == []
    assert any(place[0] == "exception" for suspect in found for place in places(suspect))


def test_what_happened_first_goes_first(suspects):
    """The consequence stands above the cause in the file."""
    found = suspects("""\
import sys
state = []
def late():
    if state:
        print("consequence")
def early(word):
    if word == "bad":
        state.append(word)
early(sys.argv[1])
late()
""", [["good"]] * 2, [["bad"]] * 2)
    assert [each["function"] for each in found if each["score"] == 1] == ["early", "late"]


def test_exceptions_that_were_caught_are_told_where_they_were_raised(suspects):
    found = suspects("""\
import sys
def parse(text):
    return int(text)
def outer(text):
    return parse(text)
def ask(text):
    try:
        return outer(text)
    except ValueError: return 0
ask(sys.argv[1])
""", [["1"], ["2"]], [["x"], ["y"]])
    assert places(found[0]) == [("exception", "return int(text)")]
    assert found[0]["facts"][0]["text"] == "raised ValueError"
    assert not any(place[0] == "exception" for each in found[1:] for place in places(each))


def test_another_order_of_the_same_lines(suspects):
    found = suspects("""\
import sys
def work(order):
    for step in order:
        if step == "a":
            done = 1
        else:
            done = 2
work(sys.argv[1])
""", [["ab"], ["aab"]], [["ba"], ["bba"]])
    assert found[0]["function"] == "work" and found[0]["score"] == 1
    assert ("round", 'if step == "a":', "done = 2", "for step in order:") in places(found[0])
    all_places = [place for each in found for place in places(each)]
    assert not any(place[0] in ("line", "branch", "call") for place in all_places)


def test_an_order_of_lines_without_a_loop(suspects):
    found = suspects("""\
import sys
def state(number):
    match number:
        case 0: return "even"
        case 1:
            return "odd"
def work(numbers):
    return [state(n) for n in numbers]
def run(first, jump):
    while first != jump:
        if first == 9:
            first = jump
            continue
        first += 1
    return work([0, 1])
run(int(sys.argv[1]), 9 if sys.argv[1] == "3" else 12)
""", [["3"], ["3"]], [["7"], ["8"]])
    assert found and found[0]["function"] == "run" and found[0]["score"] == 1


def test_another_order_of_calls(suspects):
    found = suspects("""\
import sys
def sets():
    return "sets"
def reads():
    return "reads"
def run(order):
    {"s": sets, "r": reads}[order[0]](), {"s": sets, "r": reads}[order[1]]()
run(sys.argv[1])
""", [["rs"]] * 2, [["sr"]] * 2)
    assert [places(each) for each in found] == [[("call order", 'return "sets"')]]
    assert "sets was called before reads (program.py:5)" in found[0]["facts"][0]["text"]


def test_a_thread_that_was_interrupted(suspects, tmp_path):
    """Both attempts run the same lines; in one, the second thread adds while the first stands in the middle of it."""
    (tmp_path / "hooks.py").write_text("""\
import sys, threading
def in_the_middle(run):
    if sys.argv[1] == "middle" and threading.current_thread().name == "first":
        other = threading.Thread(target=run, name="second")
        other.start()
        other.join()
def afterwards(run):
    if sys.argv[1] != "middle":
        other = threading.Thread(target=run, name="second")
        other.start()
        other.join()
""")
    found = suspects("""\
import threading, hooks
total = 0
def add():
    global total
    before = total
    hooks.in_the_middle(add)
    total = before + 1
first = threading.Thread(target=add, name="first")
first.start()
first.join()
hooks.afterwards(add)
""", [["after"]] * 2, [["middle"]] * 2, "--omit=hooks.py")
    assert found[0]["function"] == "add" and found[0]["score"] == 1
    assert ("interleaving", "hooks.in_the_middle(add)", "total = before + 1") in places(found[0])


@pytest.mark.parametrize("profile", ["flow", "full"])
def test_a_thread_that_was_interrupted_where_nothing_is_recorded(suspects, profile):
    """Between the call of `add` and its return: a recording of flow knows that something ran there, and not at which line."""
    found = suspects("""\
import sys, threading
total, inner, outer = 0, threading.Lock(), threading.Lock()
def add(mine, others):
    global total
    before = total
    mine.release()
    others.acquire()
    total = before + 1  # cause
def second():
    inner.acquire()
    add(outer, threading.Lock())
inner.acquire()
outer.acquire()
if sys.argv[1] == "after":
    outer.release()
    add(inner, outer)
thread = threading.Thread(target=second)
thread.start()
if sys.argv[1] == "middle":
    add(inner, outer)
thread.join()
""", [["after"]] * 2, [["middle"]] * 2, record=(f"--events={profile}",))
    kinds = [place for suspect in found if suspect["function"] == "add" and suspect["score"] == 1 for place in places(suspect)]
    assert any(kind == "interleaving" and "total = before + 1  # cause" in lines for kind, *lines in kinds)
    texts = [fact["text"] for suspect in found for fact in suspect["facts"] if fact["kind"] == "interleaving"]
    assert any("and line 8 while another thread ran add" in text for text in texts)


def test_a_call_that_was_not_made(suspects):
    found = suspects(CHOICES, [["one", "two"]] * 2, [["one"]] * 2)
    assert ("no call", "def two():") in [place for each in found for place in places(each)]


def test_nothing_separates_them(suspects):
    done = suspects("import sys\nprint(int(sys.argv[1]) > 2)\n", [["1"]], [["3"]], check=False)
    assert done.returncode == 1 and json.loads(done.stdout)["suspects"] == []
    assert done.stderr == "kymo: no suspects: all attempts ran the same; values were not recorded, use kymo record --values=args or --values=locals\n"


def test_only_what_went_with_passing(suspects):
    done = suspects("import sys\nif sys.argv[1] == 'a':\n    print()\nfor _ in sys.argv[2:]: print()\n",
                    [["a", "x"], ["b"]], [["a", "x"], ["b"]], check=False)
    assert done.returncode == 1 and "no suspects: what differs" in done.stderr


def test_one_test_alone(suspects):
    program = """\
import sys, kymo
def shared(word):
    if word == "bad":
        return 1
    return 0
with kymo.context("test_a|run"):
    shared(sys.argv[1])
with kymo.context("test_b|run"):
    shared(sys.argv[2])
"""
    attempts = [["good", "bad"]] * 2, [["bad", "bad"]] * 2
    found = suspects(program, *attempts, "--test=test_a")
    assert places(found[0]) == [("branch", 'if word == "bad":', "return 1")]
    done = suspects(program, *attempts, "--test=test_b", check=False)
    assert (done.returncode, json.loads(done.stdout)["suspects"]) == (1, [])
    done = suspects(program, *attempts, "--test=test_c", check=False)
    assert done.returncode == 2 and "no test test_c" in done.stderr


def test_what_an_incomplete_attempt_does_not_show_is_not_known(kymo, tmp_path):
    """The last attempt that failed kept only the end of what it ran."""
    (tmp_path / "program.py").write_text("""\
import sys
def early():
    if sys.argv[1] == "bad":
        return 1
early()
total = 0
for _ in range(int(sys.argv[2])):
    total += 1
""")
    attempts = {"p": ("good", 9), "f": ("bad", 9), "g": ("bad", 300000)}
    for name, words in attempts.items():
        options = ["--policy=overwrite", "--ring-size=64k", "--events=full"] if name == "g" else []
        kymo("record", "-q", "-o", f"{name}.kymo", *options, "program.py", *words, cwd=tmp_path)
    done = kymo("suspects", "--json", "--pass", "p.kymo", "--fail", "f.kymo", "g.kymo", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert [each["incomplete"] for each in told["attempts"]] == [False, True, False]
    first = next(each for each in told["suspects"] if each["function"] == "early")
    assert (first["failing"], first["failing_known"], first["passing"], first["passing_known"]) == (1, 1, 0, 1)
    assert "1 of 3 attempts are incomplete" in kymo("suspects", "--pass", "p.kymo", "--fail", "f.kymo", "g.kymo",
                                                    cwd=tmp_path).stdout


def test_lines_of_the_coverage_profile(suspects):
    """No orders are known there."""
    found = suspects(CHOICES, [["one", "two"]] * 2, [["two", "three", "one"]] * 2, record=["--events=coverage"])
    assert found[0]["function"] == "three"
    assert {place[0] for each in found for place in places(each)} <= {"line", "branch", "call"}


def test_errors(kymo, record, tmp_path):
    trace = record("print()")
    assert kymo("suspects", "--pass", trace, check=False).returncode == 2
    assert kymo("suspects", "--limit=0", "--pass", trace, "--fail", trace, check=False).returncode == 2
    assert kymo("suspects", "--measure=x", "--pass", trace, "--fail", trace, check=False).returncode == 2
    (tmp_path / "no.kymo").write_bytes(b"no trace")
    done = kymo("suspects", "--pass", trace, "--fail", tmp_path / "no.kymo", check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "no.kymo" in done.stderr
    calls = record("print()", "--events=calls")
    done = kymo("suspects", "--pass", trace, "--fail", calls, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "no.kymo" not in done.stderr


def test_text_has_the_source_lines(suspects, kymo, tmp_path):
    suspects(CHOICES, [["one"]], [["two"]])
    done = kymo("suspects", "--pass", "pass-0.kymo", "--fail", "fail-0.kymo", cwd=tmp_path)
    assert "1.00  in 1 of 1 failing, 0 of 1 passing  program.py:6  two\n" in done.stdout
    assert "\n                  7 | return 2\n" in done.stdout


@pytest.mark.parametrize(("name", "cause"), [
    ("hash_order", "for name in plugins:  # cause"),
    ("async_race", "if self.rows is None:  # cause"),
    ("leaked_state", 'OPTIONS["precision"] = 4  # cause'),
])
def test_programs_of_the_zoo(kymo, tmp_path, name, cause):
    """What decides is a seed here: of hashes, or of random numbers."""
    (tmp_path / f"test_{name}.py").write_text((FLAKY / f"test_{name}.py").read_text())
    (tmp_path / "once.py").write_text(f"import random, sys\nrandom.seed(int(sys.argv[1]))\nimport test_{name} as flaky\n"
                                      "next(getattr(flaky, each) for each in dir(flaky) if each.startswith('test_'))()\n")
    traces = {0: [], 1: []}
    for seed in range(40):
        trace = tmp_path / f"{seed}.kymo"
        done = kymo("record", "-q", "-o", trace, "--no-stdlib", "once.py", seed, cwd=tmp_path, check=False,
                    env={"PYTHONHASHSEED": seed})
        traces[done.returncode].append(trace)
        if min(map(len, traces.values())) >= 4:
            break
    done = kymo("suspects", "--json", "--limit=5", "--pass", *traces[0], "--fail", *traces[1], cwd=tmp_path)
    shown = [line["source"] for each in json.loads(done.stdout)["suspects"] for fact in each["facts"] for line in fact["lines"]]
    assert cause in shown, done.stdout
