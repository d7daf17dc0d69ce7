# SPDX-License-Identifier: Apache-2.0
"""From branches that ran to arcs between statements."""

from collections.abc import Mapping

from kymo.coverage.model import Analysis, Branch, FileCounts

Arc = tuple[int, int]


def arcs_taken(
    counts: FileCounts, analysis: Analysis, *, are_hits_counted: bool = True
) -> tuple[dict[Arc, int], dict[Branch, int]]:
    """How often each possible arc was taken that a branch decides on.

    Those of a definition with its body on its line are taken from the counts of lines and calls, which no branch shows;
    so are those of `async for` before 3.14, which had no events for it.
    An exception may leave a statement after its branch, so an arc was taken at most as often as its destination was reached.
    The second result has the branches of lines with a choice that fit none of their arcs: they are not counted.
    """
    ways: dict[int, set[int]] = {}
    for line, to in analysis.arcs:
        ways.setdefault(line, set()).add(to)
    taken: dict[Arc, int] = {}
    unknown: dict[Branch, int] = {}
    for branch, hits in counts.branches.items():
        arc = _arc_of(branch, analysis)
        if arc in analysis.arcs:
            taken[arc] = taken.get(arc, 0) + hits
        elif arc and len(ways.get(arc[0], ())) > 1 and arc[1] not in analysis.excluded:
            unknown[branch] = hits
    for line, (name, start) in analysis.one_line.items():
        _count_one_line(line, name, start, ways.get(line, set()), counts, analysis, taken)
    if counts.version < (3, 14):
        for line, iterable in analysis.async_loops.items():
            if len(ways.get(line, ())) == 2:
                _count_async_loop(line, iterable, ways[line], counts.lines, analysis, are_hits_counted, taken)
    reached = _reached(counts.lines, analysis)
    taken = {(line, to): min(hits, reached.get(to, 0)) if to > 0 else hits for (line, to), hits in taken.items()}
    return {arc: hits if are_hits_counted else 1 for arc, hits in taken.items() if hits}, unknown


def _arc_of(branch: Branch, analysis: Analysis) -> Arc | None:
    """None: it stays within the statement, or leaves a `with` in a way that is not counted."""
    line = analysis.first_line(branch.line)
    for at in branch.trail:
        to = analysis.first_line(at)
        if to != line:
            return analysis.over_with.get((line, to), (line, to))
    if not branch.is_exit:
        return None
    first = analysis.first_line(branch.first_line)
    if (line, -first) in analysis.arcs:
        return line, -first
    if line in analysis.raises:
        return line, analysis.raises[line]
    return None if first == line else (line, -first)  # None: of a lambda or the like within the statement


def _count_one_line(line: int, name: str, start: int, ways: set[int], counts: FileCounts, analysis: Analysis,
                    taken: dict[Arc, int]) -> None:
    calls = sum(hits for (function, first), hits in counts.functions.items()
                if analysis.first_line(first) == start and function.rpartition(".")[2] == name)
    ran = counts.lines.get(line, 0)
    for to in ways:
        # Each call runs the line once, too; if only 0 and 1 are known, nothing can be subtracted.
        taken[line, to] = calls if to == -start else max(ran - calls, min(ran, 1))


def _count_async_loop(line: int, iterable: int, ways: set[int], lines: Mapping[int, int], analysis: Analysis,
                      are_hits_counted: bool, taken: dict[Arc, int]) -> None:
    """The line of @iterable runs once for each attempt to get an item; the body runs if there is one."""
    body = min((to for to in ways if to > line), default=None)
    if body is None:
        return
    (end,) = ways - {body}
    entered = _hits(body, lines, analysis)
    arcs = analysis.arcs | analysis.over_with.keys()
    is_reached_otherwise = any(to == body and at != line for at, to in arcs)
    if are_hits_counted and not is_reached_otherwise:
        taken[line, end] = max(lines.get(iterable, 0) - entered, 0)
    else:
        taken[line, end] = min(_hits(end if end > 0 else line, lines, analysis), 1)
        entered = min(entered, 1)
    taken[line, body] = entered


def _hits(statement: int, lines: Mapping[int, int], analysis: Analysis) -> int:
    return lines.get(statement) or _reached(lines, analysis).get(statement, 0)


def _reached(lines: Mapping[int, int], analysis: Analysis) -> dict[int, int]:
    """By statement, the count of the line that ran most: it need not begin at its first line."""
    most: dict[int, int] = {}
    for line, hits in lines.items():
        statement = analysis.first_line(line)
        most[statement] = max(most.get(statement, 0), hits)
    return most
