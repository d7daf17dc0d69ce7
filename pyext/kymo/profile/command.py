# SPDX-License-Identifier: Apache-2.0
"""What the verbs that read profiles share: options that say which part of a trace is wanted, and how errors end."""

import argparse
import os
import re
import sys
from collections.abc import Callable
from typing import NoReturn

from kymo.profile._tree import Slice

FAILURE, USAGE = 1, 2
_UNITS = {"": 9, "s": 9, "ms": 6, "us": 3, "ns": 0}


class Parser(argparse.ArgumentParser):
    """The native program has the help, and has taken --python out."""

    def __init__(self, verb: str) -> None:
        super().__init__(f"kymo {verb}", allow_abbrev=False, add_help=False)

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\n")

    def add_slice(self) -> None:
        """--from, --to, --process, --thread, --test, --function and --min-duration."""
        for name in ("--from", "--to", "--min-duration"):
            self.add_argument(name, type=time, metavar="TIME", dest=name[2:].replace("-", "_") + "_ns")
        self.add_argument("--process", type=whole)
        for name in ("--thread", "--test", "--function"):
            self.add_argument(name)

    def add_shown(self) -> None:
        """--all and --file."""
        either = self.add_mutually_exclusive_group()
        either.add_argument("--all", action="store_true", dest="is_all")
        either.add_argument("--file", metavar="GLOB")


def time(text: str) -> int:
    """Nanoseconds of "1.5", "1.5s", "12ms", "30us" or "5ns"."""
    parts = re.fullmatch(r"([0-9]+)(?:\.([0-9]*))?(s|ms|us|ns|)", text)
    if parts is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 1.5, 12ms, 30us or 5ns")
    whole_part, fraction, unit = parts.groups()
    digits = _UNITS[unit]
    ns = int(whole_part) * 10**digits + int((fraction or "")[:digits].ljust(digits, "0") or "0")
    if ns >= 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is too long")
    return ns


def whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 63):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1 on")
    return int(text)


def slice_of(options: argparse.Namespace) -> Slice:
    return Slice(
        options.from_ns, options.to_ns, options.process, options.thread, options.test, options.function,
        options.min_duration_ns or 0,
    )  # fmt: skip


def warn(message: str) -> None:
    sys.stdout.flush()
    print(f"kymo: {''.join(c if c.isprintable() else '?' for c in message)}", file=sys.stderr)


def run(verb: Callable[[], int]) -> int:
    """The exit status of `verb`; what it cannot do is one line."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = verb()
        sys.stdout.flush()
        return status
    except OSError as error:
        # What is left of the output goes nowhere, or it would be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            warn(f"{error.filename}: {error.strerror or error}" if error.filename else f"{error.strerror or error}")
    except MemoryError:
        warn("out of memory")
    return FAILURE
