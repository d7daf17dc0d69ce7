# SPDX-License-Identifier: Apache-2.0
"""Which of a file's statements and branches ran, and the figures in reports.

Which lines count as missing, how a branch that is excluded counts, and how percentages are rounded are
coverage.py's rules.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kymo.coverage.model import Analysis, FileCounts

Arc = tuple[int, int]
UNVERIFIED = "source unverified"


@dataclass(frozen=True, slots=True)
class Numbers:
    """Figures of a file, of a part of one, or of all together."""

    statements: int = 0
    excluded: int = 0
    missing: int = 0
    branches: int = 0
    partial: int = 0  # branches that were not taken, of statements that ran
    missing_branches: int = 0

    def __add__(self, other: "Numbers") -> "Numbers":
        return Numbers(
            self.statements + other.statements,
            self.excluded + other.excluded,
            self.missing + other.missing,
            self.branches + other.branches,
            self.partial + other.partial,
            self.missing_branches + other.missing_branches,
        )

    @property
    def covered_statements(self) -> int:
        return self.statements - self.missing

    @property
    def covered_branches(self) -> int:
        return self.branches - self.missing_branches

    @property
    def percent(self) -> float:
        """Of statements and branches together."""
        return percent(self.covered_statements + self.covered_branches, self.statements + self.branches)


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def percent_text(value: float, precision: int) -> str:
    """0 and 100 are printed only for exactly these values."""
    step = 10.0**-precision
    if 0 < value < step:
        value = step
    elif 100 - step < value < 100:
        value = 100 - step
    return f"{round(value, precision):.{precision}f}"


class FileResult:
    """A source file in a report.

    @taken has the arcs that were taken and how often, in first lines of statements; None: branches are not wanted.
    Without an analysis, only the lines of code objects that ran are known.
    """

    def __init__(
        self, counts: FileCounts, analysis: Analysis | None, taken: Mapping[Arc, int] | None = None, name: str = ""
    ):
        self.counts = counts
        self.name = name or counts.file
        self.is_source_known = analysis is not None
        if analysis is None:
            # A module begins with code of line 0.
            analysis = Analysis(set(counts.lines) - {0}, set(), {}, set(), set())
        self.analysis = analysis
        self.has_branches = taken is not None
        self.taken = taken or {}
        self.hits = _statement_hits(counts.lines, analysis)
        self.statements = analysis.statements
        self.excluded = analysis.excluded
        self.executed = {line for line, count in self.hits.items() if count}
        self.missing = self.statements - self.executed

    @cached_property
    def exits(self) -> dict[int, list[int]]:
        """Where each statement that has a choice can go to: lines, and negative ones for the way out."""
        ways: dict[int, set[int]] = {}
        if self.has_branches:
            for line, to in self.analysis.arcs:
                if line > 0 and line not in self.excluded and to not in self.excluded:
                    ways.setdefault(line, set()).add(to)
        # The way out comes last, since it mostly is the alternative.
        return {line: sorted(to, key=lambda n: (n < 0, n)) for line, to in sorted(ways.items()) if len(to) > 1}

    def times(self, line: int, to: int) -> int:
        """How often this way was taken."""
        return self.taken.get((line, to), 0)

    @cached_property
    def missing_exits(self) -> dict[int, list[int]]:
        """Ways that were not taken, of statements that have a choice and whose branches are counted."""
        missing = {
            line: [to for to in ways if not self.times(line, to)]
            for line, ways in self.exits.items()
            if line not in self.analysis.no_branch
        }
        return {line: ways for line, ways in missing.items() if ways}

    @cached_property
    def numbers(self) -> Numbers:
        return self.numbers_of(None)

    def numbers_of(self, lines: set[int] | None) -> Numbers:
        """The figures of these lines alone, or of all."""

        def within(them: Iterable[int]) -> list[int]:
            return list(them) if lines is None else [line for line in them if line in lines]

        partial = {line: len(self.missing_exits[line]) for line in within(self.missing_exits)}
        return Numbers(
            len(within(self.statements)),
            len(within(self.excluded)),
            len(within(self.missing)),
            sum(len(self.exits[line]) for line in within(self.exits)),
            sum(count for line, count in partial.items() if line not in self.missing),
            sum(partial.values()),
        )

    @property
    def marks(self) -> list[str]:
        """Notes on the figures."""
        marks = ["incomplete"] if self.counts.is_incomplete else []
        if not self.is_source_known:
            marks.append("source not recorded")
        elif not self.counts.is_verified:
            marks.append(UNVERIFIED)
        return marks

    def missing_text(self) -> str:
        """The Missing column: "1-2, 5-11, 7->9, 13->exit"."""
        items = [(first, str(first) if first == last else f"{first}-{last}") for first, last in self._missing_ranges()]
        for line, ways in self.missing_exits.items():
            if line not in self.missing:
                items += [(line, f"{line}->{to if to > 0 else 'exit'}") for to in ways if to not in self.missing]
        return ", ".join(text for _, text in sorted(items))

    def _missing_ranges(self) -> list[Arc]:
        """Runs of statements of which none ran."""
        ranges: list[Arc] = []
        is_open = False
        for line in sorted(self.statements):
            if line not in self.missing:
                is_open = False
            elif is_open:
                ranges[-1] = (ranges[-1][0], line)
            else:
                ranges.append((line, line))
                is_open = True
        return ranges


def _statement_hits(lines: Mapping[int, int], analysis: Analysis) -> dict[int, int]:
    """Times that each statement ran: the count of its first line or, if that has no code, of the line that ran most."""
    hits = dict.fromkeys(analysis.statements, 0)
    for line, count in lines.items():
        first = analysis.first_line(line)
        if first != line and first in hits and not lines.get(first):
            hits[first] = max(hits[first], count)
        elif first == line and line in hits:
            hits[line] = count
    return hits


def total(results: Iterable[FileResult]) -> Numbers:
    return sum((result.numbers for result in results), Numbers())


def _threshold_precision(fail_under: float, precision: int) -> int:
    """At least as many digits as the threshold has."""
    _, point, digits = repr(fail_under).partition(".")
    return max(precision, len(digits.rstrip("0")) if point and "e" not in digits else 0)


def is_under(covered: float, fail_under: float, precision: int) -> bool:
    """100 demands exactly 100."""
    if fail_under == 100:
        return covered != 100
    return round(covered, _threshold_precision(fail_under, precision)) < fail_under


def under_text(covered: float, fail_under: float, precision: int) -> str:
    precision = _threshold_precision(fail_under, precision)
    shown = percent_text(covered, precision) if fail_under == 100 else f"{covered:.{precision}f}"
    return f"total of {shown} is less than fail-under={fail_under:.{precision}f}"
