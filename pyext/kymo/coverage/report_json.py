# SPDX-License-Identifier: Apache-2.0
"""coverage.py's JSON, format 3, with additional fields under names of our own.

Those are `hits`, `branch_hits`, `incomplete` and `source` of a file, `calls` of a function, `hits_counted` and
`kymo_version` in `meta`.
"""

import datetime
import json
from typing import Any

from kymo.coverage.calls import function_calls, regions_of
from kymo.coverage.report import Report, pairs
from kymo.coverage.results import FileResult, Numbers, percent
from kymo.coverage.source_text import lines

_FORMAT = 3


def write(report: Report) -> str:
    data = {
        "meta": {
            "format": _FORMAT,
            "version": f"kymo {report.version}",
            "timestamp": datetime.datetime.now().isoformat(),
            "branch_coverage": report.has_branches,
            "show_contexts": report.settings.json_show_contexts,
            "hits_counted": report.are_hits_counted,
            "kymo_version": report.version,
        },
        "files": {result.name: _file(report, result) for result in report.results},
        "totals": _summary(report, report.total),
    }
    return json.dumps(data, indent=4 if report.settings.json_pretty_print else None)


def _summary(report: Report, numbers: Numbers) -> dict[str, Any]:
    statements = percent(numbers.covered_statements, numbers.statements)
    summary: dict[str, Any] = {
        "covered_lines": numbers.covered_statements,
        "num_statements": numbers.statements,
        "percent_covered": numbers.percent,
        "percent_covered_display": report.percent_text(numbers.percent),
        "missing_lines": numbers.missing,
        "excluded_lines": numbers.excluded,
        "percent_statements_covered": statements,
        "percent_statements_covered_display": report.percent_text(statements),
    }
    if report.has_branches:
        branches = percent(numbers.covered_branches, numbers.branches)
        summary |= {
            "num_branches": numbers.branches,
            "num_partial_branches": numbers.partial,
            "covered_branches": numbers.covered_branches,
            "missing_branches": numbers.missing_branches,
            "percent_branches_covered": branches,
            "percent_branches_covered_display": report.percent_text(branches),
        }
    return summary


def _part(report: Report, result: FileResult, within: set[int] | None) -> dict[str, Any]:
    """The fields that a file and a part of it, the lines @within, have in common."""

    def chosen(them: set[int]) -> list[int]:
        return sorted(them if within is None else them & within)

    def ways(them: dict[int, list[int]]) -> list[tuple[int, int]]:
        return pairs(them if within is None else {line: to for line, to in them.items() if line in within})

    part: dict[str, Any] = {
        "executed_lines": chosen(result.executed),
        "summary": _summary(report, result.numbers_of(within)),
        "missing_lines": chosen(result.missing),
        "excluded_lines": chosen(result.excluded),
    }
    if report.settings.json_show_contexts:
        part["contexts"] = report.line_contexts(result)
    if report.has_branches:
        part["executed_branches"] = [way for way in ways(result.exits) if result.times(*way)]
        part["missing_branches"] = ways(result.missing_exits)
    return part


def _file(report: Report, result: FileResult) -> dict[str, Any]:
    file = _part(report, result, None)
    calls = {(function.name, function.start): function.calls for function in function_calls(result)}
    regions = sorted(regions_of(result), key=lambda region: region.start)
    for kind, plural in (("function", "functions"), ("class", "classes")):
        parts = [(region, _part(report, result, region.lines)) for region in regions if region.kind == kind]
        outside = set(range(1, len(lines(result.counts.source or b"")) + 1)).difference(
            *(region.lines for region, _ in parts)
        )
        with_statements = {region.name for region, part in parts if part["summary"]["num_statements"]}
        named: dict[str, Any] = {}
        for region, part in parts:
            has_statements = part["summary"]["num_statements"]
            is_second = region.name in named or (region.name in with_statements and not has_statements)
            part["start_line"] = region.start
            if (region.name, region.start) in calls and kind == "function":
                part["calls"] = calls[region.name, region.start]
            named[f"{region.name}@{region.start}" if is_second else region.name] = part
        named[""] = _part(report, result, outside) | {"start_line": min(outside, default=1)}
        file[plural] = named
    file["hits"] = {line: result.hits[line] for line in sorted(result.statements)}
    if report.has_branches:
        file["branch_hits"] = [(*way, result.times(*way)) for way in pairs(result.exits)]
    file["incomplete"] = result.counts.is_incomplete
    file["source"] = (
        "missing" if not result.is_source_known else "verified" if result.counts.is_verified else "unverified"
    )
    return file
