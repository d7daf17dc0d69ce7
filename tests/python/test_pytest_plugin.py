# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin where others record: contexts; and that it does nothing unasked."""
from collections import defaultdict

import pytest

from pytest_runs import installed, marks, needs, run, suite  # noqa: F401 - fixtures

SUITE = """
import asyncio
import threading
import unittest

import pytest

def work(value):
    total = 0
    for number in range(value):
        total += number
    return total

@pytest.fixture(scope="module")
def shared():
    yield work(2)
    work(3)

@pytest.fixture
def own(shared):
    return shared + 1

def test_plain():
    assert work(4) == 6

@pytest.mark.parametrize("value, text", [(1, "a b"), (2, "c|d"), (3, "\\u00e9[]")])
def test_parametrised(own, value, text):
    if value == 2:
        work(5)
    assert own == 2

class TestGroup:
    def setup_method(self):
        self.value = work(3)

    def test_in_class(self):
        assert self.value == 3

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.value = work(1)

    def setUp(self):
        self.own = work(2)

    def test_of_unittest(self):
        self.assertEqual(self.own, 1)

    @unittest.skip("not now")
    def test_skipped(self):
        work(9)

def test_async():
    async def main():
        await asyncio.sleep(0)
        return work(2)
    assert asyncio.run(main()) == 1
"""


@pytest.fixture
def recorded(run, build, tmp_path):
    """recorded(folder, options…): the same under `kymo record`; returns the trace."""
    def record(folder, *options, events="LINE", status=0):
        trace = tmp_path / f"{events}.kymo"
        run(folder, *options, status=status, command=[
            build / "bin" / "kymo", "record", "-q", "-f", "-o", trace, f"--events={events}", "--source=.", "-m", "pytest"])
        return trace
    return record


def lines_by_context(events, file):
    """{context: lines of the file that ran in it}; what runs outside of all is not in it."""
    lines = defaultdict(set)
    context = {}
    for event in events:
        if event["event"] == "MARK" and event["mark"].startswith("context:"):
            context[event["pid"]] = event["mark"].removeprefix("context:")
        elif event["event"] == "LINE" and context.get(event["pid"]) and event["file"] == str(file):
            lines[context[event["pid"]]].add(event["line"])
    return lines


@pytest.fixture
def coverage_contexts(run):
    """What pytest-cov and coverage.py say of the lines of each phase of each test."""
    def measure(folder, *options):
        run(folder, "--cov=.", "--cov-context=test", "--cov-report=", *options, env={"COVERAGE_CORE": "ctrace"})
        from coverage import CoverageData

        data = CoverageData(str(folder / ".coverage"))
        data.read()
        lines = defaultdict(set)
        for line, contexts in data.contexts_by_lineno(str(folder / "test_it.py")).items():
            for context in filter(None, contexts):
                lines[context].add(line)
        return lines
    return measure


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("profile", ["LINE", "flow"])
def test_contexts_are_those_of_pytest_cov(suite, recorded, events, coverage_contexts, workers, profile):
    needs("pytest_cov", *["xdist"] * bool(workers))
    folder = suite(SUITE)
    options = ["-n", workers, "--dist=loadfile"] if workers else []
    expected = coverage_contexts(folder, *options)
    seen = lines_by_context(events(recorded(folder, *options, events=profile)), folder / "test_it.py")
    assert len(expected) > 10
    assert seen == expected


def test_nothing_is_loaded_unasked(suite, run):
    folder = suite("""
        import sys
        def test_modules(request):
            assert request.config.pluginmanager.hasplugin("kymo")
            assert {name for name in sys.modules if "kymo" in name} == {"kymo", "kymo.pytest_plugin"}
            assert not request.getfixturevalue("kymo_recorder").is_recording
        """)
    run(folder)


def test_the_plugin_can_be_left_out(suite, recorded, marks):
    assert marks(recorded(suite(SUITE), "-p", "no:kymo")) == []


def test_a_pytest_inside_a_test_belongs_to_it(suite, recorded, marks):
    folder = suite("""
        pytest_plugins = ["pytester"]
        def test_outer(pytester):
            pytester.makepyfile("def test_inner(): assert 1")
            pytester.runpytest_inprocess().assert_outcomes(passed=1)
            pytester.runpytest_inprocess().assert_outcomes(passed=1)
        def test_after():
            pass
        """)
    names = [f"test_it.py::{test}|{phase}" for test in ("test_outer", "test_after") for phase in ("setup", "run", "teardown")]
    assert marks(recorded(folder)) == [mark for name in names for mark in (f"context:{name}", "context:")]
