# SPDX-License-Identifier: Apache-2.0
"""`kymo suspects` over values: what predicates held is what the recorded programs themselves have seen."""
import json
import math
import re

import pytest
from conftest import ROOT

from kymo.coverage.settings import read_settings
from kymo.suspects.attempts import read_attempt
from test_suspects import suspects  # noqa: F401 - a fixture

# What the expressions say, of values that the program wrote down with repr().
CONSTANTS = {"nan": math.nan, "inf": math.inf}


def held(name, value):
    """The predicates that hold of @value, by another way than the one that is tested: Python evaluates them."""
    asked = [f"{name} is None", f"{name} is not None", f"{name} is True", f"{name} is False", f"{name} == 0", f"{name} < 0", f"{name} > 0",
             f"{name} != {name}", f"len({name}) == 0", f"len({name}) > 0", f"type({name}) is {type(value).__name__}"]
    if type(value) in (int, str) and value not in (0, ""):
        asked.append(f"{name} == {value!r}")
    true = set()
    for each in asked:
        if each.split(" ", 1)[1] in ("== 0", "< 0", "> 0") and not each.startswith("len(") and type(value) not in (int, float):
            continue
        if value is None and "type(" in each:
            continue  # `is None` says that
        try:
            if eval(each, {name: value}):
                true.add(each)
        except TypeError:
            pass
    return true


def expressions(suspects):
    return {fact["expression"]: each for each in suspects for fact in each["facts"] if fact["kind"] == "value"}


def counts(suspect):
    return [suspect[key] for key in ("failing", "failing_known", "passing", "passing_known")]


# It writes down, by its own trace function, what each variable was after each line, at calls and at returns.
TRACED = """\
import json, random, sys

def work(number, items, flag, name, *rest, scale=1.0):
    total = 0
    last = None
    for item in items:
        total += item - number
        if flag:
            last = item
        else:
            name = name + "x" if len(name) < 3 else ""
    try:
        ratio = total / number
    except ZeroDivisionError:
        ratio = None
    if total > 4:
        return last
    items.append(scale)
    return ratio

def count(step):
    done = []
    while step:
        done.append(step)
        yield -step
        step -= 1
    return done

def follow(frame, event, value):
    code, told = frame.f_code, []
    if code.co_name not in ("work", "count"):
        return None
    lines = state.setdefault(id(frame), [frame, None])
    def tell(how, line, values):
        told = seen.setdefault(f"{code.co_name} {how} {line}", [])
        told += [[name, repr(value)] for name, value in values.items()]
    if event == "call" and frame.f_lineno == code.co_firstlineno:
        tell("was called", 0, frame.f_locals)
    elif event in ("line", "return"):
        if lines[1] is not None:
            tell("ran", lines[1], frame.f_locals)
        if event == "line":
            lines[1] = frame.f_lineno
        else:
            kind = "yielded" if code.co_name == "count" and frame.f_lineno == YIELD else "returned"
            tell(kind, frame.f_lineno, {"": value})
    return follow

YIELD = 25
state, seen = {}, {}
chance = random.Random(sys.argv[1])
sys.settrace(follow)
for _ in range(6):
    items = [chance.randint(-2, 3) for _ in range(chance.randint(0, 3))]
    work(chance.randint(-1, 2), items, chance.choice((True, False, None)), chance.choice(("", "a", "ab")), *chance.choice(((), (1,))),
         scale=chance.choice((0.0, -1.5, float("nan"), float("inf"), None)))
    list(count(chance.randint(0, 3)))
sys.settrace(None)
json.dump(seen, open(sys.argv[2], "w"))
"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", ["args", "locals"])
def test_predicates_are_those_that_the_program_has_seen(kymo, tmp_path, level, seed):
    (tmp_path / "program.py").write_text(TRACED)
    kymo("record", "-q", "-o", "run.kymo", f"--values={level}", "--values-for=program.py", "program.py", seed, "seen.json", cwd=tmp_path)
    seen = json.loads((tmp_path / "seen.json").read_text())
    attempt = read_attempt(str(tmp_path / "run.kymo"), True, read_settings(None), None, {})
    found, many = {}, set()
    from kymo.suspects.predicates import expression
    for _, _, function, how, line, name, predicate in attempt.sequences.values.first:
        if function in ("work", "count"):
            found.setdefault((function, how, line, name), set()).add(expression(name, predicate))
    for place in attempt.sequences.values.many:
        many.add(place[1:])
    expected = {}
    for place, values in seen.items():
        function, how, line = place.split(" ", 1)[0], *place.split(" ", 1)[1].rsplit(" ", 1)
        if how == "ran" and level == "args":
            continue
        for name, text in values:
            expected.setdefault((function, how, int(line), name), set()).update(held(name or "result", eval(text, dict(CONSTANTS))))
    assert expected
    for place, predicates in expected.items():
        values = {each for each in predicates if each.split(" ", 1)[1].startswith("== ") and not each.endswith("== 0")}
        if len(values) > 8:
            assert place in many
            predicates -= values
    assert found == expected


CALLS = """\
import json, sys

