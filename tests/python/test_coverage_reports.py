# SPDX-License-Identifier: Apache-2.0
"""Reports of a recorded run against coverage.py's of the same program, and against those who read such files."""

import html.parser
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import coverage_project
import pytest
from conftest import TIMEOUT, environment

PROFILES = ["flow", "coverage"]
BRANCHES = [[], ["--branch"]]
DTD = Path(__file__).with_name("coverage-04.dtd")


@pytest.fixture(scope="module")
def project(tmp_path_factory, kymo):
    """The project with a trace of each profile, and coverage.py's data: with branches (.data-1), without (.data-0)."""
    folder = coverage_project.make(tmp_path_factory.mktemp("project").resolve())
    # First, for a file is verified only if it was there for a moment.
    for branch in BRANCHES:
        coverage_project.coverage(folder, "run", *branch, "--source=.", f"--data-file=.data-{len(branch)}", "main.py")
    for profile in PROFILES:
        kymo("record", "-q", f"--events={profile}", "-o", f"{profile}.kymo", "main.py", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def report(kymo, project):
    """report("lcov", "flow", "--branch"): what kymo coverage prints."""

    def run(form, profile="flow", *options, **how):
        return kymo(
            "coverage", f"--format={form}", "--source=.", *options, f"{profile}.kymo", cwd=project, **how
        ).stdout

    return run


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--show-missing"],
        ["-m", "--skip-covered", "--sort=-miss"],
        ["--skip-empty", "--precision=2", "--sort=cover"],
        ["--omit=pkg/s*"],
        ["--include=*/pkg/*"],
    ],
)
def test_the_table_is_coverage_pys(project, report, profile, branch, options):
    wanted = coverage_project.coverage(project, "report", f"--data-file=.data-{len(branch)}", *options)
    assert report("text", profile, *branch, *options) == wanted


def test_other_tables(project, report):
    coverage = coverage_project.coverage(project, "report", "--data-file=.data-0", "--format=total")
    assert report("total") == coverage
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in report("markdown").splitlines()]
    text = [line.split() for line in report("text").splitlines() if "--" not in line]
    assert [rows[0], *([cell.replace("\\_", "_") for cell in row] for row in rows[2:])] == text


def without_extras(value, wanted):
    """@value without names that @wanted has not."""
    if not isinstance(value, dict):
        return value
    own = {"hits", "branch_hits", "calls", "incomplete", "source"}
    return {
        name: without_extras(inner, wanted.get(name, {}))
        for name, inner in value.items()
        if name in wanted or name not in own
    }


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("branch", BRANCHES)
def test_json_is_coverage_pys(project, report, profile, branch):
    coverage_project.coverage(project, "json", "-q", f"--data-file=.data-{len(branch)}", "-o", "wanted.json")
    wanted, found = json.loads((project / "wanted.json").read_text()), json.loads(report("json", profile, *branch))
    assert found["meta"]["format"] == wanted["meta"]["format"]
    assert found["meta"]["hits_counted"] == (profile == "flow")
    del wanted["meta"], found["meta"]
    assert without_extras(found, wanted) == wanted


COUNTER = """
import collections, json, runpy, sys
hits = collections.Counter()
events = sys.monitoring
events.use_tool_id(3, "counter")
events.register_callback(3, events.events.LINE, lambda code, line: hits.update([(code.co_filename, line)]))
events.set_events(3, events.events.LINE | events.events.PY_START | events.events.JUMP)
sys.path.insert(0, "")
runpy.run_path("main.py")
events.set_events(3, 0)
print(json.dumps([[*key, count] for key, count in hits.items()]))
"""


def test_hits_are_those_of_line_events(project, report):
    done = subprocess.run(
        [sys.executable, "-c", COUNTER], cwd=project, env=environment(), capture_output=True, text=True, check=True
    )
    counted = {}
    for file, line, count in json.loads(done.stdout):
        counted.setdefault(Path(file).name, {})[line] = count
    files = json.loads(report("json"))["files"]
    shapes = files["pkg/shapes.py"]["hits"]
    assert shapes == {line: counted["shapes.py"].get(int(line), 0) for line in shapes} and shapes["32"] == 5
    assert files["main.py"]["hits"] == {line: counted["main.py"].get(int(line), 0) for line in files["main.py"]["hits"]}


