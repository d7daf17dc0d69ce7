# SPDX-License-Identifier: Apache-2.0
"""`kymo suspects`: options and exit statuses."""

import os
import sys

from kymo._options import Options
from kymo.coverage.command import _set_scope, _warn
from kymo.coverage.errors import CoverageError
from kymo.coverage.settings import read_settings
from kymo.suspects.attempts import read_attempt
from kymo.suspects.ranking import rank
from kymo.suspects.report import Sources, put_json, put_text

FOUND, NONE, FAILURE = 0, 1, 2


def main(argv: list[str], version: str = "") -> int:
    """@argv: the verb and its words.  Returns the exit status."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = _suspects(Options(argv[0], argv[1:]))
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


def _suspects(options: Options) -> int:
    limit, test, measure = options.number("limit") or 10, options.word("test"), options.word("measure") or "ochiai"
    settings = read_settings(options.word("rcfile"))
    _set_scope(settings, options)
    loops: dict = {}
    attempts = [read_attempt(path, has_failed, settings, test, loops)
                for has_failed, paths in ((True, options.all("fail")), (False, options.all("pass"))) for path in paths]
    if not any(attempt.present for attempt in attempts):
        raise CoverageError("nothing to compare: none of the selected files was recorded")
    _tell_changes(attempts)
    found, differing = rank(attempts, measure)
    sources = Sources(attempts)
    if options.flag("json"):
        put_json(found[: limit], attempts, sources, measure, test)
    else:
        put_text(found[: limit], attempts, sources)
    sys.stdout.flush()
    if found:
        if len(found) > limit and not options.flag("json"):
            _warn(f"{len(found) - limit} more; use --limit to see them")
        return FOUND
    _warn("no suspects: what differs was seen more often in the attempts that passed" if differing else
          "no suspects: all attempts ran the same" + _told_of_values(attempts))
    return NONE


def _told_of_values(attempts) -> str:
    if all(attempt.sequences.values.observed for attempt in attempts):
        return "; recorded values are the same, too"
    return "; values were not recorded, use kymo record --values=args or --values=locals"


def _tell_changes(attempts) -> None:
    sources: dict[str, bytes] = {}
    changed = {file for attempt in attempts for file, source in attempt.sources.items()
               if sources.setdefault(file, source) != source}
    for file in sorted(changed):
        _warn(f"{file} differs between attempts; its lines are compared by number")
