# SPDX-License-Identifier: Apache-2.0
"""`kymo suspects`: options and exit statuses."""

import os
import sys

from kymo.coverage.command import _Parser, _set_scope, _warn
from kymo.coverage.errors import CoverageError
from kymo.coverage.settings import read_settings
from kymo.suspects.attempts import read_attempt
from kymo.suspects.ranking import MEASURES, rank
from kymo.suspects.report import Sources, put_json, put_text

FOUND, NONE, FAILURE = 0, 1, 2


def _parser() -> _Parser:
    """The native program has the help, and has taken --python out."""
    parser = _Parser("kymo suspects", allow_abbrev=False, add_help=False)
    for name in ("--pass", "--fail"):
        parser.add_argument(name, nargs="+", action="extend", required=True, metavar="TRACE", dest=name.strip("-") + "ing")
    parser.add_argument("--test")
    parser.add_argument("--measure", choices=MEASURES, default="ochiai")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    for name in ("--source", "--include", "--omit"):
        parser.add_argument(name, action="append")
    parser.add_argument("--rcfile")
    return parser


def main(argv: list[str], version: str = "") -> int:
    """@argv: the verb and its words.  Returns the exit status."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = _suspects(argv[1:])
        sys.stdout.flush()
        return status
    except CoverageError as error:
        _warn(str(error))
    except OSError as error:
        # What is left of the output goes nowhere, or it would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            _warn(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        _warn("out of memory")
    return FAILURE


def _suspects(argv: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    if options.limit < 1:
        parser.error(f"argument --limit: {options.limit}: it must be at least 1")
    settings = read_settings(options.rcfile)
    _set_scope(settings, options)
    loops: dict = {}
    attempts = [read_attempt(path, has_failed, settings, options.test, loops)
                for has_failed, paths in ((True, options.failing), (False, options.passing)) for path in paths]
    if not any(attempt.present for attempt in attempts):
        raise CoverageError("nothing to compare: no file that was recorded is among those asked for")
    _tell_changes(attempts)
    found, differing = rank(attempts, options.measure)
    sources = Sources(attempts)
    if options.json:
        put_json(found[: options.limit], attempts, sources, options.measure, options.test)
    else:
        put_text(found[: options.limit], attempts, sources)
    sys.stdout.flush()
    if found:
        if len(found) > options.limit and not options.json:
            _warn(f"{len(found) - options.limit} more; --limit shows them")
        return FOUND
    _warn("nothing ran more often in the attempts that failed: what differs went with passing" if differing else
          "what ran was the same in all attempts" + _told_of_values(attempts))
    return NONE


def _told_of_values(attempts) -> str:
    if all(attempt.sequences.values.observed for attempt in attempts):
        return ", and so was what is known of values"
    return "; values were not recorded: kymo record --values=args or --values=locals does that"


def _tell_changes(attempts) -> None:
    sources: dict[str, bytes] = {}
    changed = {file for attempt in attempts for file, source in attempt.sources.items()
               if sources.setdefault(file, source) != source}
    for file in sorted(changed):
        _warn(f"{file} was not the same in all attempts: its lines are compared by their numbers")
