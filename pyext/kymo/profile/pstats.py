# SPDX-License-Identifier: Apache-2.0
"""The format of `python -m pstats`, snakeviz and others: the statistics that cProfile keeps.

{(file, line, name): (primitive calls, calls, own time, cumulative time, callers)}, where callers are
{(file, line, name): (calls, primitive calls, own time, cumulative time)}; times are seconds.  As with cProfile, that a
generator or coroutine goes on is a call, calls are primitive unless the function (of callers: the same call) runs
already, and names are not qualified.
"""

import marshal
from typing import BinaryIO

from kymo.profile._tree import Function, Profile
from kymo.profile.edges import edges_of, times_of

Label = tuple[str, int, str]


def label(function: Function) -> Label:
    name = function.name or "?"
    if function.file is None:
        return "~", 0, f"<{name}>" if function.is_c else name
    return function.file, function.line, name.rpartition(".")[2]


def write(profile: Profile, out: BinaryIO) -> None:
    marshal.dump(stats(profile), out)


def stats(profile: Profile) -> dict[Label, tuple[int, int, float, float, dict[Label, tuple[int, int, float, float]]]]:
    # Several functions may have one label; sums are of nanoseconds.
    sums: dict[Label, list[int]] = {}
    callers: dict[Label, dict[Label, list[int]]] = {}
    for each in times_of(profile):
        numbers = each.outermost, each.calls + each.resumes, each.self_ns, each.total_ns
        _add(sums, label(each.function), numbers)
    for edge, times in edges_of(profile).items():
        numbers = times.entries, times.outermost, times.self_ns, times.total_ns
        _add(callers.setdefault(label(edge.callee), {}), label(edge.caller), numbers)
    return {
        key: (*_seconds(numbers), {caller: _seconds(more) for caller, more in callers.get(key, {}).items()})
        for key, numbers in sums.items()
    }


def _add(sums, key, numbers):
    sums[key] = [a + b for a, b in zip(sums.get(key, (0, 0, 0, 0)), numbers, strict=True)]


def _seconds(numbers):
    calls, more_calls, own_ns, total_ns = numbers
    return calls, more_calls, own_ns / 1e9, total_ns / 1e9
