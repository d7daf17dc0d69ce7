# SPDX-License-Identifier: Apache-2.0
"""How often each function of a file was called."""

from typing import NamedTuple

from kymo.coverage.regions import Region, find_regions
from kymo.coverage.results import FileResult


class Function(NamedTuple):
    name: str
    start: int  # line of its `def`
    calls: int


def regions_of(result: FileResult) -> list[Region]:
    """None if there is no source or it is nested too deeply."""
    try:
        return find_regions(result.counts.source or b"")
    except (SyntaxError, ValueError, RecursionError):
        return []


def function_calls(result: FileResult) -> list[Function]:
    """The calls of functions that have statements, in the order of the file."""
    calls: dict[tuple[str, int], int] = {}
    for (name, line), count in result.counts.functions.items():
        key = name.replace(".<locals>", ""), line
        calls[key] = calls.get(key, 0) + count
    functions = []
    for region in regions_of(result):
        if region.kind == "function" and result.statements & region.lines:
            # If calls were not counted, it is only known whether there was one.
            known = calls.get((region.name, region.first), 0) if calls else int(bool(result.executed & region.lines))
            functions.append(Function(region.name, region.start, known))
    return functions
