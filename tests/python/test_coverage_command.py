# SPDX-License-Identifier: Apache-2.0
"""kymo coverage and kymo combine as commands: exit statuses, errors, several runs, contexts, hostile input."""

import html.parser
import json
import re
import shutil
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import coverage_project
import pytest
from conftest import KYMO, environment

MINOR = sys.version_info[1]


@pytest.fixture(scope="module")
def project(tmp_path_factory, kymo):
    folder = coverage_project.make(tmp_path_factory.mktemp("project").resolve())
    coverage_project.coverage(folder, "run", "--data-file=.data", "main.py")
    for profile in "flow", "coverage":
        kymo("record", "-q", f"--events={profile}", "-o", f"{profile}.kymo", "main.py", cwd=folder)
    return folder


def files_of(kymo, *words, **how):
    return json.loads(kymo("coverage", "--format=json", *words, **how).stdout)["files"]


def one_line(done, status, text):
    assert (done.returncode, done.stderr.count("\n")) == (status, 1) and text in done.stderr, done.stderr


@pytest.mark.parametrize("threshold", ["86", "86.04", "86.1", "100"])
@pytest.mark.parametrize("precision", ["0", "2"])
def test_fail_under_is_coverage_pys(project, kymo, threshold, precision):
    words = [f"--fail-under={threshold}", f"--precision={precision}"]
    done = kymo("coverage", *words, "flow.kymo", cwd=project, check=False)
    wanted = subprocess.run(
        [sys.executable, "-m", "coverage", "report", "--data-file=.data", *words],
        cwd=project,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == wanted.returncode
    told = re.search(r"total of .*", wanted.stdout)
    assert done.stderr == (f"kymo: coverage failure: {told[0]}\n" if told else "")


@pytest.mark.parametrize(
    "words, status, text",
    [
        ([], 2, "missing argument TRACE"),
        (["--what", "flow.kymo"], 2, "unrecognized option '--what'"),
        (["--format=pdf", "flow.kymo"], 2, "--format"),
        (["--fail-under=x", "flow.kymo"], 2, "--fail-under"),
        (["--fail-under=101", "flow.kymo"], 1, "from 0 to 100"),
        (["--precision=16", "flow.kymo"], 1, "from 0 to 15"),
        (["--precision=-1", "flow.kymo"], 2, "not a whole number"),
        (["--sort=size", "flow.kymo"], 1, "cannot sort by 'size'"),
        (["--sort=branch", "flow.kymo"], 1, "cannot sort by 'branch'"),
        (["--contexts=(", "flow.kymo"], 1, "invalid regular expression"),
        (["--contexts=x", "flow.kymo"], 1, "nothing was recorded in a context"),
        (["--context=x", "coverage.kymo"], 1, "flow"),
        (["--show-contexts", "--format=html", "coverage.kymo"], 1, "flow"),
        (["--show-contexts", "flow.kymo"], 1, "cannot show contexts"),
        (["--ran-by=main.py", "flow.kymo"], 1, "FILE:LINE"),
        (["--ran-by=none.py:1", "flow.kymo"], 1, "not in the report"),
        (["--ran-by=main.py:3", "flow.kymo"], 1, "not a statement"),
        (["--source=nothing/here", "flow.kymo"], 1, "folder not found: nothing/here"),
        (["--source=nothing", "flow.kymo"], 1, "nothing to report"),
        (["--rcfile=nothing", "flow.kymo"], 1, "cannot read the settings in nothing"),
        (["--python=nothing", "flow.kymo"], 1, "cannot find the program 'nothing'"),
        (["--output=nothing/here", "flow.kymo"], 1, "nothing/here: No such file"),
        (["--format=coverage-db", "--output=nothing/here", "flow.kymo"], 1, "nothing/here: "),
        (["nothing.kymo"], 1, "nothing.kymo: No such file"),
        (["main.py"], 1, "main.py"),
        (["."], 1, ".: Is a directory"),
        ([".data"], 1, ".data is neither a trace nor a file made by kymo combine"),
    ],
)
def test_errors_are_one_line(project, kymo, words, status, text):
    one_line(kymo("coverage", *words, cwd=project, check=False), status, text)


def test_lines_that_were_not_recorded(project, kymo):
    kymo("record", "-q", "-f", "--events=calls", "-o", "calls.kymo", "main.py", cwd=project)
    one_line(kymo("coverage", "calls.kymo", cwd=project, check=False), 1, "calls.kymo")


def test_branches_that_were_not_recorded(project, kymo):
    kymo("record", "-q", "-f", "--events=LINE", "-o", "lines.kymo", "main.py", cwd=project)
    assert "TOTAL" in kymo("coverage", "lines.kymo", cwd=project).stdout
    one_line(kymo("coverage", "--branch", "lines.kymo", cwd=project, check=False), 1, "branches were not recorded")


def test_output_that_nobody_reads(project):
    done = subprocess.run(
        ["sh", "-c", f"'{KYMO}' coverage flow.kymo; echo $? >&2"],
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=open("/dev/full", "w"),
        text=True,
    )
    assert done.stderr == "kymo: No space left on device\n1\n"


def test_without_source_the_program_alone_is_reported(project, kymo):
    assert set(files_of(kymo, "flow.kymo", cwd=project)) == {
        "main.py",
        "pkg/__init__.py",
        "pkg/empty.py",
        "pkg/shapes.py",
    }
    assert set(files_of(kymo, "--source=pkg", "flow.kymo", cwd=project)) == {
        f"pkg/{name}.py" for name in ("__init__", "empty", "shapes", "unused")
    }
    assert set(files_of(kymo, "--source=pkg.shapes", "flow.kymo", cwd=project)) == {"pkg/shapes.py"}
    assert set(files_of(kymo, "--source=functools", "flow.kymo", cwd=project)) == {__import__("functools").__file__}
    assert set(files_of(kymo, "--include=*/functools.py,main.py", "flow.kymo", cwd=project)) == {
        __import__("functools").__file__,
        "main.py",
    }


def test_what_is_installed_is_left_out(kymo, tmp_path):
    """A virtual environment inside of the project, its packages, its scripts."""
    for name in "venv/lib/python3.13/site-packages/dep.py", "venv/bin/tool", "src/own.py", "src/bin/script":
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import sys\n")
    (tmp_path / "src/own.py").write_text("import sys, runpy\nfor name in sys.argv[1:]: runpy.run_path(name)\n")
    kymo(
        "record",
        "-q",
        "-o",
        "run.kymo",
        "src/own.py",
        *(tmp_path / name for name in ("venv/lib/python3.13/site-packages/dep.py", "venv/bin/tool", "src/bin/script")),
        cwd=tmp_path,
    )
    assert set(files_of(kymo, "run.kymo", cwd=tmp_path)) == {"src/own.py", "src/bin/script"}
    assert set(files_of(kymo, "--source=.", "run.kymo", cwd=tmp_path)) == {
        "src/own.py",
        "src/bin/script",
        "venv/bin/tool",
    }
    assert set(files_of(kymo, "--source=venv/lib/python3.13/site-packages", "run.kymo", cwd=tmp_path)) == {
        "venv/lib/python3.13/site-packages/dep.py"
    }


CONTEXTS = """
import kymo

def chosen(value):
    if value:
        return 1
    return 2

for name, value in ("one", 1), ("two", 0), ("two", 0):
    with kymo.context(f"test_it.py::test_{name}|run"):
        chosen(value)
"""


@pytest.fixture(scope="module")
def contexts(tmp_path_factory, kymo, importing):
    folder = tmp_path_factory.mktemp("contexts").resolve()
    (folder / "test_it.py").write_text(CONTEXTS)
    kymo("record", "-q", "-o", "run.kymo", "test_it.py", cwd=folder, env=importing)
    return folder


def test_which_tests_ran_a_line(kymo, contexts):
    ran = {
        line: kymo("coverage", f"--ran-by=test_it.py:{line}", "run.kymo", cwd=contexts).stdout.splitlines()
        for line in (4, 5, 6, 7)
    }
    one, two = "test_it.py::test_one|run", "test_it.py::test_two|run"
    assert ran == {4: ["(in no test)"], 5: [one, two], 6: [one], 7: [two]}


@pytest.mark.parametrize(
    "words, lines",
    [
        (["--context=test_it.py::test_one"], [5, 6, 10, 11]),
        (["--context=test_it.py::test_two|run"], [5, 7, 10, 11]),
        (["--contexts=_(one|two)"], [5, 6, 7, 10, 11]),
    ],
)
def test_only_what_a_test_ran(kymo, contexts, words, lines):
    assert files_of(kymo, *words, "run.kymo", cwd=contexts)["test_it.py"]["executed_lines"] == lines


def test_contexts_are_shown_as_coverage_py_does(kymo, contexts):
    kymo("coverage", "--format=coverage-db", "--branch", "--show-contexts", "-o", ".data", "run.kymo", cwd=contexts)
    coverage_project.coverage(contexts, "json", "-q", "--show-contexts", "--data-file=.data", "-o", "wanted.json")
    wanted = json.loads((contexts / "wanted.json").read_text())["files"]["test_it.py"]
    found = files_of(kymo, "--branch", "--show-contexts", "run.kymo", cwd=contexts)["test_it.py"]
    assert found["contexts"] == {line: sorted(names) for line, names in wanted["contexts"].items()}
    assert found["summary"] == wanted["summary"] and found["missing_branches"] == wanted["missing_branches"]
    for test in "one", "two":
        table = coverage_project.coverage(contexts, "report", "-m", "--data-file=.data", f"--contexts=test_{test}")
        # Below, it may say that the file had only just been written.
        assert kymo(
            "coverage", "-m", "--branch", f"--contexts=test_{test}", "run.kymo", cwd=contexts
        ).stdout.startswith(table)
    kymo("coverage", "--format=html", "--show-contexts", "-o", "pages", "run.kymo", cwd=contexts)
    page = next((contexts / "pages").glob("test_it_py*")).read_text()
    row = re.search(r'<tr id="L5".*?</tr>', page, re.S)[0]
    assert "2 contexts" in row and "test_it.py::test_two|run" in row


def test_several_traces_are_added_up(project, kymo):
    once = files_of(kymo, "--branch", "flow.kymo", cwd=project)["pkg/shapes.py"]
    kymo("combine", "-f", "-o", "twice", "flow.kymo", "flow.kymo", cwd=project)
    for traces in ["flow.kymo", "flow.kymo"], ["twice"]:
        twice = files_of(kymo, "--branch", *traces, cwd=project)["pkg/shapes.py"]
        assert twice["hits"] == {line: 2 * count for line, count in once["hits"].items()}
        assert twice["branch_hits"] == [[line, to, 2 * count] for line, to, count in once["branch_hits"]]
        assert twice["functions"]["loop"]["calls"] == 2 and twice["summary"] == once["summary"]
    mixed = files_of(kymo, "flow.kymo", "coverage.kymo", cwd=project)["pkg/shapes.py"]
    assert set(mixed["hits"].values()) == {0, 1}


@pytest.mark.parametrize("form", ["text", "lcov", "json", "cobertura"])
def test_a_combined_file_reports_as_its_traces_do(project, contexts, kymo, form):
    def report(words, folder, *options):
        text = kymo("coverage", f"--format={form}", *options, *words, cwd=folder).stdout
        return re.sub(r'timestamp(": |=)"\S+', "", text)

    for profile in "flow", "coverage":
        kymo("combine", "-f", "-o", "one", f"{profile}.kymo", cwd=project)
        kymo("combine", "-f", "-o", "again", "one", cwd=project)
        assert report(["again"], project, "--branch", "--source=.") == report(
            [f"{profile}.kymo"], project, "--branch", "--source=."
        )
    kymo("combine", "-f", "-o", "one", "run.kymo", cwd=contexts)
    assert report(["one"], contexts, "--contexts=one") == report(["run.kymo"], contexts, "--contexts=one")


def test_combine_keeps_sources_once_and_the_project_alone(project, kymo):
    kymo("combine", "-f", "-o", "small", "flow.kymo", "coverage.kymo", "flow.kymo", cwd=project)
    database = sqlite3.connect(project / "small")
    names = {name.removeprefix(f"{project}/") for (name,) in database.execute("SELECT name FROM file")}
    assert names == {"main.py", "pkg/__init__.py", "pkg/empty.py", "pkg/shapes.py"}
    assert database.execute("SELECT count(*) FROM source").fetchone() == (4,)
    database.close()
    one_line(kymo("combine", "-o", "small", "flow.kymo", cwd=project, check=False), 1, "small already exists")
    one_line(kymo("combine", "flow.kymo", cwd=project, check=False), 2, "-o")
    one_line(kymo("combine", "-o", "new", "nothing", cwd=project, check=False), 1, "nothing: No such file")
    assert not (project / "new").exists() and not list(project.glob("*.incomplete*"))


def test_folders_of_other_machines_are_mapped(kymo, tmp_path):
    for place, word in ("ci/one", "1"), ("ci/two", "0"):
        (tmp_path / place / "src").mkdir(parents=True)
        (tmp_path / place / "src/a.py").write_text(
            "import sys\nif sys.argv[1] == '1':\n    print(1)\nelse:\n    print(0)\n"
        )
        kymo("record", "-q", "-o", "run.kymo", "src/a.py", word, cwd=tmp_path / place)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.coveragerc").write_text("[paths]\nsource =\n    src\n    */ci/*/src\n")
    traces = [tmp_path / place / "run.kymo" for place in ("ci/one", "ci/two")]
    kymo("combine", "-o", "both", *traces, cwd=tmp_path / "home")
    for words in ["both"], traces:
        assert files_of(kymo, *words, cwd=tmp_path / "home")["src/a.py"]["missing_lines"] == []
    (tmp_path / "home/.coveragerc").unlink()
    assert len(files_of(kymo, *traces, cwd=tmp_path / "home")) == 2


def test_a_file_that_was_changed_between_runs(kymo, tmp_path):
    for number, text in enumerate(["print(1)\n", "print(1)\nprint(2)\n"]):
        (tmp_path / "a.py").write_text(text)
        kymo("record", "-q", "-o", f"{number}.kymo", "a.py", cwd=tmp_path)
    done = kymo("coverage", "--format=json", "0.kymo", "1.kymo", cwd=tmp_path)
    assert json.loads(done.stdout)["files"]["a.py"]["executed_lines"] == [1, 2]
    one_line(done, 0, "a.py was changed between the runs")


def test_a_source_that_is_not_recorded(kymo, tmp_path):
    (tmp_path / "a.py").write_text(
        '"""Doc."""\ndef f():\n    if 0:\n        pass\n    return 1\n\n\ndef g():\n    return 2\nf()\n'
    )
    kymo("record", "-q", "--no-sources", "-o", "run.kymo", "a.py", cwd=tmp_path)
    table = kymo("coverage", "run.kymo", cwd=tmp_path).stdout
    assert "a.py (source not recorded)" in table
    files = files_of(kymo, "run.kymo", cwd=tmp_path)
    assert files["a.py"]["source"] == "missing" and 9 not in files["a.py"]["missing_lines"]
    # The user names the folder: what lies there may be read.
    named = files_of(kymo, "--source=.", "run.kymo", cwd=tmp_path)["a.py"]
    assert (named["source"], named["missing_lines"]) == ("unverified", [9])
    kymo("coverage", "--format=html", "--branch", "-o", "pages", "run.kymo", cwd=tmp_path)
    assert "does not hold the source" in next((tmp_path / "pages").glob("a_py*")).read_text()
    for form in "lcov", "cobertura":
        assert (
            "source not recorded" in kymo("coverage", f"--format={form}", "--branch", "run.kymo", cwd=tmp_path).stdout
        )


@pytest.fixture
def counts_file(tmp_path):
    """counts_file([FileCounts(…)]): the path of a file such as kymo combine makes."""
    from kymo.coverage import counts_file
    from kymo.coverage.model import Counts

    def write(files, name="counts", **facts):
        facts = {"contexts": [""], "are_hits_counted": True, "has_branches": True} | facts
        counts_file.write(Counts(files, **facts), str(tmp_path / name), "0", True)
        return tmp_path / name

    return write


def counts_of(file, source=b"a = 1\nb = 2\n", **facts):
    from kymo.coverage.model import FileCounts

    return FileCounts(file, sys.version_info[:2], source, True, lines={1: 1, 2: 1}, **facts)


def test_gaps_are_shown_and_fail(kymo, tmp_path, counts_file):
    path = counts_file([counts_of(f"{tmp_path}/whole.py"), counts_of(f"{tmp_path}/part.py", is_incomplete=True)])
    for form in "text", "lcov", "cobertura", "json", "markdown":
        lines = [
            line
            for line in kymo("coverage", f"--format={form}", path, cwd=tmp_path).stdout.splitlines()
            if "incomplete" in line
        ]
        assert len(lines) == 1 and (form == "cobertura" or "part.py" in lines[0].replace("\\", ""))
    kymo("coverage", "--format=html", "-o", "pages", path, cwd=tmp_path)
    assert (tmp_path / "pages/index.html").read_text().count("incomplete</span>") == 1
    kymo("coverage", "--format=coverage-db", "-o", ".data", path, cwd=tmp_path)
    meta = dict(sqlite3.connect(tmp_path / ".data").execute("SELECT * FROM meta"))
    assert meta["kymo_incomplete"] == "part.py"
    one_line(kymo("coverage", "--fail-under=100", path, cwd=tmp_path, check=False), 2, "part.py is incomplete")
    assert kymo("coverage", "--fail-under=100", "--allow-gaps", path, cwd=tmp_path).stderr == ""
    assert kymo("coverage", path, cwd=tmp_path).stderr == ""
    undefined = counts_file([counts_of(f"{tmp_path}/a.py")], undefined=3)
    done = kymo("coverage", "--fail-under=100", undefined, cwd=tmp_path, check=False)
    assert done.returncode == 2 and "3 events belong to code that the trace does not define" in done.stderr


def test_a_recording_with_gaps(kymo, tmp_path):
    (tmp_path / "a.py").write_text("def f(n):\n    for i in range(n):\n        i += 1\n    return n\n\n\nf(300_000)\n")
    kymo("record", "-q", "--policy=overwrite", "--ring-size=64k", "-o", "run.kymo", "a.py", cwd=tmp_path)
    assert "a.py (incomplete)" in kymo("coverage", "run.kymo", cwd=tmp_path).stdout
    one_line(kymo("coverage", "--fail-under=1", "run.kymo", cwd=tmp_path, check=False), 2, "a.py is incomplete")
    assert kymo("coverage", "--fail-under=1", "--allow-gaps", "run.kymo", cwd=tmp_path).stderr == ""


def test_another_minor_version_is_told(kymo, tmp_path, counts_file):
    counts = counts_of(f"{tmp_path}/a.py")
    counts.version = (3, MINOR - 1)
    one_line(kymo("coverage", counts_file([counts]), cwd=tmp_path), 0, f"recorded with Python 3.{MINOR - 1}")
    assert kymo("coverage", counts_file([counts_of(f"{tmp_path}/a.py")]), cwd=tmp_path).stderr == ""


@pytest.mark.skipif(sys.version_info[:2] < (3, 13), reason="the name of the interpreter is compared")
def test_which_python_analyses(project, kymo, tmp_path):
    """The one that is asked for; else of the recorded version by its name on PATH; never what the trace names."""
    script = f"#!/bin/sh\necho \"$0\" >>'{tmp_path}/runs'\nexec '{sys.executable}' \"$@\"\n"
    for name in f"python3.{MINOR}", "python3", "mine":
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)

    def ran(*words, **variables):
        path = {"PATH": f"{tmp_path}:/usr/bin:/bin", "KYMO_PYTHON": None, "VIRTUAL_ENV": None}
        kymo("coverage", *words, "flow.kymo", cwd=project, env=path | variables)
        lines = (tmp_path / "runs").read_text().splitlines()
        (tmp_path / "runs").unlink()
        return lines[-1]

    assert ran() == f"{tmp_path}/python3.{MINOR}"
    assert ran("--python=mine") == ran("--python", "mine") == ran(KYMO_PYTHON="mine") == f"{tmp_path}/mine"
    (tmp_path / f"python3.{MINOR}").write_text("#!/bin/sh\nexit 127\n")
    assert ran() == f"{tmp_path}/python3"


@pytest.mark.skipif(not shutil.which("python3.11"), reason="there is no Python 3.11")
def test_a_python_that_is_too_old(project, kymo):
    one_line(
        kymo("coverage", "--python=python3.11", "flow.kymo", cwd=project, check=False), 1, "older than Python 3.12"
    )


HOSTILE = "<script>alert('a')</script>\x1b[31m\n,\"&'\udcff.py"


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)


def test_hostile_names_are_escaped(kymo, tmp_path, counts_file):
    from kymo.coverage.model import Branch

    source = b"def f():  # </td><script>\x1b[31m\x07\n    return 1\n"
    counts = counts_of(f"{tmp_path}/{HOSTILE}".encode("utf-8", "backslashreplace").decode(), source)
    counts.functions[HOSTILE.encode("utf-8", "replace").decode(), 1] = 5
    counts.branches[Branch(1, 1, (2,), False)] = 3
    counts.context_lines[1] = {1, 2}
    path = counts_file([counts], contexts=["", "<script>\x1b[31m\n"])
    outputs = {
        form: kymo("coverage", f"--format={form}", "-m", path, cwd=tmp_path).stdout
        for form in ("text", "markdown", "lcov", "cobertura", "json")
    }
    for form, text in outputs.items():
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), form
    assert len(outputs["text"].splitlines()) == 5
    assert len(re.findall("^SF:", outputs["lcov"], re.M)) == 1 and len(outputs["lcov"].splitlines()) == 11
    (name,) = (each.get("filename") for each in ElementTree.fromstring(outputs["cobertura"]).iter("class"))
    assert "<script>" in name and "\x1b" not in name
    kymo("coverage", "--format=html", "--show-contexts", "-o", "pages", path, cwd=tmp_path)
    for page in (tmp_path / "pages").iterdir():
        text = page.read_text()
        assert "script" not in Tags(text).tags and "\x1b" not in text and "&lt;script&gt;" in text
    assert kymo("coverage", f"--ran-by={counts.file}:1", path, cwd=tmp_path).stdout == "<script>?[31m?\n"
    kymo("coverage", "--format=coverage-db", "--branch", "-o", ".data", path, cwd=tmp_path)
    assert sqlite3.connect(tmp_path / ".data").execute("SELECT path FROM file").fetchall() == [(counts.file,)]


def test_sources_that_are_no_python(kymo, tmp_path, counts_file):
    for source in (
        b"def f(:\n",
        b"\0",
        b"# coding: nothing\n",
        b"\xff\xfe",
        b"# coding: rot13\nx\n",
        b"(" * 9999,
        b"x = 1\n" * 2 + b"\x0c",
    ):
        path = counts_file([counts_of(f"{tmp_path}/a.py", source), counts_of(f"{tmp_path}/b.py")])
        done = kymo("coverage", path, cwd=tmp_path, check=False)
        if source.startswith(b"x"):
            assert done.returncode == 0
            continue
        one_line(done, 1, "a.py")
        for form in "json", "lcov", "html", "cobertura":
            done = kymo("coverage", "--ignore-errors", f"--format={form}", "-o", "out", path, cwd=tmp_path)
            one_line(done, 0, "skipped: a.py")
            (shutil.rmtree if form == "html" else lambda file: file.unlink())(tmp_path / "out")
        assert (
            kymo(
                "coverage",
                counts_file([counts_of(f"{tmp_path}/a.html", source), counts_of(f"{tmp_path}/b.py")]),
                cwd=tmp_path,
            ).stderr
            == ""
        )


def test_lines_that_no_file_has(kymo, tmp_path, counts_file):
    counts = counts_of(f"{tmp_path}/a.py")
    counts.lines |= {2**31: 1, 0: 1}
    for form in "text", "json", "lcov", "cobertura", "html", "coverage-db":
        kymo("coverage", f"--format={form}", "--branch", "-o", f"out-{form}", counts_file([counts]), cwd=tmp_path)
    counts.source = None
    for form in "text", "json", "lcov", "cobertura", "html", "coverage-db":
        kymo("coverage", f"--format={form}", "--branch", "-o", f"out-{form}", counts_file([counts]), cwd=tmp_path)


DAMAGE = [
    "DROP TABLE line",
    "UPDATE line SET hits = -1",
    "UPDATE line SET line = 'x' WHERE line = 1",
    "UPDATE file SET source = 99",
    "UPDATE source SET zlib = x'00'",
    "UPDATE context SET name = 'x'",
    "DELETE FROM facts",
    "UPDATE branch SET trail = 'x'",
    "UPDATE file SET major = 'x'",
    "INSERT INTO context_line VALUES (7, 0, 1)",
    "INSERT INTO line VALUES (7, 1, 1)",
    "UPDATE file SET name = x'ff'",
    "UPDATE source SET zlib = x'789c' || zeroblob(100)",
    "PRAGMA user_version = 2",
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_counts_file(kymo, tmp_path, counts_file, damage):
    from kymo.coverage.model import Branch

    path = counts_file([counts_of(f"{tmp_path}/a.py", branches={Branch(1, 1, (2,), False): 1})])
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute(damage)
    database.close()
    done = kymo("coverage", path, cwd=tmp_path, check=False)
    if damage == DAMAGE[11]:
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr
    else:
        one_line(done, 1, "version 2" if "user_version" in damage else "is damaged")


def test_a_cut_counts_file(kymo, tmp_path, counts_file):
    path = counts_file([counts_of(f"{tmp_path}/a.py")])
    whole, table = path.read_bytes(), kymo("coverage", path, cwd=tmp_path).stdout
    for size in range(0, len(whole), 9973):
        path.write_bytes(whole[:size])
        done = kymo("coverage", path, cwd=tmp_path, check=False)
        # The end of the last page may have nothing in it.
        if not (size > len(whole) - 4096 and done.returncode == 0 and done.stdout == table):
            one_line(done, 1, "")
    for at in range(0, len(whole), 9001):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        assert "Traceback" not in kymo("coverage", path, cwd=tmp_path, check=False).stderr
