# SPDX-License-Identifier: Apache-2.0
"""kymo diff with values: the first one that differs, what variables held where both runs parted, and what is no difference."""
import json
import random
import re
import sys

import pytest

PROFILES = ["flow", "full"]


@pytest.fixture
def run(kymo, tmp_path):
    """run(program, 1, "--values=locals"): the trace of the program with this argument, and what it printed; the same script each time."""
    runs = 0

    def record(program, argument=0, *options, env=None):
        nonlocal runs
        runs += 1
        folder = tmp_path / "here"
        folder.mkdir(exist_ok=True)
        (folder / "program.py").write_text(program)
        trace = tmp_path / f"run-{runs}.kymo"
        done = kymo("record", "-q", "-o", trace, *options, "--", "program.py", str(argument), cwd=folder, check=False, env=env)
        assert trace.exists(), done.stderr
        return trace, done.stdout

    return record


@pytest.fixture
def diff(kymo):
    """diff(passed, failed, "--limit=5"): the report."""
    def compare(passed, failed, *options):
        done = kymo("diff", "--json", *options, passed, failed, check=False)
        assert done.returncode in (0, 1), done.stderr
        report = json.loads(done.stdout)
        assert report["same"] == (done.returncode == 0)
        return report

    return compare


def firsts(report):
    return [(told["name"], told["path"], told["pass"]["value"]["text"], told["fail"]["value"]["text"])
            for told in report["values"]["first"]]


def parted(report, number=0):
    return {told["name"] + told["path"]: (told["pass"]["value"]["text"], told["fail"]["value"]["text"])
            for told in report["differences"][number]["values"]}


def line_of(program, mark="# planted"):
    return next(i for i, line in enumerate(program.splitlines(), 1) if mark in line)


def program_of(seed):
    """Assignments that each print what they assigned, calls in between, and at the end a branch by what came out."""
    rng = random.Random(seed)
    names = [f"v{i}" for i in range(6)]
    planted = rng.randrange(3, 20)
    lines = ["import sys", "FLAG = int(sys.argv[1])", "def twice(n):", "    m = n * 2", "    return m", "def work(n, box):"]
    lines += [f"    {name} = n + {i}" for i, name in enumerate(names)]
    for i in range(24):
        target, a, b = (rng.choice(names) for _ in range(3))
        term = " + FLAG * (n == 3)" if i == planted else ""
        value = rng.choice([f"({a} * 3 + {b}{term}) % 97", f"twice({a}{term}) % 89", f"[{a}, {b}{term}][1] % 83"])
        lines += [f"    {target} = {value}", f"    print({len(lines) + 1}, '{target}', repr({target}))"]
        if i % 6 == 5:
            lines += [f"    box['b'].append({target})", f"    for i in range({target} % 1 + 2): {a} += 1"]
    lines += ["    if n == 5 and FLAG:", "        print('parted')",
              "    return sum([" + ", ".join(names) + "])", "for n in range(6):", "    work(n, {'b': []})"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(4))
def test_the_first_value_that_differs_is_the_first_that_the_program_printed_otherwise(profile, seed, run, diff):
    program = program_of(seed)
    options = [f"--events={profile}", "--values=locals", "--values-for=work", "--values-for=twice"]
    passed, left = run(program, 0, *options, "--ring-size=64K")
    failed, right = run(program, 1, *options)
    line, name, was = next(a for a, b in zip(left.splitlines(), right.splitlines()) if a != b).split()
    now = next(b for a, b in zip(left.splitlines(), right.splitlines()) if a != b).split()[2]
    report = diff(passed, failed)
    told = next(told for told in report["values"]["first"] if told["fail"]["function"] == "work")
    assert (told["name"], told["fail"]["line"], told["pass"]["value"]["text"], told["fail"]["value"]["text"]) == (name, int(line), was, now)
    # What is told before that is what the line called.
    assert {each["fail"]["function"] for each in report["values"]["first"][:report["values"]["first"].index(told)]} <= {"twice"}
    assert told["lines_before"] > 0


