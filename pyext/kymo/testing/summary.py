# SPDX-License-Identifier: Apache-2.0
"""The summary at the end of a run: the traces of the tests that failed, on the terminal and in GitHub's step summary."""

import os
import re
import shlex

from kymo.testing import baseline, reports
from kymo.testing.recording import run_kymo

_SHOWN = 50  # GitHub refuses summaries above 1 MB


class Failure:
    def __init__(self, report):
        self.nodeid, self.trace, self.count = report.nodeid, reports.trace_of(report), 0
        self.lines = getattr(report, "kymo_lines", None)
        self.passed = None  # trace of a later attempt that did


class Summary:
    def __init__(self, settings):
        self._settings = settings
        self._failures = {}

    def pytest_runtest_logreport(self, report):
        if report.outcome in ("failed", "rerun") and reports.trace_of(report):
            self._failures.setdefault(report.nodeid, Failure(report)).count += 1
        elif self._failures and report.passed and report.when == "call" and report.nodeid in self._failures:
            self._failures[report.nodeid].passed = reports.trace_of(report)

    def _compare(self, failure):
        """Where it diverged from an attempt that passed; nothing if there is none, or it is not wanted."""
        passed = failure.passed if self._settings.diff else None
        if passed is None and self._settings.baseline and not self._settings.saves_baseline:
            passed = baseline.find(self._settings.baseline, failure.nodeid)
        if passed is None:
            return []
        try:
            return run_kymo("diff", "--limit=5", f"--test={failure.nodeid}", passed, failure.trace).splitlines()
        except OSError as error:
            return [f"not compared: {error}"]

    def pytest_terminal_summary(self, terminalreporter):
        if not self._failures:
            return
        terminalreporter.section("kymo")
        for failure in self._failures.values():
            times = f" failed {failure.count} times" if failure.count > 1 else ""
            terminalreporter.write_line(f"{failure.nodeid}{times}: {_command(failure)}")
            for line in self._compare(failure):
                terminalreporter.write_line(f"  {line}")
        if path := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                with open(path, "a", encoding="utf-8") as file:
                    file.write(_markdown([*self._failures.values()]))
            except OSError as error:
                terminalreporter.write_line(f"kymo: cannot write the step summary: {error}")


def _command(failure):
    """The shell command that goes to the place of the failure."""
    return shlex.join(["kymo", "replay", f"--test={failure.nodeid}", str(failure.trace)])


def _code(text):
    """In a table's cell, whatever is in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}".replace("|", "\\|") if "`" in text else f"`{text}`".replace("|", "\\|")


def _markdown(failures):
    rows = [f"| {_code(failure.nodeid)} | {failure.count} | {_code(failure.trace)} |" for failure in failures[:_SHOWN]]
    parts = ["### Tests that failed, and their recordings", "", "| test | times | trace |", "|---|---|---|", *rows]
    if len(failures) > _SHOWN:
        parts += ["", f"and {len(failures) - _SHOWN} more"]
    for failure in failures[:_SHOWN]:
        if failure.lines:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", failure.lines)), default=0))
            parts += ["", f"<details><summary>{_html(failure.nodeid)}</summary>", "", fence, failure.lines, fence, "", "</details>"]
    return "\n".join(parts) + "\n\n"


def _html(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
