# SPDX-License-Identifier: Apache-2.0
"""Cobertura's XML, valid by coverage-04.dtd."""

import os
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from kymo.coverage.report import Report, printable
from kymo.coverage.report_text import natural_key
from kymo.coverage.results import FileResult
from kymo.coverage.scope import absolute, relative

_DTD = "http://cobertura.sourceforge.net/xml/coverage-04.dtd"


def rate(part: int, whole: int) -> str:
    """0 and 1 are printed only for exactly these values."""
    if part == whole:
        return "1"
    return "0" if not part else f"{min(max(part / whole, 0.0001), 0.9999):.4g}"


def write(report: Report, now_ms: int) -> Iterator[str]:
    """Lines of the file.  @now_ms: since 1970."""
    roots, packages = _arrange(report)
    numbers = report.total
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<!DOCTYPE coverage SYSTEM "{_DTD}">'
    if not report.are_hits_counted:
        yield "<!-- recorded once for each line and branch: hits are 0 or 1 -->"
    yield f"<coverage {_rates(report, report.results)}"
    yield f'    lines-covered="{numbers.covered_statements}" lines-valid="{numbers.statements}"'
    yield f'    branches-covered="{numbers.covered_branches}" branches-valid="{numbers.branches}" complexity="0"'
    yield f'    version="kymo {report.version}" timestamp="{now_ms}">'
    yield " <sources>"
    for root in sorted(roots):
        yield f"  <source>{escape(printable(root))}</source>"
    yield " </sources>"
    yield " <packages>"
    for package in sorted(packages, key=natural_key):
        results = [result for _, result in packages[package]]
        yield f'  <package name={quoteattr(package)} {_rates(report, results)} complexity="0">'
        yield "   <classes>"
        for name, result in sorted(packages[package], key=lambda pair: natural_key(pair[0])):
            yield from _class(report, name, result)
        yield "   </classes>"
        yield "  </package>"
    yield " </packages>"
    yield "</coverage>"


def _arrange(report: Report) -> tuple[set[str], dict[str, list[tuple[str, FileResult]]]]:
    """The folders to which names of files are relative, and the files of each package."""
    folders = [absolute(source) for source in report.settings.source if os.path.isdir(source)]
    roots = set(folders)
    packages: dict[str, list[tuple[str, FileResult]]] = {}
    for result in report.results:
        if report.settings.skip_empty and not result.statements:
            continue
        path = result.counts.file
        name = next((path[len(folder) + 1 :] for folder in folders if path.startswith(folder + "/")), None)
        if name is None:
            name = relative(path)
            roots.add(path[: -len(name)].rstrip("/") if path.endswith(name) else "")
        name = printable(name)
        parts = (os.path.dirname(name) or ".").split("/")[: report.settings.xml_package_depth]
        packages.setdefault(".".join(parts), []).append((name, result))
    return roots - {""}, packages


def _rates(report: Report, results: list[FileResult]) -> str:
    statements = sum(result.numbers.statements for result in results)
    covered = sum(result.numbers.covered_statements for result in results)
    branches = sum(result.numbers.branches for result in results)
    taken = sum(result.numbers.covered_branches for result in results)
    return (
        f'line-rate="{rate(covered, statements)}" branch-rate="{rate(taken, branches) if report.has_branches else 0}"'
    )


def _class(report: Report, name: str, result: FileResult) -> Iterator[str]:
    folder = "/".join((os.path.dirname(name) or ".").split("/")[: report.settings.xml_package_depth])
    short = os.path.relpath(name, folder)
    for mark in result.marks:
        yield f"    <!-- {mark} -->"
    yield f'    <class name={quoteattr(short)} filename={quoteattr(name)} {_rates(report, [result])} complexity="0">'
    yield "     <methods/>"
    yield "     <lines>"
    for line in sorted(result.statements):
        yield f"      {_line(result, line)}"
    yield "     </lines>"
    yield "    </class>"


def _line(result: FileResult, line: int) -> str:
    start = f'<line number="{line}" hits="{result.hits[line]}"'
    if line not in result.exits:
        return start + "/>"
    ways = len(result.exits[line])
    taken = ways - len(result.missing_exits.get(line, ()))
    share = f"{100 * taken // ways}%"
    return (
        f'{start} branch="true" condition-coverage="{share} ({taken}/{ways})">'
        f'<conditions><condition number="0" type="jump" coverage="{share}"/></conditions></line>'
    )