def take(x, y):
    return y

for x, y in json.loads(sys.argv[1]):
    take(x, y)
"""


def test_counts_and_scores(suspects):
    """Of ten attempts, in each of which `take` is called some times; in one it is not called at all."""
    passing = [[[1, "a"]], [[None, "a"], [1, "b"]], [], [[2, "a"]], [[0, "b"]]]
    failing = [[[None, "a"]], [[None, "b"], [1, "a"]], [[1, "a"], [None, "b"]], [[2, "b"], [0, "a"]], [[None, "a"]]]
    found = expressions(suspects(CALLS, *([[json.dumps(each)] for each in side] for side in (passing, failing)), "--limit=1000",
                                 record=["--values=args"]))
    is_none = found["x is None"]
    assert counts(is_none) == [4, 5, 1, 5] and is_none["score"] == pytest.approx(4 / math.sqrt(5 * 5))
    assert is_none["function"] == "take" and is_none["facts"][0]["text"] == "was called, and x is None"
    # Of y it says nothing: where `take` was called, both values were as often there.
    for expression, suspect in found.items():
        name = expression.split(" ", 1)[0]
        side = [sum(any(expression in held(name, dict(zip("xy", each))[name]) for each in calls) for calls in calls_of)
                for calls_of in (failing, passing)] if name in "xy" else None
        if side:
            assert counts(suspect) == [side[0], 5, side[1], 5], expression


def test_what_says_no_more_than_that_its_place_ran_is_left_out(suspects):
    """Liblit's Increase: `late` has the same argument whenever it is called."""
    found = suspects("""\
import sys
def late(x):
    return x
def early(x):
    if x < 0:
        late(None)
early(int(sys.argv[1]))
""", [["1"], ["2"]], [["-1"], ["-2"]], record=["--values=args"])
    assert set(expressions(found)) == {"x < 0"}
    assert [each["function"] for each in found] == ["early", "late"]
    assert [fact["kind"] for fact in found[0]["facts"]] == ["value", "branch"]


STRAIGHT = """\
import sys
def price(count, discount):
    total = count * 10
    total -= discount
    return total
print(price(int(sys.argv[1]), int(sys.argv[2])))
"""


def test_a_local_that_only_values_show(suspects):
    attempts = [["3", "1"], ["2", "15"], ["4", "20"]], [["1", "12"], ["2", "40"], ["3", "33"]]
    done = suspects(STRAIGHT, *attempts, check=False)
    assert done.returncode == 1 and "values were not recorded" in done.stderr
    first = suspects(STRAIGHT, *attempts, record=["--values=locals"])[0]
    assert (first["function"], first["score"], first["facts"][0]["expression"]) == ("price", 1, "total < 0")
    assert [line["source"] for line in first["facts"][0]["lines"]] == ["total -= discount"]
    assert first["facts"][0]["text"] == "ran, and then total < 0"


def test_what_is_returned(suspects):
    found = suspects(STRAIGHT, [["3", "1"], ["2", "15"]], [["1", "12"], ["2", "40"]], record=["--values=args"])
    assert found[0]["facts"][0]["text"] == "returned, and result < 0"


def test_attributes_are_looked_at(suspects):
    found = suspects("""\
import sys
class Cart:
    def __init__(self, rows):
        self.rows = rows
def total(cart):
    return sum(cart.rows)
print(total(Cart([int(each) for each in sys.argv[2:]])))
""", [["a", "1"], ["b", "2"]], [["c"], ["d"]], record=["--values=args"])
    assert "len(cart.rows) == 0" in expressions(found)


def test_a_value_that_is_redacted_or_cut_was_not_observed(suspects):
    program = "import sys\ndef f(x, password):\n    pass\nf(sys.argv[1] * int(sys.argv[2]), sys.argv[1])\n"
    attempts = [["a", "3"], ["a", "3"]], [["b", "3"], ["b", "3"]]
    found = expressions(suspects(program, *attempts, record=["--values=args"]))
    assert set(found) == {"x == 'bbb'"}
    done = suspects(program, *attempts, record=["--values=args", "--values-limits=text=2"], check=False)
    assert done.returncode == 1, done.stdout
    assert done.stderr == "kymo: no suspects: all attempts ran the same; recorded values are the same, too\n"


