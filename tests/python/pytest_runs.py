# SPDX-License-Identifier: Apache-2.0
"""Runs of the real pytest with Kymo's plugin, and what they leave."""
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from xml.etree import ElementTree

import pytest

import environments
from conftest import TIMEOUT, environment


def needs(*modules):
    for module in modules:
        pytest.importorskip(module, reason=f"{module} is not installed")


@pytest.fixture(scope="session")
def installed(build, tmp_path_factory):
    """The `env` of a pytest that finds Kymo and its plugin as in an environment where it is installed."""
    site = tmp_path_factory.mktemp("site")
    environments.install(site, build)
    return {"PYTHONPATH": site, "KYMO_PROGRAM": build / "bin" / "kymo", "GITHUB_STEP_SUMMARY": None}


@pytest.fixture
def suite(tmp_path):
    """suite(text, …): a folder with a test_it.py in it, and other files by their names."""
    def make(text, **files):
        folder = tmp_path / "suite"
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n")
        for name, content in {"test_it": text, **files}.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(content))
        return folder
    return make


class Report:
    """What pytest wrote of a test to its JUnit file."""

    def __init__(self, case):
        self.name = case.get("name")
        self.traces = [entry.get("value") for entry in case.iter("property") if entry.get("name") == "kymo_trace"]
        self.texts = [part.text for tag in ("failure", "error") for part in case.iter(tag)]

    @property
    def threads(self):
        """{thread: [(file, line, function)]} of the last lines that the report ends with; of the first failure."""
        found, lines = defaultdict(list), None
        for line in self.texts[0].splitlines():
            if match := re.fullmatch(r"(?:process \d+, )?thread \d+(?: '(.*)')?:", line):
                lines = found[match[1]]
            elif lines is not None and (match := re.match(r"  (\S+|<.*?>):(\d+) (\S+)", line)):
                lines.append((match[1], int(match[2]), match[3]))
        return found


class Run:
    def __init__(self, done, folder):
        self.stdout, self.stderr, self.folder = done.stdout, done.stderr, folder

    @property
    def traces(self):
        return sorted((self.folder / "kymo-traces").glob("*"))

    @property
    def reports(self):
        return {case.get("name"): Report(case) for case in ElementTree.parse(self.folder / "junit.xml").iter("testcase")}


@pytest.fixture
def run(installed):
    """run(folder, "-n2", status=1): run pytest there; it must end with this status."""
    def run(folder, *options, status=0, env=None, command=(sys.executable, "-m", "pytest")):
        words = [*command, "-p", "no:cacheprovider", "--junitxml=junit.xml", *options]
        done = subprocess.run([*map(str, words)], cwd=folder, text=True, env=environment(installed | (env or {})),
                              capture_output=True, timeout=TIMEOUT)
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}{done.stderr}"
        return Run(done, folder)
    return run


@pytest.fixture
def marks(events):
    """marks(trace): the texts of all marks, in their order."""
    def read(trace):
        return [event["mark"] for event in events(trace, "--kind=MARK")]
    return read
