# SPDX-License-Identifier: Apache-2.0
"""The format of KCachegrind and callgrind_annotate: costs by line, and calls from line to line.

Error is the sum of the error bounds of the times before it.  Hits are of lines, where these were recorded or can be
rebuilt, and calls have none.
"""

from collections.abc import Iterator

from kymo.profile._tree import Function, Profile
from kymo.profile.edges import Edge, EdgeTimes, edges_of, times_of
from kymo.profile.names import one_line, qualified

UNKNOWN = "(unknown)"


class _Names:
    """Each name is written once, with a number that replaces it from then on."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        if name in self.numbers:
            return f"({self.numbers[name]})"
        self.numbers[name] = len(self.numbers) + 1
        return f"({self.numbers[name]}) {name}"


def _names(profile: Profile) -> dict[Function, str]:
    """Distinct in each file."""
    counts: dict[tuple[str | None, str], int] = {}
    for each in profile.functions:
        counts[each.file, qualified(each)] = counts.get((each.file, qualified(each)), 0) + 1
    return {
        each: f"{qualified(each)} ({each.line})" if counts[each.file, qualified(each)] > 1 else qualified(each)
        for each in profile.functions
    }


def write(profile: Profile, version: str) -> Iterator[str]:
    """The file, in lines.  @profile: with lines."""
    names = _names(profile)
    files, functions = _Names(), _Names()
    has_lines = any(line.hits for line in profile.lines)
    edges: dict[Function, list[tuple[Edge, EdgeTimes]]] = {}
    lines: dict[Function, list[tuple[int, int, int, int]]] = {}
    for edge, times in edges_of(profile, by_line=True).items():
        edges.setdefault(edge.caller, []).append((edge, times))
    for line in profile.lines if has_lines else ():
        lines.setdefault(line.function, []).append((line.line, line.self_ns, line.self_err_ns, line.hits))
    yield "# callgrind format"
    yield "version: 1"
    yield f"creator: kymo {version}"
    yield "positions: line"
    yield "event: Nanoseconds : Time"
    yield "event: Error : Bound of the error of Nanoseconds"
    yield "event: Resumes : Goings-on of generators and coroutines"
    yield "events: Nanoseconds Error Calls Resumes" + (" Hits" if has_lines else "")
    yield ""
    totals = [0] * 5
    for each in times_of(profile):
        function = each.function
        yield f"fl={files(one_line(function.file or UNKNOWN))}"
        yield f"fn={functions(names.get(function, qualified(function)))}"
        own = lines.get(function) or [(function.line, each.self_ns, each.self_err_ns, 0)]
        if all(line != function.line for line, *_ in own):
            own.insert(0, (function.line, 0, 0, 0))
        for number, ns, err_ns, hits in own:
            is_first = number == function.line
            calls, resumes = (each.calls, each.resumes) if is_first else (0, 0)
            costs = [ns, err_ns, calls, resumes, hits]
            totals = [a + b for a, b in zip(totals, costs, strict=True)]
            yield " ".join(map(str, [number, *(costs if has_lines else costs[:-1])]))
        for edge, times in edges.get(function, ()):
            yield f"cfl={files(one_line(edge.callee.file or UNKNOWN))}"
            yield f"cfn={functions(names.get(edge.callee, qualified(edge.callee)))}"
            yield f"calls={times.entries} {edge.callee.line}"
            yield (
                f"{edge.line or function.line} {times.added_ns} {times.total_err_ns} "
                f"{times.added_calls}"
            )
        yield ""
    yield "totals: " + " ".join(map(str, totals if has_lines else totals[:-1]))