def test_noise_is_no_difference(run, diff):
    program = """
import datetime, os, sys, tempfile, threading, time, pathlib
class Box:
    def __init__(self, x): self.x = x; self.me = self; self.born = time.monotonic()
def report(what, took):
    return len(what)
def take(box, names, now, pid, text, folder, table):
    nested = [box, {"k": box}, [names]]
    nested[2].append(os.getppid())
    start = time.perf_counter()
    elapsed = time.perf_counter() - start
    report(text, elapsed)
    worker = threading.Thread(target=int); worker.start(); worker.join()
    stamp = datetime.datetime.now()
    where = pathlib.Path(folder) / "x"
    for i in range(3):
        nested[1]["n%d" % i] = [i]
        thread = threading.get_ident()
    return repr(object()), nested
for i in range(40):
    folder = tempfile.mkdtemp()
    os.rmdir(folder)
    take(Box(i), {"a", "b", "c", str(i)}, time.time_ns(), os.getpid(), repr(Box), folder, {n: n for n in {"x", "y", "z", "w"}})
here = os.getcwd()
"""
    for scope in "args", "locals", "globals":
        traces = [run(program, 0, f"--values={scope}", "--values-for=program.py", f"--ring-size={size}", env={"PYTHONHASHSEED": str(i)})[0]
                  for i, size in enumerate(["64K", "1M"])]
        # Of arguments alone it cannot be seen that a clock was read.
        report = diff(*traces, *(["--ignore-value=took"] if scope == "args" else []))
        assert report["same"] and report["values"]["compared"] > 100
        assert firsts(report) == [], scope


def test_values_alone_make_no_difference_unless_they_are_asked_for(kymo, run, diff):
    program = "import sys\ndef check(retries):\n    return retries < 9\ncheck(int(sys.argv[1]))\n"
    passed, failed = (run(program, i, "--values=args", "--values-for=program.py")[0] for i in (3, 4))
    report = diff(passed, failed)
    assert report["same"] and firsts(report)[0] == ("retries", "", "3", "4") and report["values"]["first"][0]["lines_before"] is None
    assert not diff(passed, failed, "--values-differ")["same"]
    assert diff(passed, passed, "--values-differ")["same"]
    assert diff(passed, failed, "--no-values", "--values-differ") | {"values": None} == diff(passed, failed, "--no-values")
    text = kymo("diff", passed, failed).stdout
    assert "The same: " in text
    assert re.search(r"The first value that differs: retries at .*program.py:2 check: 3 in PASS, 4 in FAIL   #\d+\n", text)


PARTING = """
import sys
class Order:
    def __init__(self, items):
        self.items = items
def take(order, limit, *rest, **named):
    flag = int(sys.argv[1])
    total = sum(order.items.values()) + flag
    same = [1, (2, 3)]
    text = "x" * 3 + str(flag)
    if flag: print("LOCALS", {name: repr(value) for name, value in locals().items() if name not in ("order", "rest", "named")})
    else: print("LOCALS", {name: repr(value) for name, value in locals().items() if name not in ("order", "rest", "named")})
    return total
take(Order({"tea": 4 + int(sys.argv[1]), "cup": 3}), 6)
"""


@pytest.mark.parametrize("profile", PROFILES)
def test_where_they_part_values_are_what_the_program_says(profile, run, diff):
    passed, left = run(PARTING, 0, f"--events={profile}", "--values=locals", "--values-for=program.py")
    failed, right = run(PARTING, 1, f"--events={profile}", "--values=locals", "--values-for=program.py")
    left, right = (eval(text.split("LOCALS ")[1]) for text in (left, right))
    expected = {name: (left[name], right[name]) for name in left if left[name] != right[name]}
    assert len(expected) == 3
    told = parted(diff(passed, failed))
    assert told.pop("order.items['tea']") == ("4", "5")
    assert told == expected


@pytest.mark.parametrize("profile", [*PROFILES, "calls"])
def test_arguments_are_told_where_they_part(profile, run, diff):
    passed, failed = (run(PARTING, i, f"--events={profile}", "--values=args", "--values-for=program.py")[0] for i in (0, 1))
    report = diff(passed, failed)
    assert ("order", ".items['tea']", "4", "5") in firsts(report) or ("items", "['tea']", "4", "5") in firsts(report)
    if profile != "calls":
        assert parted(report) == {"order.items['tea']": ("4", "5")}


