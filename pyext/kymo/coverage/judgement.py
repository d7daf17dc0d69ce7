# SPDX-License-Identifier: Apache-2.0
"""From counts to what is reported: which files, their analysis, and what of it ran."""

import os
import sys
from collections.abc import Callable, Iterator

from kymo.coverage.errors import CoverageError
from kymo.coverage.merging import absolute_name, merge
from kymo.coverage.model import Analysis, Counts, FileCounts
from kymo.coverage.patterns import Remapping
from kymo.coverage.report import Report
from kymo.coverage.results import FileResult
from kymo.coverage.scope import Scope, relative
from kymo.coverage.settings import Settings

Warn = Callable[[str], None]


def judge(counts: Counts, settings: Settings, warn: Warn, statements_from: str = "kymo", version: str = "") -> Report:
    """A report on @counts.  @warn takes one line for the user; CoverageError: it cannot be made."""
    if settings.branch and not counts.has_branches:
        raise CoverageError("branches were not recorded; omit --branch, or record with --events=flow or coverage")
    remapping = Remapping(settings.paths, settings.relative_files)
    counts = merge([counts], lambda name: remapping.map(absolute_name(name)))
    scope = Scope(settings, [file.file for file in counts.files])
    files = list(_choose(counts.files, scope, warn))
    files += _unexecuted(scope, {file.file for file in files})
    results = []
    analyse = _analysis(statements_from)
    for file in sorted(files, key=lambda file: file.file):
        if result := _judge_file(file, settings, scope, warn, analyse, counts.are_hits_counted):
            results.append(result)
    if not results:
        raise CoverageError("nothing to report: none of the selected files was recorded")
    _tell_versions(results, warn)
    if counts.undefined:
        warn(f"{counts.undefined} events belong to code that the trace does not define; what they ran is not in the report")
    return Report(
        results, settings, counts.contexts, counts.are_hits_counted, settings.branch, version, counts.undefined
    )


def _choose(files: list[FileCounts], scope: Scope, warn: Warn) -> Iterator[FileCounts]:
    """One entry for each name; if a file changed between runs, that of its last version."""
    last = {file.file: file for file in files if scope.has(file.file)}
    for file in files:
        if file.file in last and last[file.file] is not file:
            warn(f"{relative(file.file)} was changed between the runs; what ran before that is left out")
    yield from last.values()


def _unexecuted(scope: Scope, seen: set[str]) -> Iterator[FileCounts]:
    for path in scope.unexecuted(seen):
        source = _read(path)
        if source is not None:
            yield FileCounts(path, sys.version_info[:2], source, True)


def _read(path: str) -> bytes | None:
    """None: it is not a file, or cannot be read."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _judge_file(
    file: FileCounts,
    settings: Settings,
    scope: Scope,
    warn: Warn,
    analyse: Callable[..., Analysis],
    are_hits_counted: bool,
) -> FileResult | None:
    if file.source is None and scope.is_named(file.file) and os.path.isfile(file.file):
        file.source, file.is_verified = _read(file.file), False
    name = relative(file.file)
    if file.source is None:
        return FileResult(file, None, {} if settings.branch else None, name)
    from kymo.coverage.statements import AnalysisError

    try:
        analysis = analyse(file.source, name, exclude=settings.exclude, partial=settings.partial)
    except AnalysisError as error:
        # Files whose names are not Python's, such as compiled templates, are left out.
        if os.path.splitext(file.file)[1] not in ("", ".py", ".pyw"):
            return None
        if not settings.ignore_errors:
            raise CoverageError(f"{error}; use --ignore-errors to skip such files") from None
        warn(f"skipped: {error}")
        return None
    taken = None
    if settings.branch:
        from kymo.coverage.trails import arcs_taken

        taken, _ = arcs_taken(file, analysis, are_hits_counted=are_hits_counted)
    return FileResult(file, analysis, taken, name)


def _analysis(statements_from: str) -> Callable[..., Analysis]:
    if statements_from == "kymo":
        from kymo.coverage.analysis import analyse

        return analyse
    import importlib.util
    import site

    # The interpreter was started without its site-packages.
    site.main()
    if not importlib.util.find_spec("coverage"):
        raise CoverageError(
            f"--statements-from=coverage: {sys.executable} has no coverage.py; --python names another Python"
        )
    from kymo.coverage.by_coverage import analyse_by_coverage

    return analyse_by_coverage


def _tell_versions(results: list[FileResult], warn: Warn) -> None:
    running = sys.version_info[:2]
    others = sorted({result.counts.version for result in results} - {running})
    if others:
        names = ", ".join(f"{major}.{minor}" for major, minor in others)
        warn(
            f"recorded with Python {names}, and the statements are those of {running[0]}.{running[1]}, which may"
            " differ in line numbers; --python chooses another"
        )
