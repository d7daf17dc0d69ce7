# SPDX-License-Identifier: Apache-2.0
"""For tests run by xdist workers: how a worker died is read from its trace."""

import time
from pathlib import Path

import pytest

import kymo
from kymo.testing import last_lines, reports
from kymo.testing.owners import Owners
from kymo.testing.recording import joined_trace, written

_PATIENCE_S = 10


class Workers:
    def __init__(self, config, settings, stem):
        self._config, self._settings, self._stem = config, settings, stem
        self._dead = []  # workers that no test's report has named

    def _stem_of(self, node):
        return f"{self._stem}-{node.gateway.id}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["kymo_stem"] = self._stem_of(node)

    def _trace_of(self, node):
        """The trace that the worker recorded last, when it is complete: its reader finds out that the worker is dead."""
        stem = Path(self._stem_of(node))
        traces = {Path(str(file).removesuffix(".incomplete")) for file in stem.parent.glob(f"{stem.name}*.kymo*")
                  if file.name[len(stem.name)] in ".-" and file.name.endswith((".kymo", ".incomplete"))}
        if not traces:
            return None
        path = max(traces, key=lambda path: written(path).stat().st_mtime_ns)
        give_up = time.monotonic() + _PATIENCE_S
        while not path.exists() and time.monotonic() < give_up:
            time.sleep(0.01)
        return path

    def _describe(self, node):
        """(the worker's end, its last lines, path or None)"""
        if kymo.is_recording():
            kymo.snapshot("a worker died")
            path = joined_trace()
            pid = node.gateway._io.popen.pid
        else:
            path, pid = self._trace_of(node), None
        if path is None:
            return "nothing was recorded", [], None
        options = {"file": written(path), "count": self._settings.last, "pid": pid}
        lines, end = last_lines.read(**options, owner_of=Owners(self._config))
        if not lines:
            lines, end = last_lines.read(**options)
        return end, lines, path

    def _tell(self, node):
        """(what became of it, its last lines, path or None)"""
        try:
            end, lines, path = self._describe(node)
        except Exception as error:
            end, lines, path = f"its trace cannot be read: {error}", [], None
        return f"worker {node.gateway.id}: {end}; the last {self._settings.last} lines of each thread", lines, path

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        if error:
            self._dead.append(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, report):
        # xdist calls this right after the other one.
        if self._dead:
            head, lines, path = self._tell(self._dead.pop())
            reports.add_lines(report, head, lines, path)
            if path:
                reports.add_trace(report.user_properties, path)

    def pytest_terminal_summary(self, terminalreporter):
        """Workers that died between two tests."""
        for node in self._dead:
            terminalreporter.section("kymo: a worker died while no test ran")
            for line in reports.text_of(*self._tell(node)).splitlines():
                terminalreporter.write_line(line)
