# SPDX-License-Identifier: Apache-2.0
"""Settings of coverage.py, and patterns of file names, against coverage.py itself."""

import re

import coverage_project
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def project(tmp_path_factory, kymo):
    folder = coverage_project.make(tmp_path_factory.mktemp("project").resolve())
    coverage_project.coverage(folder, "run", "--branch", "--data-file=.data", "main.py")
    kymo("record", "-q", "-o", "run.kymo", "main.py", cwd=folder)
    return folder


BRANCH = "[run]\nbranch = true\n"
FILES = {
    "nothing": (".coveragerc", BRANCH),
    "show_missing": (
        ".coveragerc",
        BRANCH + "[report]\nshow_missing = yes\nskip_empty=on\nprecision = 2\nsort = -cover\n",
    ),
    "skip_covered": (".coveragerc", BRANCH + "[report]\nskip_covered = 1\nshow_missing=True\n"),
    "omit": (".coveragerc", BRANCH + "[report]\nomit =\n    */e*\n    main.py, pkg/__*\n"),
    "include": (".coveragerc", BRANCH + "[report]\ninclude = **/pkg/*\n"),
    "prefixed": (".coveragerc", "[coverage:run]\nbranch = true\n[coverage:report]\nshow_missing = true\n"),
    "exclude": (
        ".coveragerc",
        BRANCH + "[report]\nshow_missing = 1\nexclude_also =\n    def never\n    raise ValueError\n",
    ),
    "exclude all": (
        ".coveragerc",
        BRANCH + "[report]\nshow_missing = 1\nexclude_lines =\n    if x:\n    import functools\n",
    ),
    "partial": (".coveragerc", BRANCH + "[report]\nshow_missing = 1\npartial_also = if x:\n"),
    "partial all": (
        ".coveragerc",
        BRANCH + "[report]\nshow_missing = 1\npartial_branches = nothing\npartial_branches_always =\n   match\n",
    ),
    "setup.cfg": (
        "setup.cfg",
        "[metadata]\nname = x\n[coverage:run]\nbranch = 1\n[coverage:report]\nshow_missing = 1\n",
    ),
    "tox.ini": ("tox.ini", "[tox]\n[coverage:run]\nbranch = 1\n[coverage:report]\nshow_missing = 1\nprecision = 1\n"),
    "pyproject.toml": (
        "pyproject.toml",
        "[tool.coverage.run]\nbranch = true\n[tool.coverage.report]\nshow_missing = true\n"
        "exclude_also = ['def never', 'x{1,2}:']\nomit = ['main*']\nprecision = 3\n",
    ),
    "toml": (".coveragerc.toml", "[run]\nbranch = true\n[report]\nshow_missing = true\n"),
    "variables": (".coveragerc", BRANCH + "[report]\nomit = ${NOT_SET-main.py}, $HOME/x, a$$b\n"),
    "markdown": (".coveragerc", BRANCH + "[report]\nformat = total\nprecision = 4\n"),
    "of recording": (
        ".coveragerc",
        BRANCH + "concurrency = thread\nparallel = true\nplugins = some.plugin\ndata_file = .x\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_settings_mean_what_they_mean_to_coverage_py(project, kymo, name):
    file, text = FILES[name]
    (project / file).write_text(text)
    try:
        if name == "of recording":
            (project / file).write_text(BRANCH)
        wanted = coverage_project.coverage(project, "report", "--data-file=.data")
        (project / file).write_text(text)
        assert kymo("coverage", "run.kymo", cwd=project).stdout == wanted
    finally:
        (project / file).unlink()


def test_the_first_file_that_has_settings_counts(project, kymo):
    texts = {
        "setup.cfg": "[metadata]\n",
        "tox.ini": "[coverage:report]\nprecision = 1\n",
        "pyproject.toml": "[tool.coverage.report]\nprecision=3",
    }
    for file, text in texts.items():
        (project / file).write_text(text)
    tables = [
        coverage_project.coverage(project, "report", "--data-file=.data"),
        kymo("coverage", "--branch", "run.kymo", cwd=project).stdout,
    ]
    (project / ".mine").write_text("[report]\nprecision = 2\n")
    tables.append(kymo("coverage", "--rcfile=.mine", "--format=total", "run.kymo", cwd=project).stdout)
    for file in texts:
        (project / file).unlink()
    assert tables[0] == tables[1] and re.fullmatch(r"\d+\.\d\d\n", tables[2])


WRONG = {
    "[report]\nprecision = two": "[report] precision = 'two': must be a whole number",
    "[report]\nprecision = -1": "[report] precision = -1: must be from 0 to 15",
    "[report]\nfail_under = 101": "[report] fail_under = 101.0: must be from 0 to 100",
    "[report]\nshow_missing = perhaps": "[report] show_missing = 'perhaps': must be true or false",
    "[report]\nexclude_lines = (": "[report] exclude_lines: invalid regular expression '('",
    "[report]\nsort = size": "cannot sort by 'size'",
    "[report]\nformat = pdf": "unknown format 'pdf'",
    "[report]\nomit = ${NOT_SET?}": "the variable NOT_SET is not set",
    "[report]\nomit = ***": "invalid pattern '",
    "[paths]\nx =\n  src\n  /y/*": "invalid pattern in [paths]: '/y/*' ends with a wildcard",
    "[report": "File contains no section headers",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_settings_are_one_line(project, kymo, tmp_path, text):
    (tmp_path / "rc").write_text(text + "\n")
    done = kymo("coverage", f"--rcfile={tmp_path}/rc", "run.kymo", cwd=project, check=False)
    assert (done.returncode, done.stdout) == (1, "") and WRONG[text] in done.stderr and done.stderr.count("\n") == 1


def test_wrong_toml(project, kymo, tmp_path):
    for text in (
        "[tool.coverage.report]\nomit = 5",
        "[tool.coverage.report]\nprecision = []",
        "[tool.coverage.report\n",
        "[tool.coverage.report]\nbad = \xff",
    ):
        (tmp_path / "rc.toml").write_bytes(text.encode("latin-1"))
        done = kymo("coverage", f"--rcfile={tmp_path}/rc.toml", "run.kymo", cwd=project, check=False)
        assert (
            done.returncode == 1
            and done.stderr.startswith(f"kymo: {tmp_path}/rc.toml: ")
            and done.stderr.count("\n") == 1
        )


@settings(max_examples=400, deadline=None)
@given(
    pattern=st.lists(st.sampled_from(["*", "**", "a", "b", "?", "/", "[ab]", ".py", "x"]), min_size=1, max_size=7).map(
        "".join
    ),
    names=st.lists(
        st.lists(st.sampled_from(["a", "b", "/", ".py", "x"]), min_size=1, max_size=7).map("".join),
        min_size=3,
        max_size=9,
    ),
)
def test_patterns_match_what_they_match_for_coverage_py(pattern, names):
    from coverage.exceptions import ConfigError
    from coverage.files import globs_to_regex
    from kymo.coverage.errors import CoverageError
    from kymo.coverage.patterns import to_regex

    # It takes three stars at the end of a pattern only.
    if "***" in pattern:
        return
    try:
        wanted = globs_to_regex([pattern])
    except ConfigError:
        with pytest.raises(CoverageError):
            to_regex(pattern)
        return
    found = re.compile(to_regex(pattern))
    for name in names:
        assert bool(found.fullmatch(name)) == bool(wanted.match(name)), (pattern, name)


def test_excluded_by_default_is_what_coverage_py_excludes():
    from coverage import config
    from kymo.coverage import settings as ours

    sample = [
        line + end
        for line in (
            "x  # pragma: no cover",
            "x #pragma no cover",
            "# PRAGMA:NO COVER",
            "x # pragma: no branch",
            "#pragma:NO BRANCH",
            "def f(): ...",
            "async def f(a) -> int: ...",
            "    ...",
            "...",
            "x = ...",
            "if TYPE_CHECKING:",
            "if typing.TYPE_CHECKING:",
            "if not TYPE_CHECKING:",
            "while True:",
            "while 1:",
            "if 0:",
            "while x:",
            "    ]: ...",
            ") -> None: ...",
            "class A: ...",
        )
        for end in ("", "  # why", " x")
    ]
    for wanted, found in (
        (config.DEFAULT_EXCLUDE, ours.DEFAULT_EXCLUDE),
        (config.DEFAULT_PARTIAL + config.DEFAULT_PARTIAL_ALWAYS, ours.DEFAULT_PARTIAL + ours.DEFAULT_PARTIAL_ALWAYS),
    ):
        matches = [
            [bool(re.search("|".join(f"(?:{regex})" for regex in regexes), line)) for line in sample]
            for regexes in (wanted, found)
        ]
        assert matches[0] == matches[1] and any(matches[0]) and not all(matches[0])


def test_nothing_is_imported_from_the_environment(project, kymo, tmp_path):
    """Neither the working directory, nor PYTHONPATH, nor a sitecustomize.py have a say in the report."""
    for name in ("argparse", "sitecustomize", "kymo", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
        (project / f"{name}.py").write_text("raise SystemExit('imported')")
    try:
        done = kymo("coverage", "--format=json", "run.kymo", cwd=project, env={"PYTHONPATH": tmp_path, "KYMO": "1"})
    finally:
        for name in ("argparse", "sitecustomize", "kymo", "json"):
            (project / f"{name}.py").unlink()
    assert "main.py" in done.stdout and not list(project.glob("kymo-*"))
