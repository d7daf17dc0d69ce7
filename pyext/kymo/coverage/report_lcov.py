# SPDX-License-Identifier: Apache-2.0
"""LCOV tracefiles, for genhtml and the services that read them."""

from collections.abc import Iterator

from kymo.coverage.calls import function_calls
from kymo.coverage.report import Report, printable
from kymo.coverage.results import FileResult
from kymo.coverage.source_text import lines


def write(report: Report) -> Iterator[str]:
    """Lines of the file."""
    if not report.are_hits_counted:
        yield "# recorded once for each line and branch: 1 means that it ran, not how often"
    for result in sorted(report.results, key=lambda result: result.name):
        if result.statements or not report.settings.skip_empty:
            yield from _file(report, result)


def _file(report: Report, result: FileResult) -> Iterator[str]:
    for mark in result.marks:
        yield f"# {mark}: {printable(result.name)}"
    yield "TN:"
    yield f"SF:{printable(result.name)}"
    yield from _functions(result)
    yield from _branches(result)
    hashes = _line_hashes(result.counts.source) if report.settings.lcov_line_checksums else {}
    for line in sorted(result.statements):
        yield f"DA:{line},{result.hits[line]}{hashes.get(line, '')}"
    yield f"LF:{result.numbers.statements}"
    yield f"LH:{result.numbers.covered_statements}"
    yield "end_of_record"


def _functions(result: FileResult) -> Iterator[str]:
    calls = function_calls(result)
    names: dict[str, int] = {}
    for function in calls:
        # A name that occurs twice in a file gets its line.
        name = printable(function.name)
        if name in names:
            name += f"@{function.start}"
        names[name] = function.calls
        yield f"FN:{function.start},{name}"
    for name, count in names.items():
        yield f"FNDA:{count},{name}"
    if names:
        yield f"FNF:{len(names)}"
        yield f"FNH:{sum(map(bool, names.values()))}"


def _branches(result: FileResult) -> Iterator[str]:
    """The ways of a line that never ran have `-` for their count; ways that are not counted are left out."""
    for line, ways in result.exits.items():
        for number, to in enumerate(ways):
            taken = result.times(line, to)
            if taken or line not in result.analysis.no_branch:
                yield f"BRDA:{line},0,{number},{'-' if line in result.missing else taken}"
    if result.exits:
        yield f"BRF:{result.numbers.branches}"
        yield f"BRH:{result.numbers.covered_branches}"


def _line_hashes(source: bytes | None) -> dict[int, str]:
    import base64
    import hashlib

    texts = lines(source or b"")
    digests = (hashlib.md5(text.encode(), usedforsecurity=False).digest() for text in texts)
    return {number: "," + base64.b64encode(digest).decode().rstrip("=") for number, digest in enumerate(digests, 1)}
