# SPDX-License-Identifier: Apache-2.0
"""Projects in which every warning is an error: their tests come out as they do without Kymo.

One is made here; others are click and jinja2 from PyPI, as they are, each on some versions of CPython.
"""
import functools
import importlib.util
import subprocess
import sys
from collections import Counter
from xml.etree import ElementTree

import pytest

import coverage_oracle
import environments
from conftest import ROOT, TIMEOUT, environment

SETTINGS = """\
[tool.pytest.ini_options]
addopts = "--strict-config --strict-markers -p no:cacheprovider -p no:asyncio"
filterwarnings = ["error"]
xfail_strict = true
"""
TESTS = """
import subprocess, sys, warnings
import pytest

@pytest.mark.parametrize("n", range(3))
def test_passes(n):
    assert n >= 0

def test_fails():
    assert [1] == [2]

def test_warns():
    warnings.warn("an error here", UserWarning)

@pytest.mark.xfail(reason="known")
def test_expected():
    assert False

@pytest.mark.skip(reason="not here")
def test_left_out():
    pass

def test_child():
    subprocess.run([sys.executable, "-W", "error", "-c", "pass"], check=True)
"""
# What is recorded, and by whom: command, options, environment.
WAYS = {
    "kymo record": (["record", "-qfo", "{trace}", "-m", "pytest"], [], {}),
    "KYMO=1": (None, [], {"KYMO": "1", "KYMO_OUTPUT": "{trace}", "KYMO_FORCE": "1"}),
    "--kymo=on": (None, ["--kymo=on", "--kymo-dir={folder}/traces"], {}),
    "--kymo=retain-on-failure": (None, ["--kymo=retain-on-failure", "--kymo-dir={folder}/traces"], {}),
}
# With each version of CPython one of them: it is imports and warnings that differ, not the interpreter.
SUITES = {12: "jinja2", 13: "click", 14: "jinja2", 15: "click"}


def outcome(case):
    found = {part.tag for part in case} & {"failure", "error", "skipped"}
    return "+".join(sorted(found)) or "passed"


def outcomes(report):
    """How often each test ended in which way."""
    return Counter((case.get("classname"), case.get("name"), outcome(case)) for case in ElementTree.parse(report).iter("testcase"))


def run(python, project, folder, options=(), way=None, **env):
    """Run the tests of @project in the environment of @python: its outcomes and its output."""
    report = folder / "junit.xml"
    report.unlink(missing_ok=True)
    command, more, variables = WAYS.get(way, (None, [], {}))
    words = [python.parent / "kymo", *command] if command else [python, "-m", "pytest"]
    words = [str(word).format(trace=folder / "trace.kymo", folder=folder)
             for word in [*words, *more, "-q", f"--junitxml={report}", *options]]
    variables = {name: value.format(trace=folder / "trace.kymo") for name, value in variables.items()}
    done = subprocess.run(words, cwd=project, env=environment({"KYMO_PYTHON": python, "PYTHONHASHSEED": "0"} | variables | env),
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert report.exists(), f"{way}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return outcomes(report), done


@functools.cache
def plain(python, project, folder, options):
    folder.mkdir()
    return run(python, project, folder, options)


@pytest.fixture(scope="module")
def strict(build, tmp_path_factory):
    """The interpreter, and the folder of a project."""
    folder = tmp_path_factory.mktemp("strict")
    python = environments.make(folder / "venv", build, shared=[environments.of_the_tests()])
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(SETTINGS)
    (project / "test_it.py").write_text(TESTS)
    return python, project


@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["alone", "xdist"])
@pytest.mark.parametrize("way", WAYS)
def test_strict_settings(strict, way, options, tmp_path):
    if options and not importlib.util.find_spec("xdist"):
        pytest.skip("pytest-xdist is not installed")
    python, project = strict
    expected, _ = plain(python, project, python.parents[2] / f"plain{len(options)}", options)
    assert len(expected) == 8
    found, done = run(python, project, tmp_path, options, way)
    assert found == expected, done.stdout + done.stderr
    assert "kymo" not in done.stderr and "PytestAssertRewriteWarning" not in done.stdout


@pytest.mark.parametrize("options", [["-W", "error"], ["-X", "dev", "-W", "error"]], ids=" ".join)
def test_nothing_warns_at_the_start(strict, options, tmp_path):
    python, _ = strict
    for env in {}, {"KYMO": "1", "KYMO_OUTPUT": tmp_path / "trace.kymo"}:
        done = subprocess.run([python, *options, "-c", "import sys; print(sys.warnoptions)"], env=environment(env),
                              cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def suite(build, tmp_path_factory):
    """The interpreter, the unpacked source of a project from PyPI, and options for its tests."""
    name = SUITES[sys.version_info.minor]
    project = coverage_oracle.PROJECTS[name]
    work = ROOT / "build" / "coverage-oracle"
    try:
        source, needed = coverage_oracle.fetch(name, project, work)
    except (RuntimeError, OSError, ValueError) as error:
        pytest.skip(f"the source distribution of {name} {project.version} cannot be had: {error}")
    folder = tmp_path_factory.mktemp(name)
    python = environments.make(folder / "venv", build, shared=[source / project.path, needed, environments.of_the_tests()])
    # Plugins that Kymo's own tests use are none of the project's.
    others = ("asyncio", "rerunfailures", "timeout", "hypothesispytest", "pytest_cov", "anyio")
    return python, source, ("-p", "no:cacheprovider", *(f"-pno:{name}" for name in others), *project.options)


@pytest.mark.parametrize("way", WAYS)
def test_suites_of_projects(suite, way, tmp_path):
    python, source, options = suite
    expected, done = plain(python, source, python.parents[2] / "plain", options)
    assert len(expected) > 500, done.stdout
    found, done = run(python, source, tmp_path, options, way)
    assert not found - expected and not expected - found, done.stdout[-5000:] + done.stderr