def test_calls_and_branches_are_counted(report):
    shapes = json.loads(report("json", "flow", "--branch"))["files"]["pkg/shapes.py"]
    assert {name: part.get("calls") for name, part in shapes["functions"].items()} == {
        "wrap": 1,
        "wrap.inner": 1,
        "Shape.area": 1,
        "Shape.never": 0,
        "Shape.Part.short": 0,
        "loop": 1,
        "choose": 1,
        "": None,
    }
    ways = {(line, to): count for line, to, count in shapes["branch_hits"]}
    assert {way: ways[way] for way in ways if way[0] in (31, 32, 34)} == {
        (31, 32): 5,
        (31, 40): 1,
        (32, 31): 1,
        (32, 33): 4,
    } | {(34, 35): 1, (34, 39): 3} or ways[32, 31] == 1


def tracefile(text):
    """An LCOV file as {file: {kind: [fields]}}."""
    files, records = {}, {}
    for line in text.splitlines():
        kind, _, fields = line.partition(":")
        if kind == "SF":
            records = files.setdefault(fields, {})
        elif kind not in ("TN", "end_of_record") and not line.startswith("#"):
            records.setdefault(kind, []).append(fields.split(","))
    return files


@pytest.mark.parametrize("profile", PROFILES)
def test_lcov_has_the_same_counts(report, profile):
    files = json.loads(report("json", profile, "--branch"))["files"]
    found = tracefile(report("lcov", profile, "--branch"))
    assert found.keys() == files.keys()
    for name, records in found.items():
        assert dict(records.get("DA", [])) == {line: str(count) for line, count in files[name]["hits"].items()}
        summary = files[name]["summary"]
        assert [records["LF"], records["LH"]] == [[[str(summary[key])]] for key in ("num_statements", "covered_lines")]
        taken = sorted(int(count) for _, _, _, count in records.get("BRDA", []) if count != "-")
        ran = {line for line, count in files[name]["hits"].items() if count}
        unasked = [way for way in files[name].get("branch_hits", []) if way[0] == 40 and not way[2]]
        assert taken == sorted(
            way[2] for way in files[name]["branch_hits"] if str(way[0]) in ran and way not in unasked
        )
        calls = [part["calls"] for part in files[name]["functions"].values() if "calls" in part]
        assert sorted(int(count) for count, _ in records.get("FNDA", [])) == sorted(calls)


