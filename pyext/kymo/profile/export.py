# SPDX-License-Identifier: Apache-2.0
"""`kymo export` for the formats that are written from an aggregated profile."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import BinaryIO

from kymo._options import Options
from kymo._output import output_file
from kymo.profile import _tree, command
from kymo.profile._tree import Profile

_WITH_LINES = ("pprof", "callgrind")


def main(words: list[str], version: str = "") -> int:
    """@words: the verb and its words.  @version: of Kymo.  Returns the exit status."""
    return command.run(lambda: _export(words, version))


def _export(words: list[str], version: str) -> int:
    options = Options(words[0], words[1:])
    (path,), form, output = options.operands, options.word("format") or "", options.word("output") or "-"
    if options.flag("kind"):
        options.error(f"--kind: {form} has calls, not events; use --format=arrow or parquet")
    if output != "-" and os.path.exists(output) and not options.flag("force"):
        command.warn(f"{output} already exists; use -f to replace it")
        return command.FAILURE
    profile = _tree.read(path, command.slice_of(options), lines=form in _WITH_LINES)
    _write(_writer(form, profile, version, os.path.basename(path)), output)
    if profile.lost:
        command.warn(f"{profile.lost} events were lost: calls in gaps are missing")
    if any(node.is_more for node in profile.nodes):
        command.warn("too many call paths: some are combined")
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
