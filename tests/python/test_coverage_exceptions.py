# SPDX-License-Identifier: Apache-2.0
"""An exception leaves a statement after its branch: where that leads counts only if it was reached.

The program runs under coverage.py and is recorded; the data files of both must have the same lines, in all and in each context.
"""
import json
import sqlite3
import subprocess
import sys

import coverage_project
import pytest
from conftest import TIMEOUT, environment

pytest.importorskip("coverage", minversion="7.17")

PROGRAM = """\
import contextlib, sys
from enter import enter

def fail(value):
    if value in (1, 2): raise ValueError(value)
    return value

def statement(x):
    y = fail(1 if x < 4 else 5)
    z = 3
    return y + z

def over_lines(x):
    y = fail(
        1 if x < 4
        else 5)
    z = 3
    return y + z

def tried(x):
    try:
        y = fail(x and 1 or 2)
        return y
    except KeyError:
        z = 1
    return z

def left(x):
    with contextlib.suppress(ValueError):
        y = fail(x or 1)
        z = 1
    return 3

def cases(x):
    match x:
        case 0: y = fail(1 if x else 2)
        case 3: return fail(x if x > 2 else 4)
        case _: return 4
    return 5

def defined(x):
    @fail(1 if x else 3)
    def inner(): return 1
    return inner

def decorated(x):
    @fail
    def inner(): return 1
    y = 1
    @(x or fail(1))
    def other(): return 2
    return 5

def looped(x):
    for n in fail(x or [1]) if x is None else [fail(x), 1]:
        if n: fail(n if n else 0)
    return 7

def cleaned(x):
    try:
        fail(1 if x else 2)
    finally:
        y = 1 if x else 2
    return 8

def comprehended(x):
    y = [fail(n) for n in (3, x) if n]
    z = 1
    return y

def asserted(x):
    assert x > 1 or fail(x), "text"
    return 9

def run(*arguments):
    for function in (statement, over_lines, tried, left, cases, defined, decorated, looped, cleaned, comprehended, asserted):
        for argument in arguments:
            try:
                function(argument)
            except (AssertionError, TypeError, ValueError):
                pass

with enter("fails"):
    run(0, 1)
with enter("passes"):
    run(3, 0)
with enter("others"):
    run(4)
"""
ENTER = {
    "kymo": "import kymo\nenter = kymo.context\n",
    "coverage": """\
import contextlib, coverage
@contextlib.contextmanager
def enter(name):
    coverage.Coverage.current().switch_context(name)
    yield
    coverage.Coverage.current().switch_context("")
""",
}


def lines_of(path, context=None):
    """The lines of the program that coverage.py itself reads from a data file; None: in any context."""
    from coverage import CoverageData

    data = CoverageData(path)
    data.read()
    if context is not None:
        data.set_query_context(context)
    (file,) = (file for file in data.measured_files() if file.endswith("/program.py"))
    return set(data.lines(file))


@pytest.fixture(scope="module")
def project(tmp_path_factory, kymo, importing):
    folder = tmp_path_factory.mktemp("exceptions").resolve()
    (folder / "program.py").write_text(PROGRAM)
    for tool, text in ENTER.items():
        (folder / tool).mkdir()
        (folder / tool / "enter.py").write_text(text)
    env = environment({"PYTHONPATH": folder / "coverage", "COVERAGE_CORE": "ctrace"})
    subprocess.run([sys.executable, "-m", "coverage", "run", "--branch", "--include=*/program.py", "--data-file=.theirs",
                    "program.py"], check=True, cwd=folder, env=env, timeout=TIMEOUT)
    own = importing | {"PYTHONPATH": f"{folder / 'kymo'}:{importing['PYTHONPATH']}"}
    for profile in "flow", "coverage":
        kymo("record", "-q", f"--events={profile}", "-o", f"{profile}.kymo", "program.py", cwd=folder, env=own)
    return folder


def write(kymo, project, profile, *options):
    kymo("coverage", "--format=coverage-db", "--branch", "--include=*/program.py", "-o", ".ours", *options,
         f"{profile}.kymo", cwd=project)
    return project / ".ours"


@pytest.mark.parametrize("profile", ["flow", "coverage"])
def test_lines_that_an_exception_kept_from_running(kymo, project, profile):
    assert lines_of(write(kymo, project, profile)) == lines_of(project / ".theirs")


def test_lines_of_each_context(kymo, project):
    """A line may be reached in one and not in the other."""
    ours, wanted = write(kymo, project, "flow", "--show-contexts"), {}
    for context in "fails", "passes", "others":
        wanted[context] = lines_of(project / ".theirs", context)
        # The end of the `with` and its helper are another's.
        assert {line for line in lines_of(ours, context) ^ wanted[context] if line < 84} == set(), context
    assert 10 in wanted["others"] - wanted["fails"] and 10 in lines_of(ours)


@pytest.mark.parametrize("profile", ["flow", "coverage"])
def test_branches_are_coverage_pys(kymo, project, profile):
    """Also in our own reports: that a condition was met does not say that what it leads to began."""
    reports = []
    (own,) = json.loads(kymo("coverage", "--branch", "--format=json", "--include=*/program.py", f"{profile}.kymo",
                             cwd=project).stdout)["files"].values()
    write(kymo, project, profile)
    for data in ".theirs", ".ours":
        coverage_project.coverage(project, "json", "-q", f"--data-file={data}", "-o", "report.json")
        (file,) = json.loads((project / "report.json").read_text())["files"].values()
        reports.append(file)
    for key in "executed_lines", "missing_lines", "executed_branches", "missing_branches", "summary":
        assert own[key] == reports[0][key] == reports[1][key], key


def test_no_way_was_taken_more_often_than_its_end_was_reached(kymo, project):
    (file,) = json.loads(kymo("coverage", "--branch", "--format=json", "--include=*/program.py", "flow.kymo",
                              cwd=project).stdout)["files"].values()
    ways = [(line, to, hits) for line, to, hits in file["branch_hits"] if to > 0]
    assert len(ways) > 8 and all(hits <= file["hits"][str(to)] for _, to, hits in ways)
    with sqlite3.connect(write(kymo, project, "flow")) as database:
        ends = {to for (to,) in database.execute("SELECT tono FROM arc WHERE tono > 0")}
    assert ends <= {int(line) for line, hits in file["hits"].items() if hits} | lines_of(project / ".theirs")