@pytest.mark.skipif(not shutil.which("genhtml"), reason="there is no genhtml (Debian: lcov)")
@pytest.mark.parametrize("profile", PROFILES)
def test_genhtml_reads_lcov(project, report, profile, tmp_path):
    (tmp_path / "coverage.info").write_text(report("lcov", profile, "--branch"))
    done = subprocess.run(
        ["genhtml", "--branch-coverage", "-o", tmp_path / "pages", tmp_path / "coverage.info"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"lines\.*: 78\.7% \(37 of 47 lines\)", done.stdout), done.stdout
    assert "warning" not in done.stdout.lower() + done.stderr.lower(), done.stdout + done.stderr


@pytest.mark.parametrize("branch", BRANCHES)
def test_cobertura_has_the_same_figures(project, report, branch):
    coverage_project.coverage(project, "xml", "-q", f"--data-file=.data-{len(branch)}", "-o", "wanted.xml")
    wanted, found = (
        ElementTree.parse(project / "wanted.xml").getroot(),
        ElementTree.fromstring(report("cobertura", "flow", *branch)),
    )

    def figures(element):
        kept = {
            name: value
            for name, value in element.attrib.items()
            if name not in ("timestamp", "version", "missing-branches", "hits")
        }
        kept["ran"] = element.get("hits", "0") != "0"
        return element.tag, kept, [figures(child) for child in element if child.tag != "conditions"]

    wanted[:] = sorted(wanted, key=lambda part: part.tag != "sources")
    assert figures(found) == figures(wanted)
    assert [source.text for source in found.iter("source")] == [source.text for source in wanted.iter("source")]
    hits = {
        line.get("number"): line.get("hits")
        for each in found.iter("class")
        if each.get("name") == "shapes.py"
        for line in each.iter("line")
    }
    assert hits == {
        line: str(count) for line, count in json.loads(report("json"))["files"]["pkg/shapes.py"]["hits"].items()
    }


@pytest.mark.skipif(not shutil.which("xmllint"), reason="there is no xmllint (Debian: libxml2-utils)")
@pytest.mark.parametrize("profile", PROFILES)
def test_cobertura_is_valid(report, profile, tmp_path):
    (tmp_path / "coverage.xml").write_text(report("cobertura", profile, "--branch"))
    done = subprocess.run(
        ["xmllint", "--noout", "--nonet", "--dtdvalid", DTD, tmp_path / "coverage.xml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("branch", BRANCHES)
def test_coverage_py_reports_on_our_data_file_as_on_its_own(project, report, profile, branch):
    report("coverage-db", profile, *branch, "--output=.ours")
    for words in (
        ["report", "-m"],
        ["json", "-q", "-o", "/dev/stdout"],
        ["xml", "-q", "-o", "-"],
        ["lcov", "-q", "-o", "-"],
    ):
        reports = [
            re.sub(r'timestamp"?[:=] ?"\S+"', "", coverage_project.coverage(project, *words, f"--data-file={data}"))
            for data in (f".data-{len(branch)}", ".ours")
        ]
        assert reports[0] == reports[1], words
    coverage_project.coverage(project, "html", "-q", "--data-file=.ours", "-d", "pages")
    coverage_project.coverage(project, "combine", "-q", "--keep", "--data-file=.both", ".ours", f".data-{len(branch)}")
    table = coverage_project.coverage(project, "report", f"--data-file=.data-{len(branch)}")
    assert coverage_project.coverage(project, "report", "--data-file=.both") == table
    (project / ".both").unlink()


class Page(html.parser.HTMLParser):
    """The rows of a page's source table, and everything that it would load."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.loads, self.tags, self._cell = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        self.loads += [
            value for name, value in attributes.items() if name in ("src", "href") and not value.startswith("#")
        ]
        if tag == "tr" and attributes.get("id", "").startswith("L"):
            self.rows.append({"class": attributes["class"]})
        if tag == "td" and self.rows:
            self._cell = attributes.get("class")
            self.rows[-1].setdefault(self._cell, "")

    def handle_data(self, data):
        if self.rows and self._cell:
            self.rows[-1][self._cell] += data


def test_html_shows_the_source_with_hits(project, report):
    report("html", "flow", "--branch", "--output=our-pages")
    index = Page((project / "our-pages/index.html").read_text())
    pages = {path.name for path in (project / "our-pages").iterdir()}
    assert set(index.loads) | {"index.html"} == pages
    page = Page(next((project / "our-pages").glob("shapes_py-*.html")).read_text())
    assert page.loads == ["index.html"] and not {"script", "link", "img"} & set(page.tags)
    lines = coverage_project.FILES["pkg/shapes.py"].splitlines()
    files = json.loads(report("json", "flow", "--branch"))["files"]["pkg/shapes.py"]
    states = {"miss": "!", "part": "~", "ran": "", "skip": "-", "": ""}
    assert len(page.rows) == len(lines)
    for number, (row, line) in enumerate(zip(page.rows, lines, strict=True), 1):
        assert row["text"].startswith(line) and row["state"] == states[row["class"]] and row["n"] == str(number)
        assert row["hits"] == (f"{files['hits'][str(number)]}×" if str(number) in files["hits"] else "")
    kinds = {
        kind: [
            int(row["n"]) for row in page.rows if row["class"] == kind and int(row["n"]) in [*map(int, files["hits"])]
        ]
        for kind in states
    }
    assert kinds["miss"] == files["missing_lines"]
    assert kinds["part"] == sorted({line for line, _ in files["missing_branches"]} - set(files["missing_lines"]))


def test_each_format_says_when_hits_were_not_counted(project, report):
    assert report("lcov", "coverage").startswith("#") and not report("lcov").startswith("#")
    assert "hits are 0 or 1" in report("cobertura", "coverage") and "0 or 1" not in report("cobertura")
    for profile in PROFILES:
        report("html", profile, "--output=pages-of-hits")
        text = next((project / "pages-of-hits").glob("shapes_py-*.html")).read_text()
        assert ("not how often" in text) == (profile == "coverage") and ("5×" in text) == (profile == "flow")


def test_statements_from_coverage_py(report):
    assert (
        report("json", "flow", "--branch", "--statements-from=coverage").partition('"files"')[2]
        == report("json", "flow", "--branch").partition('"files"')[2]
    )


def test_the_data_file_keeps_line_numbers_as_coverage_py_packs_them(build):
    from coverage.numbits import nums_to_numbits
    from kymo.coverage.coverage_db import numbits

    for lines in [], [1], [7, 8, 9, 4000], list(range(1, 300, 7)):
        assert numbits(set(lines)) == nums_to_numbits(lines)
    assert numbits({1, 2**31 - 1}) == nums_to_numbits([1])


def test_the_schema_is_coverage_pys(project, report):
    report("coverage-db", "flow", "--output=.schema")
    columns = []
    for name in (".schema", ".data-0"):
        database = sqlite3.connect(project / name)
        tables = sorted(name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"))
        columns.append({table: database.execute(f"PRAGMA table_info({table})").fetchall() for table in tables})
        columns[-1]["version"] = database.execute("SELECT version FROM coverage_schema").fetchall()
        database.close()
    assert columns[0] == columns[1]
