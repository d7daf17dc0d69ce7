# SPDX-License-Identifier: Apache-2.0
"""Statements, arcs, and what of them ran, are what coverage.py finds."""
import collections
import json
import os
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest
from conftest import environment

from kymo.coverage.analysis import analyse, describe_arc
from kymo.coverage.by_coverage import analyse_by_coverage
from kymo.coverage.model import Branch, FileCounts
from kymo.coverage.regions import find_regions
from kymo.coverage.statements import ALWAYS_PARTIAL, DEFAULT_EXCLUDE, DEFAULT_PARTIAL, AnalysisError
from kymo.coverage.trails import arcs_taken

coverage = pytest.importorskip("coverage", minversion="7.17")
TORTURE = Path(__file__).parent / "programs" / "coverage_torture.py"
PATTERNS = {"exclude": DEFAULT_EXCLUDE, "partial": DEFAULT_PARTIAL + ALWAYS_PARTIAL}
LIBRARY = Path(sysconfig.get_path("stdlib"))
SAMPLE = sorted(path for folder in ("", "asyncio", "email", "importlib", "json", "unittest", "xml/dom", "idlelib")
                for path in (LIBRARY / folder).glob("*.py"))[::10]


def choices(analysis):
    ways = collections.defaultdict(set)
    for line, to in analysis.arcs:
        ways[line].add(to)
    return {line: to for line, to in ways.items() if len(to) > 1}


def lines_of(source):
    return range(1, source.count(b"\n") + source.count(b"\r") + 2)


def assert_same(source, **patterns):
    patterns = PATTERNS | patterns
    ours, theirs = analyse(source, "x.py", **patterns), analyse_by_coverage(source, "x.py", **patterns)
    assert ours.statements == theirs.statements
    assert ours.excluded == theirs.excluded
    assert ours.no_branch == theirs.no_branch
    assert choices(ours) == choices(theirs)
    assert ours.arcs == theirs.arcs
    assert all(ours.first_line(line) == theirs.first_line(line) for line in lines_of(source))
    return ours


def test_torture_file():
    analysis = assert_same(TORTURE.read_bytes())
    assert len(choices(analysis)) > 100 and len(analysis.excluded) > 50


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: str(path.relative_to(LIBRARY)))
def test_standard_library(path):
    assert_same(path.read_bytes())


@pytest.mark.parametrize("source", [
    b"", b"\n\n", b"# nothing\n", b'"""Docstring."""', b"x = 1", b"\xef\xbb\xbfx = 1\n", b"\\\nx = 1\n",
    b"if x: # a\r\n    y\r\nz\r\n", b"x = 1\ry = 2\rif x: pass\relse: y\r",
    b"# coding: latin-1\nx = '\xe9'\nif x:\n    y\n", b"x = 1\n\x0c\nif x:\n    y\nz\n",
    b"x = f'''{\n1:{\n2}}''' ; y = 2\n", b"\n" * 200 + b"...\n" + b"\n" * 200 + b"x\n",
    b"if x:\n    pass\n" + b"elif y:\n    pass\n" * 300,
], ids=range(14))
def test_forms_of_files(source):
    assert_same(source)


@pytest.mark.parametrize("version, source", [
    ((3, 14), b"try:\n    x\nexcept A, B:\n    if y:\n        z\n"),
    ((3, 14), b"name = 1\nx = t'''{\nname\n}'''\nif x: pass\nelse: y = 1\n"),
    ((3, 13), b"class A[T = int]:\n    def f[U = (\n        int)](self): return 1\n    type X[V = int] = V\n"),
    ((3, 15), b"lazy import json\nlazy from json import (\n    loads,\n)\nif json:\n    pass\n"),
])
def test_newer_syntax(version, source):
    if sys.version_info < version:
        pytest.skip("not yet known to this Python")
    assert_same(source)


@pytest.mark.parametrize("patterns", [
    {"exclude": ()}, {"partial": ()}, {"exclude": (), "partial": ()}, {"exclude": ["raise ValueError"]},
    {"exclude": [r"if \w+:\n\s+return"]}, {"exclude": ["^def ", "^class ", "@decorator"]}, {"exclude": ["else:"]},
    {"exclude": ["x = 1$"], "partial": ["for i in", "if a"]}, {"exclude": [r"(?s)excluded_function.*excluded_in_part"]},
    {"exclude": ["import"]}, {"exclude": [r"\bcase\b"]}, {"exclude": ["try:", "finally:"]},
], ids=repr)
def test_patterns(patterns):
    assert_same(TORTURE.read_bytes(), **patterns)


