# SPDX-License-Identifier: Apache-2.0
"""coverage.py's data file, version 7 of its schema: its own reports are made from it, and services read it."""

import datetime
import sqlite3

from kymo._output import SHARED
from kymo.coverage.counts_file import new_database
from kymo.coverage.model import FileCounts
from kymo.coverage.report import Report
from kymo.coverage.results import FileResult
from kymo.coverage.scope import relative
from kymo.coverage.trails import arcs_taken

_SCHEMA_VERSION = 7
_LAST_LINE = 10_000_000  # of any file; a trace may claim more
_SCHEMA = """
CREATE TABLE coverage_schema (version integer);
CREATE TABLE meta (key text, value text, unique (key));
CREATE TABLE file (id integer primary key, path text, unique (path));
CREATE TABLE context (id integer primary key, context text, unique (context));
CREATE TABLE line_bits (
    file_id integer, context_id integer, numbits blob,
    foreign key (file_id) references file (id), foreign key (context_id) references context (id),
    unique (file_id, context_id));
CREATE TABLE arc (
    file_id integer, context_id integer, fromno integer, tono integer,
    foreign key (file_id) references file (id), foreign key (context_id) references context (id),
    unique (file_id, context_id, fromno, tono));
CREATE TABLE tracer (file_id integer primary key, tracer text, foreign key (file_id) references file (id));
"""


def write(report: Report, path: str) -> None:
    """The file replaces what is at @path when it is complete."""
    with new_database(path, True, SHARED) as database:
        database.executescript(_SCHEMA)
        _fill(database, report)


def _fill(database: sqlite3.Connection, report: Report) -> None:
    incomplete = [result.name for result in report.results if result.counts.is_incomplete]
    meta = {
        "has_arcs": str(int(report.has_branches)),
        "version": f"kymo {report.version}",
        "when": datetime.datetime.now().isoformat(" ", "seconds"),
    }
    if incomplete:
        meta["kymo_incomplete"] = "\n".join(incomplete)
    database.execute("INSERT INTO coverage_schema VALUES (?)", (_SCHEMA_VERSION,))
    database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    database.executemany("INSERT INTO context VALUES (?, ?)", enumerate(report.contexts, 1))
    for number, result in enumerate(report.results, 1):
        name = relative(result.counts.file) if report.settings.relative_files else result.counts.file
        database.execute("INSERT INTO file VALUES (?, ?)", (number, name))
        for context, lines, arcs in _by_context(result):
            if report.has_branches:
                # A line that ran is an arc to itself, which no analysis mistakes for a branch.
                rows = arcs | {(line, line) for line in lines}
                database.executemany(
                    "INSERT INTO arc VALUES (?, ?, ?, ?)", ((number, context + 1, *arc) for arc in sorted(rows))
                )
            elif lines:
                database.execute("INSERT INTO line_bits VALUES (?, ?, ?)", (number, context + 1, numbits(lines)))


def _by_context(result: FileResult) -> list[tuple[int, set[int], set[tuple[int, int]]]]:
    """What ran in each context, by its number; what ran in no context is in the first one."""
    counts = result.counts
    lines = {number: set(ran) for number, ran in counts.context_lines.items()}
    numbers = sorted(lines.keys() | counts.context_branches.keys())
    arcs = {number: _arcs_of(result, number) for number in numbers} if result.has_branches else {}
    ran = {line for line, count in counts.lines.items() if count}
    lines.setdefault(0, set()).update(ran.difference(*lines.values()))
    arcs.setdefault(0, set()).update(set(result.taken).difference(*arcs.values()))
    return [
        (number, lines.get(number, set()), arcs.get(number, set())) for number in sorted(lines.keys() | arcs.keys())
    ]


def _arcs_of(result: FileResult, context: int) -> set[tuple[int, int]]:
    counts = result.counts
    lines = dict.fromkeys(counts.context_lines.get(context, ()), 1)
    branches = dict.fromkeys(counts.context_branches.get(context, ()), 1)
    alone = FileCounts(counts.file, counts.version, lines=lines, branches=branches)
    return set(arcs_taken(alone, result.analysis, are_hits_counted=False)[0])


def numbits(lines: set[int]) -> bytes:
    """A set of lines as bits: line n is bit n % 8 of byte n // 8."""
    lines = {line for line in lines if line <= _LAST_LINE}
    bits = bytearray(max(lines, default=-1) // 8 + 1)
    for line in lines:
        bits[line // 8] |= 1 << line % 8
    return bytes(bits)
