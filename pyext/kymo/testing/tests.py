# SPDX-License-Identifier: Apache-2.0
"""Attempts at tests in a process that runs them: their marks, what is kept of them, what their reports say."""

import os
import threading
import time
import unittest
import warnings

import pytest

from kymo import mark
from kymo.testing import baseline, contexts, last_lines, reports
from kymo.testing.owners import Owners, machinery
from kymo.testing.recording import Recording, written

_ATTEMPTS = pytest.StashKey()
_HAS_FAILED = pytest.StashKey()
_CLOCK_ERROR_S = 0.01


class Attempt:
    def __init__(self, item):
        self.number = item.stash[_ATTEMPTS] = item.stash.get(_ATTEMPTS, 0) + 1
        self.name = f"{self.number}|{item.nodeid}"
        self.since = time.monotonic()
        self.seconds = None  # up to the failure
        self.outcome, self.phases = "passed", []
        mark(f"test:start|{self.name}")

    def end(self):
        for text in (*self.phases, f"test:{self.outcome}|{self.name}"):
            mark(text)

    def note(self, report):
        """The outcome of a phase, and with it that of the attempt so far.  Written at the end: marks of contexts stay together."""
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = {"skipped": "xfailed", "passed": "xpassed"}.get(outcome, outcome)
        self.phases.append(f"phase:{report.when}|{outcome}")
        if outcome == "failed" or self.outcome == "passed":
            self.outcome = outcome


class _Guard:
    """Errors in it do not fail a test.  Used several times in each test: contextlib's would take four times as long."""

    def __init__(self, warn):
        self._warn = warn

    def __enter__(self):
        pass

    def __exit__(self, kind, error, traceback):
        if not isinstance(error, Exception):
            return False
        self._warn(error)
        return True


class Tests:
    _running = None  # the first in this process: a pytest that runs inside a test belongs to that test

    def __init__(self, config, settings, stem):
        self._config, self._settings, self._stem = config, settings, stem
        self._guard = _Guard(self._warn)
        self._recording = self._attempt = None
        self._owners = Owners(config)
        self._told = set()
        self._passed = {}  # traces and the tests that passed in them, for a baseline

    def _warn(self, error):
        """Say once why something is not recorded or shown.  No filter of warnings makes it an error."""
        text = f"kymo: {error}".removeprefix("kymo: kymo: ").removeprefix("kymo: ")
        if text not in self._told:
            self._told.add(text)
            message = warnings.WarningMessage(pytest.PytestWarning(f"kymo: {text}"), pytest.PytestWarning, __file__, 0)
            self._config.hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": message, "when": "runtest", "nodeid": "", "location": None})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self):
        if Tests._running:
            return (yield)
        Tests._running = self
        with self._guard:
            self._recording = Recording(self._stem, self._settings.retains, omit=[] if self._settings.runner else machinery(self._config),
                                        values=self._settings.values)
            self._recording.start()
        try:
            return (yield)
        finally:
            Tests._running = None
            with self._guard:
                self._recording.stop(keep=self._attempt is not None)
                if self._recording.growth:
                    self._warn(self._recording.growth)
                for trace, nodeids in self._passed.items():
                    baseline.note(trace, nodeids)
            self._recording = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        if self._recording:
            with self._guard:
                self._begin(item)
        return (yield)

    def _begin(self, item):
        self._attempt = None
        self._recording.start(**_wanted_of(item))
        self._attempt = Attempt(item)
        if not self._settings.retains and self._recording.path:
            reports.add_trace(item.user_properties, self._recording.path)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef):
        """A fixture of more than one test is kept, whatever the outcome of its first test: a later one may fail because of it."""
        is_apart = bool(self._recording) and fixturedef.scope != "function" and self._recording.leave_segment()
        try:
            return (yield)
        finally:
            if is_apart:
                self._recording.begin_segment()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        if not self._attempt:
            return (yield)
        is_aside = False
        if call.excinfo and not _is_expected(item, call) and self._keeps(item, "failed"):
            with self._guard:
                self._set_aside()
                is_aside = True
        report = yield
        with self._guard:
            lines = None
            if report.outcome == "failed" and self._keeps(item, "failed"):
                if not is_aside:
                    self._set_aside()
                lines = self._last_lines(call)
                # The rest of this attempt lies in no segment, so it is kept.
                self._recording.end_segment(keep=False)
            self._attempt.note(report)
            if lines is not None:
                self._tell(item, report, lines)
        if report.when == "teardown":
            with self._guard:
                self._end(item)
        return report

    def _set_aside(self):
        self._attempt.seconds = time.monotonic() - self._attempt.since + _CLOCK_ERROR_S
        self._recording.set_aside()

    def _keeps(self, item, outcome):
        if self._settings.mode == "retain-on-first-failure":
            return outcome == "failed" and self._attempt.number == 1
        return not self._settings.retains or outcome == "failed" or item.stash.get(_HAS_FAILED, False)

    def _last_lines(self, call):
        frames, entry = [], call.excinfo.tb if call.excinfo else None
        while entry:
            code = entry.tb_frame.f_code
            frames.insert(0, (code.co_filename, code.co_qualname, entry.tb_lineno))
            entry = entry.tb_next
        try:
            if (file := written(self._recording.path)) is None:
                raise FileNotFoundError("the path of the trace is not known")
            return last_lines.read(file, self._settings.last, owner_of=self._owners, seconds=self._attempt.seconds, until=contexts.END,
                                   pid=os.getpid(), tid=threading.get_native_id(), traceback=frames)[0]
        except (OSError, ValueError) as error:
            return [f"they cannot be read: {error}"]

    def _tell(self, item, report, lines):
        path = self._recording.path
        reports.add_lines(report, f"the last {self._settings.last} lines of each thread", lines, path)
        if path:
            reports.add_trace(item.user_properties, path)
            reports.add_trace(report.user_properties, path)

    def _end(self, item):
        attempt, keeps = self._attempt, self._keeps(item, self._attempt.outcome)
        attempt.end()
        self._attempt = None
        if attempt.outcome == "failed":
            item.stash[_HAS_FAILED] = True
        if self._settings.saves_baseline and attempt.outcome == "passed" and self._recording.path:
            self._passed.setdefault(self._recording.path, set()).add(item.nodeid)
        self._recording.end_segment(keeps)
        self._recording.begin_segment()


def _wanted_of(item):
    """The wishes of its closest marker; item.get_closest_marker() takes twenty calls to find that there is none."""
    node = item
    while node:
        for marker in node.own_markers:
            if marker.name == "kymo":
                return {name: marker.kwargs.get(name) for name in ("events", "values")}
        node = node.parent
    return {}


def _is_expected(item, call):
    return call.excinfo.errisinstance((pytest.skip.Exception, unittest.SkipTest, pytest.exit.Exception)) or item.get_closest_marker("xfail")