@pytest.mark.parametrize("source, what", [
    (b"x = 1\nif x\n", "x.py, line 2: "), (b"x = [\n", "x.py, line 1: "), (b"return 1\n", "x.py, line 1: "),
    (b"if a:\n    b\n  c\n", "x.py, line 3: "), (b"a\0b", "null byte"), (b"# coding: nosuch\n", "nosuch"),
    (b"# coding: hex\nx", "hex"), (b"x = '\xff'\n", "encoding"), (b"# coding: utf-7\nx = '+2AA-'\n", "surrogates"),
    (b"(" * 50000, "nested"), (b"-" * 200000 + b"1", "nested"), (b"x = " + b"9" * 10000, "digits"),
], ids=range(12))
def test_what_cannot_be_analysed(source, what):
    with pytest.raises(AnalysisError) as error:
        analyse(source, "x.py", **PATTERNS)
    assert what in str(error.value) and str(error.value).startswith("x.py") and "\n" not in str(error.value)


def test_patterns_that_cannot_be_used():
    for patterns in ({"exclude": ["fine", "a("]}, {"partial": ["a("]}):
        with pytest.raises(AnalysisError, match=r"'a\('"):
            analyse(b"x = 1\n", "x.py", **PATTERNS | patterns)


def test_warnings_of_the_source_are_not_ours():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert analyse(b"x = '\\d'\nassert (x, 1)\n", "x.py", **PATTERNS).statements == {1, 2}


def test_definitions():
    source = b"class A:\n    @f\n    def b(self):\n        def c(): pass\n        if c:\n            class D: pass\n"
    assert [(region.kind, region.name, region.start, region.first) for region in find_regions(source)] == [
        ("class", "A", 1, 1), ("function", "A.b", 3, 2), ("function", "A.b.c", 4, 4), ("class", "A.b.D", 6, 6)]


def test_description_of_arcs():
    analysis = analyse(b"def f(x):\n    if x:\n        y\n    z\n    for x in y:\n        z\n", "x.py", **PATTERNS)
    assert describe_arc(analysis, 2, 3) == "line 2 never led to line 3: the condition on line 2 was never true"
    assert describe_arc(analysis, 2, 4) == "line 2 never led to line 4: the condition on line 2 was never false"
    assert describe_arc(analysis, 5, -1).startswith("line 5 never led out of what starts on line 1: the loop on ")
    assert describe_arc(analysis, 3, 4) == "line 3 never led to line 4"


# --- what ran


def witnessed(program, folder):
    """FileCounts of a run of @program."""
    output = folder / "witness.json"
    witness = Path(__file__).parent / "programs" / "trail_witness.py"
    subprocess.run([sys.executable, "-W", "ignore", witness, output, program],
                   check=True, env=environment(), timeout=300)
    seen = json.loads(output.read_text())
    branches = collections.Counter()
    for line, first, trail, is_exit, hits in seen["branches"]:
        branches[Branch(line, first, tuple(trail), is_exit)] += hits
    return FileCounts(str(program), sys.version_info[:2], lines=dict(seen["lines"]), branches=branches,
                      functions={(name, first): hits for name, first, hits in seen["calls"]})


def covered(program, folder, core="ctrace"):
    """What coverage.py reports of the same, measured by one of its cores."""
    command = [sys.executable, "-W", "ignore", "-m", "coverage"]
    env = environment({"COVERAGE_CORE": core, "COVERAGE_FILE": folder / f"coverage-{core}"})
    for words in (["run", "--rcfile", os.devnull, "--branch", "--include", program, program],
                  ["json", "--rcfile", os.devnull, "-q", "-o", folder / f"{core}.json"]):
        subprocess.run(command + words, check=True, env=env, cwd=folder, timeout=300, stdout=subprocess.DEVNULL)
    (file,) = json.loads((folder / f"{core}.json").read_text())["files"].values()
    return file


def compare(program, folder, core="ctrace"):
    """Arcs that only we take for taken, and that only coverage.py does; executed lines must be equal."""
    counts, theirs = witnessed(program, folder), covered(program, folder, core)
    analysis = analyse(program.read_bytes(), str(program), **PATTERNS)
    taken, unknown = arcs_taken(counts, analysis)
    ran = {analysis.first_line(line) for line in counts.lines} & analysis.statements
    ours = {(line, to) for line, ways in choices(analysis).items() for to in ways if (line, to) in taken}
    executed = set(map(tuple, theirs["executed_branches"]))
    missing = {(line, to) for line, ways in choices(analysis).items() if line not in analysis.no_branch for to in ways}
    if ours == executed:
        assert missing - ours == set(map(tuple, theirs["missing_branches"]))
    return ours - executed, executed - ours, ran ^ set(theirs["executed_lines"]), unknown


def test_what_ran_of_the_torture_file(tmp_path):
    more, less, lines, unknown = compare(TORTURE, tmp_path)
    assert (more, less, lines) == (set(), set(), set())
    # Ways out of a `with` by a jump on the line of the condition, which coverage.py takes for missing, too.
    text = TORTURE.read_text().splitlines()
    assert sorted(text[branch.line - 1].strip() for branch in unknown) == ["if a: break", "if i: return 1"]


