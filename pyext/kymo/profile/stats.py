# SPDX-License-Identifier: Apache-2.0
"""`kymo stats --callers` and `--callees`."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from kymo._options import Options
from kymo.profile import _tree, command, durations
from kymo.profile._tree import Function, FunctionTimes, Profile
from kymo.profile.edges import EdgeTimes, edges_of, times_of
from kymo.profile.names import with_place

HEADER = f"{'calls':>14s} {'resumes':>11s} {'self':>11s} {'total':>11s}"


def main(words: list[str], version: str = "") -> int:
    """@words: the verb and its words.  Returns the exit status."""
    return command.run(lambda: _print(words))


def _print(words: list[str]) -> int:
    options = Options(words[0], words[1:])
    (path,), callers = options.operands, options.word("callers")
    profile = _tree.read(path, command.slice_of(options))
    wanted = options.word("callees") if callers is None else callers
    chosen = [each for each in times_of(profile) if fnmatchcase(each.function.name or "?", wanted)]
    if not chosen:
        command.warn(f"{os.path.basename(path)}: no function that ran matches '{wanted}'")
        return command.FAILURE
    for line in _tables(profile, chosen, is_callers=callers is not None):
        print(line)
    if profile.lost:
        command.warn(f"{profile.lost} events were lost: calls in gaps are missing")
    return 0


def _tables(profile: Profile, chosen: list[FunctionTimes], is_callers: bool) -> Iterator[str]:
    edges: dict[Function, list[tuple[Function, EdgeTimes]]] = {each.function: [] for each in chosen}
    for edge, times in edges_of(profile).items():
        of, other = (edge.callee, edge.caller) if is_callers else (edge.caller, edge.callee)
        if of in edges:
            edges[of].append((other, times))
    is_first = True
    for each in sorted(chosen, key=lambda each: -each.total_ns):
        if not is_first:
            yield ""
        is_first = False
        yield f"{HEADER}  {with_place(each.function)}, {'called by' if is_callers else 'which called'}"
        yield f"{_row(each)}  in all"
        for function, times in sorted(edges[each.function], key=lambda item: -item[1].total_ns):
            yield f"{_row(times)}  {with_place(function)}"


def _row(times: FunctionTimes | EdgeTimes) -> str:
    own, total = (
        durations.text(ns, err_ns)
        for ns, err_ns in ((times.self_ns, times.self_err_ns), (times.total_ns, times.total_err_ns))
    )
    resumes = f"{times.resumes:,}" if times.resumes else ""
    return f"{times.calls:>14,d} {resumes:>11s} {own:>11s} {total:>11s}"
