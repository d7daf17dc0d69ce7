# SPDX-License-Identifier: Apache-2.0
"""Which tests ran a line."""

from kymo.coverage.errors import CoverageError
from kymo.coverage.merging import absolute_name
from kymo.coverage.report import Report, printable
from kymo.coverage.results import FileResult


def print_contexts(report: Report, place: str) -> int:
    """The contexts in which FILE:LINE ran, one a line.  Returns the exit status: 1 if there is none."""
    name, _, number = place.rpartition(":")
    if not name or not number.isdecimal():
        raise CoverageError(f"--ran-by={place}: must be FILE:LINE")
    result = _find(report, name)
    line = result.analysis.first_line(int(number))
    contexts = report.line_contexts(result)
    ran = {context for at, names in contexts.items() if result.analysis.first_line(at) == line for context in names}
    for context in sorted(ran):
        print(printable(context) or "(in no test)")
    if not ran and line not in result.statements:
        raise CoverageError(f"{place} is not a statement")
    return 0 if ran else 1


def _find(report: Report, name: str) -> FileResult:
    """The file of this name, or the only one whose name ends so."""
    found = [result for result in report.results if name == result.name or absolute_name(name) == result.counts.file]
    found = found or [result for result in report.results if result.counts.file.endswith("/" + name)]
    if not found:
        raise CoverageError(f"{name} is not in the report")
    if len(found) > 1:
        raise CoverageError(f"{name} is ambiguous: {found[0].name} or {found[1].name}")
    return found[0]
