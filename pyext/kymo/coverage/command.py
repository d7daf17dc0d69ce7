# SPDX-License-Identifier: Apache-2.0
"""`kymo coverage` and `kymo combine`: options and exit statuses."""

import argparse
import os
import sys
from typing import NoReturn

from kymo.coverage.errors import CoverageError
from kymo.coverage.settings import Settings, check_regex, read_settings

FAILURE, UNDER = 1, 2
FORMATS = ("text", "markdown", "total", "lcov", "cobertura", "json", "coverage-db", "html")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _parser(verb: str) -> argparse.ArgumentParser:
    """The native program has the help, and has taken --python out."""
    parser = _Parser(f"kymo {verb}", allow_abbrev=False, add_help=False)
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    for name in ("--source", "--include", "--omit"):
        parser.add_argument(name, action="append")
    parser.add_argument("--rcfile")
    return parser


def coverage_parser() -> argparse.ArgumentParser:
    parser = _parser("coverage")
    add = parser.add_argument
    add("--format", choices=FORMATS)
    add("-o", "--output")
    add("-f", "--force", action="store_true")  # as other verbs have it: what is there is replaced anyway
    add("--sort")
    add("--precision", type=int)
    add("--fail-under", type=float)
    add("--contexts", action="append")
    add("--context", action="append")
    add("--ran-by")
    add("--statements-from", choices=("kymo", "coverage"), default="kymo")
    add("--allow-gaps", action="store_true")
    add("--show-contexts", action="store_true")
    # None: as the settings say.
    for names in (
        ["--branch"],
        ["-m", "--show-missing"],
        ["--skip-covered"],
        ["--skip-empty"],
        ["-i", "--ignore-errors"],
    ):
        add(*names, action="store_true", default=None)
    add("--no-skip-covered", dest="skip_covered", action="store_false")
    return parser


def combine_parser() -> argparse.ArgumentParser:
    parser = _parser("combine")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("-f", "--force", action="store_true")
    return parser


def main(argv: list[str], version: str = "") -> int:
    """@argv: the verb and its words.  @version: of Kymo.  Returns the exit status."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = (_combine if argv[0] == "combine" else _coverage)(argv[1:], version)
        sys.stdout.flush()
        return status
    except CoverageError as error:
        return _fail(str(error))
    except OSError as error:
        # What is left of the output goes nowhere, or it would be tried again at the end.
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


def _coverage(argv: list[str], version: str) -> int:
    from kymo.coverage.judgement import judge
    from kymo.coverage.loading import load
    from kymo.coverage.merging import only_contexts

    options = coverage_parser().parse_args(argv)
    settings = _with_options(read_settings(options.rcfile), options)
    form = options.format or settings.format
    if form not in FORMATS:
        raise CoverageError(f"there is no format '{form}': it is one of {', '.join(FORMATS)}")
    _show_contexts(settings, form, options.show_contexts)
    chosen = _context_filter(settings.contexts, options.context or [])
    needs_contexts = bool(chosen or options.ran_by or settings.json_show_contexts or settings.html_show_contexts)
    counts = load(options.traces, needs_contexts)
    if chosen:
        if not any(map(chosen, counts.contexts)):
            raise CoverageError(f"no context matches: {_count_contexts(counts.contexts[1:])}")
        counts = only_contexts(counts, chosen)
    report = judge(counts, settings, _warn, options.statements_from, version)
    if options.ran_by:
        from kymo.coverage.ran_by import print_contexts

        return print_contexts(report, options.ran_by)
    from kymo.coverage.writing import write

    write(report, form, options.output)
    return _check_total(report, options.allow_gaps)


def _with_options(settings: Settings, options: argparse.Namespace) -> Settings:
    """What is given on the command line goes before the file."""
    for name in (
        "branch",
        "show_missing",
        "skip_covered",
        "skip_empty",
        "sort",
        "precision",
        "fail_under",
        "ignore_errors",
    ):
        if getattr(options, name) is not None:
            setattr(settings, name, getattr(options, name))
    if not 0 <= settings.precision <= 15:
        raise CoverageError(f"--precision={settings.precision}: it must be from 0 to 15")
    if not 0 <= settings.fail_under <= 100:
        raise CoverageError(f"--fail-under={settings.fail_under}: it must be from 0 to 100")
    if options.skip_covered is not None:
        settings.html_skip_covered = None
    if options.skip_empty is not None:
        settings.html_skip_empty = None
    _set_scope(settings, options)
    if options.contexts:
        settings.contexts = options.contexts
    for regex in settings.contexts:
        check_regex(regex, "--contexts")
    return settings


def _set_scope(settings: Settings, options: argparse.Namespace) -> None:
    if options.source:
        settings.source, settings.source_pkgs, settings.source_dirs = _words(options.source), [], []
    if options.include:
        settings.run_include = settings.report_include = _words(options.include)
    if options.omit:
        settings.run_omit = settings.report_omit = _words(options.omit)


def _words(values: list[str]) -> list[str]:
    """Options may be repeated, or have commas."""
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _show_contexts(settings: Settings, form: str, is_asked: bool) -> None:
    if is_asked and form not in ("html", "json", "coverage-db"):
        raise CoverageError(f"--show-contexts is for html, json and coverage-db: {form} has no place for them")
    settings.json_show_contexts = form == "json" and (is_asked or settings.json_show_contexts)
    settings.html_show_contexts = (form == "html" and (is_asked or settings.html_show_contexts)) or (
        form == "coverage-db" and is_asked
    )


def _context_filter(regexes: list[str], tests: list[str]):
    """Whether a context is asked for, by its name; None: all are."""
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
        _warn("coverage failure: some of what ran is of code that the trace does not name; --allow-gaps lets that pass")
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


def _combine(argv: list[str], version: str) -> int:
    from kymo.coverage import counts_file
    from kymo.coverage.loading import load_each
    from kymo.coverage.merging import absolute_name, merge
    from kymo.coverage.patterns import Remapping
    from kymo.coverage.scope import Scope

    options = combine_parser().parse_args(argv)
    settings = read_settings(options.rcfile)
    _set_scope(settings, options)
    if os.path.exists(options.output) and not options.force:
        raise CoverageError(f"{options.output} exists; -f replaces it")
    remapping = Remapping(settings.paths, settings.relative_files)
    counts = merge(load_each(options.traces), lambda name: remapping.map(absolute_name(name)))
    scope = Scope(settings, [file.file for file in counts.files])
    counts.files = [file for file in counts.files if scope.has(file.file)]
    counts_file.write(counts, options.output, version, options.force)
    return 0
