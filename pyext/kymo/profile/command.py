# SPDX-License-Identifier: Apache-2.0
"""Shared by the verbs that read profiles: which part of a trace is wanted, and how errors end."""

import os
import sys
from collections.abc import Callable

from kymo._options import Options
from kymo._project import Shown
from kymo.profile._tree import Slice

FAILURE = 1


def slice_of(options: Options) -> Slice:
    return Slice(
        options.number("from"), options.number("to"), options.number("process"), options.word("thread"), options.word("test"),
        options.word("function"), options.number("min-duration") or 0,
    )  # fmt: skip


def shown_of(options: Options, path: str) -> Shown:
    return Shown(path, options.flag("all"), options.word("file"))


def check_shown(options: Options) -> None:
    if options.flag("all") and options.word("file") is not None:
        options.error("--all and --file exclude each other")


def warn(message: str) -> None:
    sys.stdout.flush()
    print(f"kymo: {''.join(c if c.isprintable() else '?' for c in message)}", file=sys.stderr)


def run(verb: Callable[[], int]) -> int:
    """The exit status of `verb`; an error is one line."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = verb()
        sys.stdout.flush()
        return status
    except OSError as error:
        # Discard the rest of the output, or Python would try to write it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            warn(f"{error.filename}: {error.strerror or error}" if error.filename else f"{error.strerror or error}")
    except MemoryError:
        warn("out of memory")
    return FAILURE