def lines_until(program, last):
    """Lines that sys.settrace() sees from the call of work() to line @last, as the interpreter has them."""
    lines = 0

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != "<lines>" or frame.f_code.co_name == "<module>":
            return trace
        if event == "line" and lines >= 0:
            lines += 1
            if frame.f_lineno == last:
                lines = -lines
        return trace

    code, before = compile(program, "<lines>", "exec"), sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, {"__name__": "lines"})
    finally:
        sys.settrace(before)
    return abs(lines)


def test_arguments_of_a_call_that_lies_many_chunks_back(run, diff, monkeypatch):
    program = ("import sys\ndef spin(n):\n    m = n\n    return m\ndef work(first, second):\n    for i in range(40000):\n        spin(3)\n"
               "    if first > 6:\n        return 1\n    return 2\nwork(6 + int(sys.argv[1]), [1])\n")
    monkeypatch.setattr(sys, "argv", ["program.py", "1"])
    for scope in "args", "locals":
        passed, failed = (run(program, i, f"--values={scope}", "--values-for=program.py", "--ring-size=64K")[0] for i in (0, 1))
        report = diff(passed, failed)
        assert parted(report) == {"first": ("6", "7")}
        assert firsts(report)[0] == ("first", "", "6", "7")
        assert report["values"]["first"][0]["lines_before"] == lines_until(program, 8)


def test_what_was_redacted_or_cut_is_not_known_to_differ(run, diff):
    program = ("import sys\nF = int(sys.argv[1])\ndef login(password, note, long, many, other):\n    return 1\n"
               "login('secret%d' % F, 'n', 'x' * 500 + str(F), [0] * 50 + [F], {'token': F, 'a': 1})\n")
    passed, failed = (run(program, i, "--values=args", "--values-for=login")[0] for i in (0, 1))
    assert firsts(diff(passed, failed)) == []
    program = program.replace("'x' * 500 + str(F)", "'x' * (500 + F)").replace("[0] * 50 + [F]", "[0] * (50 + F)")
    passed, failed = (run(program, i, "--values=args", "--values-for=login")[0] for i in (0, 1))
    assert [name for name, *_ in firsts(diff(passed, failed))] == ["long", "many"]


VALUES = [("True", "1"), ("1", "1.0"), ("0.0", "-0.0"), ("2 ** 80", "2 ** 80 + 1"), ("'a'", "b'a'"), ("(1, 2)", "[1, 2]"), ("{1, 2}", "{1, 3}"),
          ("{'a': 1}", "{'a': 2}"), ("{'a': 1}", "{'b': 1}"), ("range(3)", "range(4)"), ("None", "0"), ("ValueError('a')", "ValueError('b')"),
          ("[[1], [2]]", "[[1], [3]]"), ("frozenset('ab')", "frozenset('ac')"), ("bytearray(b'a')", "bytearray(b'b')"), ("1j", "2j"), ("int", "str"),
          ("slice(1)", "slice(2)"), ("'x' * 5", "'x' * 6"), ("B(1)", "B(2)"), ("B(1)", "C(1)"), ("K.ONE", "K.TWO"), ("D('1.0')", "D('1.1')")]
ALIKE = ["float('nan')", "B(B(1))", "[B(1)] * 2", "{B(1): 2}", "{'a': {'b', 'c', 'd'}}", "K.ONE", "twin()", "lambda: 0", "ValueError('a', B(1))",
         "'at 0x%012x' % id(B(1))", "{1: 'a', 2: 'b'} if F else {2: 'b', 1: 'a'}"]
MANY = """
import enum, sys
from decimal import Decimal as D
F = int(sys.argv[1])
class B:
    def __init__(self, x): self.x = x
class C(B): pass
class K(enum.Enum): ONE = 1; TWO = 2
def twin():
    a = []; a.append(a); return a
"""