def test_times_that_are_not_known():
    """Where each branch was recorded once, two of them that are the same arc are no more than that."""
    analysis = analyse(b"if a or b:\n    x = 1\ny = 1\n", "x.py", **PATTERNS)
    counts = FileCounts("x.py", sys.version_info[:2], lines={1: 2, 2: 2, 3: 1},
                        branches={Branch(1, 1, (2,), False): 2, Branch(1, 1, (1, 3), True): 1})
    assert arcs_taken(counts, analysis)[0] == {(1, 2): 2, (1, 3): 1}
    assert arcs_taken(counts, analysis, are_hits_counted=False)[0] == {(1, 2): 1, (1, 3): 1}


# The few programs, kept in docs/coverage-rules.md, of which the report differs from that of a core of coverage.py:
# arcs that only we take for taken, arcs that only coverage.py does, and statements that only one of us does.
DIFFERENCES = {
    "ctrace": {
        "a raise on the line of its condition, within a `with` that swallows it": (
            "from contextlib import suppress\ndef f(x):\n"
            "    with suppress(ValueError):\n        if x: raise ValueError\n"
            "        return 1\n    return 2\nf(1)\n", {(4, -2)}, set(), set()),
        "an exception in what a loop goes through": (
            "def f():\n    for x in map(int, ['1', 'x']):\n        y = x\ntry: f()\nexcept ValueError: y = 2\n",
            set(), {(2, -1)}, set()),
        "an exception in a condition, within a `with` that swallows it": (
            "from contextlib import suppress\ndef f(x):\n    with suppress(TypeError):\n"
            "        if x > 1:\n            return 1\n    return 2\nf('text')\n", set(), {(4, 6)}, set()),
        "an exception on the line of its condition, before what is reached in another way": (
            "def f(x):\n    match x:\n        case 0: y = 1 // x\n        case 1: y = 1 // x\n    return y\n"
            "f(1)\ntry: f(0)\nexcept ZeroDivisionError: x = 2\n", {(3, 5)}, set(), set()),
    },
    "sysmon": {
        "a raise on the line of its condition": (
            "def f(x):\n    if x: raise ValueError\n    return 1\ntry: f(1)\nexcept ValueError: x = 2\n",
            {(2, -1)}, {(2, 3)}, {3}),
        "an exception through a finally that ends in a condition": (
            "def f(x):\n    try:\n        int(x)\n    finally:\n        if x == '1':\n            print(x)\n"
            "try: f('a')\nexcept ValueError: x = 2\n", {(5, -1)}, set(), set()),
        "a break that was not taken, on the line of its condition": (
            "for i in range(3):\n    if i == 0: continue\n    if i > 5: break\nprint('end')\n", set(), {(3, 4)}, set()),
    },
}


@pytest.mark.parametrize("core, name", [(core, name) for core, cases in DIFFERENCES.items() for name in cases])
def test_differences(core, name, tmp_path):
    if core == "sysmon" and sys.version_info < (3, 14):
        pytest.skip("coverage.py measures no branches with it")
    source, *wanted = DIFFERENCES[core][name]
    program = tmp_path / "program.py"
    program.write_text(source)
    more, less, lines, unknown = compare(program, tmp_path, core)
    assert [more, less, lines] == wanted
    assert not unknown


def test_times_that_arcs_were_taken(tmp_path):
    """Against the pairs of lines that a trace function sees one after the other in each frame."""
    program = tmp_path / "program.py"
    program.write_text('''
def f(n):
    x = 0
    for i in range(n):
        if i % 3 == 0: continue
        elif i > 5 and (
                i % 2):
            x = 1
        while n > i + 5:
            n -= 1
            if n == 7: break
        match i:
            case 1 | 2: x = 2
            case int() if n == i:
                x = 3
            case _:
                x = 4
    if x == 4: return x
    return [
        i for i in range(n)
        if i % 2
    ]
def g(): return 1
class E: x = 1
for n in range(1, 12):
    f(n)
    if n > 2: g()
    else:
        continue
''')
    counts = witnessed(program, tmp_path)
    analysis = analyse(program.read_bytes(), "x.py", **PATTERNS)
    pairs, last = collections.Counter(), {}

    def trace(frame, event, _):
        if frame.f_code.co_filename != "x.py":
            return None
        line = analysis.first_line(frame.f_lineno)
        if event == "return":
            pairs[last.pop(frame), -analysis.first_line(frame.f_code.co_firstlineno)] += 1
        elif event == "line":
            if frame in last:
                pairs[last[frame], line] += 1
            last[frame] = line
        return trace

    code, namespace = compile(program.read_bytes(), "x.py", "exec"), {"__name__": "program"}
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, namespace)
    finally:
        sys.settrace(before)
    taken, unknown = arcs_taken(counts, analysis)
    ways = {(line, to) for line, destinations in choices(analysis).items() for to in destinations}
    assert {way: taken.get(way, 0) for way in ways} == {way: pairs[way] for way in ways}
    assert not unknown and len(ways) > 15