def test_an_attempt_without_values_is_not_known(kymo, suspects, tmp_path):
    suspects(STRAIGHT, [["3", "1"], ["2", "15"]], [["1", "12"], ["2", "40"]], record=["--values=args"])
    kymo("record", "-q", "-o", "bare.kymo", "program.py", "1", "50", cwd=tmp_path)
    told = json.loads(kymo("suspects", "--json", "--pass", "pass-0.kymo", "pass-1.kymo", "--fail", "fail-0.kymo", "fail-1.kymo", "bare.kymo",
                           cwd=tmp_path).stdout)
    assert [each["values"] for each in told["attempts"]] == [True, True, False, True, True]
    assert counts(told["suspects"][0]) == [2, 2, 0, 2]


def test_values_do_not_drown_the_rest(suspects):
    """A value is passed through many functions; each attempt has another one."""
    functions = "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(12))
    found = suspects(f"import sys\n{functions}def f12(x):\n    if not x:\n        return 1\nf0(sys.argv[1] or None)\n", [["1"], ["2"]], [[""], [""]],
                     record=["--values=locals"])
    alike = [each for each in found if {fact["kind"] for fact in each["facts"]} == {"value"} and each["score"] == 1]
    assert [each["function"] for each in alike] == ["f0", "f1", "f2"]
    assert any(fact["kind"] in ("branch", "line") for each in found for fact in each["facts"]), [each for each in found if each["function"] == "f12"]


def test_many_different_values_are_no_candidates(suspects):
    """Fifteen different words, of which two attempts that failed had the same one; and eight."""
    program = "import sys\ndef f(x):\n    pass\nfor x in sys.argv[1].split():\n    f(x)\n"
    for words, is_told in ((15, False), (7, True)):
        passing = [[" ".join(f"w{i}" for i in range(words))]] * 2
        failing = [[" ".join(f"w{i}" for i in range(words)) + " odd"]] * 2
        done = suspects(program, passing, failing, record=["--values=args"], check=False)
        assert ("x == 'odd'" in done.stdout) == is_told


def test_a_cause_that_only_values_show(kymo, tmp_path):
    """The program of the zoo, with a clock that ticks, or does not, as it is told."""
    (tmp_path / "test_coarse_clock.py").write_text((ROOT / "tests" / "flaky" / "test_coarse_clock.py").read_text())
    (tmp_path / "once.py").write_text("import sys, time\nticks = iter(range(0, 10**9, int(sys.argv[1])))\n"
                                      "time.monotonic_ns = lambda: next(ticks)\n"
                                      "import test_coarse_clock\ntest_coarse_clock.test_the_rate_is_known()\n")
    for values, is_found in (("locals", True), ("none", False)):
        traces = {0: [], 1: []}
        for number, tick in enumerate((1, 10**6, 10, 2 * 10**6)):
            trace = tmp_path / f"{values}-{number}.kymo"
            done = kymo("record", "-q", "-o", trace, f"--values={values}", "--values-for=test_coarse_clock.py", "once.py", tick, cwd=tmp_path,
                        check=False)
            traces[done.returncode].append(trace)
        done = kymo("suspects", "--json", "--pass", *traces[0], "--fail", *traces[1], cwd=tmp_path)
        found = json.loads(done.stdout)["suspects"]
        shown = [[line["source"] for fact in each["facts"] for line in fact["lines"]] for each in found]
        assert ("taken = now_ms() - started  # cause" in shown[0]) == is_found
        assert is_found or not any("# cause" in line for lines in shown for line in lines)


def test_the_guide(kymo, tmp_path):
    text = (ROOT / "docs" / "guide" / "suspects.md").read_text().partition("## Values\n")[2]
    program, shown = re.findall(r"```python\n(.*?)```", text, re.S)[0], re.findall(r"```\n(  1 .*?)```", text, re.S)[0]
    (tmp_path / "order.py").write_text(program)
    traces = {side: [f"{side}-{number}.kymo" for number in numbers] for side, numbers in (("pass", (2, 4, 6)), ("fail", (1, 3, 5)))}
    for trace in (*traces["pass"], *traces["fail"]):
        kymo("record", "-q", "--values=locals", "-o", trace, "order.py", re.findall(r"\d", trace)[0], cwd=tmp_path, check=False)
    done = kymo("suspects", "--pass", *traces["pass"], "--fail", *traces["fail"], cwd=tmp_path)
    assert done.stdout == shown