def test_values_are_compared_by_type_and_content(run, diff):
    functions = "".join(f"def f{i}(x): pass\nf{i}([{a}, {b}][F])\n" for i, (a, b) in enumerate(VALUES))
    functions += "".join(f"def g{i}(x): pass\ng{i}({value})\n" for i, value in enumerate(ALIKE))
    for first in range(0, len(VALUES), 4):
        only = [f"--values-for=f{i}" for i in range(first, min(first + 4, len(VALUES)))] + [f"--values-for=g{i}" for i in range(len(ALIKE))]
        passed, failed = (run(MANY + functions, i, "--values=args", *only, env={"PYTHONHASHSEED": str(i)})[0] for i in (0, 1))
        told = diff(passed, failed)["values"]["first"]
        assert [each["fail"]["function"] for each in told] == [f"f{i}" for i in range(first, min(first + 4, len(VALUES)))]


def test_names_are_left_out(run, diff):
    program = ("import sys\nclass B: pass\ndef take(elapsed, b, count):\n    return count\nb = B(); b.elapsed = b.x = int(sys.argv[1])\n"
               "take(b.x, b, 1 + b.x)\n")
    passed, failed = (run(program, i, "--values=args", "--values-for=take")[0] for i in (0, 1))
    assert [(name, path) for name, path, *_ in firsts(diff(passed, failed))] == [("elapsed", ""), ("b", ".elapsed"), ("count", ""), (None, "")]
    assert [(name, path) for name, path, *_ in firsts(diff(passed, failed, "--ignore-value=elap*"))] == [("b", ".x"), ("count", ""), (None, "")]
    assert [name for name, *_ in firsts(diff(passed, failed, "--ignore-value=elapsed", "--ignore-value=[bx]"))] == ["count", None]


@pytest.mark.parametrize("scopes", [("args", None), ("locals", None), (None, "globals"), ("args", "locals")])
def test_traces_with_different_values_do_the_same(kymo, scopes, run, diff):
    program = program_of(9)
    traces = [run(program, 0, *([f"--values={scope}", "--values-for=program.py"] if scope else []))[0] for scope in scopes]
    report = diff(*traces)
    assert report["same"] and len(report["notes"]) == 1
    if None in scopes:
        side = "PASS" if scopes[0] else "FAIL"
        assert report["values"] is None and report["notes"] == [f"only {side} was recorded with --values: values are not compared"]
    else:
        assert firsts(report) == [] and report["values"]["compared"] > 20
    assert report["notes"][0] in kymo("diff", *traces).stdout


def test_a_value_that_another_thread_had_first(run, diff):
    program = """
import sys, threading
def prepare(amount):
    return amount * 2
def work(box):
    if box[0] > 6: return 1
    return 2
box = [0]
thread = threading.Thread(target=lambda: box.__setitem__(0, prepare(3 + int(sys.argv[1]))))
thread.start(); thread.join()
work(box)
"""
    passed, failed = (run(program, i, "--values=args", "--values-for=prepare")[0] for i in (0, 1))
    report = diff(passed, failed)
    assert firsts(report) == [("amount", "", "3", "4")]
    assert report["values"]["first"][0]["lines_before"] is None
    assert report["values"]["first"][0]["fail"]["thread"]["number"] == 2


def test_a_page_and_text_have_the_values(kymo, run, tmp_path):
    program = "import sys\ndef check(text, n):\n    if n > 3:\n        raise ValueError(text)\ntry: check('<b>' * 100, 3 + int(sys.argv[1]))\nexcept ValueError: pass\n"
    passed, failed = (run(program, i, "--values=args", "--values-for=check")[0] for i in (0, 1))
    text = kymo("diff", passed, failed, f"--html={tmp_path / 'page.html'}", check=False).stdout
    page = (tmp_path / "page.html").read_text()
    assert "The first value that differs: <code>n</code>" in page and "<td><code>n</code></td>" in page and "<b>" not in page
    text = kymo("diff", passed, failed, check=False).stdout
    assert re.search(r"differs: n at .*program.py:2 check: 3 in PASS, 4 in FAIL, 1 line before", text)
    assert "     values: n = 3 | 4\n" in text
    assert "FAIL raised ValueError('<b>" in text
