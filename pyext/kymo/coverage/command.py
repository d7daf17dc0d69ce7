# SPDX-License-Identifier: Apache-2.0
"""`kymo coverage` and `kymo combine`: options and exit statuses."""

import os
import sys

from kymo._options import Options
from kymo.coverage.errors import CoverageError
from kymo.coverage.settings import Settings, check_regex, read_settings

FAILURE, UNDER = 1, 2
FORMATS = ("text", "markdown", "total", "lcov", "cobertura", "json", "coverage-db", "html")


def main(argv: list[str], version: str = "") -> int:
    """@argv: the verb and its words.  @version: of Kymo.  Returns the exit status."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = (_combine if argv[0] == "combine" else _coverage)(Options(argv[0], argv[1:]), version)
        sys.stdout.flush()
        return status
    except CoverageError as error:
        return _fail(str(error))
    except OSError as error:
        # Discard the rest of the output, or Python would try to write it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return FAILURE
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}")
    except MemoryError:
        return _fail("out of memory")


def _fail(message: str) -> int:
    _warn(message)
    return FAILURE


def _warn(message: str) -> None:
    sys.stdout.flush()
    print(f"kymo: {''.join(c if c.isprintable() else '?' for c in message)}", file=sys.stderr)


def _coverage(options: Options, version: str) -> int:
    from kymo.coverage.judgement import judge
    from kymo.coverage.loading import load
    from kymo.coverage.merging import only_contexts

    settings = _with_options(read_settings(options.word("rcfile")), options)
    form = options.word("format") or settings.format
    if form not in FORMATS:
        raise CoverageError(f"unknown format '{form}'; use one of {', '.join(FORMATS)}")
    _show_contexts(settings, form, options.flag("show-contexts"))
    chosen = _context_filter(settings.contexts, options.all("context"))
    needs_contexts = bool(chosen or options.word("ran-by") or settings.json_show_contexts or settings.html_show_contexts)
    counts = load(options.operands, needs_contexts)
    if chosen:
        if not any(map(chosen, counts.contexts)):
            raise CoverageError(f"no context matches: {_count_contexts(counts.contexts[1:])}")
        counts = only_contexts(counts, chosen)
    report = judge(counts, settings, _warn, options.word("statements-from") or "kymo", version)
    ran_by = options.word("ran-by")
    if ran_by:
        from kymo.coverage.ran_by import print_contexts

        return print_contexts(report, ran_by)
    from kymo.coverage.writing import write

    write(report, form, options.word("output"))
    return _check_total(report, options.flag("allow-gaps"))


def _with_options(settings: Settings, options: Options) -> Settings:
    """Options of the command line override the file."""
    for name in ("branch", "show-missing", "skip-covered", "skip-empty", "ignore-errors"):
        if (given := options.switch(name)) is not None:
            setattr(settings, name.replace("-", "_"), given)
    settings.sort = options.word("sort") or settings.sort
    settings.precision = _given(options.number("precision"), settings.precision)
    settings.fail_under = _given(_percent(options), settings.fail_under)
    if not 0 <= settings.precision <= 15:
        raise CoverageError(f"--precision={settings.precision}: must be from 0 to 15")
    if not 0 <= settings.fail_under <= 100:
        raise CoverageError(f"--fail-under={settings.fail_under}: must be from 0 to 100")
    if options.switch("skip-covered") is not None:
        settings.html_skip_covered = None
    if options.switch("skip-empty") is not None:
        settings.html_skip_empty = None
    _set_scope(settings, options)
    settings.contexts = options.all("contexts") or settings.contexts
    for regex in settings.contexts:
        check_regex(regex, "--contexts")
    return settings


def _given[T](value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _percent(options: Options) -> float | None:
    text = options.word("fail-under")
    try:
        return None if text is None else float(text)
    except ValueError:
        options.error(f"--fail-under: '{text}' is not a number")


def _set_scope(settings: Settings, options: Options) -> None:
    source, include, omit = (_words(options.all(name)) for name in ("source", "include", "omit"))
    if source:
        settings.source, settings.source_pkgs, settings.source_dirs = source, [], []
    if include:
        settings.run_include = settings.report_include = include
    if omit:
        settings.run_omit = settings.report_omit = omit


def _words(values: list[str]) -> list[str]:
    """Options may be repeated, or separated by commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _show_contexts(settings: Settings, form: str, is_asked: bool) -> None:
    if is_asked and form not in ("html", "json", "coverage-db"):
        raise CoverageError(f"cannot show contexts in {form}; use --show-contexts with html, json or coverage-db")
    settings.json_show_contexts = form == "json" and (is_asked or settings.json_show_contexts)
    settings.html_show_contexts = (form == "html" and (is_asked or settings.html_show_contexts)) or (
        form == "coverage-db" and is_asked
    )


def _context_filter(regexes: list[str], tests: list[str]):
    """A function that says by its name whether a context is wanted; None: all are."""
    import re

    if not regexes and not tests:
        return None
    patterns = [re.compile(regex) for regex in regexes]

    def is_chosen(name: str) -> bool:
        # A test has phases: "test_x.py::test_a|setup", "…|run", "…|teardown".
        return name in tests or name.rpartition("|")[0] in tests or any(pattern.search(name) for pattern in patterns)

    return is_chosen


def _count_contexts(names: list[str]) -> str:
    return f"there are {len(names)}, as '{names[0]}'" if names else "nothing was recorded in a context"


def _check_total(report, allow_gaps: bool) -> int:
    from kymo.coverage.results import is_under, under_text

    settings = report.settings
    if not settings.fail_under:
        return 0
    incomplete = [result.name for result in report.results if result.counts.is_incomplete]
    if is_under(report.total.percent, settings.fail_under, settings.precision):
        _warn(f"coverage failure: {under_text(report.total.percent, settings.fail_under, settings.precision)}")
        return UNDER
    if report.undefined and not allow_gaps:
        _warn("coverage failure: some events belong to code that the trace does not define; use --allow-gaps to accept that")
        return UNDER
    if incomplete and not allow_gaps:
        files = (
            f"{incomplete[0]} is"
            if len(incomplete) == 1
            else f"{len(incomplete)} files, {incomplete[0]} among them, are"
        )
        _warn(
            f"coverage failure: {files} incomplete, as some of what ran was not recorded; --allow-gaps lets that pass"
        )
        return UNDER
    return 0


def _combine(options: Options, version: str) -> int:
    from kymo.coverage import counts_file
    from kymo.coverage.loading import load_each
    from kymo.coverage.merging import absolute_name, merge
    from kymo.coverage.patterns import Remapping
    from kymo.coverage.scope import Scope

    output, is_forced = options.word("output") or "", options.flag("force")
    settings = read_settings(options.word("rcfile"))
    _set_scope(settings, options)
    if os.path.exists(output) and not is_forced:
        raise CoverageError(f"{output} already exists; use -f to replace it")
    remapping = Remapping(settings.paths, settings.relative_files)
    counts = merge(load_each(options.operands), lambda name: remapping.map(absolute_name(name)))
    scope = Scope(settings, [file.file for file in counts.files])
    counts.files = [file for file in counts.files if scope.has(file.file)]
    counts_file.write(counts, output, version, is_forced)
    return 0
