# SPDX-License-Identifier: Apache-2.0
"""What could have run of a source file: statements and branches, by the rules of coverage.py."""

from collections.abc import Sequence

from kymo.coverage.arcs import find_arcs
from kymo.coverage.model import Analysis
from kymo.coverage.statements import docstring_lines, excluded_lines, matching_lines, parse


def analyse(source: bytes, filename: str, *, exclude: Sequence[str], partial: Sequence[str]) -> Analysis:
    """Analyse @source as the Python that runs this would compile it.

    @exclude and @partial are regular expressions: for lines that are excluded, and for lines whose branches are not counted.
    AnalysisError: it cannot be compiled, or a pattern is not valid.
    """
    parsed = parse(source, filename)
    excluded = excluded_lines(parsed, filename, exclude)
    ignored = excluded | docstring_lines(parsed)
    found = find_arcs(parsed)
    return Analysis(
        statements=parsed.firsts(parsed.code_lines - ignored) - ignored,
        excluded=excluded,
        first_lines=parsed.first_lines,
        arcs={arc for arc in found.arcs if excluded.isdisjoint(arc)},
        no_branch=parsed.firsts(matching_lines(parsed.text, filename, partial)),
        reasons=found.reasons,
        over_with=found.over_with,
        one_line=found.one_line,
        raises=found.raises,
        async_loops=found.async_loops,
    )


def describe_arc(analysis: Analysis, line: int, to: int) -> str:
    """A short text that says what it means that an arc was never taken."""
    where = f"to line {to}" if to > 0 else f"out of what starts on line {-to}"
    why = analysis.reasons.get((line, to))
    return f"line {line} never led {where}" + (f": {why}" if why else "")
