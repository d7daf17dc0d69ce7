# SPDX-License-Identifier: Apache-2.0
"""The analysis of a source file by an installed coverage.py, as a reference for our own.

It uses the interface of file reporters, which coverage.py documents for plugins.
"""

import dataclasses
import importlib
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from kymo.coverage.analysis import analyse
from kymo.coverage.model import Analysis
from kymo.coverage.statements import AnalysisError

OLDEST = (7, 10)  # older versions were not tried; the rules here are those of 7.17


def analyse_by_coverage(source: bytes, filename: str, *, exclude: Sequence[str], partial: Sequence[str]) -> Analysis:
    """As analyse(), which also supplies the rules for reading trails as arcs: coverage.py has none.

    AnalysisError: as there, or this Python has no coverage.py, or one that is too old.
    """
    ours = analyse(source, filename, exclude=exclude, partial=partial)
    coverage = _coverage()
    control = coverage.Coverage(data_file=None, config_file=False)
    control.set_option("report:exclude_lines", list(exclude))
    control.set_option("report:partial_branches", list(partial))
    control.set_option("report:partial_branches_always", [])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "source.py")
        path.write_bytes(source)
        reporter = coverage.python.PythonFileReporter(str(path), control)
        try:
            excluded = set(reporter.excluded_lines())
            firsts = {line: first for line in range(1, source.count(b"\n") + source.count(b"\r") + 2)
                      for first in reporter.translate_lines([line]) if first != line}
            return dataclasses.replace(
                ours,
                statements=set(reporter.lines()),
                excluded=excluded,
                first_lines=firsts,
                arcs={arc for arc in reporter.arcs() if excluded.isdisjoint(arc)},
                no_branch=set(reporter.no_branch_lines()) if partial else set(),
            )
        except coverage.CoverageException as error:
            raise AnalysisError(filename, None, f"coverage.py says: {error}") from error


def _coverage() -> ModuleType:
    wanted = ".".join(map(str, OLDEST))
    try:
        coverage = importlib.import_module("coverage")
        importlib.import_module("coverage.python")
    except ImportError as error:
        raise AnalysisError(sys.executable, None, f"has no coverage.py; install {wanted} or newer for it") from error
    if coverage.version_info < OLDEST:
        raise AnalysisError(sys.executable, None, f"has coverage.py {coverage.__version__}; {wanted} or newer is needed")
    return coverage
