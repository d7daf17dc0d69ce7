# SPDX-License-Identifier: Apache-2.0
"""`kymo export`, of the formats that are written from an aggregated profile."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import BinaryIO

from kymo._output import output_file
from kymo.profile import _tree, command
from kymo.profile._tree import Profile

FORMATS = ("pprof", "callgrind", "gprof", "pstats", "collapsed", "flamegraph")
_BINARY = ("pprof", "pstats")
_WITH_LINES = ("pprof", "callgrind")


def main(words: list[str], version: str = "") -> int:
    """@words: the verb and its words.  @version: of Kymo.  Returns the exit status."""
    return command.run(lambda: _export(words[1:], version))


def _export(words: list[str], version: str) -> int:
    parser = command.Parser("export")
    parser.add_argument("trace", metavar="TRACE")
    parser.add_argument("--format", required=True, choices=FORMATS)
    parser.add_argument("-o", "--output", default="-")
    parser.add_argument("-f", "--force", action="store_true")
    parser.add_slice()
    options = parser.parse_args(words)
    if options.output == "-" and options.format in _BINARY and sys.stdout.isatty():
        parser.error(f"{options.format} is nothing for a terminal: -o names a file")
    if options.output != "-" and os.path.exists(options.output) and not options.force:
        command.warn(f"{options.output} exists; -f replaces it")
        return command.FAILURE
    profile = _tree.read(options.trace, command.slice_of(options), lines=options.format in _WITH_LINES)
    _write(_writer(options.format, profile, version, os.path.basename(options.trace)), options.output)
    if profile.lost:
        command.warn(f"{profile.lost} events were lost: calls in gaps are missing")
    if any(node.is_more for node in profile.nodes):
        command.warn("there were more ways to call functions than are kept: some are taken together")
    return 0


def _writer(form: str, profile: Profile, version: str, title: str) -> Callable[[BinaryIO], None]:
    if form == "pprof":
        from kymo.profile import pprof

        return lambda out: pprof.write(profile, out)
    if form == "pstats":
        from kymo.profile import pstats

        return lambda out: pstats.write(profile, out)
    if form == "flamegraph":
        from kymo.profile import flamegraph

        return lambda out: out.writelines(map(_encode, flamegraph.write(profile, title)))
    return lambda out: out.writelines(_encode(line + "\n") for line in _lines(form, profile, version))


def _lines(form: str, profile: Profile, version: str) -> Iterable[str]:
    if form == "callgrind":
        from kymo.profile import callgrind

        return callgrind.write(profile, version)
    if form == "gprof":
        from kymo.profile import gprof

        return gprof.write(profile)
    from kymo.profile import collapsed

    return collapsed.write(profile)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _write(write: Callable[[BinaryIO], None], output: str) -> None:
    if output == "-":
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with output_file(output) as file:
        write(file)
