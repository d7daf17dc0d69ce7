# SPDX-License-Identifier: Apache-2.0
"""The table on the terminal, as plain text or Markdown, or the total alone."""

import re
import string
from collections.abc import Iterator

from kymo.coverage.errors import CoverageError
from kymo.coverage.report import Report, printable
from kymo.coverage.results import UNVERIFIED, FileResult, Numbers

_MARKDOWN = {ord(char): "\\" + char for char in string.punctuation if char not in ".,/-"}
_MOST_NAMES = 10  # in a line below the table
_Row = list[str]


def write(report: Report, form: str = "text") -> Iterator[str]:
    """Lines of the table.  @form: text, markdown, total."""
    if form == "total":
        yield report.percent_text(report.total.percent)
        return
    shown, covered, empty = _choose(report)
    header = ["Name", "Stmts", "Miss", *(["Branch", "BrPart"] if report.has_branches else []), "Cover"]
    rows = [_row(report, name_of(result), result.numbers) for result in _sort(shown, report)]
    footer = _row(report, "TOTAL", report.total)
    if report.settings.show_missing:
        header.append("Missing")
        for row, result in zip(rows, _sort(shown, report), strict=True):
            row.append(result.missing_text())
        footer.append("")
    yield from (_markdown if form == "markdown" else _text)(header, rows, footer)
    if report.settings.skip_covered and covered:
        yield ""
        yield f"{_files(covered)} skipped due to complete coverage."
    if report.settings.skip_empty and empty:
        yield ""
        yield f"{_files(empty, 'empty ')} skipped."
    unverified = [printable(result.name) for result in report.results if UNVERIFIED in result.marks]
    if unverified:
        more = f" and {len(unverified) - _MOST_NAMES} more" if len(unverified) > _MOST_NAMES else ""
        yield ""
        yield f"The source may not be what ran: {', '.join(unverified[:_MOST_NAMES])}{more}"


def name_of(result: FileResult) -> str:
    """The name, with what makes its figures doubtful.  Unverified texts may be many: a line below the table names them."""
    return printable(result.name) + "".join(f" ({mark})" for mark in result.marks if mark != UNVERIFIED)


def _files(count: int, which: str = "") -> str:
    return f"{count} {which}file{'' if count == 1 else 's'}"


def _row(report: Report, name: str, numbers: Numbers) -> _Row:
    counts = [numbers.statements, numbers.missing]
    if report.has_branches:
        counts += [numbers.branches, numbers.partial]
    return [name, *map(str, counts), report.percent_text(numbers.percent) + "%"]


def _choose(report: Report) -> tuple[list[FileResult], int, int]:
    """The files to show, and the numbers left out as covered and as empty."""
    shown, covered, empty = [], 0, 0
    for result in report.results:
        numbers = result.numbers
        if report.settings.skip_covered and not numbers.missing and not numbers.partial:
            covered += 1
        elif report.settings.skip_empty and not numbers.statements:
            empty += 1
        else:
            shown.append(result)
    return shown, covered, empty


def natural_key(name: str) -> tuple[list[tuple[bool, int, str]], str]:
    """Sorts numbers in names as numbers."""
    parts = re.split(r"(\d+)", name)
    return [(not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts], name


def _sort(results: list[FileResult], report: Report) -> list[FileResult]:
    wanted = report.settings.sort.lower()
    name = wanted.lstrip("+-") if wanted[:1] in "+-" else wanted
    figures = {
        "stmts": lambda numbers: numbers.statements,
        "miss": lambda numbers: numbers.missing,
        "branch": lambda numbers: numbers.branches,
        "brpart": lambda numbers: numbers.partial,
        "cover": lambda numbers: numbers.percent,
    }
    if name == "name":
        return sorted(results, key=lambda result: natural_key(result.name), reverse=wanted.startswith("-"))
    if name not in figures or (name in ("branch", "brpart") and not report.has_branches):
        raise CoverageError(f"cannot sort by '{report.settings.sort}'; use one of {', '.join(['name', *figures])}")
    return sorted(
        results, key=lambda result: (figures[name](result.numbers), result.name), reverse=wanted.startswith("-")
    )


def _text(header: _Row, rows: list[_Row], footer: _Row) -> Iterator[str]:
    at = header.index("Cover")
    widths = [7] * len(header)
    widths[0] = max(len(row[0]) for row in [*rows, footer]) + 1
    widths[at] = max([max(len(footer[at]) + 1, 6), *(len(row[at]) for row in rows)]) + 1

    def line(row: _Row) -> str:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1 : at + 1], widths[1:], strict=False)),
        ]
        return "".join(cells + [f"   {cell}" for cell in row[at + 1 :]]).rstrip()

    top = line(header)
    rule = "-" * (sum(widths[: at + 1]) + (10 if len(header) > at + 1 else 0))
    yield top
    yield rule
    yield from map(line, rows)
    if rows:
        yield rule
    yield line(footer)


def _markdown(header: _Row, rows: list[_Row], footer: _Row) -> Iterator[str]:
    cells = [
        [cell.translate(_MARKDOWN) if i == 0 or i > header.index("Cover") else cell for i, cell in enumerate(row)]
        for row in rows
    ]
    cells.append([f"**{cell}**" if cell else "" for cell in footer])
    widths = [max(len(row[i]) for row in [header, *cells]) for i in range(len(header))]

    def line(row: _Row) -> str:
        return (
            "| "
            + " | ".join(
                cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            + " |"
        )

    yield line(header)
    yield "| " + " | ".join("-" * w if not i else "-" * max(w - 1, 1) + ":" for i, w in enumerate(widths)) + " |"
    yield from map(line, cells)
